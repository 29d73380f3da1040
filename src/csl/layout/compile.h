// SPDX-License-Identifier: Apache-2.0
// From the layout file to the program image: evaluates the layout block, compiles each class of PEs
// once, joins the parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bytecode/program.h"
#include "csl/sema/session.h"

namespace szarena::csl {

struct CompileRequest {
  const Ast* layout = nullptr;
  std::string name;                                     // of the layout file
  std::vector<std::pair<std::string, int64_t>> params;  // --params
  std::vector<std::pair<std::string, int64_t>> colors;  // --colors
  bool memcpy = false;
  int channels = 0;
  int west_buffer = 0, east_buffer = 0;
};

// The builtins of this room must be in the session's table: see AddLayoutBuiltins. The session's
// target holds architecture, fabric size (0: the smallest that fits) and offsets (-1: the
// smallest); they are filled in. Nothing where an error was reported.
std::optional<bytecode::Program> CompileProgram(Session& session, const CompileRequest& request);

void AddLayoutBuiltins(BuiltinTable& table);

}  // namespace szarena::csl
