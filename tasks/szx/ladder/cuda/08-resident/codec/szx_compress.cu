// SPDX-License-Identifier: Apache-2.0
// SZx compression: values are read once and coded blocks written once, to their final places; a
// second, small kernel then puts the tables (3 % of the data at most) in front of them.
#include <cuda_runtime.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "../format.h"
#include "launch.cuh"
#include "range.cuh"
#include "rows.cuh"
#include "szx_cuda.h"
#include "szx_tile.cuh"
#include "walk_ahead.cuh"
#include "workspace.h"

namespace szarena::codec::cuda {
namespace {

constexpr uint32_t kWorkers = kMostAheadWorkers;
// One thread block a multiprocessor: its warps are a multiple of four, 128 registers each, and
// nothing is spilled.
constexpr uint32_t kResident = 1;

struct CompressArgs {
  const unsigned char* values;
  uint64_t count;
  uint64_t blocks;
  unsigned char* buffer;
  uint64_t coded_at;  // place of the first coded block in the buffer
  DeviceResult* result;
  Bound bound;
  const Bound* device_bound;  // where not null, instead of `bound`
  ScanState scan;             // of bytes, by tile
  uint32_t tiles;
  // By region and block, until the number of coded blocks is known.
  unsigned char* region_states;  // the first block in the top bit
  uint16_t* sizes;
  unsigned char* medians;
  unsigned long long* coded_blocks;  // how many
  unsigned long long* coded_bytes;
  ScanState table_scan;  // of coded blocks, by tile of the second kernel
};

// How a block is coded; the same in all threads of a block.
template <class T>
struct Plan {
  bool constant;
  bool exact;  // the values' bits are stored
  uint32_t required;
  T median;
};

template <class T>
__device__ __forceinline__ int Exponent(T value) {
  constexpr uint32_t kField = 2 * szx::Type<T>::kExponentBias + 1;
  return static_cast<int>(static_cast<uint32_t>(BitsOf(value) >> szx::Type<T>::kMantissaBits) &
                          kField) -
         szx::Type<T>::kExponentBias;
}

// Whether what a reader makes of a block's values is known to be accepted, or has to be looked at
// value by value.
enum class Doubt { kNone, kValues };

// The plan if every value turns out to be accepted. `low` and `high` are NaN where a value is (see
// LowOf).
template <class T>
__device__ __forceinline__ Plan<T> PlanBlock(T low, T high, T ebq, int bound_exponent,
                                             Doubt& doubt) {
  using Type = szx::Type<T>;
  const T range = Sub(high, low);
  const T radius = Mul(range, T(0.5));
  Plan<T> plan{false, true, Type::kBits, T(0)};
  doubt = Doubt::kValues;
  if (!(range <= (sizeof(T) == 4 ? T(3.402823466e38) : T(1.7976931348623157e308)))) {
    plan.median = -T(0);
    doubt = Doubt::kNone;
    return plan;
  }
  const T median = Add(Add(low, radius), T(0));
  if (radius <= ebq) {
    // The distance to the median is largest at an end.
    if (ebq > T(0) && WithinBound(low, median, ebq) && WithinBound(high, median, ebq))
      doubt = Doubt::kNone;
    return {true, false, 0, median};
  }
  const int exponent = Exponent(radius);
  const int required = max(Type::kHeadBits, Type::kHeadBits + (exponent - bound_exponent) + 1);
  if (ebq == T(0) || required > Type::kBits || (required == Type::kBits && median == T(0))) {
    doubt = Doubt::kNone;
    return plan;
  }
  // No difference is in a higher binade than the radius, so that cutting them loses less than half
  // of 2^E(ebq); with the two roundings, of the difference and of the sum, at most 2^(E(largest) -
  // mantissa bits + 1), it stays below ebq.
  const T largest_difference = Max(Abs(Sub(low, median)), Abs(Sub(high, median)));
  const T largest = Max(Abs(low), Abs(high));
  const bool certain = exponent > -Type::kExponentBias + 1 &&
                       Exponent(largest_difference) <= exponent &&
                       Exponent(largest) <= bound_exponent + Type::kMantissaBits - 3;
  doubt = certain ? Doubt::kNone : Doubt::kValues;
  return {false, false, static_cast<uint32_t>(required), median};
}

// The plan of a block that is coded, of whose values none is in doubt, and for f32 none stores more
// than three bytes. False where it is none of those.
template <class T>
__device__ __forceinline__ bool PlanOrdinary(T low, T high, T ebq, int bound_exponent,
                                             Plan<T>& plan) {
  using Type = szx::Type<T>;
  const T radius = Mul(Sub(high, low), T(0.5));
  plan.median = Add(Add(low, radius), T(0));
  const int exponent = Exponent(radius);
  const int required = max(Type::kHeadBits, Type::kHeadBits + (exponent - bound_exponent) + 1);
  plan.required = static_cast<uint32_t>(required);
  const T largest_difference = Max(Abs(Sub(low, plan.median)), Abs(Sub(high, plan.median)));
  const T largest = Max(Abs(low), Abs(high));
  // As PlanBlock; where a value is not finite, the radius is not either.
  return static_cast<int>(radius > ebq) & static_cast<int>(ebq > T(0)) &
         static_cast<int>(exponent <= Type::kExponentBias) &
         static_cast<int>(exponent > -Type::kExponentBias + 1) &
         static_cast<int>(required < (sizeof(T) == 4 ? 25 : Type::kBits)) &
         static_cast<int>(Exponent(largest_difference) <= exponent) &
         static_cast<int>(Exponent(largest) <= bound_exponent + Type::kMantissaBits - 3);
}

// The smaller and the larger; NaN where either is.
__device__ __forceinline__ float LowOf(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float low;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(low) : "f"(a), "f"(b));
  return low;
#else
  return isnan(a) || isnan(b) ? NAN : fminf(a, b);
#endif
}
__device__ __forceinline__ float HighOf(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float high;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(high) : "f"(a), "f"(b));
  return high;
#else
  return isnan(a) || isnan(b) ? NAN : fmaxf(a, b);
#endif
}
// A comparison with a NaN is false: it is taken on and then kept.
__device__ __forceinline__ double LowOf(double a, double b) { return a <= b || isnan(a) ? a : b; }
__device__ __forceinline__ double HighOf(double a, double b) { return a >= b || isnan(a) ? a : b; }

// Whether all lanes of a lane's block agree. Lanes of a block are neighbours.
template <class T>
__device__ __forceinline__ bool AllOfBlock(bool value) {
  constexpr uint32_t kLanes = SzxTile<T>::kLanes;
  constexpr uint32_t kOwn = (1u << kLanes) - 1;
  const uint32_t lanes = __ballot_sync(kAllLanes, value);
  return (lanes >> (threadIdx.x % 32 / kLanes * kLanes) & kOwn) == kOwn;
}

// Writes bytes one value after another at a byte offset. A word that is filled up is stored, with
// zeros where it belongs to those before; what is left of the last one is or-ed afterwards, when
// all lanes have stored.
struct StreamWriter {
  uint32_t at;        // in shared memory
  uint32_t last = 0;  // the last 32 bits of the stream
  uint32_t end;       // of the stream, in bits from the word where it starts

  __device__ StreamWriter(unsigned char* base, uint32_t offset)
      : at(SharedAddress(base) + offset / 4 * 4), end(8 * (offset & 3u)) {}
  // Appends the lowest `bits` bits of `value`, 32 at most.
  __device__ __forceinline__ void Put(uint32_t value, uint32_t bits) {
    Append(value, bits, __funnelshift_rc(last, value, bits));
  }
  // The same for less than 32 bits; of `bits` itself only the lowest 8 count.
  __device__ __forceinline__ void PutShort(uint32_t value, uint32_t bits) {
    Append(value, bits, __funnelshift_r(last, value, bits));
  }
  __device__ __forceinline__ void Finish() {
    if ((end & 31u) == 0) return;
    asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(at), "r"(last >> (32 - (end & 31u)))
                 : "memory");
  }

 private:
  __device__ __forceinline__ void Append(uint32_t value, uint32_t bits, uint32_t new_last) {
    const uint32_t word =
        __funnelshift_l(last, value, end);  // complete if the value reaches the next
    const uint32_t before = end;
    last = new_last;
    end += bits;
    // Written out, so that the compiler keeps one predicate and one register for the place.
    asm volatile(
        "{ .reg .pred p; .reg .b32 t; xor.b32 t, %1, %2; and.b32 t, t, 32; setp.ne.u32 p, t, 0;"
        "  @p st.shared.b32 [%0], %3; @p add.u32 %0, %0, 4; }"
        : "+r"(at)
        : "r"(before), "r"(end), "r"(word)
        : "memory");
  }
};

// How many bytes each value of a row stores, for blocks that keep at most three bytes of a value:
// byte q of word 4 * w + i says it of value 16 * w + 4 * q + i, in bits. Returns the sum in bytes.
// `codes` as elsewhere.
__device__ __forceinline__ uint32_t PackedLengths(const uint32_t* z, bool coded, uint32_t kept,
                                                  uint32_t shift, uint32_t* lengths,
                                                  uint32_t* codes) {
  constexpr uint32_t kEach = 0x01010101u;
  uint32_t before = __shfl_up_sync(kAllLanes, z[31], 1);
  if (threadIdx.x % SzxTile<float>::kLanes == 0) before = 0;
  // Bits below a word's lowest one do not matter; that one set makes 3 the largest code.
  const uint32_t least = 1u << shift;
  const uint32_t shifts = shift * kEach;
#pragma unroll
  for (uint32_t w = 0; w < 2; ++w) {
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i) {
      uint32_t packed = 0;
#pragma unroll
      for (uint32_t q = 4; q-- > 0;) {
        const uint32_t v = 16 * w + 4 * q + i;
        // The place of the highest bit that differs.
        uint32_t highest;
        asm("{ .reg .b32 t; lop3.b32 t, %1, %2, %3, 0xbe; bfind.u32 %0, t; }"  // (a ^ b) | c
            : "=r"(highest)
            : "r"(z[v]), "r"(v == 0 ? before : z[v == 0 ? 0 : v - 1]), "r"(least));
        packed = q == 3 ? highest : packed * 256 + highest;
      }
      // Its upper two bits are 3 less the code.
      lengths[4 * w + i] = (packed - shifts) & 0x18181818u;
    }
  }
#pragma unroll
  for (uint32_t w = 0; w < 2; ++w) {
    const uint32_t* const x = lengths + 4 * w;
    const uint32_t less = 8 * x[0] + (2 * x[1] + ((4 * x[2] + x[3]) >> 3));
    codes[w] = __byte_perm(~less, 0, 0x0123);
  }
  if (__any_sync(kAllLanes, coded && kept < 3)) {
    // Less what three kept bytes would store more, at least 0.
    const uint32_t less = 8 * (3 - kept) * kEach;
#pragma unroll
    for (uint32_t k = 0; k < 8; ++k) {
      const uint32_t difference = (lengths[k] | 0x80 * kEach) - less;
      const uint32_t positive = difference & 0x80 * kEach;
      lengths[k] = difference & (positive - (positive >> 7));
    }
  }
  uint32_t stored = 0;
#pragma unroll
  for (uint32_t k = 0; k < 8; ++k) stored = __dp4a(lengths[k], kEach, stored);
  return stored / 8;
}

// Copies `size` bytes from 16-byte aligned shared memory to any place; up to 31 bytes behind the
// last one are read.
__device__ __forceinline__ void StorePayload(unsigned char* to, const unsigned char* shared,
                                             uint32_t size) {
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t head = (16 - static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to))) & 15u;
  if (size < 32) {
    if (lane < size) to[lane] = shared[lane];
    return;
  }
  if (lane < head) to[lane] = shared[lane];
  const uint32_t pieces = (size - head) / 16;
  const uint32_t done = head + 16 * pieces;
  if (lane < size - done) to[done + lane] = shared[done + lane];
  const uint4* from = reinterpret_cast<const uint4*>(shared) + lane;
  uint4* out = reinterpret_cast<uint4*>(to + head) + lane;
  const auto copy = [&](auto skip) {  // so many whole words of a piece
    constexpr uint32_t kSkip = decltype(skip)::value;
#pragma unroll 1
    for (uint32_t piece = lane; piece < pieces; piece += 32, from += 32, out += 32) {
      const uint4 low = from[0];
      const uint4 high = from[1];
      const uint32_t words[] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
      *out = make_uint4(__funnelshift_r(words[kSkip], words[kSkip + 1], 8 * head),
                        __funnelshift_r(words[kSkip + 1], words[kSkip + 2], 8 * head),
                        __funnelshift_r(words[kSkip + 2], words[kSkip + 3], 8 * head),
                        __funnelshift_r(words[kSkip + 3], words[kSkip + 4], 8 * head));
    }
  };
  // The same in all lanes.
  if (head < 8) {
    if (head < 4) {
      copy(std::integral_constant<uint32_t, 0>());
    } else {
      copy(std::integral_constant<uint32_t, 1>());
    }
  } else if (head < 12) {
    copy(std::integral_constant<uint32_t, 2>());
  } else {
    copy(std::integral_constant<uint32_t, 3>());
  }
}

// Lanes that share a word all write the same.
__device__ __forceinline__ void ClearWord(uint32_t* word) { *word = 0; }

// Writes the blocks of a region whose differences to the medians `z` holds. kOrdinary: all of them
// are coded, f32 with at most three bytes of a value. `block_valid`: values of the lane's block.
template <class T, bool kWhole, bool kOrdinary, class Sized>
__device__ __forceinline__ void WriteRegion(unsigned char* bytes, const CompressArgs& args,
                                            typename SzxTile<T>::Bits* z, const Plan<T>& plan,
                                            uint32_t valid, uint32_t block_valid,
                                            uint32_t region_index, Sized&& sized) {
  using S = SzxTile<T>;
  using Bits = typename S::Bits;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t sub = lane % S::kLanes;
  const bool exists = kWhole || block_valid > 0;
  const bool coded = kOrdinary || (exists && !plan.constant);
  const uint32_t kept = coded ? (plan.required + 7) / 8 : 1;
  const uint32_t shift = coded ? 8 * kept - plan.required : 0;
  constexpr uint32_t kCodeWords = S::kRowValues / 16;
  uint32_t codes[kCodeWords] = {};
  uint32_t stored = 0;
  uint32_t lengths[2 * sizeof(T)];  // packed, see PackedLengths
  // The usual case: all bytes that a value stores are less than a word.
  constexpr bool kMayBeNarrow = sizeof(T) == 4 && kWhole;
  const bool narrow =
      kMayBeNarrow && (kOrdinary || __all_sync(kAllLanes, !coded || kept <= 3) != 0);
  if constexpr (kMayBeNarrow) {
    if (narrow) {
      stored = PackedLengths(z, coded, kept, shift, lengths, codes);
      if (!coded) stored = 0;
    }
  }
  if (!narrow) {
    // Codes: how many leading bytes of a word are those of the word before. The lowest bit does not
    // matter, and set it makes 3 the largest code.
#pragma unroll
    for (uint32_t i = 0; i < S::kRowValues; ++i) z[i] >>= shift;
    const auto top = [](Bits word) { return static_cast<uint32_t>(word >> (S::kBits - 32)); };
    uint32_t previous = __shfl_up_sync(kAllLanes, top(z[S::kRowValues - 1]), 1);
    if (sub == 0) previous = 0;
#pragma unroll
    for (uint32_t i = 0; i < S::kRowValues; ++i) {
      // The place of the highest bit that differs; its upper two bits are 3 less the code.
      uint32_t highest;
      asm("{ .reg .b32 t; lop3.b32 t, %1, %2, 1, 0xbe; bfind.u32 %0, t; }"  // (a ^ b) | 1
          : "=r"(highest)
          : "r"(top(z[i])), "r"(previous));
      previous = top(z[i]);
      codes[i / 16] = codes[i / 16] * 4 + (highest >> 3);
    }
#pragma unroll
    for (uint32_t w = 0; w < kCodeWords; ++w) {
      const uint32_t mask = kWhole ? kAllLanes : PairMask(valid, w);
      codes[w] = ~codes[w] & mask;
      stored += StoredBytes(codes[w], mask, kept);
    }
  }
  const uint32_t low_bits = S::kBits - 8 * kept;  // that no value stores
  const uint32_t code_bytes =
      kWhole ? static_cast<uint32_t>(szx::kBlockValues / 4) : (block_valid + 3) / 4;
  const uint32_t head = sub == 0 ? S::kHeadBytes + code_bytes : 0;
  uint32_t region_size = 0;
  const uint32_t size = coded ? head + stored : 0;
  const uint32_t offset = WarpExclusiveSum(size, region_size);
  const uint32_t coded_lanes = __ballot_sync(kAllLanes, coded && sub == 0);
  sized(region_size | static_cast<uint32_t>(__popc(coded_lanes)) << kAheadSizeBits);
  const uint32_t block_at = __shfl_sync(kAllLanes, offset, lane / S::kLanes * S::kLanes);
  const uint32_t block_end =
      __shfl_sync(kAllLanes, offset + size, lane / S::kLanes * S::kLanes + S::kLanes - 1);

  // Tables.
  if (exists && sub == 0) {
    const uint64_t block = static_cast<uint64_t>(region_index) * S::kBlocks + lane / S::kLanes;
    if (coded) {
      args.sizes[block] = static_cast<uint16_t>(block_end - block_at);
    } else {
      reinterpret_cast<T*>(args.medians)[block] = plan.median;
    }
  }
  // Lane b says whether block b is coded.
  const uint32_t states = __ballot_sync(
      kAllLanes, lane < S::kBlocks && (coded_lanes >> (lane * S::kLanes & 31u) & 1u) != 0);
  if (lane == 0)
    args.region_states[region_index] = static_cast<unsigned char>(__brev(states) >> 24);

  // Stored bytes.
  const uint32_t at = offset + head;
  const uint32_t end = offset + size;
  uint32_t* words = reinterpret_cast<uint32_t*>(bytes);
  if (coded) {
    if ((at & 3u) != 0) ClearWord(words + at / 4);
    if ((end & 3u) != 0) ClearWord(words + end / 4);
  }
  __syncwarp();
  StreamWriter writer(bytes, at);
  if constexpr (kMayBeNarrow) {
    if (narrow && coded) {
      const uint32_t drop = shift + low_bits;
#pragma unroll
      for (uint32_t i = 0; i < S::kRowValues; ++i) {
        // Only the lowest five bits of a length count, so that it need not be cut out.
        writer.PutShort(z[i] >> drop, lengths[i / 16 * 4 + i % 4] >> (8 * (i % 16 / 4)));
      }
    }
  }
  if (!narrow && coded) {
    const uint32_t by_code = StoredBits(kept);
#pragma unroll
    for (uint32_t i = 0; i < S::kRowValues; ++i) {
      if (kWhole || i < valid) {
        const uint32_t n = LengthOf(by_code, codes[i / 16], i % 16);
        const Bits kept_bits = z[i] >> low_bits;
        if constexpr (sizeof(T) == 4) {
          writer.Put(kept_bits, n);
        } else {
          writer.Put(static_cast<uint32_t>(kept_bits), min(n, 32u));
          if (n > 32) writer.Put(static_cast<uint32_t>(kept_bits >> 32), n - 32);
        }
      }
    }
  }
  __syncwarp();
  if (coded) writer.Finish();
  __syncwarp();
  if (coded) {
    unsigned char* block = bytes + block_at;
    if (sub == 0) {
      block[0] = static_cast<unsigned char>(plan.required);
      const Bits median = BitsOf(plan.median);
#pragma unroll
      for (uint32_t b = 0; b < sizeof(T); ++b)
        block[1 + b] = static_cast<unsigned char>(median >> (S::kBits - 8 - 8 * b));
    }
    constexpr uint32_t kCodeBytes = S::kRowValues / 4;
#pragma unroll
    for (uint32_t b = 0; b < kCodeBytes; ++b) {
      const uint32_t place = sub * kCodeBytes + b;
      if (kWhole || place < code_bytes) {
        block[S::kHeadBytes + place] =
            static_cast<unsigned char>(codes[b / 4] >> (24 - 8 * (b % 4)));
      }
    }
  }
  __syncwarp();
}

// Encodes the region that `values` holds: its coded blocks are written from `bytes` on. Between,
// loaded() is called when `values` is no longer needed, and sized() with their size and number (see
// WalkAhead) before anything is written.
template <class T, bool kWhole, class Loaded, class Sized>
__device__ __forceinline__ void EncodeRegion(const unsigned char* values, unsigned char* bytes,
                                             const CompressArgs& args, T ebq, int bound_exponent,
                                             uint32_t region_index, Loaded&& loaded,
                                             Sized&& sized) {
  using S = SzxTile<T>;
  using Bits = typename S::Bits;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t sub = lane % S::kLanes;
  const uint64_t first_value = static_cast<uint64_t>(region_index) * S::kRegionValues;
  const unsigned char* row = values + lane * S::kRowStride;
  uint32_t valid = S::kRowValues;  // of this row
  uint32_t block_valid = static_cast<uint32_t>(szx::kBlockValues);
  if constexpr (!kWhole) {
    const auto clamp = [&](uint64_t first, uint32_t most) {
      return first >= args.count
                 ? 0
                 : static_cast<uint32_t>(min(static_cast<unsigned long long>(args.count - first),
                                             static_cast<unsigned long long>(most)));
    };
    valid = clamp(first_value + lane * S::kRowValues, S::kRowValues);
    block_valid = clamp(first_value + lane / S::kLanes * szx::kBlockValues, szx::kBlockValues);
  }

  Bits z[S::kRowValues];
  T low = FromBits(sizeof(T) == 4 ? Bits(0x7f800000u) : Bits(0x7ff0000000000000ull));
  T high = -low;
#pragma unroll
  for (uint32_t piece = 0; piece < S::kPieces; ++piece) {
    constexpr uint32_t kEach = 16 / sizeof(T);
    Unpack(*reinterpret_cast<const uint4*>(row + piece * 16), z + piece * kEach);
#pragma unroll
    for (uint32_t e = 0; e < kEach; ++e) {
      const uint32_t i = piece * kEach + e;
      const T x = FromBits(z[i]);
      if (kWhole || i < valid) {
        low = LowOf(low, x);
        high = HighOf(high, x);
      }
    }
  }
  __syncwarp();
  loaded();
#pragma unroll
  for (uint32_t step = 1; step < S::kLanes; step *= 2) {
    low = LowOf(low, __shfl_xor_sync(kAllLanes, low, step));
    high = HighOf(high, __shfl_xor_sync(kAllLanes, high, step));
  }
  if constexpr (kWhole) {
    Plan<T> plan{false, false, 0, T(0)};
    if (__all_sync(kAllLanes, PlanOrdinary(low, high, ebq, bound_exponent, plan)) != 0) {
#pragma unroll
      for (uint32_t i = 0; i < S::kRowValues; ++i) z[i] = BitsOf(Sub(FromBits(z[i]), plan.median));
      WriteRegion<T, true, true>(bytes, args, z, plan, valid, block_valid, region_index, sized);
      return;
    }
  }
  Doubt doubt = Doubt::kNone;
  Plan<T> plan = PlanBlock(low, high, ebq, bound_exponent, doubt);
  if (__any_sync(kAllLanes, doubt != Doubt::kNone && (kWhole || block_valid > 0))) {
    const Bits mask =
        plan.constant ? Bits(0) : static_cast<Bits>(~Bits(0) << (S::kBits - plan.required));
    bool accepted = true;
#pragma unroll
    for (uint32_t i = 0; i < S::kRowValues; ++i) {
      if (!kWhole && i >= valid) break;
      const T x = FromBits(z[i]);
      if (plan.constant && ebq == T(0)) {
        accepted &= BitsOf(x) == BitsOf(plan.median);
      } else if (!plan.exact) {
        const T kept = FromBits(BitsOf(Sub(x, plan.median)) & mask);
        accepted &= WithinBound(x, Add(kept, plan.median), ebq);
      }
    }
    if (!AllOfBlock<T>(accepted)) plan = {false, true, S::kBits, -T(0)};
  }
  if (__any_sync(kAllLanes, plan.exact)) {
#pragma unroll
    for (uint32_t i = 0; i < S::kRowValues; ++i) {
      if (!plan.exact) z[i] = BitsOf(Sub(FromBits(z[i]), plan.median));
    }
  } else {
#pragma unroll
    for (uint32_t i = 0; i < S::kRowValues; ++i) z[i] = BitsOf(Sub(FromBits(z[i]), plan.median));
  }
  WriteRegion<T, kWhole, false>(bytes, args, z, plan, valid, block_valid, region_index, sized);
}

// As LoadRows, with fewer instructions where the region is whole.
template <class T, bool kAligned>
__device__ __forceinline__ void LoadRegion(unsigned char* region, const CompressArgs& args,
                                           uint64_t first_value) {
  using S = SzxTile<T>;
  if (kAligned && first_value + S::kRegionValues <= args.count) {
    const uint32_t lane = threadIdx.x % 32;
    const unsigned char* const from = args.values + first_value * sizeof(T) + lane * 16;
    unsigned char* const to = region + lane / S::kPieces * S::kRowStride + lane % S::kPieces * 16;
#pragma unroll
    for (uint32_t j = 0; j < S::kPieces; ++j)
      CopyAsync<16>(to + j * (32 / S::kPieces) * S::kRowStride, from + j * 512);
  } else {
    LoadRows<T, S::kRowBytes, kAligned>(region, args.values, args.count, first_value);
  }
}

template <class T, bool kAligned>
__global__ void __launch_bounds__(32 * (kWorkers + kAheadHelpers), kResident)
    CompressKernel(const CompressArgs args) {
  using S = SzxTile<T>;
  extern __shared__ __align__(16) unsigned char buffers[];
  __shared__ AheadShared shared;
  const double bound = args.device_bound != nullptr ? args.device_bound->ebq : args.bound.ebq;
  const T ebq = static_cast<T>(bound);
  const int bound_exponent = static_cast<int>(BitsOf(bound) >> 52) - 1023;
  const uint32_t workers = blockDim.x / 32 - kAheadHelpers;
  const auto load = [&](uint32_t tile, uint32_t warp, unsigned char* values) {
    const uint64_t first_value = static_cast<uint64_t>(tile * workers + warp) * S::kRegionValues;
    if (first_value < args.count) LoadRegion<T, kAligned>(values, args, first_value);
    CommitCopies();
  };
  const auto encode = [&](uint32_t tile, uint32_t warp, const unsigned char* values,
                          unsigned char* bytes, auto&& loaded, auto&& sized) {
    const uint32_t index = tile * workers + warp;
    const uint64_t first_value = static_cast<uint64_t>(index) * S::kRegionValues;
    WaitCopies<0>();
    __syncwarp();
    if (first_value + S::kRegionValues <= args.count) {
      EncodeRegion<T, true>(values, bytes, args, ebq, bound_exponent, index, loaded, sized);
    } else if (first_value < args.count) {
      EncodeRegion<T, false>(values, bytes, args, ebq, bound_exponent, index, loaded, sized);
    } else {
      loaded();
      sized(0);
    }
  };
  const auto store = [&](unsigned long long at, const unsigned char* bytes, uint32_t size) {
    StorePayload(args.buffer + args.coded_at + at, bytes, size);
  };
  const auto sum = [&](uint32_t summed) {
    const uint32_t coded = summed >> kAheadSizeBits;
    if (coded != 0) atomicAdd(args.coded_blocks, static_cast<unsigned long long>(coded));
  };
  const auto finish = [&](unsigned long long bytes) { *args.coded_bytes = bytes; };
  WalkAhead(shared, buffers, S::kRegionBytes, args.scan, args.tiles, load, encode, store, sum,
            finish);
}

// Second kernel: moves the tables to their places in front of the coded blocks. A warp takes 256
// blocks, 32 at a time.
constexpr uint32_t kTableThreads = 1024;
constexpr uint32_t kTableSteps = 8;
constexpr uint32_t kBlocksPerTableTile = kTableSteps * kTableThreads;

template <class T>
__device__ __forceinline__ void StoreBe(unsigned char* to, typename SzxTile<T>::Bits bits) {
#pragma unroll
  for (uint32_t b = 0; b < sizeof(T); ++b) {
    to[b] = static_cast<unsigned char>(bits >> (SzxTile<T>::kBits - 8 - 8 * b));
  }
}

template <class T>
__global__ void __launch_bounds__(kTableThreads)
    TableKernel(const __grid_constant__ CompressArgs args) {
  using S = SzxTile<T>;
  using Bits = typename S::Bits;
  __shared__ uint32_t tile_shared;
  __shared__ uint32_t warp_sum[kTableThreads / 32];
  __shared__ unsigned long long base_shared;
  if (threadIdx.x == 0) tile_shared = atomicAdd(args.table_scan.ticket, 1u);
  __syncthreads();
  const uint32_t tile = tile_shared;
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const uint64_t first_block =
      static_cast<uint64_t>(tile) * kBlocksPerTableTile + warp * (32 * kTableSteps);
  // Everything is loaded before the look-back.
  uint32_t states[kTableSteps];  // bit b: block b of the step is coded
  Bits entries[kTableSteps];     // of the lane's block: its size or its median
  uint32_t coded = 0;
#pragma unroll
  for (uint32_t k = 0; k < kTableSteps; ++k) {
    const uint64_t block = first_block + 32 * k + lane;
    bool is_coded = false;
    entries[k] = 0;
    if (block < args.blocks) {
      const uint32_t byte = args.region_states[block / S::kBlocks];
      is_coded = (byte >> (7 - block % S::kBlocks) & 1u) != 0;
      entries[k] =
          is_coded ? args.sizes[block] : reinterpret_cast<const Bits*>(args.medians)[block];
    }
    states[k] = __ballot_sync(kAllLanes, is_coded);
    coded += __popc(states[k]);
  }
  if (lane == 0) warp_sum[warp] = coded;
  __syncthreads();
  if (warp == 0) {
    uint32_t tile_total = 0;
    const uint32_t warp_before = WarpExclusiveSum(warp_sum[lane], tile_total);
    __syncwarp();
    warp_sum[lane] = warp_before;
    PublishSum(args.table_scan, tile, tile_total);
    const unsigned long long base = ScanTile(args.table_scan, tile, tile_total, [] {});
    if (lane == 0) base_shared = base;
  }
  static_assert(kTableThreads == 32 * 32);
  const uint64_t coded_blocks = *args.coded_blocks;
  const uint64_t constant_blocks = args.blocks - coded_blocks;
  unsigned char* const medians = args.buffer + args.coded_at - sizeof(T) * constant_blocks;
  unsigned char* const state_bytes = medians - CeilDiv(args.blocks, 8);
  unsigned char* const sizes = state_bytes - 2 * coded_blocks;
  if (tile == 0 && threadIdx.x == 0) {
    unsigned char* const header = sizes - szx::HeaderBytes(szx::Mode::kRandomAccess);
    header[0] = 1, header[1] = 1, header[2] = szx::Type<T>::kVersionByte, header[3] = 1;
    for (uint32_t b = 0; b < 8; ++b) {
      header[4 + b] = static_cast<unsigned char>(szx::kBlockValues >> (56 - 8 * b));
      header[12 + b] = static_cast<unsigned char>(constant_blocks >> (56 - 8 * b));
    }
    const uint64_t offset = static_cast<uint64_t>(header - args.buffer);
    args.result->offset = offset;
    args.result->size = args.coded_at + *args.coded_bytes - offset;
    args.result->status = DeviceStatus::kOk;
  }
  __syncthreads();
  uint64_t coded_index = base_shared + warp_sum[warp];
#pragma unroll
  for (uint32_t k = 0; k < kTableSteps; ++k) {
    const uint64_t step_block = first_block + 32 * k;
    const uint64_t block = step_block + lane;
    const uint64_t index = coded_index + __popc(states[k] & ((1u << lane) - 1));
    if ((states[k] >> lane & 1u) != 0) {
      sizes[2 * index] = static_cast<unsigned char>(entries[k]);
      sizes[2 * index + 1] = static_cast<unsigned char>(entries[k] >> 8);
    } else if (block < args.blocks) {
      StoreBe<T>(medians + sizeof(T) * (block - index), entries[k]);
    }
    if (lane < 4 && step_block + 8 * lane < args.blocks) {
      state_bytes[step_block / 8 + lane] =
          static_cast<unsigned char>(__brev(states[k] >> (8 * lane)) >> 24);
    }
    coded_index += __popc(states[k]);
  }
}

// The scratch of a compression: zeroed words first.
struct Scratch {
  uint64_t scan_words;
  uint64_t table_words;
  uint64_t zeroed_bytes;
  uint64_t states_at, sizes_at, medians_at, end;

  template <class T>
  static Scratch For(uint64_t count, uint64_t workers) {
    using S = SzxTile<T>;
    const auto round_up = [](uint64_t bytes) { return CeilDiv(bytes, 256) * 256; };
    const uint64_t blocks = szx::BlockCount(count);
    const uint64_t regions = CeilDiv(count, S::kRegionValues);
    Scratch s{};
    s.scan_words = CeilDiv(regions, workers);
    s.table_words = CeilDiv(blocks, kBlocksPerTableTile) + (blocks == 0);
    s.zeroed_bytes = WorkspaceBytes(s.scan_words + s.table_words);
    s.states_at = round_up(s.zeroed_bytes);
    s.sizes_at = round_up(s.states_at + regions);
    s.medians_at = round_up(s.sizes_at + 2 * blocks);
    s.end = s.medians_at + sizeof(T) * blocks;
    return s;
  }
};

template <class T>
LaunchStatus Launch(CompressArgs& args, double relative, double* bound_out, void* workspace,
                    cudaStream_t stream) {
  using S = SzxTile<T>;
  const uint32_t workers = WarpsThatFit(kAheadBuffers * S::kRegionBytes, kWorkers, kResident);
  if (workers == 0) return LaunchStatus::kLaunchFailed;
  const Scratch scratch = Scratch::For<T>(args.count, workers);
  auto* const bytes = static_cast<unsigned char*>(workspace);
  const Workspace parts(workspace, scratch.scan_words + scratch.table_words);
  args.scan = parts.scan;
  args.table_scan = {parts.scan.tiles + scratch.scan_words, parts.second_ticket};
  args.coded_blocks = parts.totals;
  args.coded_bytes = parts.totals + 1;
  args.region_states = bytes + scratch.states_at;
  args.sizes = reinterpret_cast<uint16_t*>(bytes + scratch.sizes_at);
  args.medians = bytes + scratch.medians_at;
  args.tiles = static_cast<uint32_t>(scratch.scan_words);
  if (cudaMemsetAsync(workspace, 0, scratch.zeroed_bytes, stream) != cudaSuccess)
    return LaunchStatus::kLaunchFailed;
  if (relative != 0) {
    const LaunchStatus status = FindBound(args.values, args.count, kDTypeOf<T>, relative,
                                          parts.range, parts.bound, bound_out, stream);
    if (status != LaunchStatus::kOk) return status;
    args.device_bound = parts.bound;
  }
  if (args.count > 0) {
    const auto kernel = reinterpret_cast<uintptr_t>(args.values) % 16 == 0
                            ? CompressKernel<T, true>
                            : CompressKernel<T, false>;
    const LaunchStatus status =
        LaunchResident(kernel, args, args.tiles, 32 * (workers + kAheadHelpers),
                       workers * kAheadBuffers * S::kRegionBytes, stream);
    if (status != LaunchStatus::kOk) return status;
  }
  return StartKernel(TableKernel<T>, scratch.table_words, kTableThreads, 0, stream, args);
}

}  // namespace

uint64_t SzxCompressWorkspaceBytes(uint64_t count, DType dtype) {
  // Room for tiles of one region each, the least that any device takes.
  return dtype == DType::kF32 ? Scratch::For<float>(count, 1).end
                              : Scratch::For<double>(count, 1).end;
}

LaunchStatus SzxCompress(const void* values, uint64_t count, DType dtype, double eb,
                         double relative, void* buffer, uint64_t capacity, DeviceResult* result,
                         double* bound_out, void* workspace, uint64_t workspace_bytes,
                         CUstream_st* stream) {
  const double given = relative != 0 ? relative : eb;
  if (!(given >= 0) || given > std::numeric_limits<double>::max())
    return LaunchStatus::kBadArgument;
  const auto room = szx::RoomySize(count, dtype, {});
  if (!room || result == nullptr || buffer == nullptr || workspace == nullptr ||
      (count > 0 && values == nullptr))
    return LaunchStatus::kBadArgument;
  if (capacity < *room) return LaunchStatus::kCapacityTooSmall;
  if (workspace_bytes < SzxWorkspaceBytes(count, dtype)) return LaunchStatus::kWorkspaceTooSmall;
  if (!IsAligned(values, SizeOf(dtype)) || !IsAligned(result, alignof(DeviceResult)) ||
      !IsAligned(bound_out, alignof(double)) || !IsAligned(workspace, kWorkspaceAlignment)) {
    return LaunchStatus::kMisaligned;
  }
  CompressArgs args{};
  args.values = static_cast<const unsigned char*>(values);
  args.count = count;
  args.blocks = szx::BlockCount(count);
  args.buffer = static_cast<unsigned char*>(buffer);
  // Behind room for the longest tables, which are those of constant blocks.
  args.coded_at = szx::HeaderBytes(szx::Mode::kRandomAccess) + CeilDiv(args.blocks, 8) +
                  SizeOf(dtype) * args.blocks;
  args.result = result;
  if (relative == 0) {
    args.bound = HostBound(eb, dtype);
    const LaunchStatus status = PutBound(eb, bound_out, stream);
    if (status != LaunchStatus::kOk) return status;
  }
  return dtype == DType::kF32 ? Launch<float>(args, relative, bound_out, workspace, stream)
                              : Launch<double>(args, relative, bound_out, workspace, stream);
}

}  // namespace szarena::codec::cuda
