// SPDX-License-Identifier: Apache-2.0
// Colour, only where somebody can see it and has not asked for none.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace szarena::term {

// True where `file` is a terminal, NO_COLOR is unset or empty (no-color.org) and TERM is not dumb.
bool WantsColour(std::FILE* file);
bool IsTerminal(std::FILE* file);

enum class Style : uint8_t { kPlain, kBold, kDim, kGood, kBad, kWarning };

// `text` in that style where `colour` is true, else unchanged.
std::string Paint(std::string_view text, Style style, bool colour);

// Columns that the text takes: code points, without escape sequences. Wide glyphs count 1.
size_t DisplayWidth(std::string_view text);

}  // namespace szarena::term
