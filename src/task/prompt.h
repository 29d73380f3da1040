// SPDX-License-Identifier: Apache-2.0
// The prompt exactly as an agent gets it, put together from the pieces under tasks/.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "task/task.h"

namespace szarena::task {

// Pieces, in this order (each is a file; a tier's own pieces are given to it and the tiers above):
//   tasks/prompt/role.md                       every tier
//   tasks/<task>/description.md                every tier
//   tasks/prompt/target_<target>.md            every tier: language, build line, contract's name
//   tasks/prompt/architecture_<target>.md      knowledgeable, expert
//   tasks/<task>/parallelism.md                knowledgeable, expert
//   tasks/<task>/expert_<target>.md            expert
//   tasks/prompt/rules.md                      every tier: what counts as right, what is measured
//   the contract, the format specification, the source to start from (verbatim)
// A task that lacks one of the tier's pieces is kNotFound, never a shorter prompt.
Result<std::string> ComposePrompt(const std::string& root, const Task& task, Target target,
                                  Tier tier, Source source = Source::kNone);

// The words of a workflow by name: tasks/workflow/NAME.md and NAME-*.md, and nudge.md for all of
// them. kNotFound: the workflow has none.
Result<std::map<std::string, std::string>> LoadWorkflowWords(const std::string& root,
                                                             std::string_view workflow);

// Identity of a prompt: SHA-256 of its bytes, hexadecimal.
std::string PromptHash(const std::string& prompt);

}  // namespace szarena::task
