// SPDX-License-Identifier: Apache-2.0
// Texts of others (models, services, candidates) made harmless for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace szarena::term {

// The text with every character that steers a terminal or turns the direction of writing shown as
// "\u{1b}": C0 but newline and tab, DEL, C1 (also as lone bytes), bidi marks and overrides. What is
// no UTF-8 is shown byte by byte.
std::string Printable(std::string_view text);

}  // namespace szarena::term
