// SPDX-License-Identifier: Apache-2.0
// What an agent may read about a task: contract, format, source to start from, the target's pages.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "task/task.h"

namespace szarena::task {

struct ReferenceText {
  std::string
      name;  // "contract/szarena_candidate.h", "format/szp.md", "source/…", "docs/language.md"
  std::string title;  // the page's first heading, or what it is
  std::string text;
};

// In that order. The same for every tier: nothing here tells of our own solutions.
Result<std::vector<ReferenceText>> LoadReferences(const std::string& root, const Task& task,
                                                  Target target, Source source);

}  // namespace szarena::task
