// SPDX-License-Identifier: Apache-2.0
// SZp, step 8: the kernels of the CUDA codec behind the contract's functions. codec/ is copied from the codec by
// tools/cuda_steps; start reading at codec/szp_walk.cuh.
#include <cuda_runtime.h>

#include <cstddef>

#include "codec/szp_cuda.h"
#include "szarena_candidate_cuda.h"

namespace {

using namespace szarena::codec;
using cuda::DeviceResult;
using cuda::LaunchStatus;

// What the codec leaves of a call stands in front of its own workspace.
constexpr uint64_t kRecordBytes = 256;
static_assert(sizeof(DeviceResult) <= kRecordBytes);
// The payload's place is the front of that record.
static_assert(offsetof(DeviceResult, offset) == offsetof(szarena_payload, offset) &&
              offsetof(DeviceResult, size) == offsetof(szarena_payload, size));

DType Type(const szarena_problem& p) { return p.dtype == SZARENA_F32 ? DType::kF32 : DType::kF64; }

szp::Params Params(const szarena_problem& p) {
  szp::Params params;
  params.eb = p.abs_bound;
  params.mode = p.mode == SZARENA_MODE_FIXED   ? szp::Mode::kFixed
                : p.mode == SZARENA_MODE_PLAIN ? szp::Mode::kPlain
                                               : szp::Mode::kOutlier;
  params.padding_blocks = p.pad_blocks;
  return params;
}

int Answer(LaunchStatus status) {
  switch (status) {
    case LaunchStatus::kOk:
      return SZARENA_OK;
    case LaunchStatus::kWorkspaceTooSmall:
    case LaunchStatus::kCapacityTooSmall:
      return SZARENA_CAPACITY;
    case LaunchStatus::kBadArgument:
    case LaunchStatus::kLaunchFailed:
    case LaunchStatus::kMisaligned:
      break;
  }
  return SZARENA_FAILED;
}

}  // namespace

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem* p) {
  if (!szp::MaxPayloadSize(p->n, Type(*p), Params(*p))) return UINT64_MAX;
  return kRecordBytes + cuda::SzpWorkspaceBytes(p->n, Type(*p), Params(*p));
}

extern "C" int szarena_cuda_compress(const szarena_problem* p, const void* input, void* output, uint64_t capacity,
                                     void* workspace, uint64_t workspace_bytes, szarena_payload* payload,
                                     szarena_stream stream) {
  if (workspace_bytes < kRecordBytes) return SZARENA_CAPACITY;
  auto* const record = static_cast<DeviceResult*>(workspace);
  const LaunchStatus status = cuda::SzpCompress(
      input, p->n, Type(*p), Params(*p), /*relative=*/0, output, capacity, record, /*bound_out=*/nullptr,
      static_cast<unsigned char*>(workspace) + kRecordBytes, workspace_bytes - kRecordBytes, stream);
  if (status != LaunchStatus::kOk) return Answer(status);
  return cudaMemcpyAsync(payload, record, sizeof *payload, cudaMemcpyDeviceToDevice, stream) == cudaSuccess ? SZARENA_OK
                                                                                                            : SZARENA_FAILED;
}

extern "C" int szarena_cuda_decompress(const szarena_problem* p, const void* payload, uint64_t size, void* output,
                                       void* workspace, uint64_t workspace_bytes, szarena_stream stream) {
  if (workspace_bytes < kRecordBytes) return SZARENA_CAPACITY;
  const auto rate_bytes = szp::RateTableBytes(p->n, Params(*p));
  if (rate_bytes && size < *rate_bytes) return SZARENA_CORRUPT;
  return Answer(cuda::SzpDecompress(payload, size, p->n, Type(*p), Params(*p), output,
                                    static_cast<DeviceResult*>(workspace),
                                    static_cast<unsigned char*>(workspace) + kRecordBytes,
                                    workspace_bytes - kRecordBytes, stream));
}
