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

// Does the instruction always work on registers in memory? Loads and stores do so in rare cases,
// and save them then.
bool LooksAtMemory(bytecode::Op op);

class Liveness {
 public:
  Liveness(const bytecode::CodeClass& code, const bytecode::Function& f);
  // Before the instruction: may the register's value be read later?
  bool IsLive(uint32_t pc, uint32_t reg) const { return Has(live_, pc, reg); }
  std::vector<uint16_t> LiveAt(uint32_t pc) const;  // ascending
  // May it be live at an instruction that LooksAtMemory, before it is written again? Then who
  // writes it writes it to memory too.
  bool IsObserved(uint32_t pc, uint32_t reg) const { return Has(observed_, pc, reg); }

 private:
  bool Has(const std::vector<uint64_t>& bits, uint32_t pc, uint32_t reg) const {
    return (bits[pc * words_ + reg / 64] >> (reg % 64) & 1) != 0;
  }
  size_t words_;
  std::vector<uint64_t> live_;
  std::vector<uint64_t> observed_;
};

}  // namespace szarena::fabric::native
