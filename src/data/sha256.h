// SPDX-License-Identifier: Apache-2.0
// SHA-256: names of prompts, candidates and files by content.
#pragma once

#include <string>
#include <string_view>

namespace szarena::data {

// 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

}  // namespace szarena::data
