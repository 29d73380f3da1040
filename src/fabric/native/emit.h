// SPDX-License-Identifier: Apache-2.0
// One bytecode function as LLVM IR.
#pragma once

#include <string>

#include "fabric/native/ir.h"
#include "fabric/native/liveness.h"
#include "fabric/native/plugin.h"

namespace szarena::fabric::native {

// Can the function be compiled? No, where a register above a call's window is read later: a callee
// may have changed it. Nor where it is larger than kMaxInstructions or has more than kMaxRegisters
// registers: LLVM would take seconds, and calls much of the host's stack.
inline constexpr size_t kMaxInstructions = 3000;
inline constexpr uint32_t kMaxRegisters = 2048;
bool Compilable(const bytecode::Function& f, const Liveness& live);

// Adds the function to `module` under `name`, with the signature of Entry. `zeroed[f]`: registers
// that function f reads before it writes them, parameters left out; its caller sets them to 0.
void EmitFunction(Ir& ir, LLVMModuleRef module, const std::string& name, const Settings& settings,
                  const bytecode::CodeClass& code, uint32_t function, const Liveness& live,
                  const std::vector<std::vector<uint16_t>>& zeroed);

}  // namespace szarena::fabric::native
