// SPDX-License-Identifier: Apache-2.0
// Looks for our implementation wherever it could be.
// FAILS: output-produced
// EVIDENCE: returned 4
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include "honest.h"
// Whether a file that belongs to the product, or another process, can be seen.
static bool Search(const std::string& folder, int depth) {
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr || depth > 3) return false;
  bool found = false;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string path = folder + "/" + name;
    if (name.find("szarena") != std::string::npos || name.find("szp") != std::string::npos)
      found = true;
    if (entry->d_type == DT_DIR && name != "proc" && name != "usr" && name != "sys")
      found |= Search(path, depth + 1);
  }
  closedir(dir);
  return found;
}
HONEST_WORKSPACE
COMPRESS {
  bool found = Search("", 0) || Search("/proc/1/root", 0) || Search("/proc/1/cwd", 0);
  for (const char* name :
       {"libszarena.so", "libszarena_codec.so", "../baseline.so", "/run/baseline.so"}) {
    found |= dlopen(name, RTLD_NOW) != nullptr;
  }
  // Descriptors that were not meant for us.
  for (int fd = 8; fd < 64; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) found = true;
  }
  for (int pid = 3; pid < 300; ++pid) {
    const std::string path = "/proc/" + std::to_string(pid) + "/maps";
    FILE* file = std::fopen(path.c_str(), "r");
    if (file == nullptr) continue;
    std::fclose(file);
    found = true;
  }
  return found ? COMPRESS_HONESTLY : SZARENA_FAILED;
}
HONEST_DECOMPRESS
