// SPDX-License-Identifier: Apache-2.0
// @export_symbol and what else asks for symbols by name.
#pragma once

#include "csl/sema/builtin.h"
#include "csl/sema/operand.h"

namespace szarena::csl {

Operand ExportSymbol(BuiltinCall& call);
Operand HasExportedTensors(BuiltinCall& call);
Operand GetSymbolId(BuiltinCall& call);

}  // namespace szarena::csl
