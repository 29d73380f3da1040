// SPDX-License-Identifier: Apache-2.0
// Own reader of the classic netCDF formats ("CDF" and version 1, 2 or 5). The netCDF library
// crashes on malformed headers of these and gives zeros for what a truncated file lacks; this does
// neither.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "field/field.h"

namespace szarena::field {

bool IsClassicNetcdf(std::span<const std::byte> file);

// `path` is for messages only. Contract as ReadNetcdf (reader.h).
Result<Field> ReadClassicNetcdf(std::span<const std::byte> file, const std::string& path,
                                const std::string& variable);
}  // namespace szarena::field
