// SPDX-License-Identifier: Apache-2.0
#include "codec/container/fill_mask.h"

#include <bit>
#include <cstring>
#include <vector>

#include "codec/core/size.h"

namespace szarena::codec::container {
namespace {

// First byte of a section. Runs: LEB128 lengths, kept and fill in turn, kept first (0 allowed there
// only). Bitmap: one bit an element, low bit first, 1 = fill, unused bits 0. The shorter one is
// written.
constexpr std::byte kRuns{0};
constexpr std::byte kBitmap{1};

tl::unexpected<Error> Corrupt(const char* message) { return Fail(ErrorCode::kCorrupt, message); }

uint64_t BitsAt(const std::byte* data, uint64_t index, DType dtype) {
  if (dtype == DType::kF32) {
    uint32_t bits = 0;
    std::memcpy(&bits, data + index * 4, 4);
    return bits;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, data + index * 8, 8);
  return bits;
}

bool BitmapAt(std::span<const std::byte> bitmap, uint64_t index) {
  return (std::to_integer<unsigned>(bitmap[index / 8]) >> index % 8 & 1) != 0;
}

// The lengths of a runs section, checked; they alternate kept, fill, kept..
Result<std::vector<uint64_t>> ReadRuns(std::span<const std::byte> bytes, uint64_t count) {
  std::vector<uint64_t> runs;
  std::optional<uint64_t> total = 0;
  size_t at = 0;
  while (at < bytes.size()) {
    uint64_t length = 0;
    unsigned shift = 0;
    std::byte b{};
    do {
      if (at == bytes.size()) return Corrupt("the fill section ends inside a run length");
      b = bytes[at++];
      const auto bits = std::to_integer<uint64_t>(b & std::byte{0x7F});
      if (shift > 63 || (shift == 63 && bits > 1))
        return Corrupt("a fill run is longer than 64 bits");
      length |= bits << shift;
      shift += 7;
    } while ((b & std::byte{0x80}) != std::byte{0});
    if (length == 0 && !runs.empty()) return Corrupt("a fill run is empty");
    total = CheckedAdd(total, length);
    runs.push_back(length);
  }
  if (total != count) return Corrupt("the fill runs do not add up to the element count");
  return runs;
}

}  // namespace

uint64_t FillBits(double fill, DType dtype) {
  if (dtype == DType::kF64) return std::bit_cast<uint64_t>(fill);
  return std::bit_cast<uint32_t>(static_cast<float>(fill));
}

uint64_t MaxFillSectionBytes(uint64_t count) { return 1 + CeilDiv(count, 8); }

uint64_t WriteFillSection(ConstArray values, uint64_t fill_bits, std::span<std::byte> section,
                          std::byte* kept) {
  const uint64_t width = SizeOf(values.dtype);
  const uint64_t bitmap_bytes = MaxFillSectionBytes(values.count);
  section[0] = kRuns;
  uint64_t used = 1;
  bool runs_fit = true;  // shorter than the bitmap so far
  uint64_t i = 0;
  for (bool fill = false; i < values.count; fill = !fill) {
    const uint64_t begin = i;
    while (i < values.count && (BitsAt(values.data, i, values.dtype) == fill_bits) == fill) ++i;
    if (!fill) {
      std::memcpy(kept, values.data + begin * width, (i - begin) * width);
      kept += (i - begin) * width;
    }
    for (uint64_t length = i - begin; runs_fit;) {
      if (used + 1 >= bitmap_bytes) {
        runs_fit = false;
        break;
      }
      section[used++] = static_cast<std::byte>((length & 0x7F) | (length > 0x7F ? 0x80 : 0));
      length >>= 7;
      if (length == 0) break;
    }
  }
  if (runs_fit) return used;
  std::memset(section.data(), 0, bitmap_bytes);
  section[0] = kBitmap;
  for (uint64_t k = 0; k < values.count; ++k) {
    if (BitsAt(values.data, k, values.dtype) == fill_bits) {
      section[1 + k / 8] |= static_cast<std::byte>(1 << k % 8);
    }
  }
  return bitmap_bytes;
}

Result<uint64_t> CountKept(std::span<const std::byte> section, uint64_t count) {
  if (section.empty()) return Corrupt("the fill section is empty");
  const auto body = section.subspan(1);
  if (section[0] == kRuns) {
    SZARENA_TRY(const std::vector<uint64_t> runs, ReadRuns(body, count));
    uint64_t kept = 0;
    for (size_t r = 0; r < runs.size(); r += 2) kept += runs[r];
    return kept;
  }
  if (section[0] != kBitmap) return Corrupt("the fill section is of an unknown kind");
  if (body.size() != CeilDiv(count, 8)) return Corrupt("the fill bitmap has the wrong length");
  uint64_t fills = 0;
  for (const std::byte b : body) {
    fills += static_cast<uint64_t>(std::popcount(std::to_integer<unsigned>(b)));
  }
  for (uint64_t k = count; k < body.size() * 8; ++k) {
    if (BitmapAt(body, k)) return Corrupt("unused bits of the fill bitmap are not 0");
  }
  return count - fills;
}

void SpreadKept(std::span<const std::byte> section, uint64_t fill_bits, uint64_t kept,
                MutableArray values) {
  const uint64_t width = SizeOf(values.dtype);
  const auto body = section.subspan(1);
  const auto write_fill = [&](uint64_t index) {
    std::memcpy(values.data + index * width, &fill_bits, width);
  };
  // From the end: the source never lies behind the target, so nothing is overwritten before it
  // moves.
  uint64_t i = values.count;
  if (section[0] == kRuns) {
    const auto runs = ReadRuns(body, values.count);
    for (size_t r = runs->size(); r-- > 0;) {
      const uint64_t length = (*runs)[r];
      i -= length;
      if (r % 2 == 0) {
        kept -= length;
        std::memmove(values.data + i * width, values.data + kept * width, length * width);
      } else {
        for (uint64_t k = 0; k < length; ++k) write_fill(i + k);
      }
    }
    return;
  }
  while (i-- > 0) {
    if (BitmapAt(body, i)) {
      write_fill(i);
    } else {
      --kept;
      std::memmove(values.data + i * width, values.data + kept * width, width);
    }
  }
}

}  // namespace szarena::codec::container
