// SPDX-License-Identifier: Apache-2.0
#include "field/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "field/reader.h"
#include "field/real.h"

namespace szarena::field {
namespace {

using Kind = FieldSpec::Kind;

struct Option {
  std::string_view key, value;
};

constexpr std::string_view kOptionKeys[] = {"seed",   "dims", "dtype",  "scale",
                                            "offset", "rate", "missing"};

template <typename T>
Result<T> ParseNumber(const Option& option) {
  T value{};
  const char* end = option.value.data() + option.value.size();
  auto [next, code] = std::from_chars(option.value.data(), end, value);
  if (code != std::errc() || next != end) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("bad {} '{}': expected a number", option.key, option.value));
  }
  return value;
}

// Cuts trailing ":key=value" parts off `text`.
Result<std::vector<Option>> CutOptions(std::string_view& text) {
  std::vector<Option> options;
  for (;;) {
    size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return options;
    std::string_view part = text.substr(colon + 1);
    size_t equals = part.find('=');
    if (equals == std::string_view::npos) return options;
    std::string_view key = part.substr(0, equals);
    if (std::ranges::find(kOptionKeys, key) == std::end(kOptionKeys)) return options;
    if (std::ranges::find(options, key, &Option::key) != options.end()) {
      return Fail(ErrorCode::kInvalidArgument, fmt::format("option '{}' is given twice", key));
    }
    options.push_back({key, part.substr(equals + 1)});
    text = text.substr(0, colon);
  }
}

std::string Extension(std::string_view path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

// Which of the two libraries, if any, an extension calls for.
std::optional<Kind> LibraryKind(std::string_view path) {
  std::string extension = Extension(path);
  for (std::string_view nc : {".nc", ".cdf", ".nc3", ".nc4"}) {
    if (extension == nc) return Kind::kNetcdf;
  }
  for (std::string_view h5 : {".h5", ".hdf5", ".he5", ".hdf"}) {
    if (extension == h5) return Kind::kHdf5;
  }
  return {};
}

Result<void> SetPath(FieldSpec& spec, std::string_view text) {
  // "FILE:VARIABLE" is cut at the first colon after which FILE has a library's extension.
  for (size_t colon = text.find(':'); colon != std::string_view::npos;
       colon = text.find(':', colon + 1)) {
    if (auto kind = LibraryKind(text.substr(0, colon))) {
      spec.kind = *kind;
      spec.path = text.substr(0, colon);
      spec.variable = text.substr(colon + 1);
      if (!spec.variable.empty()) return {};
      break;
    }
  }
  if (LibraryKind(text) || !spec.path.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' names no variable: expected {}:VARIABLE", text,
                            text.ends_with(':') ? text.substr(0, text.size() - 1) : text));
  }
  spec.path = text;
  std::string extension = Extension(text);
  spec.kind = extension == ".npy" ? Kind::kNpy : extension == ".gtx" ? Kind::kGtx : Kind::kRaw;
  if (extension == ".f32") spec.dtype = DType::kF32;
  if (extension == ".f64" || extension == ".d64") spec.dtype = DType::kF64;
  return {};
}

Result<void> ApplyGenerator(GeneratorSpec& generator, const Option& option) {
  if (option.key == "seed") {
    SZARENA_TRY(generator.seed, ParseNumber<uint64_t>(option));
  } else if (option.key == "dims") {
    SZARENA_TRY(generator.dims, ParseDims(option.value));
  } else if (option.key == "dtype") {
    SZARENA_TRY(generator.dtype, ParseDType(option.value));
  } else if (option.key == "scale") {
    SZARENA_TRY(generator.scale, ParseNumber<double>(option));
  } else if (option.key == "offset") {
    SZARENA_TRY(generator.offset, ParseNumber<double>(option));
  } else if (option.key == "rate") {
    SZARENA_TRY(generator.rate, ParseNumber<double>(option));
  } else {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("a generated field takes no option '{}'", option.key));
  }
  return {};
}

Result<void> ApplyFile(FieldSpec& spec, const Option& option) {
  if (option.key == "dims" && spec.kind == Kind::kRaw) {
    SZARENA_TRY(spec.dims, ParseDims(option.value));
  } else if (option.key == "missing" && spec.kind != Kind::kRaw) {
    SZARENA_TRY(spec.missing, ParseNumber<double>(option));
  } else if (option.key == "dtype") {
    SZARENA_TRY(DType dtype, ParseDType(option.value));
    if (spec.kind == Kind::kRaw && spec.dtype && *spec.dtype != dtype) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' says {} by its name, not {}", spec.path, DTypeName(*spec.dtype),
                              option.value));
    }
    spec.dtype = dtype;
  } else {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' takes no option '{}'", spec.path, option.key));
  }
  return {};
}

Result<Field> LoadRaw(const FieldSpec& spec) {
  if (!spec.dtype) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' does not say its element type: add :dtype=f32 or :dtype=f64", spec.path));
  }
  if (spec.dims) return ReadRaw(spec.path, *spec.dtype, *spec.dims);
  SZARENA_TRY(Pages pages, Pages::MapFile(spec.path));
  if (pages.size() % SizeOf(*spec.dtype) != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' has {} bytes, which are no whole number of {}", spec.path,
                            pages.size(), DTypeName(*spec.dtype)));
  }
  size_t count = pages.size() / SizeOf(*spec.dtype);
  return Field::Adopt(std::move(pages), 0, *spec.dtype, {count});
}

Result<Field> LoadStored(const FieldSpec& spec) {
  switch (spec.kind) {
    case Kind::kReal: {
      SZARENA_TRY(const RealField* real, FindRealField(spec.path));
      return LoadReal(*real);
    }
    case Kind::kNpy:
      return ReadNpy(spec.path);
    case Kind::kNetcdf:
      return ReadNetcdf(spec.path, spec.variable);
    case Kind::kHdf5:
      return ReadHdf5(spec.path, spec.variable);
    case Kind::kGtx:
      return ReadGtx(spec.path);
    case Kind::kRaw:
      return LoadRaw(spec);
    case Kind::kGenerator:
      break;
  }
  return Generate(spec.generator);
}

}  // namespace

Result<FieldSpec> FieldSpec::Parse(std::string_view text) {
  FieldSpec spec;
  std::string_view rest = text;
  SZARENA_TRY(std::vector<Option> options, CutOptions(rest));
  if (rest.starts_with("gen:")) {
    spec.kind = Kind::kGenerator;
    auto kind = ParseGeneratorKind(rest.substr(4));
    if (!kind) return tl::unexpected(kind.error());
    spec.generator.kind = *kind;
    bool has_dims = false;
    for (const Option& option : options) {
      SZARENA_TRY_VOID(ApplyGenerator(spec.generator, option));
      has_dims |= option.key == "dims";
    }
    if (!has_dims) {
      return Fail(ErrorCode::kInvalidArgument, fmt::format("'{}' has no shape: add :dims=…", text));
    }
    return spec;
  }
  if (rest.starts_with("real:")) {
    spec.kind = Kind::kReal;
    spec.path = rest.substr(5);
    SZARENA_TRY([[maybe_unused]] const RealField* real, FindRealField(spec.path));
  } else if (rest.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "empty field: expected gen:…, real:… or a file (see the documentation of fields)");
  } else {
    SZARENA_TRY_VOID(SetPath(spec, rest));
  }
  for (const Option& option : options) SZARENA_TRY_VOID(ApplyFile(spec, option));
  return spec;
}

std::string FieldSpec::ToString() const {
  if (kind == Kind::kGenerator) return generator.ToString();
  std::string text = kind == Kind::kReal ? "real:" + path : path;
  if (!variable.empty()) text += ":" + variable;
  if (dims) text += ":dims=" + DimsToString(*dims);
  if (dtype) text += fmt::format(":dtype={}", DTypeName(*dtype));
  if (missing) text += fmt::format(":missing={}", *missing);
  return text;
}

Result<Field> LoadField(const FieldSpec& spec) {
  SZARENA_TRY(Field field, LoadStored(spec));
  if (spec.missing) ReplaceMissing(field, *spec.missing);
  bool converts = spec.kind != Kind::kGenerator && spec.kind != Kind::kRaw;
  if (converts && spec.dtype && *spec.dtype != field.dtype()) return ConvertTo(field, *spec.dtype);
  return field;
}

Result<Field> LoadField(std::string_view text) {
  SZARENA_TRY(FieldSpec spec, FieldSpec::Parse(text));
  return LoadField(spec);
}

}  // namespace szarena::field
