// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "codec/szc/commands.h"
#include "data/json.h"
#include "field/writer.h"

namespace szarena::codec::szc {

Result<ExitCode> RunDecompress(const DecompressArgs& args) {
  SZARENA_TRY(const auto device, OpenDevice(args.device));
  SZARENA_TRY(const auto pages, field::Pages::MapFile(args.input));
  const std::span<const std::byte> file(pages.data(), pages.size());
  const auto header = container::ReadHeader(file, file.size());
  if (!header) return WithContext(header.error(), fmt::format("reading '{}'", args.input));
  SZARENA_TRY(auto output, field::Field::Allocate(header->dtype == DType::kF32 ? field::DType::kF32
                                                                               : field::DType::kF64,
                                                  FromDims(header->dims)));
  ShowStage("decompressing", args.input, output.size_bytes());
  const MutableArray values{output.mutable_bytes().data(), output.size(), header->dtype};
  const auto status = container::Decompress(file, values, args.threads, device.get());
  if (!status) return WithContext(status.error(), fmt::format("decompressing '{}'", args.input));
  SZARENA_TRY_VOID(CheckStop());
  ShowStage("writing", args.output, output.size_bytes());
  SZARENA_TRY_VOID(field::WriteField(output, args.output));
  EndStage();
  if (args.json) {
    fmt::print("{}\n", data::Json::Of({{"input", args.input},
                                       {"output", args.output},
                                       {"n", output.size()},
                                       {"dtype", DTypeName(header->dtype)},
                                       {"dims", field::DimsToString(output.dims())},
                                       {"output_bytes", output.size_bytes()}})
                           .Dump(2));
  } else {
    fmt::print("{}: {} values of {} ({})\n", args.output, output.size(), DTypeName(header->dtype),
               field::DimsToString(output.dims()));
  }
  return ExitCode::kDone;
}

}  // namespace szarena::codec::szc
