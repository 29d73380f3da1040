// SPDX-License-Identifier: Apache-2.0
// Names of traps and their printed form.
#include "fabric/model/trap.h"

#include <fmt/format.h>

namespace szarena::fabric {
namespace {
struct Facts {
  std::string_view name;
  bool fatal;
  std::string_view meaning;
};
constexpr Facts kFacts[] = {
#define TRAP(id, name, fatal, meaning) {name, fatal, meaning},
#include "fabric/model/trap.def"
};
}  // namespace

std::string_view TrapName(TrapKind kind) { return kFacts[static_cast<size_t>(kind)].name; }
std::string_view TrapMeaning(TrapKind kind) { return kFacts[static_cast<size_t>(kind)].meaning; }
bool TrapIsFatal(TrapKind kind) { return kFacts[static_cast<size_t>(kind)].fatal; }

std::string Trap::ToString() const {
  std::string s;
  if (!file.empty()) s += fmt::format("{}:{}: ", file, line);
  s += fmt::format("trap {} at PE ({}, {}), cycle {}: {}", TrapName(kind), x, y, cycle,
                   detail.empty() ? TrapMeaning(kind) : detail);
  if (count > 1) s += fmt::format(" [{} times]", count);
  return s;
}

}  // namespace szarena::fabric
