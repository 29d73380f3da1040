// SPDX-License-Identifier: Apache-2.0
// SZp, step 4: a warp works on a block, so that neighbouring lanes read neighbouring values and ballots make the bit planes.
// Still two passes with a scan between.
#include "scan.cuh"
#include "warp.cuh"

namespace {

constexpr uint32_t kThreads = 256;

uint32_t Grid(uint64_t n) { return static_cast<uint32_t>((n + kThreads - 1) / kThreads); }
__device__ uint64_t Index() { return blockIdx.x * uint64_t(kThreads) + threadIdx.x; }

struct Layout {
  explicit Layout(const szarena_problem& p) {
    const auto add = [&](uint64_t bytes) {
      const uint64_t at = size;
      size += (bytes + 255) / 256 * 256;
      return at;
    };
    sizes = add(Blocks(p) * 4);
    offsets = add(Blocks(p) * 8);
    chunks = add(ScanChunks(Blocks(p)) * 8);
    total = add(8);
  }
  uint64_t sizes, offsets, chunks, total, size = 0;
};

// The warp's block.
__device__ uint64_t WarpIndex() { return Index() / 32; }

template <typename T>
__global__ void SizeKernel(const T* x, uint64_t n, uint64_t blocks, uint64_t rate_bytes, uint32_t mode, Bound<T> bound, uint8_t* rate_byte,
                           uint32_t* size) {
  const uint64_t b = WarpIndex();
  if (b >= rate_bytes) return;
  if (b >= blocks) {
    if (Lane() == 0) rate_byte[b] = 0;
    return;
  }
  const uint64_t i = b * kBlock + Lane();
  const WarpBlock block = CodeByWarp(i < n ? x[i] : T(0), i < n, mode, bound);
  if (Lane() != 0) return;
  rate_byte[b] = static_cast<uint8_t>(block.rate_byte);
  size[b] = block.bytes;
}

template <typename T>
__global__ void WriteKernel(const T* x, uint64_t n, uint64_t blocks, uint32_t mode, Bound<T> bound, const uint64_t* offset,
                            const uint64_t* total, uint8_t* out, szarena_payload* payload) {
  const uint64_t b = WarpIndex();
  if (Index() == 0) *payload = {0, *total};
  if (b >= blocks) return;
  const uint64_t i = b * kBlock + Lane();
  const T value = i < n ? x[i] : T(0);
  WriteByWarp(CodeByWarp(value, i < n, mode, bound), value, out + offset[b]);
}

__global__ void EmptyKernel(szarena_payload* payload) { *payload = {0, 0}; }

__global__ void RateSizeKernel(const uint8_t* rate_byte, uint64_t blocks, uint32_t mode, uint32_t value_bytes, uint32_t* size) {
  const uint64_t b = Index();
  if (b >= blocks) return;
  const uint32_t bytes = PayloadBytes(mode, value_bytes, rate_byte[b]);
  size[b] = bytes == kInvalid ? 0 : bytes;
}

template <typename T>
__global__ void ReadKernel(const uint8_t* in, uint64_t in_size, const uint32_t* size, const uint64_t* offset, uint64_t n, uint64_t blocks,
                           uint32_t mode, Bound<T> bound, T* x) {
  const uint64_t b = WarpIndex();
  if (b >= blocks || offset[b] + size[b] > in_size) return;
  const uint64_t i = b * kBlock + Lane();
  const T value = ReadByWarp(mode, in[b], in + offset[b], bound);
  if (i < n) x[i] = value;
}

template <typename T>
int Compress(const szarena_problem& p, const T* input, uint8_t* output, uint8_t* workspace, szarena_payload* payload, cudaStream_t stream) {
  const Layout layout(p);
  const uint64_t blocks = Blocks(p);
  auto* size = reinterpret_cast<uint32_t*>(workspace + layout.sizes);
  auto* offset = reinterpret_cast<uint64_t*>(workspace + layout.offsets);
  auto* chunks = reinterpret_cast<uint64_t*>(workspace + layout.chunks);
  auto* total = reinterpret_cast<uint64_t*>(workspace + layout.total);
  if (blocks == 0) {
    EmptyKernel<<<1, 1, 0, stream>>>(payload);
  } else {
    const Bound<T> bound(p.abs_bound);
    SizeKernel<<<Grid(RateBytes(p) * 32), kThreads, 0, stream>>>(input, p.n, blocks, RateBytes(p), p.mode, bound, output, size);
    Scan(size, blocks, RateBytes(p), chunks, offset, total, stream);
    WriteKernel<<<Grid(blocks * 32), kThreads, 0, stream>>>(input, p.n, blocks, p.mode, bound, offset, total, output, payload);
  }
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

template <typename T>
int Decompress(const szarena_problem& p, const uint8_t* in, uint64_t in_size, T* output, uint8_t* workspace, cudaStream_t stream) {
  const Layout layout(p);
  const uint64_t blocks = Blocks(p);
  if (blocks == 0) return SZARENA_OK;
  auto* size = reinterpret_cast<uint32_t*>(workspace + layout.sizes);
  auto* offset = reinterpret_cast<uint64_t*>(workspace + layout.offsets);
  auto* chunks = reinterpret_cast<uint64_t*>(workspace + layout.chunks);
  auto* total = reinterpret_cast<uint64_t*>(workspace + layout.total);
  RateSizeKernel<<<Grid(blocks), kThreads, 0, stream>>>(in, blocks, p.mode, sizeof(T), size);
  Scan(size, blocks, RateBytes(p), chunks, offset, total, stream);
  ReadKernel<<<Grid(blocks * 32), kThreads, 0, stream>>>(in, in_size, size, offset, p.n, blocks, p.mode, Bound<T>(p.abs_bound), output);
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

}  // namespace

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem* p) { return Layout(*p).size; }

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
  if (size < RateBytes(*p)) return SZARENA_CORRUPT;
  const auto* in = static_cast<const uint8_t*>(payload);
  auto* work = static_cast<uint8_t*>(workspace);
  return p->dtype == SZARENA_F32 ? Decompress(*p, in, size, static_cast<float*>(output), work, stream)
                                 : Decompress(*p, in, size, static_cast<double*>(output), work, stream);
}
