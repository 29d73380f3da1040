// SPDX-License-Identifier: Apache-2.0
#include "csl/source/source_map.h"

#include <algorithm>

namespace szarena::csl {

Span Cover(Span a, Span b) {
  if (a.IsNone()) return b;
  if (b.IsNone()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

Result<SourceId> SourceMap::Add(std::string path, std::string text) {
  if (text.size() >= UINT32_MAX - next_base_ - 1) {
    return Fail(
        ErrorCode::kCapacity,
        "source text '" + path + "' does not fit: all source texts together may hold 4 GiB");
  }
  SourceFile file;
  file.path = std::move(path);
  file.text = std::move(text);
  file.base = next_base_;
  file.line_starts.push_back(0);
  for (size_t i = 0; i < file.text.size(); ++i) {
    if (file.text[i] == '\n') file.line_starts.push_back(static_cast<uint32_t>(i + 1));
  }
  next_base_ += static_cast<uint32_t>(file.text.size()) + 1;
  files_.push_back(std::move(file));
  return SourceId{static_cast<uint32_t>(files_.size() - 1)};
}

SourceId SourceMap::FileOf(uint32_t offset) const {
  if (offset == 0) return {};
  auto after =
      std::upper_bound(files_.begin(), files_.end(), offset,
                       [](uint32_t value, const SourceFile& file) { return value < file.base; });
  if (after == files_.begin()) return {};
  size_t index = static_cast<size_t>(after - files_.begin()) - 1;
  if (offset > files_[index].base + files_[index].text.size()) return {};
  return {static_cast<uint32_t>(index)};
}

std::optional<LineColumn> SourceMap::Locate(uint32_t offset) const {
  SourceId id = FileOf(offset);
  if (id.IsNone()) return std::nullopt;
  const SourceFile& file = files_[id.index];
  uint32_t local = offset - file.base;
  auto after = std::upper_bound(file.line_starts.begin(), file.line_starts.end(), local);
  uint32_t line = static_cast<uint32_t>(after - file.line_starts.begin());
  return LineColumn{&file, line, local - file.line_starts[line - 1] + 1};
}

uint32_t SourceMap::LineOf(uint32_t offset) const {
  auto place = Locate(offset);
  return place ? place->line : 0;
}

std::string_view SourceMap::Text(Span span) const {
  SourceId id = FileOf(span.begin);
  if (id.IsNone() || span.end < span.begin) return {};
  const SourceFile& file = files_[id.index];
  return std::string_view(file.text).substr(span.begin - file.base, span.end - span.begin);
}

std::string_view SourceMap::Line(const SourceFile& file, uint32_t line) const {
  if (line == 0 || line > file.line_starts.size()) return {};
  std::string_view rest = std::string_view(file.text).substr(file.line_starts[line - 1]);
  rest = rest.substr(0, rest.find('\n'));
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

}  // namespace szarena::csl
