// SPDX-License-Identifier: Apache-2.0
// What DSD operations, DSR loads and @map have in common: operands and asynchronous settings.
#pragma once

#include <optional>

#include "bytecode/program.h"
#include "csl/sema/evaluator.h"
#include "csl/sema/settings.h"

namespace szarena::csl {

// A DSD, DSR or FIFO as an operand of an instruction; nothing (silently) for other types.
// Registers that it names stay allocated.
std::optional<bytecode::Operand> DsdOperand(Evaluator& eval, const Operand& operand, Span span);

// True for values that DsdOperand takes.
bool IsDsdLike(Evaluator& eval, TypeId type);
// True for a fabric DSD, and for a DSR or FIFO, which may be or feed one.
bool MayBeFabric(Evaluator& eval, TypeId type);

// Reads .async, .activate, .unblock, .on_control, .priority and .ut_id. False after a diagnostic.
// `set_later`: how to enter the id of a task that is bound later (comptime blocks); null in code.
using SignalSlot = std::function<bytecode::Signal&(bytecode::CodeClass&)>;
bool ReadAsyncSettings(Evaluator& eval, Settings& settings, bytecode::AsyncSettings& out, Span span,
                       const SignalSlot& done_slot = nullptr,
                       const SignalSlot& control_slot = nullptr);

// One signal: the id of a task, colour or queue, or the name of a task.
bool ReadSignal(Evaluator& eval, const Settings::Entry& entry, bytecode::SignalKind kind,
                bytecode::Signal& out, const SignalSlot& slot);

}  // namespace szarena::csl
