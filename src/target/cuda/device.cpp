// SPDX-License-Identifier: Apache-2.0
#include "target/cuda/device.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>

#include "os/files.h"
#include "target/cuda/embedded.h"
#include "target/protocol.h"

namespace szarena::target::cuda {
namespace {

constexpr std::chrono::seconds kProbeTimeout{60};

bool Exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

// Every /dev/nvidia* character device: the control files and the devices themselves.
std::vector<std::string> DeviceNodes() {
  std::vector<std::string> nodes;
  DIR* dir = opendir("/dev");
  if (dir == nullptr) return nodes;
  while (const dirent* entry = readdir(dir)) {  // NOLINT(concurrency-mt-unsafe)
    const std::string name = entry->d_name;
    struct stat info;
    if (!name.starts_with("nvidia") || stat(("/dev/" + name).c_str(), &info) != 0 ||
        !S_ISCHR(info.st_mode))
      continue;
    nodes.push_back("/dev/" + name);
  }
  closedir(dir);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::map<std::string, std::string> ParseLines(const std::string& text) {
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    const size_t tab = line.find('\t');
    if (tab != std::string::npos) values[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return values;
}

struct Probed {
  DeviceAccess access;
  std::string architecture;
};

Result<Probed> ProbeDevice(const sandbox::Sandbox& sandbox, const std::string& folder) {
  if (folder.empty())
    return Fail(ErrorCode::kUnavailable,
                "no CUDA device: not run (the driver's library libcuda.so.1 was not found)");
  Probed probed;
  DeviceAccess& access = probed.access;
  access.nodes = DeviceNodes();
  access.env = {{"LD_LIBRARY_PATH", folder}, {"CUDA_CACHE_DISABLE", "1"}};
  const auto seen_inside = [&](const char* prefix) { return folder.starts_with(prefix); };
  if (!seen_inside("/usr/") && !seen_inside("/lib"))
    access.folders.push_back({folder, folder, false});
  SZARENA_TRY(const os::UniqueFd driver, os::MemoryFile("driver", std::string(DriverProgram())));
  sandbox::Command command;
  command.argv = {kDriverPath, "--probe"};
  command.env = access.env;
  command.files = {{driver.get(), kDriverPath, 0555}};
  command.devices = access.nodes;
  command.sockets = sandbox::Sockets::kLocal;
  command.binds = access.folders;
  command.limits.open_files = 1024;
  command.limits.processes = 256;
  SZARENA_TRY(const os::ProcessResult run, sandbox.Run(command, kProbeTimeout));
  const std::map<std::string, std::string> said = ParseLines(run.out);
  const auto value = [&](const char* key) {
    const auto found = said.find(key);
    return found == said.end() ? std::string() : found->second;
  };
  if (run.timed_out || !run.status.ok() || !value("missing").empty() || value("name").empty()) {
    const std::string why = run.timed_out ? "the probe did not end in time"
                            : !value("missing").empty()
                                ? value("missing")
                                : run.status.ToString() + " " + run.err.substr(0, 200);
    return Fail(ErrorCode::kUnavailable, "no CUDA device: not run (" + why + ")");
  }
  access.name = fmt::format("{}, compute capability {}.{}, driver for CUDA {}", value("name"),
                            value("major"), value("minor"), value("cuda"));
  access.copy_gbs = std::strtod(value("copy_gbs").c_str(), nullptr);
  probed.architecture = "sm_" + value("major") + value("minor");
  return probed;
}

// Asked once in a process.
Result<Probed> ThisMachine(const sandbox::Sandbox& sandbox) {
  static std::mutex mutex;
  static std::optional<Result<Probed>> known;
  const std::lock_guard lock(mutex);
  if (!known) known = ProbeDevice(sandbox, FindDriverLibraryFolder());
  return *known;
}

}  // namespace

std::string FindDriverLibraryFolder() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) {  // NOLINT(concurrency-mt-unsafe)
    std::istringstream words(path);
    std::string word;
    while (std::getline(words, word, ':')) {
      if (word.starts_with("/")) folders.push_back(word);
    }
  }
  for (const char* usual : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                            "/usr/lib", "/usr/local/nvidia/lib64",
                            "/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib/wsl/lib"}) {
    folders.emplace_back(usual);
  }
  for (const std::string& folder : folders) {
    if (Exists(folder + "/libcuda.so.1")) return folder;
  }
  return "";
}

Result<DeviceAccess> FindDeviceWith(const sandbox::Sandbox& sandbox, const std::string& folder) {
  SZARENA_TRY(Probed probed, ProbeDevice(sandbox, folder));
  return std::move(probed.access);
}

Result<DeviceAccess> FindDevice(const sandbox::Sandbox& sandbox) {
  SZARENA_TRY(Probed probed, ThisMachine(sandbox));
  return std::move(probed.access);
}

std::string TargetArchitecture(const sandbox::Sandbox& sandbox) {
  const Result<Probed> probed = ThisMachine(sandbox);
  return probed ? probed->architecture : "sm_90";
}

}  // namespace szarena::target::cuda
