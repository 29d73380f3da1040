// SPDX-License-Identifier: Apache-2.0
#include "csl/source/names.h"

namespace szarena::csl {

NameTable::NameTable() { texts_.emplace_back(); }

Name NameTable::Intern(std::string_view text) {
  if (auto found = index_.find(text); found != index_.end()) return {found->second};
  uint32_t index = static_cast<uint32_t>(texts_.size());
  texts_.emplace_back(text);
  index_.emplace(texts_.back(), index);
  return {index};
}

}  // namespace szarena::csl
