// SPDX-License-Identifier: Apache-2.0
// Which operands the DSD operations take: the documented forms, and what a place forbids to a kind
// of descriptor.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/program.h"
#include "csl/sema/evaluator.h"

namespace szarena::csl {

// The forms of an operation, one letter an operand, the destination first: D a DSD, DSR or FIFO, P
// a pointer to a scalar, V a scalar.
std::span<const std::string_view> FormsOf(bytecode::DsdOp op);

// A form as people read it: "(DSD, scalar, DSD)".
std::string FormText(std::string_view form);

// True if the operands have a documented form (or one that is accepted, too: docs/csl/decisions.md)
// and each stands where its kind may stand; false after a diagnostic. Source: the SDK's pages on
// builtins for DSD operations, DSDs (FIFOs) and DSRs, and its release notes 2.10 (one fabric source
// on WSE-3).
bool CheckDsdOperands(Evaluator& eval, std::string_view builtin, bytecode::DsdOp op,
                      const std::vector<Operand>& operands, const std::vector<Span>& spans,
                      Span call);

// The same for one operand of @map, which takes any number of DSDs but no FIFO.
bool CheckMapOperand(Evaluator& eval, const Operand& operand, bool is_output, Span span);

}  // namespace szarena::csl
