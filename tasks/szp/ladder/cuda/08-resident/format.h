// SPDX-License-Identifier: Apache-2.0
// What the kernels in codec/ need of the format: types, parameters and sizes (docs/formats/szp.md).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace szarena::codec {

enum class DType : uint8_t { kF32 = 0, kF64 = 1 };
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

namespace szp {

enum class Mode : uint8_t { kFixed = 0, kPlain = 1, kOutlier = 2 };

struct Params {
  double eb = 0;
  Mode mode = Mode::kOutlier;
  uint32_t padding_blocks = 1024;
};

constexpr uint64_t BlockCount(uint64_t count) { return count / 32 + (count % 32 != 0); }

// Bytes of the padded rate table; nothing where they do not fit 64 bits.
inline std::optional<uint64_t> RateTableBytes(uint64_t count, const Params& params) {
  if (params.padding_blocks == 0) return std::nullopt;
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(CeilDiv(BlockCount(count), params.padding_blocks),
                             uint64_t{params.padding_blocks}, &bytes))
    return std::nullopt;
  return bytes;
}

// Bytes of the largest payload: every block as it is.
inline std::optional<uint64_t> MaxPayloadSize(uint64_t count, DType dtype, const Params& params) {
  const std::optional<uint64_t> rates = RateTableBytes(count, params);
  uint64_t blocks = 0;
  uint64_t total = 0;
  if (!rates || __builtin_mul_overflow(BlockCount(count), 32 * SizeOf(dtype), &blocks) ||
      __builtin_add_overflow(*rates, blocks, &total))
    return std::nullopt;
  return total;
}

}  // namespace szp
}  // namespace szarena::codec
