// SPDX-License-Identifier: Apache-2.0
// Input, progress and stopping: what all commands of szc do the same way.
#include <fmt/format.h>
#include <signal.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

#include "codec/szc/commands.h"
#if SZARENA_HAVE_CUDA
#include "codec/cuda/payload_codec.h"
#endif
#include "field/spec.h"
#include "term/progress.h"
#include "term/style.h"

namespace szarena::codec::szc {
namespace {

volatile std::sig_atomic_t stop_asked = 0;

// The element type that a raw file's name tells.
std::optional<field::DType> TypeInName(std::string_view path) {
  if (path.ends_with(".f32")) return field::DType::kF32;
  if (path.ends_with(".f64") || path.ends_with(".d64")) return field::DType::kF64;
  return std::nullopt;
}

bool IsRaw(const field::FieldSpec& spec) { return spec.kind == field::FieldSpec::Kind::kRaw; }

}  // namespace

Result<field::Field> LoadInput(const std::string& input, const std::string& dtype,
                               const std::string& dims) {
  auto spec = field::FieldSpec::Parse(input);
  if (!spec) return WithContext(spec.error(), fmt::format("reading '{}'", input));
  std::optional<field::DType> wanted;
  if (!dtype.empty()) {
    SZARENA_TRY(wanted, field::ParseDType(dtype));
  }
  field::Dims shape;
  if (!dims.empty()) {
    SZARENA_TRY(shape, field::ParseDims(dims));
  }
  if (IsRaw(*spec)) {
    const auto named = spec->dtype ? spec->dtype : TypeInName(spec->path);
    if (wanted && named && *wanted != *named) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is named as {}, but --dtype says {}: leave --dtype out, or "
                              "give the file another name where that is wrong",
                              input, field::DTypeName(*named), dtype));
    }
    if (wanted) spec->dtype = wanted;
    if (!spec->dtype && !named) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' does not say its element type: give --dtype f32 or --dtype f64",
                              input));
    }
    if (!shape.empty()) spec->dims = shape;
  }
  ShowStage("reading", input, 0);
  auto loaded = field::LoadField(*spec);
  if (!loaded) return tl::unexpected(std::move(loaded).error());
  if (wanted && loaded->dtype() != *wanted) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' holds {}, but --dtype says {}: leave --dtype out, or write "
                            "'{}:dtype={}' to convert",
                            input, field::DTypeName(loaded->dtype()), dtype, input, dtype));
  }
  if (!shape.empty() && loaded->dims() != shape) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' has dimensions {}, but --dims says {}: leave --dims out", input,
                            field::DimsToString(loaded->dims()), field::DimsToString(shape)));
  }
  return loaded;
}

container::Dims ToDims(const field::Dims& dims) {
  container::Dims out;
  out.rank = static_cast<unsigned>(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) out.extent[i] = dims[i];
  return out;
}

field::Dims FromDims(const container::Dims& dims) {
  return {dims.extent.begin(), dims.extent.begin() + dims.rank};
}

ConstArray ArrayOfField(const field::Field& field) {
  return {field.bytes().data(), field.size(),
          field.dtype() == field::DType::kF32 ? DType::kF32 : DType::kF64};
}

Result<std::unique_ptr<container::PayloadCodec>> OpenDevice(std::string_view device) {
  if (device == "cpu") return nullptr;
  if (device == "cuda") {
#if SZARENA_HAVE_CUDA
    auto opened = cuda::OpenPayloadCodec();
    if (!opened) {
      return Fail(opened.error().code,
                  "--device cuda: " + opened.error().message + "; --device cpu works anywhere");
    }
    return opened;
#else
    return Fail(
        ErrorCode::kUnavailable,
        "this build of szc has no CUDA codecs: use --device cpu, or build where there is nvcc");
#endif
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("device is '{}', expected 'cpu' or 'cuda'", device));
}

void WatchStopSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { stop_asked = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second signal ends the program at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGXFSZ, SIG_IGN);  // a file size limit is reported as any other failed write
}

Result<void> CheckStop() {
  if (stop_asked == 0) return {};
  return Fail(ErrorCode::kCancelled, "stopped; no output was written");
}

namespace {
term::Progress& StderrProgress() {
  static term::Progress progress(stderr, term::IsTerminal(stderr));
  return progress;
}
}  // namespace

void ShowStage(std::string_view what, std::string_view file, std::uint64_t bytes) {
  const std::string size =
      bytes == 0 ? std::string() : fmt::format(" ({:.1f} MB)", static_cast<double>(bytes) / 1e6);
  StderrProgress().Show(fmt::format("{} {}{}", what, file, size));
}

void EndStage() { StderrProgress().Wipe(); }

}  // namespace szarena::codec::szc
