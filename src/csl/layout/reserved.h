// SPDX-License-Identifier: Apache-2.0
// What the memcpy runtime keeps for itself in a program compiled with --memcpy. Source: SDK
// documentation, "Host Runtime", reserved resources; queue 1 is named there for WSE-3 only.
#pragma once

#include "bytecode/program.h"

namespace szarena::csl {

constexpr bool IsReservedColor(int color) { return color >= 21 && color <= 23; }
constexpr bool IsReservedLocalId(int id) { return id == 27 || id == 28 || id == 30; }
constexpr bool IsReservedControlId(int id) { return id >= 33 && id <= 37; }
constexpr bool IsReservedInputQueue(bytecode::Arch arch, int queue) {
  return queue == 0 || (arch == bytecode::Arch::kWse3 && queue == 1);
}
// Output queues of WSE-2 have no colour of their own: programs share them with the runtime.
constexpr bool IsReservedOutputQueue(bytecode::Arch arch, int queue) {
  return arch == bytecode::Arch::kWse3 && queue == 0;
}

}  // namespace szarena::csl
