// SPDX-License-Identifier: Apache-2.0
// TOML text as a Json value, so that one reader serves both.
#pragma once

#include <string>
#include <string_view>

#include "data/json.h"

namespace szarena::data {

// Reads a TOML text. Tables become objects (keys in the order of the text), dates and times become
// strings. `name` appears in errors with line and column. NaN and infinities are refused.
Result<Json> ParseToml(std::string_view text, std::string_view name);

// Reads a whole file as TOML.
Result<Json> ReadTomlFile(const std::string& path);

}  // namespace szarena::data
