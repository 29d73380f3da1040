// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy format (numpy.lib.format): magic, version, little-endian header length, a Python
// dictionary literal with 'descr', 'fortran_order' and 'shape', padding, data.
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "field/reader.h"

namespace szarena::field {
namespace {

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<size_t> shape;
};

// Parses the dictionary literal: only strings, True/False and tuples of integers occur in it.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  std::optional<NpyHeader> Parse() {
    NpyHeader header;
    bool seen_descr = false, seen_order = false, seen_shape = false;
    if (!Take('{')) return {};
    while (!Take('}')) {
      auto key = String();
      if (!key || !Take(':')) return {};
      if (*key == "descr") {
        auto value = String();
        if (!value) return {};
        header.descr = *value;
        seen_descr = true;
      } else if (*key == "fortran_order") {
        if (TakeWord("True")) {
          header.fortran_order = true;
        } else if (!TakeWord("False")) {
          return {};
        }
        seen_order = true;
      } else if (*key == "shape") {
        if (!Shape(header.shape)) return {};
        seen_shape = true;
      } else {
        return {};
      }
      if (!Take(',')) {
        if (!Take('}')) return {};
        break;
      }
    }
    if (!seen_descr || !seen_order || !seen_shape) return {};
    return header;
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) != nullptr) ++at_;
  }
  bool Take(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeWord(std::string_view word) {
    SkipSpace();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::optional<std::string> String() {
    char quote = Take('\'') ? '\'' : Take('"') ? '"' : '\0';
    if (quote == '\0') return {};
    size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) return {};
    std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return value;
  }
  bool Shape(std::vector<size_t>& shape) {
    if (!Take('(')) return false;
    while (!Take(')')) {
      SkipSpace();
      size_t value = 0;
      auto [next, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (code != std::errc()) return false;
      at_ = static_cast<size_t>(next - text_.data());
      TakeWord("L");  // Python 2 wrote long integers so
      shape.push_back(value);
      if (!Take(',')) return Take(')');
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

struct Element {
  DType dtype;
  bool big_endian;
};

std::optional<Element> ParseDescr(std::string_view descr) {
  if (descr == "<f4" || descr == "=f4" || descr == "f4") return Element{DType::kF32, false};
  if (descr == "<f8" || descr == "=f8" || descr == "f8") return Element{DType::kF64, false};
  if (descr == ">f4") return Element{DType::kF32, true};
  if (descr == ">f8") return Element{DType::kF64, true};
  return {};
}

// Copies column-major (or big-endian, or unaligned) source values into C order.
template <typename T>
void CopyToC(const std::byte* source, bool big_endian, bool fortran, const Dims& dims,
             std::span<T> to) {
  auto load = [&](size_t i) {
    return big_endian ? LoadBe<T>(source + i * sizeof(T)) : LoadLe<T>(source + i * sizeof(T));
  };
  if (!fortran) {
    for (size_t i = 0; i < to.size(); ++i) to[i] = load(i);
    return;
  }
  size_t n0 = dims[0];
  size_t n1 = dims.size() > 1 ? dims[1] : 1;
  size_t n2 = dims.size() > 2 ? dims[2] : 1;
  for (size_t i = 0; i < n0; ++i) {
    for (size_t j = 0; j < n1; ++j) {
      for (size_t k = 0; k < n2; ++k) to[(i * n1 + j) * n2 + k] = load((k * n1 + j) * n0 + i);
    }
  }
}

}  // namespace

Result<Field> ReadNpy(const std::string& path) {
  SZARENA_TRY(Pages pages, Pages::MapFile(path));
  auto bad = [&](std::string what) {
    return Fail(ErrorCode::kCorrupt, fmt::format("'{}' is not a .npy array: {}", path, what));
  };
  constexpr char kMagic[] = "\x93NUMPY";
  if (pages.size() < 10 || std::memcmp(pages.data(), kMagic, 6) != 0) {
    return bad("expected it to begin with \\x93NUMPY");
  }
  unsigned version = std::to_integer<unsigned>(pages.data()[6]);
  if (version < 1 || version > 3) return bad(fmt::format("unknown format version {}", version));
  size_t prefix = version == 1 ? 10 : 12;
  if (pages.size() < prefix) return bad("the header is cut off");
  size_t header_bytes =
      version == 1 ? LoadLe<uint16_t>(pages.data() + 8) : LoadLe<uint32_t>(pages.data() + 8);
  if (pages.size() - prefix < header_bytes) return bad("the header is cut off");
  auto header = HeaderParser(std::string_view(reinterpret_cast<const char*>(pages.data()) + prefix,
                                              header_bytes))
                    .Parse();
  if (!header) return bad("the header is not a dictionary of descr, fortran_order and shape");
  auto element = ParseDescr(header->descr);
  if (!element) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' holds elements of type '{}': expected f4 or f8", path, header->descr));
  }
  bool fortran = header->fortran_order && header->shape.size() > 1;
  if (fortran && header->shape.size() > 3) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is in Fortran order with {} dimensions: expected at most 3", path,
                            header->shape.size()));
  }
  auto folded = FoldDims(header->shape);
  if (!folded)
    return WithContext(std::move(folded).error(), fmt::format("while reading '{}'", path));
  Dims dims = *std::move(folded);
  SZARENA_TRY(size_t count, ElementCount(dims));
  size_t offset = prefix + header_bytes;
  size_t data_bytes = count * SizeOf(element->dtype);
  if (pages.size() - offset != data_bytes) {
    return bad(fmt::format("{} bytes of data, expected {} for {} of {}", pages.size() - offset,
                           data_bytes, DimsToString(dims), DTypeName(element->dtype)));
  }
  if (!fortran && !element->big_endian && offset % SizeOf(element->dtype) == 0) {
    return Field::Adopt(std::move(pages), offset, element->dtype, std::move(dims));
  }
  SZARENA_TRY(Field field, Field::Allocate(element->dtype, dims));
  const std::byte* source = pages.data() + offset;
  if (element->dtype == DType::kF32) {
    CopyToC(source, element->big_endian, fortran, dims, field.mutable_values<float>());
  } else {
    CopyToC(source, element->big_endian, fortran, dims, field.mutable_values<double>());
  }
  return field;
}

}  // namespace szarena::field
