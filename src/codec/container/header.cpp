// SPDX-License-Identifier: Apache-2.0
#include "codec/container/header.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "codec/core/size.h"

namespace szarena::codec::container {
namespace {

// No text file starts like this, and transfers that rewrite line ends damage it visibly.
constexpr std::array<unsigned char, 8> kMagic = {0x89, 'S', 'Z', 'A', '\r', '\n', 0x1A, '\n'};

// Offsets in the header (docs/formats/container.md, table "Header").
enum Offset : size_t {
  kVersionAt = 8,
  kHeaderBytesAt = 10,
  kCodecAt = 12,
  kDTypeAt = 13,
  kModeAt = 14,
  kRankAt = 15,
  kDimsAt = 16,
  kBoundKindAt = 40,
  kFlagsAt = 41,
  kZero16At = 42,
  kParameterAt = 44,
  kBoundAt = 48,
  kEbAt = 56,
  kFillAt = 64,
  kFillBytesAt = 72,
  kPayloadBytesAt = 80,
  kReservedAt = 88,
  kContentSumAt = 112,
  kHeaderSumAt = 120,
};
constexpr uint8_t kConstantFlag = 1;
constexpr uint8_t kFillFlag = 2;

uint64_t ChecksumOf(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

tl::unexpected<Error> Corrupt(std::string message) {
  return Fail(ErrorCode::kCorrupt, std::move(message));
}

// The checks that a header with a right checksum can still fail: another program wrote nonsense.
Result<void> CheckFields(const Header& header, std::span<const std::byte> head) {
  const auto byte_at = [&](size_t at) { return std::to_integer<unsigned>(head[at]); };
  if (CodecName(header.codec) == "unknown") {
    return Corrupt(fmt::format("codec '{}' is unknown, expected 1 or 2", byte_at(kCodecAt)));
  }
  if (byte_at(kDTypeAt) > 1) {
    return Corrupt(fmt::format("element type '{}' is unknown, expected 0 or 1", byte_at(kDTypeAt)));
  }
  const unsigned modes = header.codec == Codec::kSzp ? 3 : 2;
  if (header.mode >= modes) {
    return Corrupt(fmt::format("mode '{}' is unknown, expected less than {}", header.mode, modes));
  }
  if (header.dims.rank < 1 || header.dims.rank > 3 || byte_at(kBoundKindAt) > 1 ||
      (byte_at(kFlagsAt) & ~unsigned{kConstantFlag | kFillFlag}) != 0) {
    return Corrupt("the header's rank, bound kind or flags are unknown to this version");
  }
  for (unsigned d = header.dims.rank; d < 3; ++d) {
    if (header.dims.extent[d] != 1) return Corrupt("a dimension beyond the rank is not 1");
  }
  const auto bytes = CheckedMul(header.dims.Count(), SizeOf(header.dtype));
  if (!bytes) return Corrupt("the dimensions' product does not fit 64 bits");
  if (!(header.eb >= 0 && header.bound > 0) || std::isinf(header.eb) || std::isinf(header.bound)) {
    return Corrupt(fmt::format("bounds '{}' and '{}' have no meaning", header.bound, header.eb));
  }
  const bool has_padding = header.codec == Codec::kSzp;
  if ((header.parameter != 0) != has_padding)
    return Corrupt("the codec's parameter has no meaning");
  if (header.dtype == DType::kF32 && header.fill && *header.fill > 0xFFFFFFFFu) {
    return Corrupt("the fill value is wider than an element");
  }
  if (!header.fill && (LoadLe<uint64_t>(&head[kFillAt]) != 0 || header.fill_bytes != 0)) {
    return Corrupt("a fill value is given but not flagged");
  }
  if (header.constant && header.payload_bytes != SizeOf(header.dtype)) {
    return Corrupt("the payload of a constant field is not one element");
  }
  const auto reserved = head.subspan(kReservedAt, kContentSumAt - kReservedAt);
  if (LoadLe<uint16_t>(&head[kZero16At]) != 0 ||
      std::any_of(reserved.begin(), reserved.end(),
                  [](std::byte b) { return b != std::byte{0}; })) {
    return Corrupt("reserved bytes of the header are not 0");
  }
  return {};
}

}  // namespace

std::string_view CodecName(Codec codec) {
  switch (codec) {
    case Codec::kSzp:
      return "szp";
    case Codec::kSzx:
      return "szx";
  }
  return "unknown";
}

std::optional<Codec> ParseCodec(std::string_view name) {
  for (const Codec codec : {Codec::kSzp, Codec::kSzx}) {
    if (name == CodecName(codec)) return codec;
  }
  return std::nullopt;
}

std::string_view BoundKindName(BoundKind kind) {
  return kind == BoundKind::kAbsolute ? "abs" : "rel";
}

std::optional<uint64_t> Dims::Count() const {
  return CheckedMul(CheckedMul(extent[0], extent[1]), extent[2]);
}

void WriteHeader(const Header& header, std::span<std::byte> file) {
  std::byte* const out = file.data();
  std::memset(out, 0, kHeaderBytes);
  std::memcpy(out, kMagic.data(), kMagic.size());
  StoreLe<uint16_t>(out + kVersionAt, kVersion);
  StoreLe<uint16_t>(out + kHeaderBytesAt, kHeaderBytes);
  StoreLe(out + kCodecAt, header.codec);
  StoreLe(out + kDTypeAt, header.dtype);
  StoreLe(out + kModeAt, header.mode);
  StoreLe(out + kRankAt, static_cast<uint8_t>(header.dims.rank));
  for (size_t d = 0; d < 3; ++d) StoreLe(out + kDimsAt + 8 * d, header.dims.extent[d]);
  StoreLe(out + kBoundKindAt, header.bound_kind);
  StoreLe(out + kFlagsAt, static_cast<uint8_t>((header.constant ? kConstantFlag : 0) |
                                               (header.fill ? kFillFlag : 0)));
  StoreLe(out + kParameterAt, header.parameter);
  StoreLe(out + kBoundAt, header.bound);
  StoreLe(out + kEbAt, header.eb);
  StoreLe(out + kFillAt, header.fill.value_or(0));
  StoreLe(out + kFillBytesAt, header.fill_bytes);
  StoreLe(out + kPayloadBytesAt, header.payload_bytes);
  RepairChecksums(file);
}

void RepairChecksums(std::span<std::byte> file) {
  StoreLe(file.data() + kContentSumAt, ChecksumOf(file.subspan(kHeaderBytes)));
  StoreLe(file.data() + kHeaderSumAt, ChecksumOf(file.first(kHeaderSumAt)));
}

Result<Header> ReadHeader(std::span<const std::byte> head, uint64_t file_bytes) {
  if (head.size() < kMagic.size() || std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0) {
    return Corrupt("not an szarena container: the first 8 bytes are not its signature");
  }
  if (head.size() < kHeaderBytes || file_bytes < kHeaderBytes) {
    return Corrupt(fmt::format("cut short: '{}' bytes, expected at least {}",
                               std::min<uint64_t>(head.size(), file_bytes), kHeaderBytes));
  }
  head = head.first(kHeaderBytes);
  if (LoadLe<uint64_t>(&head[kHeaderSumAt]) != ChecksumOf(head.first(kHeaderSumAt))) {
    return Corrupt("the header is damaged: its checksum differs");
  }
  const auto version = LoadLe<uint16_t>(&head[kVersionAt]);
  if (version != kVersion || LoadLe<uint16_t>(&head[kHeaderBytesAt]) != kHeaderBytes) {
    return Corrupt(
        fmt::format("container version '{}' is unknown, expected {}", version, kVersion));
  }
  Header header;
  header.codec = static_cast<Codec>(head[kCodecAt]);
  header.dtype = static_cast<DType>(head[kDTypeAt]);
  header.mode = std::to_integer<uint8_t>(head[kModeAt]);
  header.dims.rank = std::to_integer<unsigned>(head[kRankAt]);
  for (size_t d = 0; d < 3; ++d) header.dims.extent[d] = LoadLe<uint64_t>(&head[kDimsAt + 8 * d]);
  header.bound_kind = static_cast<BoundKind>(head[kBoundKindAt]);
  const auto flags = std::to_integer<unsigned>(head[kFlagsAt]);
  header.constant = (flags & kConstantFlag) != 0;
  if ((flags & kFillFlag) != 0) header.fill = LoadLe<uint64_t>(&head[kFillAt]);
  header.parameter = LoadLe<uint32_t>(&head[kParameterAt]);
  header.bound = LoadLe<double>(&head[kBoundAt]);
  header.eb = LoadLe<double>(&head[kEbAt]);
  header.fill_bytes = LoadLe<uint64_t>(&head[kFillBytesAt]);
  header.payload_bytes = LoadLe<uint64_t>(&head[kPayloadBytesAt]);
  SZARENA_TRY_VOID(CheckFields(header, head));
  const auto expected =
      CheckedAdd(CheckedAdd(kHeaderBytes, header.fill_bytes), header.payload_bytes);
  if (expected != file_bytes) {
    return Corrupt(
        fmt::format("'{}' bytes in all, the header says '{}'", file_bytes, expected.value_or(0)));
  }
  return header;
}

Result<void> CheckContent(std::span<const std::byte> file) {
  if (file.size() < kHeaderBytes) return Corrupt("cut short");
  if (LoadLe<uint64_t>(&file[kContentSumAt]) != ChecksumOf(file.subspan(kHeaderBytes))) {
    return Corrupt("the content is damaged: its checksum differs");
  }
  return {};
}

}  // namespace szarena::codec::container
