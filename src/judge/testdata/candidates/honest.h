// SPDX-License-Identifier: Apache-2.0
// The plain SZp candidate under other names, for candidates that differ from it in one point. Each
// of those defines some of the three functions and takes the others by HONEST_WORKSPACE,
// HONEST_COMPRESS, HONEST_DECOMPRESS.
#pragma once

#define szarena_workspace_bytes honest_workspace_bytes
#define szarena_compress honest_compress
#define szarena_decompress honest_decompress
#include "honest.inc"
#undef szarena_workspace_bytes
#undef szarena_compress
#undef szarena_decompress

extern "C" {
SZARENA_EXPORT uint64_t szarena_workspace_bytes(const szarena_problem* problem);
SZARENA_EXPORT int szarena_compress(const szarena_problem* problem, const void* input, void* output,
                                    uint64_t capacity, void* workspace, uint64_t workspace_bytes,
                                    szarena_payload* payload);
SZARENA_EXPORT int szarena_decompress(const szarena_problem* problem, const void* payload,
                                      uint64_t size, void* output, void* workspace,
                                      uint64_t workspace_bytes);
}

#define COMPRESS                                                                               \
  int szarena_compress(const szarena_problem* p, const void* in, void* out, uint64_t capacity, \
                       void* workspace, uint64_t workspace_bytes, szarena_payload* payload)
#define COMPRESS_HONESTLY honest_compress(p, in, out, capacity, workspace, workspace_bytes, payload)
#define DECOMPRESS                                                                           \
  int szarena_decompress(const szarena_problem* p, const void* in, uint64_t size, void* out, \
                         void* workspace, uint64_t workspace_bytes)
#define DECOMPRESS_HONESTLY honest_decompress(p, in, size, out, workspace, workspace_bytes)

#define HONEST_WORKSPACE \
  uint64_t szarena_workspace_bytes(const szarena_problem* p) { return honest_workspace_bytes(p); }
#define HONEST_COMPRESS \
  COMPRESS { return COMPRESS_HONESTLY; }
#define HONEST_DECOMPRESS \
  DECOMPRESS { return DECOMPRESS_HONESTLY; }

inline uint64_t FieldBytes(const szarena_problem* p) {
  return p->n * (p->dtype == SZARENA_F32 ? 4 : 8);
}
