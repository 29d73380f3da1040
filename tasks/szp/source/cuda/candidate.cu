// SPDX-License-Identifier: Apache-2.0
// SZp in plain CUDA: a thread codes a block.
#include <cmath>
#include <cstdint>

#include "szarena_candidate_cuda.h"

namespace {

constexpr uint32_t kBlock = 32;
constexpr uint32_t kRaw = 0x3F;      // rate byte of a block stored as it is
constexpr uint32_t kOutlier = 0x80;  // rate byte with the first difference kept apart

inline uint64_t Blocks(const szarena_problem& p) { return p.n / kBlock + (p.n % kBlock != 0); }
inline uint64_t RateBytes(const szarena_problem& p) { return (Blocks(p) + p.pad_blocks - 1) / p.pad_blocks * p.pad_blocks; }
inline uint64_t ValueBytes(const szarena_problem& p) { return p.dtype == SZARENA_F32 ? 4 : 8; }
inline uint64_t MaxPayload(const szarena_problem& p) { return RateBytes(p) + Blocks(p) * kBlock * ValueBytes(p); }

// The bound in the data's type, and what the quantiser needs.
template <typename T>
struct Bound {
  explicit Bound(double bound) : e(static_cast<T>(bound)) {
    if (static_cast<double>(e) > bound) e = std::nextafter(e, T(0));
    scale = T(0.5) / e;
  }
  T e;
  T scale;
};

// |x - y| <= e, exactly: the rounded difference decides unless it equals e, then what it lost does.
template <typename T>
__host__ __device__ inline bool Within(T x, T y, T e) {
  const T d = x - y;
  const T a = d < T(0) ? -d : d;
  if (a < e) return true;
  if (!(a == e) || a - a != T(0)) return false;
  const T seen = d - x;
  const T lost = (x - (d - seen)) + (-y - seen);
  return d > T(0) ? lost <= T(0) : d < T(0) ? lost >= T(0) : lost == T(0);
}

// The code of a value; false where the value must be stored as it is.
template <typename T>
__host__ __device__ inline bool Quantise(T x, const Bound<T>& bound, int32_t& code) {
  const T limit = sizeof(T) == 4 ? T(1 << 24) : T(1 << 30);
  const T t = x * bound.scale;
  const T q = trunc(t + T(0.5)) - (t < T(-0.5) ? T(1) : T(0));
  code = 0;
  if (!(fabs(q) < limit)) return false;
  code = static_cast<int32_t>(q);
  return Within(x, (q * bound.e) * T(2), bound.e);
}

template <typename T>
__host__ __device__ inline T Restore(int32_t code, const Bound<T>& bound) {
  return (static_cast<T>(code) * bound.e) * T(2);
}

__host__ __device__ inline uint32_t BitLength(uint32_t v) {
#ifdef __CUDA_ARCH__
  return 32 - __clz(static_cast<int>(v));
#else
  return v == 0 ? 0 : 32 - static_cast<uint32_t>(__builtin_clz(v));
#endif
}

// How a block of these magnitudes is coded.
struct Form {
  uint32_t rate_byte, planes, first_bytes;  // first_bytes: of the first difference where it is kept apart
  __host__ __device__ uint32_t bytes() const { return rate_byte == 0 ? 0 : first_bytes + 4 + 4 * planes; }
};
__host__ __device__ inline Form ChooseForm(uint32_t mode, uint32_t first, uint32_t rest) {
  const uint32_t rate = BitLength(first | rest);
  if (mode == SZARENA_MODE_OUTLIER) {
    const uint32_t rest_rate = BitLength(rest);
    const uint32_t first_bytes = (BitLength(first) + 7) / 8;
    if ((rate == 0 ? 0 : 4 + 4 * rate) > 4 + 4 * rest_rate + first_bytes) {
      return {kOutlier | (first_bytes - 1) << 5 | rest_rate, rest_rate, first_bytes};
    }
  }
  return {rate, rate, 0};
}

// Bytes of a block's payload by rate byte; kInvalid where no stream may have it.
constexpr uint32_t kInvalid = 0xFFFFFFFF;
__host__ __device__ inline uint32_t PayloadBytes(uint32_t mode, uint32_t value_bytes, uint32_t rate_byte) {
  if (rate_byte == kRaw) return kBlock * value_bytes;
  if (rate_byte <= 31) return rate_byte == 0 ? 0 : 4 + 4 * rate_byte;
  if (rate_byte < kOutlier || mode != SZARENA_MODE_OUTLIER) return kInvalid;
  return 1 + (rate_byte >> 5 & 3) + 4 + 4 * (rate_byte & 31);
}

// Writes one block's payload: codes' magnitudes and signs (bit i: difference i is negative).
__host__ __device__ inline void WriteCoded(const Form& form, const uint32_t* magnitude, uint32_t negative, uint8_t* out) {
  if (form.rate_byte == 0) return;
  for (uint32_t k = 0; k < form.first_bytes; ++k) *out++ = static_cast<uint8_t>(magnitude[0] >> 8 * k);
  for (uint32_t plane = 0; plane <= form.planes; ++plane) {
    for (uint32_t byte = 0; byte < 4; ++byte) {
      uint32_t bits = 0;
      for (uint32_t k = 0; k < 8; ++k) {
        const uint32_t i = 8 * byte + k;
        const uint32_t m = form.first_bytes > 0 && i == 0 ? 0 : magnitude[i];
        bits |= (plane == 0 ? negative >> i & 1 : m >> (plane - 1) & 1) << (7 - k);
      }
      *out++ = static_cast<uint8_t>(bits);
    }
  }
}

// Reads one coded block (not a raw one): the values' codes.
__host__ __device__ inline void ReadCoded(uint32_t mode, uint32_t rate_byte, const uint8_t* in, int32_t* code) {
  uint32_t first = 0;
  const bool apart = rate_byte >= kOutlier;
  if (apart) {
    const uint32_t first_bytes = 1 + (rate_byte >> 5 & 3);
    for (uint32_t k = 0; k < first_bytes; ++k) first |= static_cast<uint32_t>(*in++) << 8 * k;
  }
  uint32_t sum = 0;
  for (uint32_t i = 0; i < kBlock; ++i) {
    const uint32_t shift = 7 - i % 8;
    uint32_t m = 0;
    for (uint32_t plane = 0; plane < (rate_byte & 31); ++plane) {
      m |= static_cast<uint32_t>(in[4 + 4 * plane + i / 8] >> shift & 1) << plane;
    }
    if (apart && i == 0) m = first;
    const uint32_t d = rate_byte != 0 && (in[i / 8] >> shift & 1) != 0 ? 0 - m : m;
    sum = mode == SZARENA_MODE_FIXED ? d : sum + d;
    code[i] = static_cast<int32_t>(sum);
  }
}

constexpr uint32_t kThreads = 128;
constexpr uint32_t kScanThreads = 1024;

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
    offsets = add((Blocks(p) + 1) * 8);
  }
  uint64_t sizes, offsets, size = 0;
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
  const Coded coded = Code(x, b * kBlock, n, mode, bound);
  WriteCoded(ChooseForm(mode, coded.magnitude[0], coded.rest), coded.magnitude, coded.negative, to);
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
  const Bound<T> bound(p.abs_bound);
  if (blocks > 0) {
    SizeKernel<<<Grid(RateBytes(p)), kThreads, 0, stream>>>(input, p.n, blocks, RateBytes(p), p.mode, bound, output, size);
  }
  ScanKernel<<<1, kScanThreads, 0, stream>>>(size, blocks, RateBytes(p), offset, payload);
  if (blocks > 0) WriteKernel<<<Grid(blocks), kThreads, 0, stream>>>(input, p.n, blocks, p.mode, bound, offset, output);
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

template <typename T>
int Decompress(const szarena_problem& p, const uint8_t* in, uint64_t in_size, T* output, uint8_t* workspace, cudaStream_t stream) {
  const Layout layout(p);
  const uint64_t blocks = Blocks(p);
  if (blocks == 0) return SZARENA_OK;
  auto* size = reinterpret_cast<uint32_t*>(workspace + layout.sizes);
  auto* offset = reinterpret_cast<uint64_t*>(workspace + layout.offsets);
  RateSizeKernel<<<Grid(blocks), kThreads, 0, stream>>>(in, blocks, p.mode, sizeof(T), size);
  ScanKernel<<<1, kScanThreads, 0, stream>>>(size, blocks, RateBytes(p), offset, nullptr);
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
