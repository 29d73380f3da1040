// SPDX-License-Identifier: Apache-2.0
// Child processes with a deadline: started with exactly the descriptors, environment and limits
// that were asked for, their output captured up to a limit, killed as a group.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "os/fd.h"

namespace szarena::os {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;
inline Deadline After(std::chrono::milliseconds time) { return Clock::now() + time; }

struct ProcessSpec {
  std::vector<std::string>
      argv;  // argv[0] is an absolute path, or a name looked up in /usr/bin, /bin, /usr/sbin, /sbin
  std::vector<std::pair<std::string, std::string>> env;  // the whole environment of the child
  bool inherit_env = false;                              // start from ours instead of from nothing
  std::string cwd;                                       // empty: ours
  std::vector<std::pair<int, int>>
      fds;  // (ours, number in the child); 0 is /dev/null unless named, 1 and 2 are captured
  std::string stdin_text;  // fed to descriptor 0 where not empty (at most 60 kB)
  std::vector<std::pair<int, rlimit>> limits;  // (RLIMIT_..., value)
  std::optional<uid_t>
      uid;  // user and group id to drop to, with no supplementary groups (root only)
  size_t output_limit =
      1 << 20;  // bytes kept of stdout and of stderr each; the rest is read and dropped
};

struct ExitStatus {
  bool exited = false;  // else killed by `signal`
  int code = 0;
  int signal = 0;
  bool ok() const { return exited && code == 0; }
  std::string ToString() const;  // "exit status 3", "signal 11 (Segmentation fault)"
};

struct ProcessResult {
  ExitStatus status;
  bool timed_out = false;
  std::string out;
  std::string err;
  bool out_cut = false;  // more than output_limit arrived
  bool err_cut = false;
  double seconds = 0;
};

// A running child and its process group. The destructor kills the group and reaps the child. The
// child also dies with the thread that started it: start long-lived ones from a thread that
// outlives them.
class Process {
 public:
  static Result<Process> Start(const ProcessSpec& spec);
  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;
  ~Process();

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }  // readable when the child has ended

  // Reads what the child has written so far without waiting; to be called now and then so that it
  // does not block.
  void Drain();
  // Waits for the end or the deadline (false), reading output meanwhile.
  Result<bool> Wait(Deadline deadline);
  // Kills the whole group and reaps.
  void Kill();
  // After Wait returned true or Kill.
  const ProcessResult& result() const { return result_; }

 private:
  Process() = default;
  void Reap();

  pid_t pid_ = -1;
  UniqueFd pidfd_;
  UniqueFd out_;
  UniqueFd err_;
  bool reaped_ = false;
  size_t output_limit_ = 0;
  Clock::time_point started_;
  ProcessResult result_;
};

// Runs to the end; after the deadline kills the group and says timed_out.
Result<ProcessResult> RunProcess(const ProcessSpec& spec, std::chrono::milliseconds timeout);

// The absolute path of a program in the fixed search path above, or in PATH where `use_path`.
std::optional<std::string> FindProgram(const std::string& name, bool use_path = false);

}  // namespace szarena::os
