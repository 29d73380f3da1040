// SPDX-License-Identifier: Apache-2.0
// The cost model as a table for one architecture. Every number and its source is in cost.def.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "bytecode/program.h"

namespace szarena::fabric {

struct CostModel {
  bytecode::Arch arch = bytecode::Arch::kWse2;
  std::array<uint16_t, bytecode::kOpCount> op = {};  // cycles an instruction
  std::array<uint16_t, static_cast<size_t>(bytecode::Native::kCount)> native = {};
  std::array<uint8_t, static_cast<size_t>(bytecode::DsdOp::kCount)> simd = {};
#define COST(key, wse2, wse3, basis, source) uint32_t key = 0;
#include "fabric/model/cost.def"

  uint32_t InputQueueDepth(int queue) const {
    return queue < 2 ? input_queue_depth_0 : queue < 4 ? input_queue_depth_2 : input_queue_depth_4;
  }
  uint32_t OutputQueueDepth(int queue) const {
    return queue < 2   ? output_queue_depth_0
           : queue < 4 ? output_queue_depth_2
                       : output_queue_depth_4;
  }
  int OutputQueues() const { return arch == bytecode::Arch::kWse2 ? 6 : 8; }
};
const CostModel& CostModelOf(bytecode::Arch arch);

// All numbers with basis and source, a line each; then how far the model is from published counts
// (accuracy.h).
std::string PrintCostModel();

}  // namespace szarena::fabric
