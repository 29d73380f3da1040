// SPDX-License-Identifier: Apache-2.0
// SZx, step 8: the kernels of the CUDA codec behind the contract's functions. codec/ is copied from the codec by
// tools/cuda_steps; start reading at codec/walk_ahead.cuh.
#include <cuda_runtime.h>

#include <cstddef>

#include "codec/launch.cuh"
#include "codec/szx_cuda.h"
#include "sequential.h"
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

__global__ void SequentialKernel(unsigned char* output, uint64_t block_count, const DeviceResult* record,
                                 szarena_payload* payload) {
  const uint64_t start = szx::MakeSequential(output + record->offset, block_count);
  *payload = {record->offset + start, record->size - start};
}

}  // namespace

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem* p) {
  if (!szx::RoomySize(p->n, Type(*p), {})) return UINT64_MAX;
  return kRecordBytes + cuda::SzxWorkspaceBytes(p->n, Type(*p));
}

extern "C" int szarena_cuda_compress(const szarena_problem* p, const void* input, void* output, uint64_t capacity,
                                     void* workspace, uint64_t workspace_bytes, szarena_payload* payload,
                                     szarena_stream stream) {
  if (workspace_bytes < kRecordBytes) return SZARENA_CAPACITY;
  auto* const record = static_cast<DeviceResult*>(workspace);
  const LaunchStatus status = cuda::SzxCompress(
      input, p->n, Type(*p), p->abs_bound, /*relative=*/0, output, capacity, record, /*bound_out=*/nullptr,
      static_cast<unsigned char*>(workspace) + kRecordBytes, workspace_bytes - kRecordBytes, stream);
  if (status != LaunchStatus::kOk) return Answer(status);
  if (p->mode == SZARENA_MODE_RANDOM_ACCESS) {
    return cudaMemcpyAsync(payload, record, sizeof *payload, cudaMemcpyDeviceToDevice, stream) == cudaSuccess
               ? SZARENA_OK
               : SZARENA_FAILED;
  }
  return Answer(cuda::StartKernel(SequentialKernel, 1, 1, 0, stream, static_cast<unsigned char*>(output),
                                  szx::BlockCount(p->n), record, payload));
}

extern "C" int szarena_cuda_decompress(const szarena_problem* p, const void* payload, uint64_t size, void* output,
                                       void* workspace, uint64_t workspace_bytes, szarena_stream stream) {
  if (workspace_bytes < kRecordBytes) return SZARENA_CAPACITY;
  return Answer(cuda::SzxDecompress(payload, size, p->n, Type(*p), output, static_cast<DeviceResult*>(workspace),
                                    static_cast<unsigned char*>(workspace) + kRecordBytes,
                                    workspace_bytes - kRecordBytes, stream));
}
