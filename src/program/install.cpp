// SPDX-License-Identifier: Apache-2.0
#include "program/install.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "os/process.h"

namespace szarena::program {
namespace {

namespace fs = std::filesystem;

// Adds what must be shown for a real path: the npm tree that it lies in, or the file alone.
void Show(const std::string& path, std::vector<std::string>& shown) {
  for (const char* system : {"/usr/", "/bin/", "/sbin/", "/lib/"}) {
    if (path.starts_with(system)) return;
  }
  constexpr std::string_view kTree = "/node_modules/";
  const size_t at = path.find(kTree);
  const std::string part = at == std::string::npos ? path : path.substr(0, at + kTree.size() - 1);
  if (std::ranges::find(shown, part) == shown.end()) shown.push_back(part);
}

}  // namespace

Result<Installed> FindInstalled(const std::string& executable, const std::string& hint) {
  const auto found = os::FindProgram(executable, /*use_path=*/true);
  if (!found) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("program '{}' was not found in PATH; {}", executable, hint));
  }
  std::error_code error;
  Installed installed;
  installed.path = fs::canonical(*found, error).string();
  if (error) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("program '{}' cannot be used: {}", *found, error.message()));
  }
  Show(installed.path, installed.shown);
  std::string first;
  std::ifstream file(installed.path, std::ios::binary);
  char mark[2] = {};
  if (file.read(mark, 2) && mark[0] == '#' && mark[1] == '!') std::getline(file, first);
  if (first.find("node") != std::string::npos) {
    const auto node = os::FindProgram("node", /*use_path=*/true);
    if (!node) {
      return Fail(ErrorCode::kUnavailable,
                  fmt::format("program '{}' needs 'node', which was not found in PATH", *found));
    }
    const std::string real = fs::canonical(*node, error).string();
    Show(real, installed.shown);
    installed.path_folders.push_back(fs::path(real).parent_path().string());
  }
  return installed;
}

}  // namespace szarena::program
