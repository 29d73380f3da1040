// SPDX-License-Identifier: Apache-2.0
// Where a program lies on this machine, and what of the machine it needs to see.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace szarena::program {

struct Installed {
  std::string path;                // the executable, real path
  std::vector<std::string> shown;  // files and folders besides the system's that it needs to read
  std::vector<std::string> path_folders;  // for its PATH: where its interpreter is
};

// Looks in PATH. kUnavailable where it is not there, with `hint` ("npm install -g …").
Result<Installed> FindInstalled(const std::string& executable, const std::string& hint);

}  // namespace szarena::program
