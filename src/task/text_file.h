// SPDX-License-Identifier: Apache-2.0
// Whole text files: pieces of prompts, contracts, sources.
#pragma once

#include <string>

#include "base/error.h"

namespace szarena::task {

Result<std::string> ReadTextFile(const std::string& path);

}  // namespace szarena::task
