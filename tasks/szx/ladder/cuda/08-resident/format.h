// SPDX-License-Identifier: Apache-2.0
// What the kernels in codec/ need of the format: types and sizes (docs/formats/szx.md).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace szarena::codec {

enum class DType : uint8_t { kF32 = 0, kF64 = 1 };
template <class T>
inline constexpr DType kDTypeOf = sizeof(T) == 4 ? DType::kF32 : DType::kF64;
constexpr uint64_t SizeOf(DType dtype) { return dtype == DType::kF32 ? 4 : 8; }

__host__ __device__ constexpr uint64_t CeilDiv(uint64_t a, uint64_t b) {
  return a / b + (a % b != 0);
}

// The largest finite T that is <= eb; 0 where eb is below the smallest subnormal.
template <class T>
T RoundBoundDown(double eb) {
  constexpr T kMax = std::numeric_limits<T>::max();
  if (!(eb > 0)) return 0;
  if (eb >= static_cast<double>(kMax)) return kMax;
  T rounded = static_cast<T>(eb);
  if (static_cast<double>(rounded) > eb) rounded = std::nextafter(rounded, T{0});
  return rounded;
}

namespace szx {

enum class Mode : uint8_t { kSequential = 0, kRandomAccess = 1 };

struct Params {
  double eb = 0;
  Mode mode = Mode::kRandomAccess;
};

inline constexpr uint64_t kBlockValues = 128;
inline constexpr uint64_t kMaxBlockValues = 7936;  // that are read
constexpr uint64_t BlockCount(uint64_t count) { return CeilDiv(count, kBlockValues); }

template <class T>
struct Type;

template <>
struct Type<float> {
  using Bits = uint32_t;
  static constexpr int kBits = 32;
  static constexpr int kExponentBias = 127;
  static constexpr int kMantissaBits = 23;
  static constexpr int kHeadBits = 9;  // sign and exponent: the shortest required length
  static constexpr uint8_t kVersionByte = 1;
};

template <>
struct Type<double> {
  using Bits = uint64_t;
  static constexpr int kBits = 64;
  static constexpr int kExponentBias = 1023;
  static constexpr int kMantissaBits = 52;
  static constexpr int kHeadBits = 12;
  static constexpr uint8_t kVersionByte = 2;
};

// Bytes in front of the first code of a coded block: required length and median.
template <class T>
inline constexpr std::size_t kBlockHeadBytes = 1 + sizeof(T);

// Bytes of `count` values coded at full length: the largest a coded block can be.
template <class T>
__host__ __device__ constexpr std::size_t MaxBlockBytes(std::size_t count) {
  return kBlockHeadBytes<T> + CeilDiv(count, 4) + count * sizeof(T);
}

__host__ __device__ constexpr std::size_t HeaderBytes(Mode mode) {
  return mode == Mode::kRandomAccess ? 20 : 13;
}

// Bytes of the longest stream and of room to place its blocks before the number of constant ones is
// known; nothing where they do not fit 64 bits.
inline std::optional<uint64_t> RoomySize(uint64_t count, DType dtype, const Params& params) {
  const uint64_t full = count / kBlockValues;
  const uint64_t tail = count % kBlockValues;
  const bool single = dtype == DType::kF32;
  const auto most = [&](uint64_t values) {
    return single ? MaxBlockBytes<float>(values) : MaxBlockBytes<double>(values);
  };
  // A block's share of the tables: its median, which is longer than its size.
  const uint64_t blocks = BlockCount(count);
  uint64_t coded = 0;
  uint64_t medians = 0;
  uint64_t size = HeaderBytes(params.mode) + CeilDiv(blocks, 8) + (tail != 0 ? most(tail) : 0);
  if (__builtin_mul_overflow(full, most(kBlockValues), &coded) ||
      __builtin_mul_overflow(blocks, SizeOf(dtype), &medians) ||
      __builtin_add_overflow(size, coded, &size) || __builtin_add_overflow(size, medians, &size))
    return std::nullopt;
  return size;
}

}  // namespace szx
}  // namespace szarena::codec
