// SPDX-License-Identifier: Apache-2.0
// The table that --out-routes prints.
#pragma once

#include <string>

#include "bytecode/program.h"

namespace szarena::csl {

// One line for each PE and colour that a router configuration names, row by row: place, colour,
// where wavelets come from and go to in position 0, then the other switch positions and what else
// is set. ASCII. PEs without routes have no line.
std::string RoutesTable(const bytecode::Program& program);

}  // namespace szarena::csl
