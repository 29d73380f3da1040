// SPDX-License-Identifier: Apache-2.0
// CUDA on the host, for tests: what the kernels and host code of the candidates use of it, so that
// they are compiled by the host's compiler and run where there is no GPU. A thread is a fiber;
// those of a block take turns, one at a time, and blocks run one after another in the order of
// their numbers. So results are tested, and not speed or memory models. cuda_on_host.py makes C++
// of launches and of the few PTX statements in use. Compiled with -fsanitize=thread, races between
// the threads of a block are looked for: a fiber is a thread to ThreadSanitizer, and what orders
// accesses is what orders them on a device: barriers, hand-overs, __syncwarp, atomic operations,
// the end of a block. Shuffles and votes order nothing.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

#define __CUDA_ARCH__ 900
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__
#define __grid_constant__
#define __shared__ static
#define __align__(n) alignas(n)
#define __launch_bounds__(...)

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

#ifndef __x86_64__
#error "fibers are written for x86-64 only"
#endif
extern "C" void cuda_on_host_switch(void** from, void* to) __asm__("cuda_on_host_switch");
asm(R"(
  .text
cuda_on_host_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

#ifdef __SANITIZE_THREAD__
extern "C" {
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void* __tsan_get_current_fiber();
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* at);
void __tsan_release(void* at);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace emulated {

// What ThreadSanitizer is told.
#ifdef __SANITIZE_THREAD__
// A function that goes from one fiber to another is no part of either.
#define CUDA_ON_HOST_BETWEEN __attribute__((noinline, no_sanitize_thread))
inline void Acquire(const void* at) { __tsan_acquire(const_cast<void*>(at)); }
inline void Release(const void* at) { __tsan_release(const_cast<void*>(at)); }
// While it lives, accesses are the emulation's own, or atomic.
struct Unwatched {
  Unwatched() {
    AnnotateIgnoreReadsBegin("", 0);
    AnnotateIgnoreWritesBegin("", 0);
  }
  ~Unwatched() {
    AnnotateIgnoreWritesEnd("", 0);
    AnnotateIgnoreReadsEnd("", 0);
  }
};
#else
#define CUDA_ON_HOST_BETWEEN __attribute__((noinline))
inline void Acquire(const void*) {}
inline void Release(const void*) {}
struct Unwatched {};
#endif

[[noreturn]] inline void Die(const char* what) {
  fprintf(stderr, "CUDA on the host: %s (block %u, thread %u)\n", what, blockIdx.x, threadIdx.x);
  abort();
}

constexpr size_t kStackBytes = 256 << 10;
constexpr unsigned kMostThreads = 1024;

// Lanes that have to meet: the lanes of a warp at a collective operation, the threads of a block at
// a barrier.
struct Meeting {
  uint64_t values[32] = {};
  uint64_t result[32] = {};
  uint64_t place = 0;
  uint32_t wanted = 0;
  uint32_t arrived = 0;
  uint32_t result_from = 0;
  uint64_t generation = 0;
};

using Site = std::source_location;

struct Thread {
  void* stack_pointer = nullptr;
  bool done = false;
  void* fiber = nullptr;  // ThreadSanitizer's
};

struct Machine {
  std::vector<char> stacks = std::vector<char>(kStackBytes * kMostThreads);
  Thread threads[kMostThreads];
  Meeting warps[kMostThreads / 32];
  uint32_t alive[kMostThreads / 32] = {};
  uint32_t barrier_arrived = 0;
  uint64_t barrier_generation = 0;
  unsigned count = 0;
  unsigned left = 0;
  unsigned current = 0;
  uint64_t idle = 0;  // turns without anything that others wait for
  void* scheduler = nullptr;
  void* scheduler_fiber = nullptr;
  std::function<void()> kernel;
};
inline Machine& Host() {
  static Machine machine;
  return machine;
}
// In the library itself, so that addresses in shared memory fit 32 bits.
inline unsigned char dynamic_shared[256 << 10] __attribute__((aligned(16)));

inline void BecomeFiber([[maybe_unused]] void* fiber) {
#ifdef __SANITIZE_THREAD__
  constexpr unsigned kOrdersNothing = 1;
  __tsan_switch_to_fiber(fiber, kOrdersNothing);
#endif
}
inline void* MakeFiber() {
#ifdef __SANITIZE_THREAD__
  return __tsan_create_fiber(0);
#else
  return nullptr;
#endif
}
inline void EndFiber([[maybe_unused]] void* fiber) {
#ifdef __SANITIZE_THREAD__
  __tsan_destroy_fiber(fiber);
#endif
}
inline void* ThisFiber() {
#ifdef __SANITIZE_THREAD__
  return __tsan_get_current_fiber();
#else
  return nullptr;
#endif
}

inline CUDA_ON_HOST_BETWEEN void Yield() {
  Machine& host = Host();
  const unsigned me = host.current;
  // As many turns in vain as this: nothing will ever come.
  if (++host.idle > (uint64_t{1} << 22)) Die("every thread waits");
  unsigned next = me;
  do next = (next + 1) % host.count;
  while (host.threads[next].done);
  if (next == me) return;
  host.current = next;
  const uint3 mine = threadIdx;
  threadIdx = {next, 0, 0};
  BecomeFiber(host.threads[next].fiber);
  cuda_on_host_switch(&host.threads[me].stack_pointer, host.threads[next].stack_pointer);
  threadIdx = mine;
}

inline CUDA_ON_HOST_BETWEEN void Main() {
  Acquire(&Host().left);  // what was before the launch, and blocks before
  Machine& host = Host();
  host.kernel();
  Release(&Host().left);
  const unsigned me = host.current;
  host.threads[me].done = true;
  host.alive[me / 32] &= ~(1u << me % 32);
  host.idle = 0;
  --host.left;
  void* unused = nullptr;
  if (host.left == 0) {
    BecomeFiber(host.scheduler_fiber);
    cuda_on_host_switch(&unused, host.scheduler);
  }
  unsigned next = me;
  do next = (next + 1) % host.count;
  while (host.threads[next].done);
  host.current = next;
  threadIdx = {next, 0, 0};
  BecomeFiber(host.threads[next].fiber);
  cuda_on_host_switch(&unused, host.threads[next].stack_pointer);
  Die("a thread goes on after its end");
}

// `kernel` is called once by every thread.
inline CUDA_ON_HOST_BETWEEN void Launch(std::function<void()> kernel, dim3 grid, dim3 block,
                                        size_t shared_bytes = 0, void* = nullptr) {
  Machine& host = Host();
  if (grid.x == 0 || block.x == 0 || block.x > kMostThreads ||
      grid.y * grid.z * block.y * block.z != 1 || shared_bytes > sizeof dynamic_shared) {
    Die("a launch that no device takes");
  }
  host.kernel = std::move(kernel);
  gridDim = grid;
  blockDim = block;
  for (unsigned b = 0; b < grid.x; ++b) {
    blockIdx = {b, 0, 0};
    memset(dynamic_shared, 0xa5, shared_bytes);
    host.count = host.left = block.x;
    host.barrier_arrived = 0;
    host.idle = 0;
    for (unsigned t = 0; t < block.x; ++t) {
      if (t % 32 == 0) {
        host.warps[t / 32] = {};
        host.alive[t / 32] = block.x - t >= 32 ? ~0u : (1u << (block.x - t)) - 1;
      }
      // Six registers and the address to return to; a function starts with its stack 8 off a
      // multiple of 16.
      char* top = host.stacks.data() + kStackBytes * (t + 1);
      top -= reinterpret_cast<uintptr_t>(top) % 16 + 8;
      void** frame = reinterpret_cast<void**>(top) - 7;
      for (int i = 0; i < 6; ++i) frame[i] = nullptr;
      frame[6] = reinterpret_cast<void*>(&Main);
      // A new one each time: what a fiber was in when it ended is no beginning.
      host.threads[t] = {frame, false, MakeFiber()};
    }
    host.current = 0;
    threadIdx = {0, 0, 0};
    host.scheduler_fiber = ThisFiber();
    Release(&host.left);
    BecomeFiber(host.threads[0].fiber);
    cuda_on_host_switch(&host.scheduler, host.threads[0].stack_pointer);
    Acquire(&host.left);
    for (unsigned t = 0; t < block.x; ++t) EndFiber(host.threads[t].fiber);
  }
}

// Gives `value`, returns when all lanes of `mask` that still run have given theirs; `read` then
// sees them.
template <class Read>
inline __attribute__((noinline)) auto Meet(uint32_t mask, uint64_t value, Site site, Read read) {
  const Unwatched all;
  Machine& host = Host();
  const unsigned lane = threadIdx.x % 32;
  Meeting& warp = host.warps[threadIdx.x / 32];
  const uint32_t& alive = host.alive[threadIdx.x / 32];
  const uint64_t place = static_cast<uint64_t>(site.line()) << 32 | site.column();
  if ((mask >> lane & 1) == 0) Die("a lane is not in the mask of its own operation");
  if (warp.arrived == 0) {
    warp.wanted = mask;
    warp.place = place;
  } else if (warp.wanted != mask || warp.place != place) {
    Die("lanes of a warp are at different operations");
  }
  warp.values[lane] = value;
  warp.arrived |= 1u << lane;
  const uint64_t generation = warp.generation;
  while (warp.generation == generation) {
    const uint32_t expected = warp.wanted & alive;
    if ((warp.arrived & expected) == expected) {
      memcpy(warp.result, warp.values, sizeof warp.result);
      warp.result_from = warp.arrived;
      warp.arrived = 0;
      ++warp.generation;
      host.idle = 0;
    } else {
      Yield();
    }
  }
  return read(warp.result, warp.result_from);
}

template <class T>
uint64_t Bits(T value) {
  static_assert(sizeof(T) <= 8);
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T FromBits(uint64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
T Shuffle(uint32_t mask, T value, int from, Site site) {
  const unsigned lane = threadIdx.x % 32;
  return Meet(mask, Bits(value), site, [&](const uint64_t* all, uint32_t there) {
    const bool inside = from >= 0 && from < 32 && (there >> from & 1) != 0;
    return FromBits<T>(all[inside ? static_cast<unsigned>(from) : lane]);
  });
}
template <class Join>
uint32_t Reduce(uint32_t mask, uint32_t value, Site site, Join join) {
  return Meet(mask, value, site, [&](const uint64_t* all, uint32_t there) {
    uint32_t result = 0;
    bool first = true;
    for (unsigned k = 0; k < 32; ++k) {
      if ((there & mask) >> k & 1)
        result =
            first ? static_cast<uint32_t>(all[k]) : join(result, static_cast<uint32_t>(all[k])),
        first = false;
    }
    return result;
  });
}
inline uint32_t Ballot(uint32_t mask, bool value, Site site) {
  return Meet(mask, value, site, [&](const uint64_t* all, uint32_t there) {
    uint32_t bits = 0;
    for (unsigned k = 0; k < 32; ++k)
      bits |= ((there & mask) >> k & 1) != 0 && all[k] != 0 ? 1u << k : 0;
    return bits;
  });
}

inline CUDA_ON_HOST_BETWEEN void Barrier() {
  const Unwatched all;
  Machine& host = Host();
  const uint64_t generation = host.barrier_generation;
  Release(&host.barrier_generation);
  ++host.barrier_arrived;
  while (host.barrier_generation == generation) {
    if (host.barrier_arrived >= host.left) {
      host.barrier_arrived = 0;
      ++host.barrier_generation;
      host.idle = 0;
    } else {
      Yield();
    }
  }
  Acquire(&host.barrier_generation);
}

// Shared memory by 32-bit addresses. Place 0 is never used.
inline uint32_t AddressOf(const void* p) {
  return static_cast<uint32_t>(reinterpret_cast<intptr_t>(p) -
                               reinterpret_cast<intptr_t>(dynamic_shared) + (intptr_t{1} << 30));
}
template <class T>
T* At(uint32_t address) {
  return reinterpret_cast<T*>(reinterpret_cast<intptr_t>(dynamic_shared) - (intptr_t{1} << 30) +
                              static_cast<intptr_t>(address));
}
inline uint32_t Load32(uint32_t address) { return *At<uint32_t>(address); }
inline void Store32(uint32_t address, uint32_t value) { *At<uint32_t>(address) = value; }

// A hardware barrier: expected and pending arrivals, and how many phases are over.
struct HandoverState {
  uint16_t expected, pending;
  uint32_t phases;
};
inline void HandoverInit(uint32_t at, uint32_t arrivals) {
  const Unwatched all;
  *At<HandoverState>(at) = {static_cast<uint16_t>(arrivals), static_cast<uint16_t>(arrivals), 0};
}
inline void HandoverArrive(uint32_t at) {
  const Unwatched all;
  Release(At<HandoverState>(at));
  HandoverState& state = *At<HandoverState>(at);
  Host().idle = 0;
  if (--state.pending == 0) state.pending = state.expected, ++state.phases;
}
inline uint32_t HandoverTry(uint32_t at, uint32_t parity) {
  const Unwatched all;
  if ((At<HandoverState>(at)->phases & 1) != parity) {
    Acquire(At<HandoverState>(at));
    return 1;
  }
  Yield();
  return 0;
}

// Memory that is read and written by atomic operations.
template <class T>
T AtomicLoad(const T* at, bool acquire) {
  const Unwatched all;
  if (acquire) Acquire(at);
  return *at;
}
template <class T, class U>
void AtomicStore(T* at, U value, bool release) {
  const Unwatched all;
  if (release) Release(at);
  *at = static_cast<T>(value);
}
// An atomic operation at its default order orders nothing else.
template <class T, class Change>
T AtomicChange(T* at, Change change) {
  const Unwatched all;
  return std::exchange(*at, static_cast<T>(change(*at)));
}

}  // namespace emulated

// `at`: lanes of a warp must meet at the same place of the text.
template <class T>
T __shfl_sync(uint32_t mask, T value, int from, emulated::Site at = emulated::Site::current()) {
  return emulated::Shuffle(mask, value, from & 31, at);
}
template <class T>
T __shfl_up_sync(uint32_t mask, T value, unsigned by,
                 emulated::Site at = emulated::Site::current()) {
  return emulated::Shuffle(mask, value, static_cast<int>(threadIdx.x % 32) - static_cast<int>(by),
                           at);
}
template <class T>
T __shfl_down_sync(uint32_t mask, T value, unsigned by,
                   emulated::Site at = emulated::Site::current()) {
  return emulated::Shuffle(mask, value, static_cast<int>(threadIdx.x % 32 + by), at);
}
template <class T>
T __shfl_xor_sync(uint32_t mask, T value, int by, emulated::Site at = emulated::Site::current()) {
  return emulated::Shuffle(mask, value, static_cast<int>(threadIdx.x % 32) ^ by, at);
}
inline uint32_t __ballot_sync(uint32_t mask, bool value,
                              emulated::Site at = emulated::Site::current()) {
  return emulated::Ballot(mask, value, at);
}
inline int __any_sync(uint32_t mask, bool value, emulated::Site at = emulated::Site::current()) {
  return emulated::Ballot(mask, value, at) != 0;
}
inline int __all_sync(uint32_t mask, bool value, emulated::Site at = emulated::Site::current()) {
  return emulated::Ballot(mask, !value, at) == 0;
}
inline uint32_t __reduce_or_sync(uint32_t mask, uint32_t value,
                                 emulated::Site at = emulated::Site::current()) {
  return emulated::Reduce(mask, value, at, [](uint32_t a, uint32_t b) { return a | b; });
}
inline uint32_t __reduce_add_sync(uint32_t mask, uint32_t value,
                                  emulated::Site at = emulated::Site::current()) {
  return emulated::Reduce(mask, value, at, [](uint32_t a, uint32_t b) { return a + b; });
}
inline uint32_t __reduce_max_sync(uint32_t mask, uint32_t value,
                                  emulated::Site at = emulated::Site::current()) {
  return emulated::Reduce(mask, value, at, [](uint32_t a, uint32_t b) { return std::max(a, b); });
}
inline void __syncwarp(uint32_t mask = 0xffffffffu, emulated::Site at = emulated::Site::current()) {
  const void* const warp = &emulated::Host().warps[threadIdx.x / 32];
  emulated::Release(warp);
  emulated::Ballot(mask, true, at);
  emulated::Acquire(warp);
}
inline void __syncthreads() { emulated::Barrier(); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) { emulated::Yield(); }

template <class T, class U>
T atomicAdd(T* at, U value) {
  emulated::Host().idle = 0;
  return emulated::AtomicChange(at, [&](T old) { return old + static_cast<T>(value); });
}
template <class T, class U>
T atomicOr(T* at, U value) {
  return emulated::AtomicChange(at, [&](T old) { return old | static_cast<T>(value); });
}
template <class T, class U>
T atomicMax(T* at, U value) {
  return emulated::AtomicChange(at, [&](T old) { return std::max(old, static_cast<T>(value)); });
}
template <class T, class U>
T atomicExch(T* at, U value) {
  emulated::Host().idle = 0;
  return emulated::AtomicChange(at, [&](T) { return static_cast<T>(value); });
}

template <class T>
T __ldg(const T* at) {
  return *at;
}
template <class T>
T __ldcs(const T* at) {
  return *at;
}
template <class T>
void __stcs(T* at, T value) {
  *at = value;
}

inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline unsigned __brev(unsigned x) {
  unsigned y = 0;
  for (int i = 0; i < 32; ++i) y |= (x >> i & 1u) << (31 - i);
  return y;
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned pick) {
  const uint64_t both = a | static_cast<uint64_t>(b) << 32;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned which = pick >> (4 * i) & 0xf;
    unsigned byte = static_cast<unsigned>(both >> (8 * (which & 7))) & 0xff;
    if ((which & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;  // the sign, eight times
    result |= byte << (8 * i);
  }
  return result;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) c += (a >> (8 * i) & 0xff) * (b >> (8 * i) & 0xff);
  return c;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (by & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (by & 31));
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (by < 32 ? by : 32));
}

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(static_cast<uint64_t>(static_cast<unsigned>(high)) << 32 |
                               static_cast<unsigned>(low));
}
inline int __double2hiint(double x) { return static_cast<int>(std::bit_cast<uint64_t>(x) >> 32); }
inline int __double2loint(double x) {
  return static_cast<int>(static_cast<unsigned>(std::bit_cast<uint64_t>(x)));
}
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
// Saturates; a NaN gives 0.
template <class T>
int ToInt(T x) {
  if (std::isnan(x)) return 0;
  if (x >= T(2147483648.0)) return std::numeric_limits<int>::max();
  if (x <= T(-2147483648.0)) return std::numeric_limits<int>::min();
  return static_cast<int>(x);
}
inline int __float2int_rz(float x) { return ToInt(x); }
inline int __double2int_rz(double x) { return ToInt(x); }
inline float __double2float_rz(double x) {
  const float near = static_cast<float>(x);
  return std::abs(static_cast<double>(near)) > std::abs(x) ? std::nextafter(near, 0.0f) : near;
}
using std::isinf;
using std::isnan;
template <class A, class B>
auto min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B>
auto max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}
namespace emulated {
inline float MinNan(float a, float b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b);
}
inline float MaxNan(float a, float b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b);
}
}  // namespace emulated
inline size_t __cvta_generic_to_shared(const void* p) { return emulated::AddressOf(p); }

// The runtime: device memory is the host's, streams are in order because everything is done at
// once.
struct CUstream_st;
using cudaStream_t = CUstream_st*;
enum cudaError_t { cudaSuccess = 0, cudaErrorUnknown = 999 };
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice
};
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor,
  cudaDevAttrMaxSharedMemoryPerBlockOptin
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
inline cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  *value = which == cudaDevAttrMultiProcessorCount                ? 2
           : which == cudaDevAttrMaxSharedMemoryPerMultiprocessor ? 228 << 10
                                                                  : 227 << 10;
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel, cudaFuncAttribute, int) {
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel, int, size_t) {
  return *blocks = 2, cudaSuccess;
}
enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization };
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  struct {
    int programmaticStreamSerializationAllowed;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
template <class... Params, class... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Params...),
                               Args&&... args) {
  emulated::Launch([&] { kernel(args...); }, config->gridDim, config->blockDim,
                   config->dynamicSmemBytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind,
                                   cudaStream_t = nullptr) {
  if (size > 0) memmove(to, from, size);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t = nullptr) {
  if (size > 0) memset(to, value, size);
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
