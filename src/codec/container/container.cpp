// SPDX-License-Identifier: Apache-2.0
#include "codec/container/container.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "codec/container/fill_mask.h"
#include "codec/core/bound.h"
#include "codec/core/size.h"

namespace szarena::codec::container {
namespace {

Result<uint64_t> MaxPayloadSize(uint64_t count, const Header& header) {
  return header.codec == Codec::kSzp ? szp::MaxPayloadSize(count, header.dtype, SzpParams(header))
                                     : szx::MaxPayloadSize(count, header.dtype, SzxParams(header));
}

Header HeaderFor(DType dtype, const Dims& dims, const Options& options) {
  Header header;
  header.codec = options.codec;
  header.dtype = dtype;
  const bool szp = options.codec == Codec::kSzp;
  header.mode =
      szp ? static_cast<uint8_t>(options.szp_mode) : static_cast<uint8_t>(options.szx_mode);
  header.parameter = szp ? options.szp_padding_blocks : 0;
  header.dims = dims;
  header.bound_kind = options.bound_kind;
  header.bound = options.bound;
  header.eb = options.bound;
  if (options.fill) header.fill = FillBits(*options.fill, dtype);
  return header;
}

// Whether all elements have the same bits.
bool AllTheSame(ConstArray values) {
  const uint64_t width = SizeOf(values.dtype);
  return values.count > 0 &&
         std::memcmp(values.data, values.data + width, (values.count - 1) * width) == 0;
}

Result<uint64_t> CompressPayload(ConstArray kept, const Header& header,
                                 std::span<std::byte> payload, const Options& options) {
  if (header.constant) {
    const uint64_t width = SizeOf(kept.dtype);
    if (payload.size() < width) return Fail(ErrorCode::kCapacity, "no room for the constant");
    std::memcpy(payload.data(), kept.data, width);
    return width;
  }
  if (options.device != nullptr) return options.device->Compress(kept, header, payload);
  return header.codec == Codec::kSzp
             ? szp::Compress(kept, SzpParams(header), payload, options.threads)
             : szx::Compress(kept, SzxParams(header), payload, options.threads);
}

}  // namespace

szp::Params SzpParams(const Header& header) {
  return {.eb = header.eb,
          .mode = static_cast<szp::Mode>(header.mode),
          .padding_blocks = header.parameter};
}

szx::Params SzxParams(const Header& header) {
  return {.eb = header.eb, .mode = static_cast<szx::Mode>(header.mode)};
}

std::span<const std::byte> PayloadOf(std::span<const std::byte> file, const Header& header) {
  return file.subspan(header.payload_offset(), header.payload_bytes);
}

Result<uint64_t> PayloadCount(std::span<const std::byte> file, const Header& header) {
  if (!header.fill) return header.count();
  return CountKept(file.subspan(kHeaderBytes, header.fill_bytes), header.count());
}

Result<uint64_t> MaxSize(uint64_t count, DType dtype, const Options& options) {
  SZARENA_TRY_VOID(CheckUserBound(options.bound, "bound"));
  SZARENA_TRY(const uint64_t payload,
              MaxPayloadSize(count, HeaderFor(dtype, Dims::Of(count), options)));
  // A constant's payload is one element, where the codec might need less for none.
  const auto total = CheckedAdd(CheckedAdd(kHeaderBytes, std::max(payload, SizeOf(dtype))),
                                options.fill ? MaxFillSectionBytes(count) : 0);
  if (!total) {
    return Fail(ErrorCode::kCapacity,
                fmt::format("a container of '{}' elements can exceed 64-bit sizes", count));
  }
  return *total;
}

Result<uint64_t> Compress(ConstArray values, const Dims& dims, const Options& options,
                          std::span<std::byte> file) {
  SZARENA_TRY_VOID(CheckUserBound(options.bound, "bound"));
  if (dims.rank < 1 || dims.rank > 3 || dims.Count() != values.count) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("dims '{}x{}x{}' do not hold '{}' elements", dims.extent[0],
                            dims.extent[1], dims.extent[2], values.count));
  }
  if (options.fill && values.dtype == DType::kF32 && std::isfinite(*options.fill) &&
      std::fabs(*options.fill) > std::numeric_limits<float>::max()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("fill value '{}' is beyond the range of f32", *options.fill));
  }
  Header header = HeaderFor(values.dtype, dims, options);
  const uint64_t section_room = header.fill ? MaxFillSectionBytes(values.count) : 0;
  if (file.size() < kHeaderBytes || file.size() - kHeaderBytes < section_room) {
    return Fail(ErrorCode::kCapacity,
                fmt::format("buffer of '{}' bytes is too small for a container", file.size()));
  }
  ConstArray kept = values;
  std::unique_ptr<std::byte[]> kept_memory;
  if (header.fill) {
    const ValueRange range = FindRange(values, options.fill, options.threads);
    kept.count = range.finite + range.non_finite;
    kept_memory.reset(new std::byte[kept.count * SizeOf(values.dtype)]);
    header.fill_bytes = WriteFillSection(
        values, *header.fill, file.subspan(kHeaderBytes, section_room), kept_memory.get());
    kept.data = kept_memory.get();
  }
  if (options.bound_kind == BoundKind::kRelative) {
    const ValueRange range = FindRange(kept, std::nullopt, options.threads);
    header.eb = ResolveRelativeBound(options.bound, range);
    header.constant = range.constant() && AllTheSame(kept);
  }
  const auto payload = file.subspan(header.payload_offset());
  SZARENA_TRY(header.payload_bytes, CompressPayload(kept, header, payload, options));
  const uint64_t size = header.payload_offset() + header.payload_bytes;
  WriteHeader(header, file.first(size));
  return size;
}

Result<void> Decompress(std::span<const std::byte> file, MutableArray values, unsigned threads,
                        PayloadCodec* device) {
  SZARENA_TRY(const Header header, ReadHeader(file, file.size()));
  if (header.dtype != values.dtype || header.count() != values.count) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the container holds '{}' elements of '{}', the array '{}' of '{}'",
                            header.count(), DTypeName(header.dtype), values.count,
                            DTypeName(values.dtype)));
  }
  SZARENA_TRY_VOID(CheckContent(file));
  SZARENA_TRY(const uint64_t kept, PayloadCount(file, header));
  const auto payload = PayloadOf(file, header);
  const uint64_t width = SizeOf(values.dtype);
  if (header.constant) {
    for (uint64_t i = 0; i < kept; ++i) std::memcpy(values.data + i * width, payload.data(), width);
  } else {
    const MutableArray front{values.data, kept, values.dtype};
    if (device != nullptr) {
      SZARENA_TRY_VOID(device->Decompress(payload, header, front));
    } else if (header.codec == Codec::kSzp) {
      SZARENA_TRY_VOID(szp::Decompress(payload, SzpParams(header), front, threads));
    } else {
      SZARENA_TRY_VOID(szx::Decompress(payload, front, threads));
    }
  }
  if (header.fill) {
    SpreadKept(file.subspan(kHeaderBytes, header.fill_bytes), *header.fill, kept, values);
  }
  return {};
}

}  // namespace szarena::codec::container
