// SPDX-License-Identifier: Apache-2.0
// SZx, step 3: the sums of the sizes come from a scan over many thread blocks; a thread still does a block.
#include "stream.cuh"

namespace {

constexpr uint32_t kThreads = 128;

uint32_t Grid(uint64_t n) { return static_cast<uint32_t>((n + kThreads - 1) / kThreads); }

template <typename T>
__global__ void PlanKernel(const T* x, uint64_t n, uint64_t blocks, Bound<T> bound, Work work, Plan<T>* plan) {
  const uint64_t b = Thread();
  if (b >= blocks) return;
  const Plan<T> own = MakePlan(x + b * kBlock, BlockLength(n, b), bound);
  plan[b] = own;
  work.coded[b] = own.constant ? 0 : 1;
  work.size[b] = own.constant ? 0 : CodedBytes(x + b * kBlock, BlockLength(n, b), own);
}

template <typename T>
__global__ void WriteKernel(const T* x, uint64_t n, uint64_t blocks, bool random, Work work, const Plan<T>* plan, uint8_t* out) {
  const uint64_t b = Thread();
  if (b >= blocks || work.coded[b] == 0) return;
  const Tables tables(random, sizeof(T), blocks, blocks - *work.coded_total);
  WriteBlock(x + b * kBlock, BlockLength(n, b), plan[b], out + tables.coded + work.offset[b]);
}

template <typename T>
__global__ void ReadKernel(const uint8_t* in, uint64_t in_size, uint64_t n, uint64_t blocks, bool random, Work work, T* x) {
  const uint64_t b = Thread();
  if (b >= blocks) return;
  const Found<T> found = FindBlock<T>(in, in_size, blocks, random, work, b);
  if (found.at == nullptr) return;
  if (!found.constant) {
    ReadBlock(found.at, found.size, BlockLength(n, b), x + b * kBlock);
    return;
  }
  const T median = FromBits<T>(LoadBig<WordOf<T>>(found.at));
  for (uint32_t i = 0; i < BlockLength(n, b); ++i) x[b * kBlock + i] = median;
}

template <typename T>
int Compress(const szarena_problem& p, const T* x, uint8_t* out, uint8_t* workspace, szarena_payload* payload, cudaStream_t stream) {
  const Work work(p, workspace);
  const uint64_t blocks = Blocks(p);
  const bool random = p.mode == SZARENA_MODE_RANDOM_ACCESS;
  auto* plan = reinterpret_cast<Plan<T>*>(work.plans);
  if (blocks == 0) {
    EmptyKernel<<<1, 1, 0, stream>>>(random, Type<T>::kVersion, out, payload);
  } else {
    PlanKernel<<<Grid(blocks), kThreads, 0, stream>>>(x, p.n, blocks, Bound<T>(p.abs_bound), work, plan);
    ScanIndex(p, work, stream);
    ScanOffset(p, work, stream);
    WriteTablesKernel<<<TableGrid(blocks), kTableThreads, 0, stream>>>(work, plan, blocks, random, out, payload);
    WriteKernel<<<Grid(blocks), kThreads, 0, stream>>>(x, p.n, blocks, random, work, plan, out);
  }
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

template <typename T>
int Decompress(const szarena_problem& p, const uint8_t* in, uint64_t in_size, T* x, uint8_t* workspace, cudaStream_t stream) {
  const Work work(p, workspace);
  const uint64_t blocks = Blocks(p);
  if (blocks == 0) return SZARENA_OK;
  ReadTables<T>(p, in, in_size, work, stream);
  ReadKernel<<<Grid(blocks), kThreads, 0, stream>>>(in, in_size, p.n, blocks, p.mode == SZARENA_MODE_RANDOM_ACCESS, work, x);
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

}  // namespace

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem* p) { return Work(*p, nullptr).bytes; }

extern "C" int szarena_cuda_compress(const szarena_problem* p, const void* input, void* output, uint64_t capacity, void* workspace,
                                     uint64_t, szarena_payload* payload, szarena_stream stream) {
  if (capacity < MaxPayload(*p)) return SZARENA_CAPACITY;
  auto* out = static_cast<uint8_t*>(output);
  auto* work = static_cast<uint8_t*>(workspace);
  return p->dtype == SZARENA_F32 ? Compress(*p, static_cast<const float*>(input), out, work, payload, stream)
                                 : Compress(*p, static_cast<const double*>(input), out, work, payload, stream);
}

extern "C" int szarena_cuda_decompress(const szarena_problem* p, const void* payload, uint64_t size, void* output, void* workspace,
                                       uint64_t, szarena_stream stream) {
  if (size < (p->mode == SZARENA_MODE_RANDOM_ACCESS ? 20 : 13)) return SZARENA_CORRUPT;
  const auto* in = static_cast<const uint8_t*>(payload);
  auto* work = static_cast<uint8_t*>(workspace);
  return p->dtype == SZARENA_F32 ? Decompress(*p, in, size, static_cast<float*>(output), work, stream)
                                 : Decompress(*p, in, size, static_cast<double*>(output), work, stream);
}
