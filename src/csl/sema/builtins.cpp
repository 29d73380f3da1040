// SPDX-License-Identifier: Apache-2.0
// The table of builtins: sema's families, open for other rooms'.
#include "csl/sema/builtin.h"

#include <algorithm>

namespace szarena::csl {

BuiltinTable::BuiltinTable() {
  Add(TypeBuiltins());
  Add(ValueBuiltins());
  Add(HandleBuiltins());
  Add(DsdBuiltins());
  Add(DsdOpBuiltins());
  Add(DsrBuiltins());
  Add(TaskBuiltins());
  Add(MapBuiltins());
  Add(NativeBuiltins());
}

void BuiltinTable::Add(std::span<const BuiltinEntry> entries) {
  for (const BuiltinEntry& entry : entries) entries_.insert_or_assign(entry.name, &entry);
}

const BuiltinEntry* BuiltinTable::Find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second;
}

std::vector<std::string_view> BuiltinTable::Names() const {
  std::vector<std::string_view> names;
  names.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace szarena::csl
