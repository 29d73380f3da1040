// SPDX-License-Identifier: Apache-2.0
// Checks that a program is well formed, so that the machine need not check indices while it runs.
#pragma once

#include "base/error.h"
#include "bytecode/program.h"

namespace szarena::bytecode {

// Every index, register, jump target, id, address range and table of the program. The message names
// class, function and pc.
Result<void> Verify(const Program& program);
Result<void> VerifyClass(const Program& program, const CodeClass& code_class);

}  // namespace szarena::bytecode
