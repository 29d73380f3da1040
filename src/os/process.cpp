// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "os/errno.h"

namespace szarena::os {
namespace {

// What the child needs, prepared before fork: after it only async-signal-safe calls are made.
struct ChildPlan {
  std::vector<char*> argv;
  std::vector<char*> envp;
  std::string program;
  std::vector<std::pair<int, int>> fds;
  const ProcessSpec* spec = nullptr;
  int report_fd = -1;  // errno of the step that failed, then EOF on a successful exec
};

[[noreturn]] void ChildFails(int report_fd) {
  const int error_number = errno;
  [[maybe_unused]] const ssize_t written = write(report_fd, &error_number, sizeof error_number);
  _exit(127);
}

void RunChild(ChildPlan& plan, pid_t parent) {
  const ProcessSpec& spec = *plan.spec;
  // A new session: no controlling terminal, one group to kill.
  if (setsid() < 0) ChildFails(plan.report_fd);
  // Move every descriptor out of the way, then to its number.
  constexpr int kHigh = 200;
  const int report = fcntl(plan.report_fd, F_DUPFD_CLOEXEC, kHigh);
  if (report < 0) ChildFails(plan.report_fd);
  for (auto& [ours, theirs] : plan.fds) {
    ours = fcntl(ours, F_DUPFD_CLOEXEC, kHigh);
    if (ours < 0) ChildFails(report);
  }
  for (const auto& [ours, theirs] : plan.fds) {
    if (dup2(ours, theirs) < 0) ChildFails(report);
  }
  int highest = 2;
  for (const auto& [ours, theirs] : plan.fds) highest = std::max(highest, theirs);
  // Everything that was not asked for closes on exec, whoever opened it.
  constexpr unsigned kCloseRangeCloexec = 4;
  if (syscall(SYS_close_range, static_cast<unsigned>(highest + 1), ~0u, kCloseRangeCloexec) < 0) {
    ChildFails(report);
  }
  for (int fd = 3; fd <= highest; ++fd) {
    const bool wanted = std::any_of(plan.fds.begin(), plan.fds.end(),
                                    [fd](const auto& pair) { return pair.second == fd; });
    if (!wanted) close(fd);
  }
  if (!spec.cwd.empty() && chdir(spec.cwd.c_str()) < 0) ChildFails(report);
  for (const auto& [what, limit] : spec.limits) {
    if (setrlimit(static_cast<__rlimit_resource>(what), &limit) < 0) ChildFails(report);
  }
  if (spec.uid) {
    if (setgroups(0, nullptr) < 0 || setresgid(*spec.uid, *spec.uid, *spec.uid) < 0 ||
        setresuid(*spec.uid, *spec.uid, *spec.uid) < 0) {
      ChildFails(report);
    }
    prctl(PR_SET_DUMPABLE,
          1);  // else /proc/self belongs to root and user namespaces cannot be set up
  }
  // After the change of user, which clears it. The parent may already be gone.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  execve(plan.program.c_str(), plan.argv.data(), plan.envp.data());
  ChildFails(report);
}

// Reads what is there (at most 1 MiB: the writer may never stop) into `text` up to `limit`; false
// at the end of the stream.
bool ReadAvailable(int fd, std::string& text, size_t limit, bool& cut) {
  char buffer[16384];
  for (int chunk = 0; chunk < 64; ++chunk) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    const size_t keep = std::min(static_cast<size_t>(got), limit - std::min(limit, text.size()));
    text.append(buffer, keep);
    if (keep < static_cast<size_t>(got)) cut = true;
  }
  return true;
}

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Result<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return FailErrno("cannot make a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

std::string ExitStatus::ToString() const {
  if (exited) return "exit status " + std::to_string(code);
  const char* name = sigdescr_np(signal);
  return "signal " + std::to_string(signal) + " (" + (name != nullptr ? name : "unknown") + ")";
}

std::optional<std::string> FindProgram(const std::string& name, bool use_path) {
  if (name.find('/') != std::string::npos) {
    return access(name.c_str(), X_OK) == 0 ? std::optional(name) : std::nullopt;
  }
  std::string search = "/usr/bin:/bin:/usr/sbin:/sbin";
  if (use_path) {
    if (const char* path = std::getenv("PATH")) search = path;  // NOLINT(concurrency-mt-unsafe)
  }
  for (size_t begin = 0; begin <= search.size();) {
    const size_t end = std::min(search.find(':', begin), search.size());
    const std::string candidate = search.substr(begin, end - begin) + "/" + name;
    if (end > begin && access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return std::nullopt;
}

Result<Process> Process::Start(const ProcessSpec& spec) {
  if (spec.argv.empty()) return Fail(ErrorCode::kInvalidArgument, "no program to start");
  ChildPlan plan;
  plan.spec = &spec;
  const std::optional<std::string> program = FindProgram(spec.argv[0]);
  if (!program) {
    return Fail(ErrorCode::kUnavailable, "program '" + spec.argv[0] + "' was not found");
  }
  plan.program = *program;
  for (const std::string& arg : spec.argv) plan.argv.push_back(const_cast<char*>(arg.c_str()));
  plan.argv.push_back(nullptr);
  std::vector<std::string> env;
  if (spec.inherit_env) {
    for (char** entry = environ; *entry != nullptr; ++entry) env.emplace_back(*entry);
  }
  for (const auto& [key, value] : spec.env) {
    std::erase_if(env, [&key = key](const std::string& e) { return e.starts_with(key + "="); });
    env.push_back(key + "=" + value);
  }
  for (std::string& entry : env) plan.envp.push_back(entry.data());
  plan.envp.push_back(nullptr);

  SZARENA_TRY(Pipe out, MakePipe());
  SZARENA_TRY(Pipe err, MakePipe());
  SZARENA_TRY(Pipe report, MakePipe());
  UniqueFd in;
  if (spec.stdin_text.empty()) {
    in = UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!in) return FailErrno("cannot open '/dev/null'");
  } else {
    if (spec.stdin_text.size() > 60000) {
      return Fail(ErrorCode::kInvalidArgument, "more than 60 kB of standard input");
    }
    SZARENA_TRY(Pipe feed, MakePipe());
    if (write(feed.write_end.get(), spec.stdin_text.data(), spec.stdin_text.size()) !=
        static_cast<ssize_t>(spec.stdin_text.size())) {
      return FailErrno("cannot feed standard input");
    }
    in = std::move(feed.read_end);
  }
  const auto named = [&spec](int number) {
    return std::any_of(spec.fds.begin(), spec.fds.end(),
                       [number](const auto& pair) { return pair.second == number; });
  };
  plan.fds = spec.fds;
  if (!named(0)) plan.fds.emplace_back(in.get(), 0);
  if (!named(1)) plan.fds.emplace_back(out.write_end.get(), 1);
  if (!named(2)) plan.fds.emplace_back(err.write_end.get(), 2);
  plan.report_fd = report.write_end.get();

  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return FailErrno("cannot fork");
  if (pid == 0) RunChild(plan, parent);

  Process process;
  process.pid_ = pid;
  process.output_limit_ = spec.output_limit;
  process.started_ = Clock::now();
  process.pidfd_ = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.pidfd_) return FailErrno("cannot open a process descriptor");
  out.write_end.Reset();
  err.write_end.Reset();
  report.write_end.Reset();
  int child_errno = 0;
  ssize_t got = 0;
  do {
    got = read(report.read_end.get(), &child_errno, sizeof child_errno);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof child_errno) {
    process.Kill();
    return tl::unexpected(ErrnoError(child_errno, "cannot start '" + plan.program + "'"));
  }
  fcntl(out.read_end.get(), F_SETFL, O_NONBLOCK);
  fcntl(err.read_end.get(), F_SETFL, O_NONBLOCK);
  process.out_ = std::move(out.read_end);
  process.err_ = std::move(err.read_end);
  return process;
}

Process::Process(Process&& other) noexcept { *this = std::move(other); }

Process& Process::operator=(Process&& other) noexcept {
  if (this == &other) return *this;
  if (pid_ > 0 && !reaped_) Kill();
  pid_ = std::exchange(other.pid_, -1);
  pidfd_ = std::move(other.pidfd_);
  out_ = std::move(other.out_);
  err_ = std::move(other.err_);
  reaped_ = std::exchange(other.reaped_, false);
  output_limit_ = other.output_limit_;
  started_ = other.started_;
  result_ = std::move(other.result_);
  return *this;
}

Process::~Process() {
  if (pid_ > 0 && !reaped_) Kill();
}

void Process::Drain() {
  if (out_ && !ReadAvailable(out_.get(), result_.out, output_limit_, result_.out_cut)) out_.Reset();
  if (err_ && !ReadAvailable(err_.get(), result_.err, output_limit_, result_.err_cut)) err_.Reset();
}

Result<bool> Process::Wait(Deadline deadline) {
  while (!reaped_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    // A descriptor of -1 is ignored by poll.
    pollfd fds[3] = {{pidfd_.get(), POLLIN, 0}, {out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
    const int timeout = static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
    const int ready = poll(fds, 3, timeout);
    if (ready < 0 && errno != EINTR) return FailErrno("cannot wait for a process");
    Drain();
    if (ready > 0 && (fds[0].revents & POLLIN) != 0) {
      Reap();
      return true;
    }
    if (Clock::now() >= deadline) return false;
  }
  return true;
}

void Process::Reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  // Whatever the child left behind in its group has no business any more.
  kill(-pid_, SIGKILL);
  reaped_ = true;
  Drain();
  result_.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  result_.status.exited = WIFEXITED(status);
  if (WIFEXITED(status)) result_.status.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result_.status.signal = WTERMSIG(status);
}

void Process::Kill() {
  if (pid_ <= 0 || reaped_) return;
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  Reap();
}

Result<ProcessResult> RunProcess(const ProcessSpec& spec, std::chrono::milliseconds timeout) {
  SZARENA_TRY(Process process, Process::Start(spec));
  SZARENA_TRY(const bool ended, process.Wait(After(timeout)));
  if (!ended) process.Kill();
  ProcessResult result = process.result();
  result.timed_out = !ended;
  return result;
}

}  // namespace szarena::os
