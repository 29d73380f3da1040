// SPDX-License-Identifier: Apache-2.0
// The catalogue of real fields in the Debian packages ferret-datasets and proj-data.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "field/field.h"

namespace szarena::field {

struct RealField {
  std::string_view name;         // "levitus-temp"
  std::string_view description;  // with unit
  std::string_view package;      // Debian package
  std::string_view path;         // where that package puts it
  std::string_view variable;     // empty for GTX
  DType dtype;
  size_t dims[3];           // unused trailing entries 0
  std::string_view sha256;  // first 16 hexadecimal digits of the file's
  bool has_missing;
  bool is_gradient;  // derived in f64: |gradient| along the last two dimensions

  Dims shape() const;
};

std::span<const RealField> AllRealFields();
Result<const RealField*> FindRealField(std::string_view name);

// Reads it, after checking the file's SHA-256 and the shape. A package that is not installed is
// kUnavailable and names `./dev setup`. Missing values are left as they are (see ReplaceMissing).
Result<Field> LoadReal(const RealField& real);

}  // namespace szarena::field
