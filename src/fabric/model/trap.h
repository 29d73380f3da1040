// SPDX-License-Identifier: Apache-2.0
// Traps: what the machine found wrong, where, in which line. The list is trap.def.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace szarena::fabric {

enum class TrapKind : uint8_t {
#define TRAP(id, name, fatal, meaning) id,
#include "fabric/model/trap.def"
  kCount
};
std::string_view TrapName(TrapKind kind);
std::string_view TrapMeaning(TrapKind kind);
bool TrapIsFatal(TrapKind kind);

enum class TrapMode : uint8_t { kWarn, kError };

// One finding. The same kind at the same place in one class is reported once; `count` says how
// often it happened.
struct Trap {
  TrapKind kind = TrapKind::kProgramTrap;
  int x = 0;
  int y = 0;
  uint64_t cycle = 0;  // of the first occurrence
  std::string file;    // empty: no source position
  uint32_t line = 0;
  std::string detail;
  uint64_t count = 1;
  bool fatal = false;
  // "file:line: trap uninitialised-read at PE (x, y), cycle n: detail [3 times]"
  std::string ToString() const;
};

}  // namespace szarena::fabric
