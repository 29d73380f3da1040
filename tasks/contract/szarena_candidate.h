/* SPDX-License-Identifier: Apache-2.0 */
/* Contract of a CPU candidate: a shared library with C linkage, written in C or C++20.
 *
 * A compressor task (szp, szx) exports
 *     szarena_workspace_bytes, szarena_compress, szarena_decompress
 * a primitive task (quantize, lorenzo, histogram, bitpack, scan, leading-bytes) exports
 *     szarena_workspace_bytes, szarena_run and, where the table below says so, szarena_inverse.
 * The two pairs have the same shape: forward writes a payload somewhere inside the caller's buffer,
 * backward reads it. The task's statement says which problems occur. This header is given to
 * candidates unchanged.
 */
#ifndef SZARENA_CANDIDATE_H
#define SZARENA_CANDIDATE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SZARENA_EXPORT __attribute__((visibility("default")))
#else
#define SZARENA_EXPORT
#endif

/* Version of szarena_problem. A caller with a newer version only ever adds fields at the end. */
#define SZARENA_CONTRACT_VERSION 1u

/* szarena_problem.dtype */
enum { SZARENA_F32 = 1, SZARENA_F64 = 2 };

/* szarena_problem.mode. SZp: fixed stores quantised values, plain their differences, outlier
 * differences with a long first one. SZx: the random-access stream stores the block sizes, the
 * sequential one does not. */
enum {
  SZARENA_MODE_NONE = 0, /* primitives */
  SZARENA_MODE_FIXED = 1,
  SZARENA_MODE_PLAIN = 2,
  SZARENA_MODE_OUTLIER = 3,
  SZARENA_MODE_RANDOM_ACCESS = 4,
  SZARENA_MODE_SEQUENTIAL = 5
};

/* Return values. Anything but SZARENA_OK counts as a refusal of the problem. */
enum {
  SZARENA_OK = 0,
  SZARENA_UNSUPPORTED = 1, /* this problem is outside what the candidate can do */
  SZARENA_CAPACITY = 2,    /* the output buffer or the workspace is too small */
  SZARENA_CORRUPT = 3,     /* decompress or inverse: the payload is not what the format promises */
  SZARENA_FAILED = 4       /* anything else */
};

/* What is to be done. Filled by the caller; read-only for the candidate. */
typedef struct szarena_problem {
  uint32_t struct_size; /* sizeof(szarena_problem) as the caller knows it */
  uint32_t version;     /* SZARENA_CONTRACT_VERSION */
  uint64_t n;           /* number of elements; may be 0, 1, or more than 2^32 */
  uint64_t dims[3];     /* slowest first: element (z, y, x) is at (z * dims[1] + y) * dims[2] + x;
                           unused ones are 1;     their product is n */
  uint32_t dtype; /* SZARENA_F32 or SZARENA_F64: the type of the field (primitives on integers: see
                     the table) */
  uint32_t mode;  /* SZARENA_MODE_... */
  double abs_bound; /* absolute error bound, finite and > 0 (a value of f64, also where dtype is
                       f32) */
  uint32_t
      block_size; /* values per block: 32 for SZp and bitpack, 128 for SZx and leading-bytes, else
                     0; payloads of another block size are refused, and no decoder gets one */
  uint32_t pad_blocks; /* SZp and bitpack: the rate bytes are padded to a multiple of this many
                          blocks (1024) */
  uint32_t bins;       /* histogram: number of bins, else 0 */
  uint32_t
      threads; /* how many threads may run at the same time, the caller's included; at least 1 */
  uint64_t reserved[4]; /* 0 */
} szarena_problem;

/* Where the payload lies inside the output buffer: bytes [offset, offset + size). A payload need
 * not start at 0: it may lie anywhere in the buffer. */
typedef struct szarena_payload {
  uint64_t offset;
  uint64_t size;
} szarena_payload;

/* Bytes of scratch memory that both directions need for this problem; the caller provides them,
 * aligned to 64 bytes and with arbitrary contents, and does not count their allocation as time.
 * UINT64_MAX: the problem is not supported. */
SZARENA_EXPORT uint64_t szarena_workspace_bytes(const szarena_problem* problem);

/* Compresses n values at `input` (aligned to their size, no more) into output[0, capacity) and says
 * where in *payload. The capacity is at least what the task's format can need for n values, plus
 * 4096 bytes. Only the workspace and the output buffer may be written; bytes outside the payload
 * are ignored. Nothing may be read past input's last element. Nothing may be kept for a later call,
 * and nothing may be left running on return. */
SZARENA_EXPORT int szarena_compress(const szarena_problem* problem, const void* input, void* output,
                                    uint64_t capacity, void* workspace, uint64_t workspace_bytes,
                                    szarena_payload* payload);

/* Decompresses payload[0, size) (any alignment; nothing may be read past its end) and writes every
 * one of the n values at `output` (aligned to their size). The payload may be any valid one of the
 * mode, also such as the reference encoder never writes, and it is decompressed in another process
 * than the one that compressed it. */
SZARENA_EXPORT int szarena_decompress(const szarena_problem* problem, const void* payload,
                                      uint64_t size, void* output, void* workspace,
                                      uint64_t workspace_bytes);

/* Primitives: same rules. "bytes" is the payload's size; everything is little endian and exact.
 *
 * | task          | input                    | payload of szarena_run | inverse |
 * |---------------|--------------------------|----------------------------------------------------------|---------|
 * | quantize      | n f32 or f64             | n i32 codes, then ceil(n/8) bytes of bitmap | - | |
 * lorenzo       | n i32                    | n i32 differences | yes     | | histogram     | n i32
 * | bins + 1 u32 counts                                      | -       | | bitpack       | n i32,
 * none is INT32_MIN | rate bytes, then block payloads (SZp, fixed mode)        | yes     | | scan
 * | n u32                    | n + 1 u64 sums                                           | -       |
 * | leading-bytes | n u32 (f32) or u64 (f64) | ceil(n/4) bytes of 2-bit codes | -       |
 *
 * quantize       With T the dtype, ebq = the largest T <= abs_bound, all operations rounded to
 * nearest in T: t = x * (T(0.5) / ebq); q = trunc(t + T(0.5)) - (t < T(-0.5) ? 1 : 0); x' = (T(q) *
 * ebq) * T(2). Element i needs raw iff x is not finite, |q| >= 2^24 (f32) or 2^30 (f64), ebq is 0,
 * or |x - x'| > ebq exactly. Then bit i % 8 (least significant first) of bitmap byte i / 8 is 1 and
 * the code is 0; otherwise the bit is 0 and the code is q. Unused bits of the last byte are 0.
 * lorenzo        Differences modulo 2^32, values outside the array count as 0. 1-D (dims 1,1,n):
 * v[x] - v[x-1]; 2-D (1,h,w): v[y][x] - v[y][x-1] - v[y-1][x] + v[y-1][x-1]; 3-D: the same operator
 * along every axis. The three-dimensional formula covers all cases. inverse gives the n values
 * back. histogram      counts[v] for 0 <= v < bins; every other value counts in counts[bins]. n <
 * 2^32. bitpack        Blocks of 32 values, the last one padded with 0. A block's rate is the bit
 * length of its largest magnitude (0..31): one byte per block, padded with zero bytes to a multiple
 * of pad_blocks blocks. Then, for every block with rate > 0, in order: 4 bytes of signs, then
 * `rate` planes of 4 bytes, least significant bit first; in signs and planes byte b holds values
 * 8b..8b+7, the first in its top bit (sign 1 = negative). inverse gives the n values back. scan
 * out[0] = 0; out[i] = in[0] + ... + in[i-1]; the last one, out[n], is the total. leading-bytes
 * Within every block of block_size words w: code = min(3, number of identical leading (most
 * significant) bytes of w and its predecessor), the predecessor of a block's first word being 0.
 * Four codes a byte, the first in the top two bits; unused low bits are 0.
 */
SZARENA_EXPORT int szarena_run(const szarena_problem* problem, const void* input, void* output,
                               uint64_t capacity, void* workspace, uint64_t workspace_bytes,
                               szarena_payload* payload);
SZARENA_EXPORT int szarena_inverse(const szarena_problem* problem, const void* payload,
                                   uint64_t size, void* output, void* workspace,
                                   uint64_t workspace_bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SZARENA_CANDIDATE_H */
