// SPDX-License-Identifier: Apache-2.0
// The machine and the tools, as results record them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace szarena::app {

// processor, cores, memory, system, compiler, szarena: one line of text each. What cannot be found
// out is "unknown", never left out.
data::Json DescribeEnvironment();

// The first line with `part` in it that a command prints; empty where it cannot be run or fails.
std::string OutputLine(std::vector<std::string> argv, std::string_view part = "");

// "0.1.0", with the commit where the build knew it.
std::string ProgramVersion();

}  // namespace szarena::app
