// SPDX-License-Identifier: Apache-2.0
// Tasks for readers and scripts: what `szarena tasks` prints.
#pragma once

#include <string>

#include "base/error.h"
#include "data/json.h"
#include "task/task.h"

namespace szarena::task {

// name, description, targets {cpu|cuda|cerebras: {contract, baseline, ladder [directories]}},
// tiers, fields, ratio_rule and what else the task file says. A target without baseline has null
// there.
data::Json TaskJson(const Task& task);

// A short text about one task.
std::string TaskText(const Task& task);

}  // namespace szarena::task
