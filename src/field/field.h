// SPDX-License-Identifier: Apache-2.0
// A scientific array: element type, 1 to 3 dimensions in C order, and its bytes (owned or mapped).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "base/error.h"

namespace szarena::field {

enum class DType : uint8_t { kF32, kF64 };

constexpr size_t SizeOf(DType dtype) { return dtype == DType::kF32 ? 4 : 8; }
std::string_view DTypeName(DType dtype);  // "f32", "f64"
Result<DType> ParseDType(std::string_view name);

template <typename T>
constexpr DType kDTypeOf = std::is_same_v<T, float> ? DType::kF32 : DType::kF64;

// Slowest dimension first. A valid shape has 1 to 3 entries; 0 elements are allowed.
using Dims = std::vector<size_t>;

// Elements of a shape; an error where it has no or too many dimensions, or more bytes than can be
// addressed.
Result<size_t> ElementCount(const Dims& dims);
std::string DimsToString(const Dims& dims);     // "20x180x360"
Result<Dims> ParseDims(std::string_view text);  // "20x180x360" or "20,180,360"
// More than three dimensions become three: the leading ones are multiplied together. None become
// {1}.
Result<Dims> FoldDims(const std::vector<size_t>& dims);

// Pages of memory with nobody else's hand on them: anonymous, or a private copy-on-write view of a
// file.
class Pages {
 public:
  Pages() = default;
  static Result<Pages> Allocate(size_t size_bytes);  // zero-filled
  // The whole file `path`; later writes to it through other hands may or may not be seen.
  static Result<Pages> MapFile(const std::string& path);
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();

  std::byte* data() const { return base_; }
  size_t size() const { return size_bytes_; }

 private:
  Pages(std::byte* base, size_t size_bytes) : base_(base), size_bytes_(size_bytes) {}
  std::byte* base_ = nullptr;
  size_t size_bytes_ = 0;
};

// Move-only; Clone() copies. Values are native (little-endian) and aligned to their size.
class Field {
 public:
  Field() = default;  // 0 elements of f32

  static Result<Field> Allocate(DType dtype, Dims dims);  // zero-filled
  // A view of `pages` from `offset_bytes` on, which must be aligned and leave room for all
  // elements.
  static Result<Field> Adopt(Pages pages, size_t offset_bytes, DType dtype, Dims dims);
  Result<Field> Clone() const;

  DType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  size_t size() const { return size_; }  // elements
  size_t size_bytes() const { return size_ * SizeOf(dtype_); }
  std::span<const std::byte> bytes() const { return {pages_.data() + offset_bytes_, size_bytes()}; }
  std::span<std::byte> mutable_bytes() { return {pages_.data() + offset_bytes_, size_bytes()}; }

  // T must be the type that dtype() names.
  template <typename T>
  std::span<const T> values() const {
    SZARENA_CHECK(kDTypeOf<T> == dtype_, "element type differs from the field's");
    return {reinterpret_cast<const T*>(pages_.data() + offset_bytes_), size_};
  }
  template <typename T>
  std::span<T> mutable_values() {
    SZARENA_CHECK(kDTypeOf<T> == dtype_, "element type differs from the field's");
    return {reinterpret_cast<T*>(pages_.data() + offset_bytes_), size_};
  }

  // Values that the file declares to mean "missing" (NetCDF _FillValue and missing_value).
  const std::vector<double>& missing_values() const { return missing_values_; }
  void set_missing_values(std::vector<double> values) { missing_values_ = std::move(values); }

 private:
  DType dtype_ = DType::kF32;
  Dims dims_ = {0};
  size_t size_ = 0;
  Pages pages_;
  size_t offset_bytes_ = 0;
  std::vector<double> missing_values_;
};

// The same values as another type: exact for f32 to f64, rounded to nearest for f64 to f32.
Result<Field> ConvertTo(const Field& field, DType dtype);
// Overwrites every declared missing value (equal as the field's type) by `value`; returns how many.
size_t ReplaceMissing(Field& field, double value);

}  // namespace szarena::field
