// SPDX-License-Identifier: Apache-2.0
// All source texts of one compilation. Texts share one space of 32-bit offsets, so that a Span
// alone names a place in a certain file and nodes need not carry the file.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace szarena::csl {

// Half-open range of global offsets. Offset 0 belongs to no file: {0, 0} means "no place".
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool IsNone() const { return begin == 0; }
  friend auto operator<=>(const Span&, const Span&) = default;
};

// The smallest span that covers both; a span that is none does not count.
Span Cover(Span a, Span b);

// Index of a text in its SourceMap.
struct SourceId {
  uint32_t index = UINT32_MAX;
  bool IsNone() const { return index == UINT32_MAX; }
  friend auto operator<=>(const SourceId&, const SourceId&) = default;
};

struct SourceFile {
  std::string path;  // as shown in messages
  std::string text;
  uint32_t base = 0;                  // global offset of the first byte
  std::vector<uint32_t> line_starts;  // offsets in `text`
};

// A place for people: lines and columns count from 1, columns in bytes.
struct LineColumn {
  const SourceFile* file = nullptr;
  uint32_t line = 0;
  uint32_t column = 0;
};

class SourceMap {
 public:
  // Takes a text. Fails only when all texts together pass 4 GiB.
  Result<SourceId> Add(std::string path, std::string text);

  const SourceFile& File(SourceId id) const { return files_[id.index]; }
  size_t size() const { return files_.size(); }

  // The file that holds a global offset (its end counts as inside), or none.
  SourceId FileOf(uint32_t offset) const;

  // Where a global offset lies; nothing for the span "no place".
  std::optional<LineColumn> Locate(uint32_t offset) const;

  // Line number of an offset, 0 where there is none.
  uint32_t LineOf(uint32_t offset) const;

  // The text of a span.
  std::string_view Text(Span span) const;

  // Text of a line (from 1) without its end.
  std::string_view Line(const SourceFile& file, uint32_t line) const;

 private:
  std::deque<SourceFile> files_;  // addresses stay
  uint32_t next_base_ = 1;
};

}  // namespace szarena::csl
