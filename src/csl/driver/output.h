// SPDX-License-Identifier: Apache-2.0
// The output directory: program.szcsl for the simulator, out.json and out_rpc.json for host
// scripts.
#pragma once

#include <string>

#include "base/error.h"
#include "bytecode/program.h"

namespace szarena::csl {

// {"params": {name: value}, "colors": {name: id}, …}; values as strings, as host scripts convert
// them.
std::string OutJson(const bytecode::Program& program);

// {"rpc_symbols": [{"id", "name", "type", "immutable", "kind", "color", "inputs": [{"name",
// "type"}]}]}
std::string OutRpcJson(const bytecode::Program& program);

// Creates the directory where it is absent. Each file appears whole or not at all; the image comes
// last.
Result<void> WriteOutput(const bytecode::Program& program, const std::string& directory);

// What --output-json writes: OutJson, to `path`, or where that is empty beside the output
// directory, by its name with ".json".
Result<void> WriteOutputJson(const bytecode::Program& program, const std::string& directory,
                             const std::string& path);

}  // namespace szarena::csl
