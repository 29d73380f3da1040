// SPDX-License-Identifier: Apache-2.0
// Checks of one PE class, once its code is known, of the queues and colours that its DSDs and data
// tasks use.
#pragma once

#include "csl/sema/unit.h"

namespace szarena::csl {

// Reports DSDs (a warning) and data tasks of `unit` (a class with a ClassState) whose queue has no
// colour, DSDs whose colour is another one than the queue's (WSE-3), and DSDs of the program on
// queues and colours of the memcpy library. Call it when all code is compiled.
void CheckQueues(Unit& unit, const bytecode::CodeClass& code);

}  // namespace szarena::csl
