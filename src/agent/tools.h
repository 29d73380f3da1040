// SPDX-License-Identifier: Apache-2.0
// The two tables of tools; see toolbox.h.
#pragma once

#include <span>

#include "agent/toolbox.h"

namespace szarena::agent {

std::span<const Tool> FileTools();  // describe_task, list_files, read_file, write_file, delete_file
std::span<const Tool> JudgeTools();  // build, test, benchmark, submit, history

}  // namespace szarena::agent
