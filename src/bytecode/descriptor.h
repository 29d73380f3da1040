// SPDX-License-Identifier: Apache-2.0
// A DSD value: 32 bytes in PE memory (descriptor space), little endian. Encode and decode.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace szarena::bytecode {

enum class DsdKind : uint8_t { kNone, kMem1d, kMem4d, kCircbuf, kFabin, kFabout };
enum class SimdMode : uint8_t { kNone, kSimd32, kSimd64, kSimd32Or64 };
enum class Priority : uint8_t { kDefault, kLow, kMedium, kHigh };

inline constexpr int kDescriptorBytes = 32;
inline constexpr uint16_t kInfiniteExtent = 0x7fff;
inline constexpr uint8_t kNoQueue = 0xff;
inline constexpr uint8_t kNoColor = 0xff;
inline constexpr uint8_t kQueueOfColor =
    0xff;  // WSE-2 fabric input that names no queue: the one that receives its colour

// Offsets of the fields inside the 32 bytes are those of the comments; DsdField names them for
// instruction DsdSet.
struct Descriptor {
  DsdKind kind = DsdKind::kNone;  //  0 u8
  uint8_t elem_size =
      2;  //  1 u8   bytes of one element of the array that it was made from (memory kinds)
  bool wavelet_index_offset = false;       //  2 u16  flags, bit 0
  bool control = false;                    //         bit 1  all wavelets sent are control wavelets
  bool zero_first_source = false;          //         bit 2
  bool zero_second_source = false;         //         bit 3
  bool advance_switch = false;             //         bit 4  after the last wavelet
  bool control_transform = false;          //         bit 5
  SimdMode simd = SimdMode::kNone;         //         bits 8-9
  Priority priority = Priority::kDefault;  //     bits 10-11
  uint16_t base = 0;  //  4 u16  byte address of the first element (offset included)
  // Memory kinds: loop counts and element steps, OUTERMOST first in the loop nest; dimensions
  // beyond `rank` are 1 and 0. Address of (i0, i1, ...) = base + s * sum i_k * stride[k], where s
  // is the element size of the operation that uses it. Fabric kinds: extent[0] only.
  std::array<uint16_t, 4> extent = {0, 1, 1, 1};  //  6 u16 x 4
  std::array<int16_t, 4> stride = {0, 0, 0, 0};   // 14 i16 x 4
  uint16_t lo =
      0;  // 22 u16  the array that it was made from is [lo, hi) in bytes; lo == hi: unknown
  uint16_t hi = 0;           // 24 u16  (0 with lo > 0 means 0x10000)
  uint8_t color = kNoColor;  // 26 u8   fabric kinds
  uint8_t queue = kNoQueue;  // 27 u8   input or output queue
  uint16_t wrap = 0;         // 28 u16  circbuf: elements until wrap-around, counted from `base`
  uint8_t rank = 1;          // 30 u8   1..4
  uint8_t position = 0;      // 31 u8   reserved, 0

  friend bool operator==(const Descriptor&, const Descriptor&) = default;
  bool is_fabric() const { return kind == DsdKind::kFabin || kind == DsdKind::kFabout; }
  bool is_memory() const { return kind >= DsdKind::kMem1d && kind <= DsdKind::kCircbuf; }
  // Number of elements; kInfiniteExtent for an endless one.
  uint32_t length() const {
    uint32_t n = extent[0];
    for (int k = 1; k < rank; ++k) n *= extent[static_cast<size_t>(k)];
    return n;
  }
  std::string ToString() const;  // for the disassembler and traps
};

// Byte offset of a field that DsdSet writes; width is 1 or 2 bytes as in the comments above.
enum class DsdField : uint16_t {
  kKind = 0,
  kElemSize = 1,
  kFlags = 2,
  kBase = 4,
  kExtent0 = 6,
  kExtent1 = 8,
  kExtent2 = 10,
  kExtent3 = 12,
  kStride0 = 14,
  kStride1 = 16,
  kStride2 = 18,
  kStride3 = 20,
  kLo = 22,
  kHi = 24,
  kColor = 26,
  kQueue = 27,
  kWrap = 28,
  kRank = 30,
};
constexpr int WidthOf(DsdField f) {
  switch (f) {
    case DsdField::kKind:
    case DsdField::kElemSize:
    case DsdField::kColor:
    case DsdField::kQueue:
    case DsdField::kRank:
      return 1;
    default:
      return 2;
  }
}
bool IsDsdField(uint16_t offset);

void Encode(const Descriptor& d, std::span<uint8_t, kDescriptorBytes> out);
Descriptor Decode(std::span<const uint8_t, kDescriptorBytes> in);

}  // namespace szarena::bytecode
