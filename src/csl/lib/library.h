// SPDX-License-Identifier: Apache-2.0
// The standard library files, embedded: `<memcpy/memcpy>` is the entry "memcpy/memcpy".
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace szarena::csl {

struct LibraryEntry {
  std::string_view name;  // path without .csl
  std::string_view text;
};

std::span<const LibraryEntry> Library();  // sorted by name
std::optional<std::string_view> LibraryText(std::string_view name);

// Generated.
extern const LibraryEntry kLibrary[];
extern const unsigned kLibraryCount;

}  // namespace szarena::csl
