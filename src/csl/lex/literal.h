// SPDX-License-Identifier: Apache-2.0
// Values of literal tokens. A literal with a fault is reported and gives a harmless value.
#pragma once

#include <string>
#include <string_view>

#include "csl/diag/diag.h"
#include "csl/source/int128.h"

namespace szarena::csl {

// "12", "0xFF", "0b1010", "0o17", with '_' between digits.
UInt128 ParseInt(std::string_view text, Span span, DiagSink& diags);

// "1.5", "1e-3", "0x1.8p3", with '_' between digits; rounded to the nearest double, ties to even.
double ParseFloat(std::string_view text, Span span, DiagSink& diags);

// The bytes of a string or character token, quotes included in `text`.
std::string ParseQuoted(std::string_view text, Span span, DiagSink& diags);

}  // namespace szarena::csl
