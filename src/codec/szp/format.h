// SPDX-License-Identifier: Apache-2.0
// Constants and sizes of an SZp payload (docs/formats/szp.md).
//
//   [rate bytes of the padded block grid][block payloads, in block order]
#pragma once

#include <array>
#include <cstdint>

#include "base/error.h"
#include "codec/core/dtype.h"
#include "codec/szp/szp.h"

namespace szarena::codec::szp {

inline constexpr uint32_t kBlock = 32;      // values of a block
inline constexpr uint32_t kSignBytes = 4;   // one bit a value, first value in the top bit of byte 0
inline constexpr uint32_t kPlaneBytes = 4;  // likewise, one bit plane
inline constexpr uint32_t kMaxRate = 31;    // bit planes of a coded block

// Rate bytes. 0..31: plain with that many planes. 1oorrrrr: first difference kept apart in oo+1
// bytes and r planes. 0x3F, which cuSZp never writes: 32 values as they are. All others are
// invalid.
inline constexpr uint8_t kRawRate = 0x3F;
inline constexpr uint8_t kOutlierFlag = 0x80;

// A quantised value is coded only where |q| is below this.
template <Real T>
inline constexpr T kQuantLimit = std::same_as<T, float> ? T{1 << 24} : T{1 << 30};

constexpr uint32_t RawBlockBytes(DType dtype) {
  return kBlock * static_cast<uint32_t>(SizeOf(dtype));
}

// The largest coded block never exceeds a raw one, so "the coded form would be larger" does not
// occur: f32 differences have at most 25 bits, f64 ones at most 31.
static_assert(kSignBytes + kPlaneBytes * 25 + 4 <= RawBlockBytes(DType::kF32));
static_assert(kSignBytes + kPlaneBytes * kMaxRate + 4 <= RawBlockBytes(DType::kF64));

// Bytes of a block's payload by rate byte; kInvalidSize marks a byte that no stream may hold.
inline constexpr uint16_t kInvalidSize = 0xFFFF;
using SizeTable = std::array<uint16_t, 256>;
constexpr SizeTable MakeSizeTable(DType dtype, Mode mode) {
  SizeTable sizes{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t rate = byte & 0x1F;
    uint32_t size = kInvalidSize;
    if (byte == 0) {
      size = 0;
    } else if (byte <= kMaxRate) {
      size = kSignBytes + kPlaneBytes * rate;
    } else if (byte == kRawRate) {
      size = RawBlockBytes(dtype);
    } else if ((byte & kOutlierFlag) != 0 && mode == Mode::kOutlier) {
      size = ((byte >> 5) & 3) + 1 + kSignBytes + kPlaneBytes * rate;
    }
    sizes[byte] = static_cast<uint16_t>(size);
  }
  return sizes;
}

// The largest payload of a block that a stream may hold: beyond what our encoder writes, since an
// outlier block may name more planes than its differences have bits.
constexpr uint32_t MaxBlockBytes(DType dtype, Mode mode) {
  uint32_t most = 0;
  for (const uint16_t size : MakeSizeTable(dtype, mode)) {
    if (size != kInvalidSize && size > most) most = size;
  }
  return most;
}
static_assert(MaxBlockBytes(DType::kF32, Mode::kOutlier) ==
              4 + kSignBytes + kPlaneBytes * kMaxRate);

// Refuses parameters that have no meaning.
Result<void> CheckParams(const Params& params);

// Bytes of the padded rate table; refuses what does not fit 64 bits.
Result<uint64_t> RateTableBytes(uint64_t count, const Params& params);

}  // namespace szarena::codec::szp
