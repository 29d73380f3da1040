// SPDX-License-Identifier: Apache-2.0
#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "os/errno.h"
#include "os/files.h"
#include "sandbox/seccomp.h"

namespace szarena::sandbox {
namespace {

// Descriptors of our own inside bubblewrap; it closes them before it starts the program.
constexpr int kFilterFd = 20;
constexpr int kFirstDataFd = 21;

// Users that no account has (systemd's dynamic range): one drawn per sandbox, so that limits
// counted by user are its own.
constexpr uint32_t kFirstUid = 61184;
constexpr uint32_t kUidCount = 4336;

constexpr const char* kShown[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

uint32_t DrawUid() {
  uint32_t value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value) value = static_cast<uint32_t>(getpid());
  return kFirstUid + value % kUidCount;
}

bool IsRoot() { return geteuid() == 0; }

void Add(std::vector<std::string>& argv, std::initializer_list<std::string> words) {
  argv.insert(argv.end(), words);
}

// An empty folder that cannot be written instead of what is there.
void Cover(std::vector<std::string>& argv, const std::string& folder) {
  Add(argv, {"--perms", "0555", "--size", "4096", "--tmpfs", folder, "--remount-ro", folder});
}

// The folders above `target`, where they are not there yet; bubblewrap itself would make them for
// root alone.
void AddParents(std::vector<std::string>& argv, const std::string& target) {
  for (size_t slash = target.find('/', 1); slash != std::string::npos;
       slash = target.find('/', slash + 1)) {
    Add(argv, {"--perms", "0755", "--dir", target.substr(0, slash)});
  }
}

// The host's programs and libraries, nothing else of the host: never "/", never /etc as a whole.
// Nor bubblewrap's own process, which runs on beside the program as the same user: who may write
// its memory has a process that no one stops.
void AddSystem(std::vector<std::string>& argv, const std::vector<std::string>& hidden) {
  for (const char* name : kShown) {
    struct stat info;
    if (lstat(name, &info) != 0) continue;
    if (S_ISLNK(info.st_mode)) {
      char target[256];
      const ssize_t length = readlink(name, target, sizeof target);
      if (length > 0 && length < static_cast<ssize_t>(sizeof target)) {
        Add(argv, {"--symlink", std::string(target, static_cast<size_t>(length)), name});
      }
    } else if (S_ISDIR(info.st_mode)) {
      Add(argv, {"--ro-bind", name, name});
    }
  }
  AddParents(argv, "/etc/alternatives");
  Add(argv, {"--ro-bind-try", "/etc/alternatives", "/etc/alternatives"});
  Add(argv, {"--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"});
  Add(argv, {"--proc", "/proc", "--dev", "/dev"});
  Cover(argv, "/proc/1");
  for (const std::string& folder : hidden) Cover(argv, folder);
}

std::vector<std::pair<int, rlimit>> ToRlimits(const Limits& limits) {
  std::vector<std::pair<int, rlimit>> out = {
      {RLIMIT_CPU, {limits.cpu_seconds, limits.cpu_seconds + 1}},
      {RLIMIT_FSIZE, {limits.file_bytes, limits.file_bytes}},
      {RLIMIT_NOFILE, {limits.open_files, limits.open_files}},
      {RLIMIT_STACK, {limits.stack_bytes, limits.stack_bytes}},
      {RLIMIT_CORE, {0, 0}},
      {RLIMIT_MEMLOCK, {0, 0}},
      {RLIMIT_MSGQUEUE, {0, 0}},
  };
  if (limits.address_space_bytes != 0) {
    out.push_back({RLIMIT_AS, {limits.address_space_bytes, limits.address_space_bytes}});
  }
  // Counted by user: meaningful only where the sandbox has a user of its own.
  if (IsRoot()) out.push_back({RLIMIT_NPROC, {limits.processes, limits.processes}});
  // Our own limits may be lower already; only lowering is always allowed.
  for (auto& [what, limit] : out) {
    rlimit ours;
    if (getrlimit(static_cast<__rlimit_resource>(what), &ours) == 0 &&
        ours.rlim_max != RLIM_INFINITY) {
      limit.rlim_max = std::min(limit.rlim_max, ours.rlim_max);
      limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
    }
  }
  return out;
}

// The mount id of the mount that holds "/".
std::string RootMountId() {
  const os::UniqueFd root(open("/", O_PATH | O_CLOEXEC | O_DIRECTORY));
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(root.get()));
  std::string line;
  while (std::getline(info, line)) {
    if (line.starts_with("mnt_id:")) return line.substr(line.find_first_not_of(" \t", 7));
  }
  return "";
}

// The line of a mount in a process's table (id parent major:minor root mountpoint options [shared:N
// ...] - ...).
std::string MountLine(pid_t pid, const std::string& mount_id) {
  std::ifstream table("/proc/" + std::to_string(pid) + "/mountinfo");
  std::string line;
  while (std::getline(table, line)) {
    if (line.starts_with(mount_id + " ")) return line;
  }
  return "";
}

// In a chroot "/" is a folder inside some mount, which our own table does not list. A bind on a
// shared mount would show up in the host's tree and stay there; an ancestor outside the chroot can
// tell whether it is shared.
bool RootIsShared() {
  const std::string id = RootMountId();
  if (id.empty()) return true;
  for (pid_t pid = getpid(); pid > 0;) {
    const std::string line = MountLine(pid, id);
    if (!line.empty()) return line.find(" shared:") != std::string::npos;
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    std::string word;
    pid_t parent = 0;
    while (status >> word) {
      if (word == "PPid:") {
        status >> parent;
        break;
      }
    }
    pid = parent;
  }
  return false;  // no ancestor shares our mount namespace: it is ours alone
}

bool RootIsMountPoint() { return !MountLine(getpid(), RootMountId()).empty(); }

}  // namespace

Result<os::Process> Sandbox::StartIn(Mode mode, const Command& command) const {
  const bool root = IsRoot();
  const uint32_t uid = root && command.uid ? *command.uid : FreshUser();
  os::ProcessSpec spec;
  std::vector<std::string>& argv = spec.argv;

  if (mode == Mode::kRootRebound) {
    // pivot_root needs a root that is a mount point: give it one in a private mount namespace.
    Add(argv, {"/usr/bin/unshare", "--mount", "--propagation", "unchanged", "/bin/sh", "-ec",
               "d=/tmp; /bin/mount --rbind / \"$d\"; /bin/mount --make-rprivate \"$d\"; "
               "exec /usr/sbin/chroot \"$d\" \"$@\"",
               "sh"});
  }
  const std::optional<std::string> bwrap = os::FindProgram("bwrap");
  if (!bwrap)
    return Fail(ErrorCode::kUnavailable,
                "program 'bwrap' was not found: install package 'bubblewrap'");
  Add(argv, {*bwrap, "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
             "--unshare-cgroup-try", "--die-with-parent", "--new-session", "--hostname", "sandbox",
             "--cap-drop", "ALL"});
  if (mode == Mode::kUserNamespace) {
    Add(argv, {"--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000"});
    if (root) spec.uid = uid;
  } else {
    Add(argv, {"--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"});
  }
  AddSystem(argv, hidden_);
  Add(argv,
      {"--perms", "1777", "--size", std::to_string(command.limits.tmp_bytes), "--tmpfs", "/tmp"});
  for (const Bind& bind : command.binds) {
    AddParents(argv, bind.target);
    Add(argv, {bind.writable ? "--bind" : "--ro-bind", bind.source, bind.target});
  }
  for (const std::string& device : command.devices) Add(argv, {"--dev-bind", device, device});
  std::vector<os::UniqueFd> kept;  // open until the child has them
  int next_fd = kFirstDataFd;
  for (const DataFile& file : command.files) {
    AddParents(argv, file.target);
    spec.fds.emplace_back(file.fd, next_fd);
    Add(argv, {"--perms", fmt::format("{:04o}", file.mode), "--ro-bind-data",
               std::to_string(next_fd), file.target});
    ++next_fd;
  }
  SZARENA_TRY(os::UniqueFd filter, MakeFilter(/*allow_fork=*/true, command.sockets));
  spec.fds.emplace_back(filter.get(), kFilterFd);
  kept.push_back(std::move(filter));
  Add(argv,
      {"--seccomp", std::to_string(kFilterFd), "--clearenv", "--setenv", "PATH", "/usr/bin:/bin",
       "--setenv", "LC_ALL", "C.UTF-8", "--setenv", "TMPDIR", "/tmp", "--setenv", "HOME", "/tmp"});
  for (const auto& [key, value] : command.env) Add(argv, {"--setenv", key, value});
  // Nothing but /tmp and writable binds can be written: the rest is memory without a limit.
  Add(argv, {"--remount-ro", "/dev", "--remount-ro", "/"});
  Add(argv, {"--chdir", command.cwd, "--"});
  if (mode != Mode::kUserNamespace) {
    const std::string id = std::to_string(uid);
    Add(argv, {"/usr/bin/setpriv", "--reuid", id, "--regid", id, "--clear-groups", "--inh-caps",
               "-all", "--bounding-set", "-all", "--no-new-privs", "--"});
  }
  argv.insert(argv.end(), command.argv.begin(), command.argv.end());

  spec.fds.insert(spec.fds.end(), command.fds.begin(), command.fds.end());
  spec.limits = ToRlimits(command.limits);
  spec.output_limit = command.output_limit;
  return os::Process::Start(spec);
}

Result<void> Sandbox::Try(Mode mode) const {
  Command command;
  command.argv = {"/usr/bin/id", "-u"};
  command.limits.processes = 4096;
  SZARENA_TRY(os::Process process, StartIn(mode, command));
  SZARENA_TRY(const bool ended, process.Wait(os::After(std::chrono::seconds(20))));
  if (!ended) process.Kill();
  const os::ProcessResult& result = process.result();
  if (!ended || !result.status.ok()) {
    std::string reason = result.err.substr(0, result.err.find('\n'));
    return Fail(ErrorCode::kUnavailable, reason.empty() ? result.status.ToString() : reason);
  }
  if (result.out == "0\n") return Fail(ErrorCode::kUnavailable, "the program would run as root");
  return {};
}

uint32_t Sandbox::FreshUser() { return IsRoot() ? DrawUid() : static_cast<uint32_t>(geteuid()); }

Result<Sandbox> Sandbox::Probe(Paths paths) {
  if (!os::FindProgram("bwrap")) {
    return Fail(ErrorCode::kUnavailable,
                "candidates cannot be run safely: program 'bwrap' was not found; install package "
                "'bubblewrap'");
  }
  Sandbox sandbox;
  std::string reasons;
  std::vector<Mode> modes = {Mode::kUserNamespace};
  if (IsRoot()) {
    modes.push_back(Mode::kRoot);
    if (!RootIsMountPoint() && !RootIsShared()) modes.push_back(Mode::kRootRebound);
    // There bubblewrap itself opens the folders as root; a user namespace is made by the user
    // already.
    if (paths == Paths::kPrivate) std::rotate(modes.begin(), modes.begin() + 1, modes.end());
  }
  for (const Mode mode : modes) {
    const Result<void> tried = sandbox.Try(mode);
    if (!tried) {
      reasons += (reasons.empty() ? "" : "; ") + tried.error().message;
      continue;
    }
    sandbox.mode_ = mode;
    sandbox.description_ = fmt::format(
        "bubblewrap ({}), seccomp, rlimits{}",
        mode == Mode::kUserNamespace ? "user namespace" : "namespaces made by root, setpriv",
        IsRoot() ? ", own user id" : "");
    return sandbox;
  }
  return Fail(
      ErrorCode::kUnavailable,
      "candidates cannot be run safely: namespaces are not available (" + reasons +
          "); allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
          "user.max_user_namespaces > 0), or run as root with CAP_SYS_ADMIN");
}

void Sandbox::Hide(const std::string& folder) {
  std::error_code error;
  const std::string real = std::filesystem::canonical(folder, error).string();
  if (error) return;
  for (const char* shown : kShown) {
    if (real.starts_with(std::string(shown) + "/")) {
      hidden_.push_back(real);
      return;
    }
  }
}

Result<os::Process> Sandbox::Start(const Command& command) const { return StartIn(mode_, command); }

Result<os::ProcessResult> Sandbox::Run(const Command& command,
                                       std::chrono::milliseconds timeout) const {
  SZARENA_TRY(os::Process process, Start(command));
  SZARENA_TRY(const bool ended, process.Wait(os::After(timeout)));
  if (!ended) process.Kill();
  os::ProcessResult result = process.result();
  result.timed_out = !ended;
  return result;
}

}  // namespace szarena::sandbox
