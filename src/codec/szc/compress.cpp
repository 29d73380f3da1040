// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/atomic_file.h"
#include "codec/core/bound.h"
#include "codec/szc/commands.h"
#include "data/json.h"

namespace szarena::codec::szc {
namespace {

constexpr std::size_t kWritePiece = std::size_t{64} << 20;

Result<container::Options> ReadOptions(const CompressArgs& args) {
  container::Options options;
  const auto codec = container::ParseCodec(args.codec);
  if (!codec) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("codec is '{}', expected 'szp' or 'szx'", args.codec));
  }
  options.codec = *codec;
  if (args.abs.has_value() == args.rel.has_value()) {
    return Fail(ErrorCode::kInvalidArgument,
                "give one error bound: --abs EB, or --rel EB times the value range");
  }
  options.bound_kind = args.abs ? container::BoundKind::kAbsolute : container::BoundKind::kRelative;
  options.bound = args.abs ? *args.abs : *args.rel;
  SZARENA_TRY_VOID(CheckUserBound(options.bound, args.abs ? "--abs" : "--rel"));
  if (!args.mode.empty()) {
    const auto szp_mode = szp::ParseMode(args.mode);
    const auto szx_mode = szx::ParseMode(args.mode);
    if (*codec == container::Codec::kSzp && szp_mode) {
      options.szp_mode = *szp_mode;
    } else if (*codec == container::Codec::kSzx && szx_mode) {
      options.szx_mode = *szx_mode;
    } else {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("mode is '{}', expected {}", args.mode,
                              *codec == container::Codec::kSzp
                                  ? "'fixed', 'plain' or 'outlier' for szp"
                                  : "'random-access' or 'sequential' for szx"));
    }
  }
  options.fill = args.fill;
  options.threads = args.threads;
  return options;
}

Result<void> WriteBytes(const std::string& path, std::span<const std::byte> bytes) {
  SZARENA_TRY(auto file, AtomicFile::Create(path));
  for (std::size_t at = 0; at < bytes.size(); at += kWritePiece) {
    SZARENA_TRY_VOID(CheckStop());
    ShowStage(fmt::format("writing {:.0f} % of",
                          100.0 * static_cast<double>(at) / static_cast<double>(bytes.size())),
              path, bytes.size());
    SZARENA_TRY_VOID(file.Append(bytes.subspan(at, std::min(kWritePiece, bytes.size() - at))));
  }
  SZARENA_TRY_VOID(CheckStop());
  return file.Commit();
}

}  // namespace

Result<ExitCode> RunCompress(const CompressArgs& args) {
  SZARENA_TRY(const auto device, OpenDevice(args.device));
  SZARENA_TRY(auto options, ReadOptions(args));
  SZARENA_TRY(const auto input, LoadInput(args.input, args.dtype, args.dims));
  options.device = device.get();
  const ConstArray values = ArrayOfField(input);
  SZARENA_TRY(const auto max_size, container::MaxSize(values.count, values.dtype, options));
  SZARENA_TRY(const auto memory, field::Pages::Allocate(max_size));

  ShowStage("compressing", args.input, input.size_bytes());
  const auto start = std::chrono::steady_clock::now();
  SZARENA_TRY(const auto size, container::Compress(values, ToDims(input.dims()), options,
                                                   {memory.data(), max_size}));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::span<const std::byte> file(memory.data(), size);
  SZARENA_TRY_VOID(WriteBytes(args.output, file));
  EndStage();

  SZARENA_TRY(const auto header, container::ReadHeader(file, size));
  const double ratio = static_cast<double>(input.size_bytes()) / static_cast<double>(size);
  const auto codec = container::CodecName(header.codec);
  if (args.json) {
    auto json = data::Json::Of({{"input", args.input},
                                {"output", args.output},
                                {"codec", codec},
                                {"n", values.count},
                                {"dtype", DTypeName(values.dtype)},
                                {"dims", field::DimsToString(input.dims())},
                                {"bound_kind", container::BoundKindName(header.bound_kind)},
                                {"bound", header.bound},
                                {"abs_bound", header.eb},
                                {"input_bytes", input.size_bytes()},
                                {"output_bytes", size},
                                {"ratio", ratio},
                                {"compress_seconds", seconds}});
    fmt::print("{}\n", json.Dump(2));
  } else {
    fmt::print(
        "{}: {} values of {} ({}), {} with absolute bound {}: {} -> {} bytes, ratio {:.2f}\n",
        args.output, values.count, DTypeName(values.dtype), field::DimsToString(input.dims()),
        codec, header.eb, input.size_bytes(), size, ratio);
  }
  return ExitCode::kDone;
}

}  // namespace szarena::codec::szc
