/* SPDX-License-Identifier: Apache-2.0 */
/* C interface of the SZ Arena codecs: SZp and SZx, bare payloads and self-describing containers.
 *
 * - Every function returns a szac_status; nothing is thrown, printed or aborted.
 * - Option structs start with their own size: set it with the _init function, so that a library
 * newer than the program fills in what the program does not know.
 * - A context holds the message of the last failure on it. Use one per thread; NULL is allowed and
 * keeps no message. There is no other state: calls on different contexts may run at the same time.
 * - Arrays need no alignment. Sizes are 64 bits. Buffers of one call must not overlap.
 * - A payload is bare: element count, type, bound, mode and padding must be known to the reader. A
 * container (szac_container_..., docs/formats/container.md) describes itself: what files hold. */
#ifndef SZARENA_CODEC_H
#define SZARENA_CODEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum szac_status {
  SZAC_OK = 0,
  SZAC_INVALID_ARGUMENT = 1, /* a parameter has no meaning */
  SZAC_CORRUPT = 2,          /* the bytes are not a stream of what was said */
  SZAC_CAPACITY = 3,         /* a buffer is too small, or a size does not fit 64 bits */
  SZAC_OUT_OF_MEMORY = 4,
  SZAC_INTERNAL = 5
} szac_status;

/* Lower-case name of a status, "ok" for SZAC_OK; never NULL. */
const char* szac_status_name(szac_status status);

typedef enum szac_codec { SZAC_SZP = 1, SZAC_SZX = 2 } szac_codec;
typedef enum szac_dtype { SZAC_F32 = 0, SZAC_F64 = 1 } szac_dtype;
typedef enum szac_szp_mode {
  SZAC_SZP_FIXED = 0,
  SZAC_SZP_PLAIN = 1,
  SZAC_SZP_OUTLIER = 2
} szac_szp_mode;
typedef enum szac_szx_mode { SZAC_SZX_SEQUENTIAL = 0, SZAC_SZX_RANDOM_ACCESS = 1 } szac_szx_mode;

typedef struct szac_context szac_context;
/* NULL where there is no memory. */
szac_context* szac_context_create(void);
void szac_context_destroy(szac_context* context);
/* Message of the last failure on this context, "" where there was none; valid until the next call
 * on it. */
const char* szac_message(const szac_context* context);

typedef struct szac_params {
  size_t size;             /* sizeof(szac_params), set by szac_params_init */
  uint32_t codec;          /* szac_codec */
  uint32_t dtype;          /* szac_dtype */
  uint32_t mode;           /* szac_szp_mode or szac_szx_mode */
  uint32_t threads;        /* 0: one per processor; the bytes do not depend on it */
  double eb;               /* absolute bound, >= 0; 0 keeps every bit */
  uint32_t padding_blocks; /* SZp: rate bytes are padded to a multiple of this, as 1024 in cuSZp */
} szac_params;

/* Defaults: one thread, the codec's default mode (SZp outlier, SZx random access), padding 1024, eb
 * 0. */
szac_status szac_params_init(szac_context* context, szac_params* params, szac_codec codec,
                             szac_dtype dtype);

/* Exact size in bytes of the largest payload of `count` elements. */
szac_status szac_max_payload_size(szac_context* context, const szac_params* params, uint64_t count,
                                  uint64_t* size);

/* Compresses `count` elements into the front of `payload`; *size receives the payload's bytes. A
 * capacity of szac_max_payload_size always suffices. Bytes of the buffer behind the payload may be
 * overwritten. */
szac_status szac_compress(szac_context* context, const szac_params* params, const void* values,
                          uint64_t count, void* payload, uint64_t capacity, uint64_t* size);

/* Writes all `count` elements. Safe on any bytes. On failure the content of `values` is
 * unspecified. */
szac_status szac_decompress(szac_context* context, const szac_params* params, const void* payload,
                            uint64_t size, void* values, uint64_t count);

/* Random access: decodes `value_count` elements from block `first_block` on, out of a payload of
 * `count` elements. value_count must be whole blocks or end at `count`. */
szac_status szac_decompress_blocks(szac_context* context, const szac_params* params,
                                   const void* payload, uint64_t size, uint64_t count,
                                   uint64_t first_block, void* values, uint64_t value_count);

/* What a payload is made of. */
typedef struct szac_payload_info {
  size_t size;           /* sizeof(szac_payload_info), set by szac_payload_info_init */
  uint64_t block_values; /* elements of a block */
  uint64_t blocks;
  uint64_t raw_blocks;     /* kept bit for bit: SZp raw blocks, SZx blocks of full length */
  uint64_t empty_blocks;   /* SZp blocks of zeros, SZx constant blocks */
  uint64_t outlier_blocks; /* SZp: first difference kept apart */
  uint64_t table_bytes;    /* everything but the blocks' own payloads */
} szac_payload_info;

szac_status szac_payload_info_init(szac_context* context, szac_payload_info* info);
/* Checks all sizes as szac_decompress does and fills *info. */
szac_status szac_inspect(szac_context* context, const szac_params* params, const void* payload,
                         uint64_t size, uint64_t count, szac_payload_info* info);

/* The absolute bound that `relative` stands for: relative * (max - min) over the finite elements,
 * without those that equal *fill (NULL: no fill value); 0 where the range is 0. */
szac_status szac_resolve_relative_bound(szac_context* context, szac_dtype dtype, const void* values,
                                        uint64_t count, double relative, const double* fill,
                                        uint32_t threads, double* eb);

typedef enum szac_bound_kind { SZAC_ABSOLUTE = 0, SZAC_RELATIVE = 1 } szac_bound_kind;

typedef struct szac_container_options {
  size_t size;         /* sizeof(szac_container_options), set by szac_container_options_init */
  uint32_t codec;      /* szac_codec */
  uint32_t dtype;      /* szac_dtype */
  uint32_t mode;       /* szac_szp_mode or szac_szx_mode */
  uint32_t threads;    /* 0: one per processor; the bytes do not depend on it */
  uint32_t rank;       /* 1 to 3 */
  uint32_t bound_kind; /* szac_bound_kind */
  uint64_t dims[3];    /* slowest first; 1 beyond the rank */
  double bound; /* finite, above 0; relative: times the range of the finite, non-fill values */
  uint32_t padding_blocks; /* SZp, as in szac_params */
  uint32_t has_fill; /* 1: elements with the bits of `fill` are kept exactly and out of the range */
  double fill;
} szac_container_options;

/* Defaults: one thread, the codec's default mode, padding 1024, rank 1, dims 0, absolute bound 0
 * (to be set). */
szac_status szac_container_options_init(szac_context* context, szac_container_options* options,
                                        szac_codec codec, szac_dtype dtype);

/* Exact size in bytes of the largest container with these options and dims. */
szac_status szac_container_max_size(szac_context* context, const szac_container_options* options,
                                    uint64_t* size);

/* Compresses dims[0] * dims[1] * dims[2] elements into the front of `file`; szac_container_max_size
 * always suffices. */
szac_status szac_container_compress(szac_context* context, const szac_container_options* options,
                                    const void* values, void* file, uint64_t capacity,
                                    uint64_t* size);

typedef struct szac_container_info {
  size_t size; /* sizeof(szac_container_info), set by szac_container_info_init */
  uint32_t codec, dtype, mode, rank, bound_kind;
  uint32_t constant; /* 1: all elements that are not fill have the same bits */
  uint64_t dims[3];
  uint64_t count; /* elements in all */
  double bound;   /* as the user gave it */
  double eb;      /* the absolute bound that it stands for */
  uint64_t payload_offset, payload_bytes;
  uint32_t padding_blocks;
  uint32_t has_fill;
  double fill;
} szac_container_info;

szac_status szac_container_info_init(szac_context* context, szac_container_info* info);
/* Reads and checks the header; `head` holds at least the first 128 bytes, `size` is the whole
 * file's. */
szac_status szac_container_inspect(szac_context* context, const void* head, uint64_t head_bytes,
                                   uint64_t size, szac_container_info* info);

/* Writes all `count` elements, which must be the container's count and type. Checks both checksums
 * first. */
szac_status szac_container_decompress(szac_context* context, const void* file, uint64_t size,
                                      szac_dtype dtype, void* values, uint64_t count,
                                      uint32_t threads);

#ifdef __cplusplus
}
#endif
#endif /* SZARENA_CODEC_H */
