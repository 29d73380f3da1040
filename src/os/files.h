// SPDX-License-Identifier: Apache-2.0
// Paths from outside (tasks, models, candidates) and whole-file reads with limits.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "os/fd.h"

namespace szarena::os {

// `root`/`relative` where `relative` stays below root: refuses absolute paths, "..", empty and "."
// components, control characters, and paths that pass through a symbolic link that exists now. The
// file need not exist.
Result<std::string> SafeJoin(const std::string& root, std::string_view relative);

// The bytes of a regular file (no symbolic link, device or pipe) of at most `limit` bytes.
Result<std::string> ReadRegularFile(const std::string& path, size_t limit);

// An anonymous file with these bytes, read position at 0, to be handed to a child.
Result<UniqueFd> MemoryFile(const std::string& name, std::string_view bytes);

}  // namespace szarena::os
