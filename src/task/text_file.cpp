// SPDX-License-Identifier: Apache-2.0
#include "task/text_file.h"

#include "os/files.h"

namespace szarena::task {

Result<std::string> ReadTextFile(const std::string& path) {
  return os::ReadRegularFile(path, size_t{16} << 20);
}

}  // namespace szarena::task
