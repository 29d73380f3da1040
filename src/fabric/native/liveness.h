// SPDX-License-Identifier: Apache-2.0
// Which registers an instruction reads and writes, and which hold a value that may still be read.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/program.h"

namespace szarena::fabric::native {

// Registers of one instruction. A call's uses are its arguments, its def the result.
struct Effects {
  std::vector<uint16_t> uses;
  std::vector<uint16_t> defs;
};
Effects EffectsOf(const bytecode::CodeClass& code, const bytecode::Instr& i);

// Where control may go from `pc`, calls returned from.
std::vector<uint32_t> SuccessorsOf(const bytecode::Function& f, uint32_t pc);

class Liveness {
 public:
  Liveness(const bytecode::CodeClass& code, const bytecode::Function& f);
  bool IsLive(uint32_t pc, uint32_t reg) const { return (bits_[pc * words_ + reg / 64] >> (reg % 64) & 1) != 0; }
  std::vector<uint16_t> LiveAt(uint32_t pc) const;  // before the instruction, ascending

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

}  // namespace szarena::fabric::native
