// SPDX-License-Identifier: Apache-2.0
// Interned strings: identifiers, builtin names and string literals of one compilation.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace szarena::csl {

// Number of an interned string; equal names are equal strings. 0 is "no name" (not the empty
// string).
struct Name {
  uint32_t index = 0;
  bool IsNone() const { return index == 0; }
  explicit operator bool() const { return index != 0; }
  friend auto operator<=>(const Name&, const Name&) = default;
};

class NameTable {
 public:
  NameTable();
  Name Intern(std::string_view text);
  // Stays valid as long as the table. The text of "no name" is empty.
  std::string_view Text(Name name) const { return texts_[name.index]; }

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, uint32_t> index_;
};

}  // namespace szarena::csl

template <>
struct std::hash<szarena::csl::Name> {
  size_t operator()(szarena::csl::Name name) const noexcept {
    return name.index * size_t{0x9E3779B97F4A7C15};
  }
};
