// SPDX-License-Identifier: Apache-2.0
// Readers of array files. Each names the file, the variable and what was expected when it fails,
// and refuses what it would otherwise have to guess (element types other than f32/f64, short
// files).
#pragma once

#include <string>

#include "field/field.h"

namespace szarena::field {

// Little-endian values and nothing else; the size must be exactly that of `dims`. Mapped, not
// copied.
Result<Field> ReadRaw(const std::string& path, DType dtype, const Dims& dims);

// NumPy .npy, format versions 1 to 3, f4 and f8 in either byte order. A Fortran-ordered array is
// transposed to C order. Mapped where byte order, layout and alignment allow.
Result<Field> ReadNpy(const std::string& path);

// NetCDF (classic, 64-bit offset, CDF-5, NetCDF-4), variables of type float and double.
// _FillValue and missing_value become missing_values(). Packed integers are refused.
Result<Field> ReadNetcdf(const std::string& path, const std::string& variable);

// HDF5 data set such as "/group/temperature", 32- or 64-bit IEEE floats in either byte order.
Result<Field> ReadHdf5(const std::string& path, const std::string& dataset);

// GTX vertical shift grid (PROJ): 40-byte big-endian header, then big-endian f32, south row first.
Result<Field> ReadGtx(const std::string& path);

}  // namespace szarena::field
