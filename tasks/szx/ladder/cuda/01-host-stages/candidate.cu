// SPDX-License-Identifier: Apache-2.0
// SZx, step 1: the obvious translation. The extremes of the blocks are found by a kernel, constant blocks are filled by one;
// everything else stays on the host, with the data copied back and forth.
#include <vector>

#include "szx.cuh"

namespace {

constexpr uint32_t kThreads = 128;

template <typename T>
struct Extremes {
  T low, high;
  int finite;
};

template <typename T>
__global__ void ExtremesKernel(const T* x, uint64_t n, uint64_t blocks, Extremes<T>* extremes) {
  const uint64_t b = blockIdx.x * uint64_t(kThreads) + threadIdx.x;
  if (b >= blocks) return;
  Extremes<T> e = {x[b * kBlock], x[b * kBlock], 1};
  for (uint32_t i = 0; i < BlockLength(n, b); ++i) {
    const T v = x[b * kBlock + i];
    if (!IsFinite(v)) e.finite = 0;
    if (v < e.low) e.low = v;
    if (v > e.high) e.high = v;
  }
  extremes[b] = e;
}

template <typename T>
__global__ void FillKernel(const T* median, const uint8_t* constant, uint64_t n, T* x) {
  const uint64_t i = blockIdx.x * uint64_t(kThreads) + threadIdx.x;
  if (i < n && constant[i / kBlock] != 0) x[i] = median[i / kBlock];
}

uint32_t Grid(uint64_t n) { return static_cast<uint32_t>((n + kThreads - 1) / kThreads); }

template <typename T>
int Compress(const szarena_problem& p, const T* d_input, uint8_t* d_output, uint64_t capacity, uint8_t* workspace,
             szarena_payload* d_payload, cudaStream_t stream) {
  const Bound<T> bound(p.abs_bound);
  const bool random = p.mode == SZARENA_MODE_RANDOM_ACCESS;
  const uint64_t blocks = Blocks(p);
  std::vector<T> x(p.n);
  std::vector<Extremes<T>> extremes(blocks);
  if (blocks > 0) {
    auto* d_extremes = reinterpret_cast<Extremes<T>*>(workspace);
    ExtremesKernel<<<Grid(blocks), kThreads, 0, stream>>>(d_input, p.n, blocks, d_extremes);
    cudaMemcpyAsync(extremes.data(), d_extremes, blocks * sizeof(Extremes<T>), cudaMemcpyDeviceToHost, stream);
    cudaMemcpyAsync(x.data(), d_input, p.n * sizeof(T), cudaMemcpyDeviceToHost, stream);
    if (cudaStreamSynchronize(stream) != cudaSuccess) return SZARENA_FAILED;
  }
  std::vector<Plan<T>> plans;
  uint64_t constant = 0;
  for (uint64_t b = 0; b < blocks; ++b) {
    Plan<T> plan = extremes[b].finite != 0 ? PlanFromRange(extremes[b].low, extremes[b].high, bound) : ExactPlan(T(-0.0));
    for (uint32_t i = 0; i < BlockLength(p.n, b); ++i) {
      if (Holds(plan, x[b * kBlock + i], bound.e)) continue;
      plan = ExactPlan(T(-0.0));
      break;
    }
    constant += plan.constant;
    plans.push_back(plan);
  }
  const Tables tables(random, sizeof(T), blocks, constant);
  std::vector<uint8_t> output(MaxPayload(p) + constant * sizeof(T));
  WriteHeader(random, Type<T>::kVersion, constant, output.data());
  uint64_t sizes = tables.sizes;
  uint64_t medians = tables.medians;
  uint64_t at = tables.coded;
  for (uint64_t b = 0; b < blocks; ++b) {
    if (plans[b].constant) {
      StoreBig(&output[medians], BitsOf(plans[b].median));
      medians += sizeof(T);
      continue;
    }
    output[tables.states + b / 8] |= static_cast<uint8_t>(0x80 >> (b % 8));
    const uint32_t size = CodedBytes(&x[b * kBlock], BlockLength(p.n, b), plans[b]);
    WriteBlock(&x[b * kBlock], BlockLength(p.n, b), plans[b], &output[at]);
    at += size;
    if (random) {
      output[sizes++] = static_cast<uint8_t>(size);
      output[sizes++] = static_cast<uint8_t>(size >> 8);
    }
  }
  if (at > capacity) return SZARENA_CAPACITY;
  const szarena_payload payload = {0, at};
  cudaMemcpyAsync(d_output, output.data(), at, cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(d_payload, &payload, sizeof payload, cudaMemcpyHostToDevice, stream);
  return cudaStreamSynchronize(stream) == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

template <typename T>
int Decompress(const szarena_problem& p, const uint8_t* d_payload, uint64_t size, T* d_output, uint8_t* workspace, cudaStream_t stream) {
  const bool random = p.mode == SZARENA_MODE_RANDOM_ACCESS;
  const uint64_t blocks = Blocks(p);
  std::vector<uint8_t> in(size);
  cudaMemcpyAsync(in.data(), d_payload, size, cudaMemcpyDeviceToHost, stream);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return SZARENA_FAILED;
  if (size < 20 || !HeaderFits(in.data(), random, Type<T>::kVersion)) {
    if (size < 13 || random || !HeaderFits(in.data(), random, Type<T>::kVersion)) return SZARENA_CORRUPT;
  }
  const uint64_t constants = LoadBig<uint64_t>(&in[random ? 12 : 5]);
  if (constants > blocks) return SZARENA_CORRUPT;
  const Tables tables(random, sizeof(T), blocks, constants);
  if (tables.coded > size) return SZARENA_CORRUPT;
  std::vector<T> x(p.n);
  std::vector<T> median(blocks);
  std::vector<uint8_t> constant(blocks);
  uint64_t medians = tables.medians;
  uint64_t at = tables.coded;
  for (uint64_t b = 0; b < blocks; ++b) {
    if ((in[tables.states + b / 8] & 0x80 >> (b % 8)) == 0) {
      if (medians + sizeof(T) > tables.coded) return SZARENA_CORRUPT;
      constant[b] = 1;
      median[b] = FromBits<T>(LoadBig<WordOf<T>>(&in[medians]));
      medians += sizeof(T);
      continue;
    }
    const uint64_t bytes = at < size ? ReadBlock(&in[at], size - at, BlockLength(p.n, b), &x[b * kBlock]) : 0;
    if (bytes == 0) return SZARENA_CORRUPT;
    at += bytes;
  }
  if (at != size) return SZARENA_CORRUPT;
  if (p.n == 0) return SZARENA_OK;
  auto* d_median = reinterpret_cast<T*>(workspace);
  uint8_t* d_constant = workspace + blocks * sizeof(T);
  cudaMemcpyAsync(d_output, x.data(), p.n * sizeof(T), cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(d_median, median.data(), blocks * sizeof(T), cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(d_constant, constant.data(), blocks, cudaMemcpyHostToDevice, stream);
  FillKernel<<<Grid(p.n), kThreads, 0, stream>>>(d_median, d_constant, p.n, d_output);
  return cudaStreamSynchronize(stream) == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

}  // namespace

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem* p) { return Blocks(*p) * sizeof(Extremes<double>) + 256; }

extern "C" int szarena_cuda_compress(const szarena_problem* p, const void* input, void* output, uint64_t capacity, void* workspace,
                                     uint64_t, szarena_payload* payload, szarena_stream stream) {
  auto* out = static_cast<uint8_t*>(output);
  auto* work = static_cast<uint8_t*>(workspace);
  return p->dtype == SZARENA_F32 ? Compress(*p, static_cast<const float*>(input), out, capacity, work, payload, stream)
                                 : Compress(*p, static_cast<const double*>(input), out, capacity, work, payload, stream);
}

extern "C" int szarena_cuda_decompress(const szarena_problem* p, const void* payload, uint64_t size, void* output, void* workspace,
                                       uint64_t, szarena_stream stream) {
  const auto* in = static_cast<const uint8_t*>(payload);
  auto* work = static_cast<uint8_t*>(workspace);
  return p->dtype == SZARENA_F32 ? Decompress(*p, in, size, static_cast<float*>(output), work, stream)
                                 : Decompress(*p, in, size, static_cast<double*>(output), work, stream);
}
