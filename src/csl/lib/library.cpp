// SPDX-License-Identifier: Apache-2.0
#include "csl/lib/library.h"

namespace szarena::csl {

std::span<const LibraryEntry> Library() { return {kLibrary, kLibraryCount}; }

std::optional<std::string_view> LibraryText(std::string_view name) {
  const std::string_view current =
      name == "memcpy_multi/memcpy_switches" ? "memcpy/memcpy_switches" : name;
  for (const LibraryEntry& entry : Library()) {
    if (entry.name == current) return entry.text;
  }
  return std::nullopt;
}

}  // namespace szarena::csl
