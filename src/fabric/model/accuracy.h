// SPDX-License-Identifier: Apache-2.0
// How far the cost model is from published cycle counts (accuracy.def). To be printed beside every
// estimate.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bytecode/program.h"

namespace szarena::fabric {

enum class Part : uint8_t { kFitting, kHeldOut, kFormula };

struct Accuracy {
  Part part;
  const char* program;  // tests/csl/cost/<program>.csl
  bytecode::Arch arch;
  uint32_t published;  // cycles
  uint32_t ours;
  const char* source;
};
std::span<const Accuracy> AccuracyTable();

// Over the rows of a part: the mean factor by which ours is off, exp(mean |ln(ours / published)|),
// and the largest.
struct Spread {
  int rows = 0;
  double typical = 1;
  double worst = 1;
  const Accuracy* worst_row = nullptr;
};
Spread SpreadOf(Part part);

// One clause: "estimated; on N published counts held out from fitting the cost model is off by a
// factor of F on average, W at worst".
std::string HeldOutError();
// The table in Markdown.
std::string PrintAccuracy();

}  // namespace szarena::fabric
