// SPDX-License-Identifier: Apache-2.0
#include "target/cuda/device.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>

#include "os/files.h"
#include "target/cuda/build.h"
#include "target/cuda/embedded.h"
#include "target/cuda/toolkit.h"
#include "target/protocol.h"

namespace szarena::target::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kProbeTimeout{60};
constexpr const char* kUsualFolders[] = {"/usr/lib/x86_64-linux-gnu",
                                         "/usr/lib/aarch64-linux-gnu",
                                         "/usr/lib64",
                                         "/usr/lib",
                                         "/usr/local/nvidia/lib64",
                                         "/usr/lib/x86_64-linux-gnu/nvidia/current",
                                         "/usr/lib/wsl/lib"};

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

// The absolute folders of LD_LIBRARY_PATH.
std::vector<std::string> LoaderFolders() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) {  // NOLINT(concurrency-mt-unsafe)
    std::istringstream words(path);
    std::string word;
    while (std::getline(words, word, ':')) {
      if (word.starts_with("/")) folders.push_back(word);
    }
  }
  return folders;
}

// The CUPTI libraries in these folders, each under its real name.
std::vector<std::string> CuptiIn(const std::vector<std::string>& folders) {
  std::vector<std::string> paths;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      if (!entry.path().filename().string().starts_with("libcupti.so")) continue;
      const std::string real = fs::canonical(entry.path(), error).string();
      if (!error && std::find(paths.begin(), paths.end(), real) == paths.end())
        paths.push_back(real);
    }
  }
  return paths;
}

// Where CUPTI may be: in what the user names, beside nvcc, in the system's folders, where the
// loader looks.
std::vector<std::string> CuptiOfThisMachine() {
  std::vector<std::string> folders = LoaderFolders();
  const auto add_toolkit = [&](const std::string& toolkit) {
    for (const char* place : {"/lib64", "/extras/CUPTI/lib64", "/lib"})
      folders.push_back(toolkit + place);
  };
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* home = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    if (home != nullptr && *home == '/') add_toolkit(home);
  }
  if (const auto nvcc = FindNvcc())
    add_toolkit(fs::path(*nvcc).parent_path().parent_path().string());
  folders.insert(folders.end(), std::begin(kUsualFolders), std::end(kUsualFolders));
  std::vector<std::string> paths = CuptiIn(folders);
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"})
    paths.emplace_back(name);
  return paths;
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

// A folder of the machine inside, under its own name; the system's are there anyway.
void ShowInside(std::vector<sandbox::Bind>& binds, const std::string& folder) {
  const auto known = [&](const sandbox::Bind& bind) { return bind.target == folder; };
  if (folder.starts_with("/usr/") || folder.starts_with("/lib") ||
      std::any_of(binds.begin(), binds.end(), known))
    return;
  binds.push_back({folder, folder, false});
}

// The first of these that the driver program can use inside; else why the first cannot be used.
// `command`: how the program is started for the device.
Result<void> FindTracer(const sandbox::Sandbox& sandbox, sandbox::Command command,
                        const std::vector<std::string>& paths, DeviceAccess& access) {
  access.no_tracer = "no CUPTI was found; it comes with the CUDA toolkit";
  const std::vector<sandbox::Bind> binds = access.folders;
  for (const std::string& path : paths) {
    command.binds = binds;
    if (path.starts_with("/")) ShowInside(command.binds, fs::path(path).parent_path().string());
    command.argv = {kDriverPath, "--probe-tracer", path};
    SZARENA_TRY(const os::UniqueFd driver, os::MemoryFile("driver", std::string(DriverProgram())));
    command.files = {{driver.get(), kDriverPath, 0555}};
    const auto run = sandbox.Run(command, kProbeTimeout);
    const bool works = run && run->status.ok() && !run->timed_out;
    if (works && ParseLines(run->out).contains("tracer")) {
      access.tracer = path;
      access.folders = command.binds;
      access.no_tracer.clear();
      return {};
    }
    if (&path != &paths.front()) continue;
    const std::string why = !run    ? run.error().message
                            : works ? ParseLines(run->out)["missing"]
                                    : run->err.substr(0, 200);
    access.no_tracer = "no CUPTI of the CUDA toolkit can be used: " + why;
  }
  return {};
}

// `cupti`: libraries to try.
Result<Probed> ProbeDevice(const sandbox::Sandbox& sandbox, const std::string& folder,
                           const std::vector<std::string>& cupti) {
  if (folder.empty()) {
    return Fail(ErrorCode::kUnavailable,
                "no CUDA device: not run (the driver's library libcuda.so.1 was not found)");
  }
  Probed probed;
  DeviceAccess& access = probed.access;
  access.nodes = DeviceNodes();
  access.env = {{"LD_LIBRARY_PATH", folder}, {"CUDA_CACHE_DISABLE", "1"}};
  ShowInside(access.folders, folder);
  SZARENA_TRY(const os::UniqueFd driver, os::MemoryFile("driver", std::string(DriverProgram())));
  sandbox::Command command;
  command.argv = {kDriverPath, "--probe"};
  command.binds = access.folders;
  command.env = access.env;
  command.files = {{driver.get(), kDriverPath, 0555}};
  command.devices = access.nodes;
  command.sockets = sandbox::Sockets::kLocal;
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
  access.name =
      fmt::format("{}, compute capability {}.{}, driver {} for CUDA {}; clocks after a copy: {}",
                  value("name"), value("major"), value("minor"),
                  value("driver").empty() ? "of unknown version" : value("driver"), value("cuda"),
                  value("clocks").empty() ? "unknown" : value("clocks"));
  access.copy_gbs = std::strtod(value("copy_gbs").c_str(), nullptr);
  SZARENA_TRY_VOID(FindTracer(sandbox, command, cupti, access));
  probed.architecture = "sm_" + value("major") + value("minor");
  return probed;
}

// Asked once in a process.
Result<Probed> ThisMachine(const sandbox::Sandbox& sandbox) {
  static std::mutex mutex;
  static std::optional<Result<Probed>> known;
  const std::lock_guard lock(mutex);
  if (!known) known = ProbeDevice(sandbox, FindDriverLibraryFolder(), CuptiOfThisMachine());
  return *known;
}

}  // namespace

std::string FindDriverLibraryFolder() {
  std::vector<std::string> folders = LoaderFolders();
  folders.insert(folders.end(), std::begin(kUsualFolders), std::end(kUsualFolders));
  for (const std::string& folder : folders) {
    if (Exists(folder + "/libcuda.so.1")) return folder;
  }
  return "";
}

Result<DeviceAccess> FindDeviceWith(const sandbox::Sandbox& sandbox, const std::string& folder) {
  SZARENA_TRY(Probed probed, ProbeDevice(sandbox, folder, CuptiIn({folder})));
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
