// SPDX-License-Identifier: Apache-2.0
// One string that names a field, shared by tools, task files and campaigns:
//
//   gen:KIND[:seed=N]:dims=DIMS[:dtype=f64][:scale=X][:offset=X][:rate=X]
//   real:NAME[:missing=V][:dtype=f64]
//   FILE.nc:VARIABLE   FILE.h5:/DATASET   FILE.npy   FILE.gtx   [:missing=V][:dtype=f32|f64]
//   FILE.f32|.f64|.d64|.bin|…[:dims=DIMS][:dtype=f32|f64]
//
// `dtype` converts what a file with a type of its own holds, and says what a raw file holds (needed
// unless the extension says it). Raw files without dims are one-dimensional. `missing=V` overwrites
// every value that the file declares to be missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "field/field.h"
#include "field/generate.h"

namespace szarena::field {

struct FieldSpec {
  enum class Kind : uint8_t { kGenerator, kReal, kRaw, kNpy, kNetcdf, kHdf5, kGtx };

  Kind kind = Kind::kGenerator;
  GeneratorSpec generator;        // kGenerator
  std::string path;               // a file, or the name of a real field
  std::string variable;           // kNetcdf, kHdf5
  std::optional<DType> dtype;     // other than kGenerator
  std::optional<Dims> dims;       // kRaw
  std::optional<double> missing;  // replaces missing values

  static Result<FieldSpec> Parse(std::string_view text);
  std::string ToString() const;  // parses to an equal spec
};

Result<Field> LoadField(const FieldSpec& spec);
Result<Field> LoadField(std::string_view text);  // Parse, then load

}  // namespace szarena::field
