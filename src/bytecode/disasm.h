// SPDX-License-Identifier: Apache-2.0
// Prints programs for people.
#pragma once

#include <string>

#include "bytecode/program.h"

namespace szarena::bytecode {

std::string Disassemble(const CodeClass& c, const Instr& i, uint32_t pc);
std::string Disassemble(const Program& p, const CodeClass& c, const Function& f);
std::string Disassemble(const Program& p);  // everything

}  // namespace szarena::bytecode
