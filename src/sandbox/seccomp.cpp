// SPDX-License-Identifier: Apache-2.0
#include "sandbox/seccomp.h"

#include <asm/sockios.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "os/errno.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

namespace szarena::sandbox {
namespace {

// Refused with EPERM in every sandbox. A name that this libseccomp or this processor does not know
// is passed over.
constexpr const char* kRefused[] = {
    // other processes' memory
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise",
    "move_pages", "migrate_pages",
    // namespaces, mounts, roots
    "unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig",
    "fsmount", "fspick", "move_mount", "open_tree", "mount_setattr", "open_by_handle_at",
    "name_to_handle_at", "quotactl", "quotactl_fd", "swapon", "swapoff",
    // kernel features with a large surface or that work behind the process's back
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "io_setup", "io_submit", "io_destroy", "io_getevents", "io_pgetevents",
    "io_cancel", "vmsplice", "keyctl", "add_key", "request_key", "fanotify_init", "fanotify_mark",
    "personality", "lookup_dcookie",
    // machine state
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot",
    "acct", "settimeofday", "stime", "clock_settime", "clock_adjtime", "adjtimex", "sethostname",
    "setdomainname", "syslog", "vhangup", "iopl", "ioperm", "nfsservctl",
    // shared objects that outlive a process
    "shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop",
    "semctl", "semtimedop", "mq_open", "mq_unlink"};

// Refused besides unless all sockets are let through.
constexpr const char* kRefusedMostly[] = {"socketpair", "inotify_init", "inotify_init1",
                                          "inotify_add_watch", "flock"};

// Refused besides where there shall be one process.
constexpr const char* kRefusedAlone[] = {"fork",
                                         "vfork",
                                         "execve",
                                         "execveat",
                                         "kill",
                                         "setpriority",
                                         "ioprio_set",
                                         "sched_setscheduler",
                                         "setpgid",
                                         "setsid",
                                         "rt_sigqueueinfo",
                                         "pidfd_send_signal",
                                         "sched_setattr",
                                         "sched_setparam",
                                         "sched_setaffinity",
                                         "rt_tgsigqueueinfo",
                                         "timer_create",
                                         "mq_notify"};

// A single process is stopped and resumed by the judge alone. SIGCONT works even on a stopped
// process, so nothing inside may have one sent: not to itself, not by a timer, not by a descriptor
// that becomes ready.
int KeepStopped(scmp_filter_ctx ctx) {
  int status = 0;
  const auto refuse = [&](int call, scmp_arg_cmp condition) {
    const int result = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), call, 1, condition);
    if (result < 0 && status == 0) status = result;
  };
  for (const unsigned number : {SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU}) {
    refuse(SCMP_SYS(tgkill), SCMP_A2_32(SCMP_CMP_EQ, number));
    refuse(SCMP_SYS(tkill), SCMP_A1_32(SCMP_CMP_EQ, number));
  }
  for (const unsigned command : {F_SETSIG, F_SETOWN, F_SETOWN_EX, F_SETLEASE, F_NOTIFY}) {
    refuse(SCMP_SYS(fcntl), SCMP_A1_32(SCMP_CMP_EQ, command));
  }
  for (const unsigned command : {FIOASYNC, FIOSETOWN, SIOCSPGRP}) {
    refuse(SCMP_SYS(ioctl), SCMP_A1_32(SCMP_CMP_EQ, command));
  }
  refuse(SCMP_SYS(prctl), SCMP_A0_32(SCMP_CMP_EQ, PR_SET_PDEATHSIG));
  const int result = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fcntl), 2,
                                      SCMP_A1_32(SCMP_CMP_EQ, F_SETFL),
                                      SCMP_A2(SCMP_CMP_MASKED_EQ, O_ASYNC, O_ASYNC));
  return status < 0 ? status : result;
}

constexpr unsigned long kNamespaceFlags[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,
                                             CLONE_NEWNET,  CLONE_NEWIPC, CLONE_NEWCGROUP,
                                             CLONE_NEWUTS,  CLONE_NEWTIME};

struct Context {
  explicit Context(uint32_t action) : ctx(seccomp_init(action)) {}
  ~Context() {
    if (ctx != nullptr) seccomp_release(ctx);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  scmp_filter_ctx ctx;
};

int Refuse(scmp_filter_ctx ctx, const char* name, int error_number = EPERM) {
  const int number = seccomp_syscall_resolve_name(name);
  if (number == __NR_SCMP_ERROR || number < 0) return 0;  // does not exist here
  return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(static_cast<uint32_t>(error_number)), number, 0);
}

}  // namespace

Result<os::UniqueFd> MakeFilter(bool allow_fork, Sockets sockets) {
  const Context context(SCMP_ACT_ALLOW);
  scmp_filter_ctx ctx = context.ctx;
  if (ctx == nullptr) return Fail(ErrorCode::kInternal, "cannot make a system-call filter");
  int status = 0;
  const auto check = [&status](int result) {
    if (result < 0 && status == 0) status = result;
  };
  for (const char* name : kRefused) check(Refuse(ctx, name));
  if (sockets != Sockets::kAll) {
    for (const char* name : kRefusedMostly) check(Refuse(ctx, name));
  }
  if (sockets == Sockets::kLocal) {
    check(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
                           SCMP_A0_32(SCMP_CMP_NE, AF_UNIX)));
  } else if (sockets == Sockets::kNone) {
    check(Refuse(ctx, "socket"));
  }
  // Its flags lie in memory that a filter cannot read; C libraries fall back to clone.
  check(Refuse(ctx, "clone3", ENOSYS));
  for (const unsigned long flag : kNamespaceFlags) {
    check(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                           SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag)));
  }
  // Pushing characters into a terminal.
  check(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                         SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, 0x5412u)));
  if (!allow_fork) {
    for (const char* name : kRefusedAlone) check(Refuse(ctx, name));
    check(KeepStopped(ctx));
    check(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                           SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)));
  }
  if (status < 0) {
    return tl::unexpected(os::ErrnoError(-status, "cannot fill a system-call filter"));
  }
  os::UniqueFd fd(memfd_create("filter", MFD_CLOEXEC));
  if (!fd) return os::FailErrno("cannot make an anonymous file");
  status = seccomp_export_bpf(ctx, fd.get());
  if (status < 0) {
    return tl::unexpected(os::ErrnoError(-status, "cannot export a system-call filter"));
  }
  if (lseek(fd.get(), 0, SEEK_SET) < 0) return os::FailErrno("cannot rewind a filter");
  return fd;
}

}  // namespace szarena::sandbox
