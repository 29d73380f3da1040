// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>

#include "codec/szc/commands.h"
#include "data/json.h"

namespace szarena::codec::szc {
namespace {

using data::Json;

double FillAsNumber(const container::Header& header) {
  return header.dtype == DType::kF32
             ? std::bit_cast<float>(static_cast<std::uint32_t>(*header.fill))
             : std::bit_cast<double>(*header.fill);
}

// What the payload is made of, as the codec sees it.
Result<Json> DescribePayload(std::span<const std::byte> file, const container::Header& header) {
  const auto payload = container::PayloadOf(file, header);
  SZARENA_TRY(const auto count, container::PayloadCount(file, header));
  if (header.constant) return Json::Of({{"elements", count}, {"constant", true}});
  if (header.codec == container::Codec::kSzp) {
    SZARENA_TRY(const auto info,
                szp::Inspect(payload, count, header.dtype, container::SzpParams(header)));
    return Json::Of({{"elements", count},
                     {"blocks", info.blocks},
                     {"zero_blocks", info.zero_blocks},
                     {"raw_blocks", info.raw_blocks},
                     {"outlier_blocks", info.outlier_blocks},
                     {"rate_bytes", info.rate_bytes}});
  }
  SZARENA_TRY(const auto info, szx::Inspect(payload, count, header.dtype));
  return Json::Of({{"elements", count},
                   {"block_values", info.block_values},
                   {"blocks", info.blocks},
                   {"constant_blocks", info.constant_blocks},
                   {"full_blocks", info.full_blocks},
                   {"table_bytes", info.table_bytes},
                   {"block_bytes", info.block_bytes}});
}

}  // namespace

Result<ExitCode> RunInspect(const InspectArgs& args) {
  SZARENA_TRY(const auto pages, field::Pages::MapFile(args.input));
  const std::span<const std::byte> file(pages.data(), pages.size());
  const auto context = [&](Error error) {
    return WithContext(std::move(error), fmt::format("inspecting '{}'", args.input));
  };
  const auto header = container::ReadHeader(file, file.size());
  if (!header) return context(header.error());
  if (const auto status = container::CheckContent(file); !status) return context(status.error());
  auto payload = DescribePayload(file, *header);
  if (!payload) return context(payload.error());

  const double raw_bytes =
      static_cast<double>(header->count()) * static_cast<double>(SizeOf(header->dtype));
  const bool szp = header->codec == container::Codec::kSzp;
  auto json = Json::Of({{"file", args.input},
                        {"file_bytes", file.size()},
                        {"version", container::kVersion},
                        {"codec", container::CodecName(header->codec)},
                        {"mode", szp ? szp::ModeName(container::SzpParams(*header).mode)
                                     : szx::ModeName(container::SzxParams(*header).mode)},
                        {"dtype", DTypeName(header->dtype)},
                        {"n", header->count()},
                        {"dims", field::DimsToString(FromDims(header->dims))},
                        {"bound_kind", container::BoundKindName(header->bound_kind)},
                        {"bound", header->bound},
                        {"abs_bound", header->eb},
                        {"fill", header->fill ? Json(FillAsNumber(*header)) : Json()},
                        {"fill_bytes", header->fill_bytes},
                        {"payload_bytes", header->payload_bytes},
                        {"ratio", raw_bytes / static_cast<double>(file.size())},
                        {"checksum", "ok"},
                        {"payload", *std::move(payload)}});
  if (szp) json.Set("padding_blocks", header->parameter);
  if (args.json) {
    fmt::print("{}\n", json.Dump(2));
  } else {
    fmt::print(
        "{}: {} ({}) of {} {} values, {}\n  {} bound {}, absolute bound {}\n  {} bytes, ratio "
        "{:.2f}, checksum ok\n",
        args.input, container::CodecName(header->codec), *json.Find("mode")->string(),
        header->count(), DTypeName(header->dtype), field::DimsToString(FromDims(header->dims)),
        container::BoundKindName(header->bound_kind), header->bound, header->eb, file.size(),
        raw_bytes / static_cast<double>(file.size()));
  }
  return ExitCode::kDone;
}

}  // namespace szarena::codec::szc
