// SPDX-License-Identifier: Apache-2.0
// Writers of array files; each file appears whole or not at all.
#pragma once

#include <string>

#include "field/field.h"

namespace szarena::field {

// Little-endian values and nothing else.
Result<void> WriteRaw(const Field& field, const std::string& path);
// NumPy format version 1, C order, data aligned to 64 bytes.
Result<void> WriteNpy(const Field& field, const std::string& path);
// By extension: .npy, else raw, where .f32, .f64 and .d64 must fit the element type.
Result<void> WriteField(const Field& field, const std::string& path);

}  // namespace szarena::field
