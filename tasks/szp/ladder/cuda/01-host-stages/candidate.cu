// SPDX-License-Identifier: Apache-2.0
// SZp, step 1: the obvious translation. The quantiser is a kernel; everything behind it stays on the host, with the data
// copied back and forth.
#include <cstring>
#include <vector>

#include "szp.cuh"

namespace {

constexpr uint32_t kThreads = 256;

template <typename T>
__global__ void QuantiseKernel(const T* x, uint64_t n, Bound<T> bound, int32_t* code, uint8_t* accepted) {
  const uint64_t i = blockIdx.x * uint64_t(kThreads) + threadIdx.x;
  if (i < n) accepted[i] = Quantise(x[i], bound, code[i]);
}

template <typename T>
__global__ void RestoreKernel(const int32_t* code, const T* raw, const uint8_t* rate_byte, uint64_t n, Bound<T> bound, T* x) {
  const uint64_t i = blockIdx.x * uint64_t(kThreads) + threadIdx.x;
  if (i < n) x[i] = rate_byte[i / kBlock] == kRaw ? raw[i] : Restore(code[i], bound);
}

uint32_t Grid(uint64_t n) { return static_cast<uint32_t>((n + kThreads - 1) / kThreads); }

// The workspace: codes and a byte a value, or codes, raw values and rate bytes.
struct Layout {
  explicit Layout(const szarena_problem& p) {
    codes = 0;
    values = (codes + p.n * 4 + 255) / 256 * 256;
    flags = (values + p.n * ValueBytes(p) + 255) / 256 * 256;
    size = flags + p.n + 256;
  }
  uint64_t codes, values, flags, size;
};

template <typename T>
int Compress(const szarena_problem& p, const T* d_input, uint8_t* d_output, uint64_t capacity, uint8_t* workspace,
             szarena_payload* d_payload, cudaStream_t stream) {
  const Layout layout(p);
  auto* d_code = reinterpret_cast<int32_t*>(workspace + layout.codes);
  uint8_t* d_accepted = workspace + layout.flags;
  std::vector<int32_t> code(p.n);
  std::vector<uint8_t> accepted(p.n);
  std::vector<T> input(p.n);
  if (p.n > 0) {
    QuantiseKernel<<<Grid(p.n), kThreads, 0, stream>>>(d_input, p.n, Bound<T>(p.abs_bound), d_code, d_accepted);
    cudaMemcpyAsync(code.data(), d_code, p.n * 4, cudaMemcpyDeviceToHost, stream);
    cudaMemcpyAsync(accepted.data(), d_accepted, p.n, cudaMemcpyDeviceToHost, stream);
    cudaMemcpyAsync(input.data(), d_input, p.n * sizeof(T), cudaMemcpyDeviceToHost, stream);
    if (cudaStreamSynchronize(stream) != cudaSuccess) return SZARENA_FAILED;
  }
  std::vector<uint8_t> output(MaxPayload(p));
  uint64_t used = RateBytes(p);
  for (uint64_t b = 0; b < Blocks(p); ++b) {
    const uint64_t begin = b * kBlock;
    const uint64_t m = p.n - begin < kBlock ? p.n - begin : kBlock;
    uint32_t magnitude[kBlock] = {};
    uint32_t negative = 0;
    uint32_t rest = 0;
    bool raw = false;
    int32_t previous = 0;
    for (uint64_t i = 0; i < m; ++i) {
      raw |= accepted[begin + i] == 0;
      const int32_t d = code[begin + i] - previous;
      if (p.mode != SZARENA_MODE_FIXED) previous = code[begin + i];
      negative |= uint32_t(d < 0) << i;
      magnitude[i] = static_cast<uint32_t>(d < 0 ? -d : d);
      if (i > 0) rest |= magnitude[i];
    }
    if (raw) {
      output[b] = kRaw;
      std::memcpy(output.data() + used, input.data() + begin, m * sizeof(T));
      used += kBlock * sizeof(T);
      continue;
    }
    const Form form = ChooseForm(p.mode, magnitude[0], rest);
    output[b] = static_cast<uint8_t>(form.rate_byte);
    WriteCoded(form, magnitude, negative, output.data() + used);
    used += form.bytes();
  }
  if (used > capacity) return SZARENA_CAPACITY;
  const szarena_payload payload = {0, used};
  cudaMemcpyAsync(d_output, output.data(), used, cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(d_payload, &payload, sizeof payload, cudaMemcpyHostToDevice, stream);
  return cudaStreamSynchronize(stream) == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

template <typename T>
int Decompress(const szarena_problem& p, const uint8_t* d_payload, uint64_t size, T* d_output, uint8_t* workspace, cudaStream_t stream) {
  const Layout layout(p);
  std::vector<uint8_t> in(size);
  cudaMemcpyAsync(in.data(), d_payload, size, cudaMemcpyDeviceToHost, stream);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return SZARENA_FAILED;
  std::vector<int32_t> code(Blocks(p) * kBlock);
  std::vector<T> raw(Blocks(p) * kBlock);
  uint64_t at = RateBytes(p);
  if (size < at) return SZARENA_CORRUPT;
  for (uint64_t b = 0; b < Blocks(p); ++b) {
    const uint64_t bytes = PayloadBytes(p.mode, sizeof(T), in[b]);
    if (bytes > size - at) return SZARENA_CORRUPT;
    if (in[b] == kRaw) {
      std::memcpy(&raw[b * kBlock], &in[at], kBlock * sizeof(T));
    } else {
      ReadCoded(p.mode, in[b], in.data() + at, &code[b * kBlock]);
    }
    at += bytes;
  }
  if (at != size) return SZARENA_CORRUPT;
  if (p.n == 0) return SZARENA_OK;
  auto* d_code = reinterpret_cast<int32_t*>(workspace + layout.codes);
  auto* d_raw = reinterpret_cast<T*>(workspace + layout.values);
  cudaMemcpyAsync(d_code, code.data(), p.n * 4, cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(d_raw, raw.data(), p.n * sizeof(T), cudaMemcpyHostToDevice, stream);
  RestoreKernel<<<Grid(p.n), kThreads, 0, stream>>>(d_code, d_raw, d_payload, p.n, Bound<T>(p.abs_bound), d_output);
  return cudaStreamSynchronize(stream) == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

}  // namespace

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem* p) { return Layout(*p).size; }

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
