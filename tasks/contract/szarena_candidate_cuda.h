/* SPDX-License-Identifier: Apache-2.0 */
/* Contract of a CUDA candidate: a shared library whose functions take device pointers and a stream.
 *
 * Problems, payloads, return values and the primitives' definitions are those of
 * szarena_candidate.h. Differences:
 *  - input, output, payload bytes and workspace are device memory (aligned to 256 bytes, except
 * that the payload given to decompress and inverse may have any alignment);
 *  - everything is enqueued on `stream`, or ordered with it; the call may return before the work is
 * done, and work that is not ordered before the end of `stream` counts as left running;
 *  - the szarena_payload that compress and run fill is device memory, so that no synchronisation is
 * needed;
 *  - nothing may be allocated inside a call: use the workspace.
 * Build line: nvcc -std=c++20 -O3 --fmad=false -shared -Xcompiler -fPIC -arch=sm_XX
 * (--fmad=false: a fused multiply-add gives other bits than the format's arithmetic.)
 */
#ifndef SZARENA_CANDIDATE_CUDA_H
#define SZARENA_CANDIDATE_CUDA_H

#include "szarena_candidate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The same pointer as cudaStream_t. */
typedef struct CUstream_st* szarena_stream;

/* Bytes of device scratch for this problem; UINT64_MAX: not supported. Called on the host, outside
 * timing. */
SZARENA_EXPORT uint64_t szarena_cuda_workspace_bytes(const szarena_problem* problem);

SZARENA_EXPORT int szarena_cuda_compress(const szarena_problem* problem, const void* d_input,
                                         void* d_output, uint64_t capacity, void* d_workspace,
                                         uint64_t workspace_bytes, szarena_payload* d_payload,
                                         szarena_stream stream);
SZARENA_EXPORT int szarena_cuda_decompress(const szarena_problem* problem,
                                           const void* d_payload_bytes, uint64_t size,
                                           void* d_output, void* d_workspace,
                                           uint64_t workspace_bytes, szarena_stream stream);

SZARENA_EXPORT int szarena_cuda_run(const szarena_problem* problem, const void* d_input,
                                    void* d_output, uint64_t capacity, void* d_workspace,
                                    uint64_t workspace_bytes, szarena_payload* d_payload,
                                    szarena_stream stream);
SZARENA_EXPORT int szarena_cuda_inverse(const szarena_problem* problem, const void* d_payload_bytes,
                                        uint64_t size, void* d_output, void* d_workspace,
                                        uint64_t workspace_bytes, szarena_stream stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SZARENA_CANDIDATE_CUDA_H */
