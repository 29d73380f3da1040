// SPDX-License-Identifier: Apache-2.0
// The container's header (docs/formats/container.md): 128 bytes, little endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "codec/core/dtype.h"

namespace szarena::codec::container {

inline constexpr uint64_t kHeaderBytes = 128;
inline constexpr uint16_t kVersion = 1;

// Stored in files: the numbers never change.
enum class Codec : uint8_t { kSzp = 1, kSzx = 2 };
std::string_view CodecName(Codec codec);  // "szp", "szx"
std::optional<Codec> ParseCodec(std::string_view name);

enum class BoundKind : uint8_t { kAbsolute = 0, kRelative = 1 };
std::string_view BoundKindName(BoundKind kind);  // "abs", "rel"

// One to three dimensions, slowest first; their product is the element count.
struct Dims {
  std::array<uint64_t, 3> extent = {1, 1, 1};
  unsigned rank = 1;

  // The number of elements, or nothing where it does not fit 64 bits.
  std::optional<uint64_t> Count() const;
  static Dims Of(uint64_t count) { return {{count, 1, 1}, 1}; }
  bool operator==(const Dims&) const = default;
};

struct Header {
  Codec codec = Codec::kSzp;
  DType dtype = DType::kF32;
  uint8_t mode = 0;  // szp::Mode or szx::Mode
  Dims dims;
  BoundKind bound_kind = BoundKind::kAbsolute;
  double bound = 0;              // as the user gave it
  double eb = 0;                 // the absolute bound that it stands for; 0: every bit is kept
  uint32_t parameter = 0;        // SZp: padding_blocks; SZx: 0
  bool constant = false;         // the payload is one element, all others have its bits
  std::optional<uint64_t> fill;  // bits of the fill value; its places are in the fill section
  uint64_t fill_bytes = 0;       // of the fill section
  uint64_t payload_bytes = 0;

  uint64_t count() const { return *dims.Count(); }
  uint64_t payload_offset() const { return kHeaderBytes + fill_bytes; }
  bool operator==(const Header&) const = default;
};

// Writes the header of a whole file in place: `file` holds the fill section and the payload
// already, behind room for the header. Adds the checksums.
void WriteHeader(const Header& header, std::span<std::byte> file);

// Sets both checksums right for whatever the bytes are (at least a header): for tests and fuzzers
// that want to get behind them.
void RepairChecksums(std::span<std::byte> file);

// Reads and checks the header alone; `file_bytes` is the size of the whole file. Refuses what is
// not a container, another version, damaged headers and sizes that do not add up.
Result<Header> ReadHeader(std::span<const std::byte> head, uint64_t file_bytes);

// Checks the checksum over everything behind the header.
Result<void> CheckContent(std::span<const std::byte> file);

}  // namespace szarena::codec::container
