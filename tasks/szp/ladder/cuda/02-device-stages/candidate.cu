// SPDX-License-Identifier: Apache-2.0
// SZp, step 2: every stage is a kernel of its own, with arrays in device memory between them.
#include "szp.cuh"

namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kScanThreads = 1024;

uint32_t Grid(uint64_t n) { return static_cast<uint32_t>((n + kThreads - 1) / kThreads); }
__device__ uint64_t Index() { return blockIdx.x * uint64_t(kThreads) + threadIdx.x; }

// The workspace, one array after another.
struct Layout {
  explicit Layout(const szarena_problem& p) {
    const auto add = [&](uint64_t bytes) {
      const uint64_t at = size;
      size += (bytes + 255) / 256 * 256;
      return at;
    };
    codes = add(Blocks(p) * kBlock * 4);
    accepted = add(Blocks(p) * kBlock);
    differences = add(Blocks(p) * kBlock * 4);
    sizes = add(Blocks(p) * 4);
    offsets = add((Blocks(p) + 1) * 8);
  }
  uint64_t codes, accepted, differences, sizes, offsets, size = 0;
};

template <typename T>
__global__ void QuantiseKernel(const T* x, uint64_t n, Bound<T> bound, int32_t* code, uint8_t* accepted) {
  const uint64_t i = Index();
  if (i < n) accepted[i] = Quantise(x[i], bound, code[i]);
}

__global__ void DifferenceKernel(const int32_t* code, uint64_t n, uint32_t mode, int32_t* difference) {
  const uint64_t i = Index();
  if (i < n) difference[i] = code[i] - (i % kBlock == 0 || mode == SZARENA_MODE_FIXED ? 0 : code[i - 1]);
}

struct Magnitudes {
  uint32_t m[kBlock] = {};
  uint32_t negative = 0;
  uint32_t rest = 0;  // all but the first one
};

__device__ Magnitudes Split(const int32_t* difference, uint64_t begin, uint64_t n) {
  Magnitudes result;
  for (uint32_t i = 0; i < kBlock && begin + i < n; ++i) {
    const int32_t d = difference[begin + i];
    result.m[i] = static_cast<uint32_t>(d < 0 ? -d : d);
    result.negative |= static_cast<uint32_t>(d < 0) << i;
    if (i > 0) result.rest |= result.m[i];
  }
  return result;
}

// Rate byte and size of every block; 0 in the padding.
__global__ void RateKernel(const int32_t* difference, const uint8_t* accepted, uint64_t n, uint64_t blocks, uint64_t rate_bytes,
                           uint32_t mode, uint32_t value_bytes, uint8_t* rate_byte, uint32_t* size) {
  const uint64_t b = Index();
  if (b >= rate_bytes) return;
  rate_byte[b] = 0;
  if (b >= blocks) return;
  bool raw = false;
  for (uint64_t i = b * kBlock; i < (b + 1) * kBlock && i < n; ++i) raw |= accepted[i] == 0;
  const Magnitudes magnitudes = Split(difference, b * kBlock, n);
  const Form form = ChooseForm(mode, magnitudes.m[0], magnitudes.rest);
  rate_byte[b] = static_cast<uint8_t>(raw ? kRaw : form.rate_byte);
  size[b] = raw ? kBlock * value_bytes : form.bytes();
}

// Sizes from rate bytes, for the way back.
__global__ void SizeKernel(const uint8_t* rate_byte, uint64_t blocks, uint32_t mode, uint32_t value_bytes, uint32_t* size) {
  const uint64_t b = Index();
  if (b >= blocks) return;
  const uint32_t bytes = PayloadBytes(mode, value_bytes, rate_byte[b]);
  size[b] = bytes == kInvalid ? 0 : bytes;
}

// offset[b] = first + size[0] + ... + size[b - 1], on one thread block.
__global__ void ScanKernel(const uint32_t* size, uint64_t blocks, uint64_t first, uint64_t* offset, szarena_payload* payload) {
  __shared__ uint64_t sums[kScanThreads];
  const uint64_t share = (blocks + kScanThreads - 1) / kScanThreads;
  const uint64_t begin = threadIdx.x * share;
  const uint64_t end = begin + share < blocks ? begin + share : blocks;
  uint64_t sum = 0;
  for (uint64_t b = begin; b < end; ++b) sum += size[b];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    uint64_t running = first;
    for (uint32_t k = 0; k < kScanThreads; ++k) {
      const uint64_t own = sums[k];
      sums[k] = running;
      running += own;
    }
    offset[blocks] = running;
    if (payload != nullptr) *payload = {0, running};
  }
  __syncthreads();
  uint64_t running = sums[threadIdx.x];
  for (uint64_t b = begin; b < end; ++b) {
    offset[b] = running;
    running += size[b];
  }
}

template <typename T>
__global__ void PackKernel(const T* x, const int32_t* difference, const uint64_t* offset, uint64_t n, uint64_t blocks, uint32_t mode,
                           uint8_t* out) {
  const uint64_t b = Index();
  if (b >= blocks) return;
  uint8_t* to = out + offset[b];
  if (out[b] == kRaw) {
    for (uint32_t i = 0; i < kBlock; ++i) {
      const T value = b * kBlock + i < n ? x[b * kBlock + i] : T(0);
      for (uint32_t k = 0; k < sizeof(T); ++k) to[i * sizeof(T) + k] = reinterpret_cast<const uint8_t*>(&value)[k];
    }
    return;
  }
  const Magnitudes magnitudes = Split(difference, b * kBlock, n);
  WriteCoded(ChooseForm(mode, magnitudes.m[0], magnitudes.rest), magnitudes.m, magnitudes.negative, to);
}

// Codes of coded blocks, values of raw ones.
template <typename T>
__global__ void UnpackKernel(const uint8_t* in, uint64_t in_size, const uint64_t* offset, uint64_t n, uint64_t blocks, uint32_t mode,
                             int32_t* code, T* x) {
  const uint64_t b = Index();
  if (b >= blocks || offset[b + 1] > in_size) return;
  const uint8_t* from = in + offset[b];
  if (in[b] == kRaw) {
    for (uint32_t i = 0; i < kBlock && b * kBlock + i < n; ++i) {
      T value;
      for (uint32_t k = 0; k < sizeof(T); ++k) reinterpret_cast<uint8_t*>(&value)[k] = from[i * sizeof(T) + k];
      x[b * kBlock + i] = value;
    }
    return;
  }
  ReadCoded(mode, in[b], from, code + b * kBlock);
}

template <typename T>
__global__ void RestoreKernel(const int32_t* code, const uint8_t* rate_byte, uint64_t n, Bound<T> bound, T* x) {
  const uint64_t i = Index();
  if (i < n && rate_byte[i / kBlock] != kRaw) x[i] = Restore(code[i], bound);
}

template <typename T>
int Compress(const szarena_problem& p, const T* input, uint8_t* output, uint8_t* workspace, szarena_payload* payload, cudaStream_t stream) {
  const Layout layout(p);
  const uint64_t blocks = Blocks(p);
  auto* code = reinterpret_cast<int32_t*>(workspace + layout.codes);
  uint8_t* accepted = workspace + layout.accepted;
  auto* difference = reinterpret_cast<int32_t*>(workspace + layout.differences);
  auto* size = reinterpret_cast<uint32_t*>(workspace + layout.sizes);
  auto* offset = reinterpret_cast<uint64_t*>(workspace + layout.offsets);
  if (blocks > 0) {
    QuantiseKernel<<<Grid(p.n), kThreads, 0, stream>>>(input, p.n, Bound<T>(p.abs_bound), code, accepted);
    DifferenceKernel<<<Grid(p.n), kThreads, 0, stream>>>(code, p.n, p.mode, difference);
    RateKernel<<<Grid(RateBytes(p)), kThreads, 0, stream>>>(difference, accepted, p.n, blocks, RateBytes(p), p.mode, sizeof(T), output, size);
  }
  ScanKernel<<<1, kScanThreads, 0, stream>>>(size, blocks, RateBytes(p), offset, payload);
  if (blocks > 0) PackKernel<<<Grid(blocks), kThreads, 0, stream>>>(input, difference, offset, p.n, blocks, p.mode, output);
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

template <typename T>
int Decompress(const szarena_problem& p, const uint8_t* in, uint64_t in_size, T* output, uint8_t* workspace, cudaStream_t stream) {
  const Layout layout(p);
  const uint64_t blocks = Blocks(p);
  if (blocks == 0) return SZARENA_OK;
  auto* code = reinterpret_cast<int32_t*>(workspace + layout.codes);
  auto* size = reinterpret_cast<uint32_t*>(workspace + layout.sizes);
  auto* offset = reinterpret_cast<uint64_t*>(workspace + layout.offsets);
  SizeKernel<<<Grid(blocks), kThreads, 0, stream>>>(in, blocks, p.mode, sizeof(T), size);
  ScanKernel<<<1, kScanThreads, 0, stream>>>(size, blocks, RateBytes(p), offset, nullptr);
  UnpackKernel<<<Grid(blocks), kThreads, 0, stream>>>(in, in_size, offset, p.n, blocks, p.mode, code, output);
  RestoreKernel<<<Grid(p.n), kThreads, 0, stream>>>(code, in, p.n, Bound<T>(p.abs_bound), output);
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
