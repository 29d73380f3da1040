// SPDX-License-Identifier: Apache-2.0
// Runs an untrusted program: own namespaces (no network, no other processes, a file system of /usr
// and what is named), a system-call filter, limits, another user. Refuses to run anything where
// namespaces are missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "os/process.h"
#include "sandbox/seccomp.h"

namespace szarena::sandbox {

struct Bind {
  std::string source;  // must be reachable by any user (but see Sandbox::Paths)
  std::string target;  // absolute path inside
  bool writable = false;
};

// A file made inside from the bytes of a descriptor (read from its position to the end); read-only
// there.
struct DataFile {
  int fd = -1;
  std::string target;
  unsigned mode = 0444;
};

struct Limits {
  uint64_t cpu_seconds = 60;
  uint64_t address_space_bytes = 0;  // 0: none
  uint64_t file_bytes = 256ull << 20;
  uint64_t processes = 64;  // threads count
  uint64_t open_files = 256;
  uint64_t stack_bytes = 64ull << 20;
  uint64_t tmp_bytes = 256ull << 20;  // size of /tmp inside
};

struct Command {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<Bind> binds;
  std::vector<DataFile> files;
  std::vector<std::string> devices;      // device files, seen inside under the same names
  std::vector<std::pair<int, int>> fds;  // (ours, number inside), numbers from 3 to 19
  std::string cwd = "/tmp";
  Sockets sockets = Sockets::kNone;
  std::optional<uint32_t> uid;  // where we are root: the user it runs as; else a fresh one
  Limits limits;
  size_t output_limit = 1 << 20;
};

class Sandbox {
 public:
  // Finds out what works here by trying it. kUnavailable names what is missing and the remedy.
  static Result<Sandbox> Probe() { return Probe(Paths::kPublic); }
  // kPrivate: binds may come from folders that only we can reach.
  enum class Paths : uint8_t { kPublic, kPrivate };
  static Result<Sandbox> Probe(Paths paths);

  // A user id that no account has, for Command::uid. Ours where we are not root.
  static uint32_t FreshUser();

  // What lies in `folder` is not seen inside, though the system's folder around it is. A folder
  // that is not seen anyway stays as it is.
  void Hide(const std::string& folder);

  Result<os::Process> Start(const Command& command) const;
  Result<os::ProcessResult> Run(const Command& command, std::chrono::milliseconds timeout) const;

  // The active layers, for the run record: "bubblewrap 0.8.0, user namespace, uid 61234.., seccomp,
  // rlimits".
  const std::string& description() const { return description_; }

 private:
  enum class Mode {
    kUserNamespace,  // dropped to an unprivileged user first, then a user namespace
    kRoot,  // namespaces made by root, the program started by setpriv as an unprivileged user
    kRootRebound,  // the same inside a chroot: the root is bound onto itself first
  };
  Result<void> Try(Mode mode) const;
  Result<os::Process> StartIn(Mode mode, const Command& command) const;

  Mode mode_ = Mode::kUserNamespace;
  std::vector<std::string> hidden_;
  std::string description_;
};

}  // namespace szarena::sandbox
