// SPDX-License-Identifier: Apache-2.0
// New tasks and candidates from the templates under tasks/template/.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "task/task.h"

namespace szarena::task {

// Makes tasks/<name> below `root` from tasks/template/task: loads at once, and every file says what
// to write. Refuses a name that is taken. Returns the folder.
Result<std::string> NewTask(const std::string& root, std::string_view name);

// Makes `directory` (absent or empty) a candidate that builds: the source to start from where
// `source` names one, else a stub that refuses every problem; and the contract beside it.
Result<void> NewCandidate(const std::string& root, const Task& task, Target target, Source source,
                          const std::string& directory);

}  // namespace szarena::task
