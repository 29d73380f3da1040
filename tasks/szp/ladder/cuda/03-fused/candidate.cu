// SPDX-License-Identifier: Apache-2.0
// SZp, step 3: a thread codes a whole block in its registers. Values are read twice, once for the size of the block, once to
// write it; the offsets between come from a parallel scan.
#include "scan.cuh"
#include "szp.cuh"

namespace {

constexpr uint32_t kThreads = 128;

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

struct Coded {
  uint32_t magnitude[kBlock];
  uint32_t negative = 0;
  uint32_t rest = 0;
  bool raw = false;
};

template <typename T>
__device__ Coded Code(const T* x, uint64_t begin, uint64_t n, uint32_t mode, const Bound<T>& bound) {
  Coded result;
  int32_t previous = 0;
#pragma unroll
  for (uint32_t i = 0; i < kBlock; ++i) {
    result.magnitude[i] = 0;
    if (begin + i >= n) continue;
    int32_t code;
    result.raw |= !Quantise(x[begin + i], bound, code);
    const int32_t d = code - previous;
    if (mode != SZARENA_MODE_FIXED) previous = code;
    result.magnitude[i] = static_cast<uint32_t>(d < 0 ? -d : d);
    result.negative |= static_cast<uint32_t>(d < 0) << i;
    if (i > 0) result.rest |= result.magnitude[i];
  }
  return result;
}

template <typename T>
__global__ void SizeKernel(const T* x, uint64_t n, uint64_t blocks, uint64_t rate_bytes, uint32_t mode, Bound<T> bound, uint8_t* rate_byte,
                           uint32_t* size) {
  const uint64_t b = Index();
  if (b >= rate_bytes) return;
  if (b >= blocks) {
    rate_byte[b] = 0;
    return;
  }
  const Coded coded = Code(x, b * kBlock, n, mode, bound);
  const Form form = ChooseForm(mode, coded.magnitude[0], coded.rest);
  rate_byte[b] = static_cast<uint8_t>(coded.raw ? kRaw : form.rate_byte);
  size[b] = coded.raw ? kBlock * static_cast<uint32_t>(sizeof(T)) : form.bytes();
}

template <typename T>
__global__ void WriteKernel(const T* x, uint64_t n, uint64_t blocks, uint32_t mode, Bound<T> bound, const uint64_t* offset,
                            const uint64_t* total, uint8_t* out, szarena_payload* payload) {
  const uint64_t b = Index();
  if (b == 0) *payload = {0, *total};
  if (b >= blocks) return;
  uint8_t* to = out + offset[b];
  if (out[b] == kRaw) {
    for (uint32_t i = 0; i < kBlock; ++i) {
      const T value = b * kBlock + i < n ? x[b * kBlock + i] : T(0);
      for (uint32_t k = 0; k < sizeof(T); ++k) to[i * sizeof(T) + k] = reinterpret_cast<const uint8_t*>(&value)[k];
    }
    return;
  }
  const Coded coded = Code(x, b * kBlock, n, mode, bound);
  WriteCoded(ChooseForm(mode, coded.magnitude[0], coded.rest), coded.magnitude, coded.negative, to);
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
  const uint64_t b = Index();
  if (b >= blocks || offset[b] + size[b] > in_size) return;
  const uint8_t* from = in + offset[b];
  if (in[b] == kRaw) {
    for (uint32_t i = 0; i < kBlock && b * kBlock + i < n; ++i) {
      T value;
      for (uint32_t k = 0; k < sizeof(T); ++k) reinterpret_cast<uint8_t*>(&value)[k] = from[i * sizeof(T) + k];
      x[b * kBlock + i] = value;
    }
    return;
  }
  int32_t code[kBlock];
  ReadCoded(mode, in[b], from, code);
  for (uint32_t i = 0; i < kBlock && b * kBlock + i < n; ++i) x[b * kBlock + i] = Restore(code[i], bound);
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
    SizeKernel<<<Grid(RateBytes(p)), kThreads, 0, stream>>>(input, p.n, blocks, RateBytes(p), p.mode, bound, output, size);
    Scan(size, blocks, RateBytes(p), chunks, offset, total, stream);
    WriteKernel<<<Grid(blocks), kThreads, 0, stream>>>(input, p.n, blocks, p.mode, bound, offset, total, output, payload);
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
  ReadKernel<<<Grid(blocks), kThreads, 0, stream>>>(in, in_size, size, offset, p.n, blocks, p.mode, Bound<T>(p.abs_bound), output);
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
