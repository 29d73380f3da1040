// SPDX-License-Identifier: Apache-2.0
// Reads /proc, /etc/os-release and asks programs for their versions.
#include "app/environment.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include <chrono>
#include <fstream>
#include <sstream>

#include "os/process.h"

namespace szarena::app {
namespace {

constexpr const char* kUnknown = "unknown";

// The value of the first line "KEY<separator>VALUE" of a file, without blanks and quotes around it.
std::string LineValue(const std::string& path, const std::string& key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    std::string name = line.substr(0, at);
    name.erase(name.find_last_not_of(" \t") + 1);
    if (name != key) continue;
    std::string value = line.substr(at + 1);
    value.erase(0, value.find_first_not_of(" \t\""));
    value.erase(value.find_last_not_of(" \t\"") + 1);
    return value;
  }
  return "";
}

std::string OrUnknown(std::string text) { return text.empty() ? kUnknown : std::move(text); }

int AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

std::string VectorUnits() {
  std::istringstream flags(LineValue("/proc/cpuinfo", "flags", ':'));
  bool avx2 = false;
  bool avx512 = false;
  for (std::string flag; flags >> flag;) {
    avx2 |= flag == "avx2";
    avx512 |= flag == "avx512f";
  }
  return avx512 ? "AVX-512" : avx2 ? "AVX2" : "no AVX2";
}

std::string Memory() {
  const std::string text = LineValue("/proc/meminfo", "MemTotal", ':');  // "24609476 kB"
  if (text.empty()) return kUnknown;
  return fmt::format("{:.1f} GiB", std::strtod(text.c_str(), nullptr) / (1024 * 1024));
}

std::string System() {
  utsname names{};
  const bool known = uname(&names) == 0;
  return fmt::format("{}, {} {} {}", OrUnknown(LineValue("/etc/os-release", "PRETTY_NAME", '=')),
                     known ? names.sysname : kUnknown, known ? names.release : kUnknown,
                     known ? names.machine : kUnknown);
}

}  // namespace

std::string OutputLine(std::vector<std::string> argv, std::string_view part) {
  os::ProcessSpec spec;
  spec.argv = std::move(argv);
  spec.inherit_env = true;
  const auto result = os::RunProcess(spec, std::chrono::seconds(20));
  if (!result || !result->status.ok()) return "";
  std::istringstream lines(result->out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(part) != std::string::npos) return line;
  }
  return "";
}

std::string ProgramVersion() { return SZARENA_VERSION; }

data::Json DescribeEnvironment() {
  return data::Json::Of(
      {{"processor", OrUnknown(LineValue("/proc/cpuinfo", "model name", ':'))},
       {"cores", fmt::format("{} available, {}", AvailableCores(), VectorUnits())},
       {"memory", Memory()},
       {"system", System()},
       {"compiler", OrUnknown(OutputLine({"g++", "--version"}))},
       {"szarena", ProgramVersion()}});
}

}  // namespace szarena::app
