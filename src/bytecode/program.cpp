// SPDX-License-Identifier: Apache-2.0
// Look-ups in a program.
#include "bytecode/program.h"

#include <algorithm>

namespace szarena::bytecode {

LineEntry LineAt(const Function& f, uint32_t pc) {
  auto it = std::upper_bound(f.lines.begin(), f.lines.end(), pc,
                             [](uint32_t p, const LineEntry& e) { return p < e.pc; });
  if (it == f.lines.begin()) return {pc, kNoIndex, 0};
  return *std::prev(it);
}

}  // namespace szarena::bytecode
