// SPDX-License-Identifier: Apache-2.0
#include "sandbox/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "os/files.h"
#include "os/temp_dir.h"
#include "sandbox/seccomp.h"

namespace szarena::sandbox {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class SandboxTest : public testing::Test {
 protected:
  void SetUp() override {
    auto probe = Sandbox::Probe();
    ASSERT_TRUE(probe) << probe.error().ToString();
    sandbox_ = std::make_unique<Sandbox>(std::move(*probe));
  }

  os::ProcessResult Shell(const std::string& script, Command command = {}) {
    command.argv = {"/bin/sh", "-c", script};
    auto result = sandbox_->Run(command, milliseconds(20000));
    EXPECT_TRUE(result) << result.error().ToString();
    return result ? *result : os::ProcessResult{};
  }

  // Compiles and runs a C program inside.
  os::ProcessResult RunC(const std::string& source, Command command = {}) {
    auto fd = os::MemoryFile("source", source);
    EXPECT_TRUE(fd);
    command.files.push_back({fd->get(), "/run/test.c"});
    return Shell("gcc -o /tmp/test /run/test.c -lpthread && /tmp/test", command);
  }

  std::unique_ptr<Sandbox> sandbox_;
};

TEST_F(SandboxTest, SeesOnlyTheSystemAndItsOwnTmp) {
  const auto result = Shell("ls /; ls /etc; ls -A /tmp; id -u; cat /proc/1/comm");
  EXPECT_THAT(result.out, HasSubstr("usr\n"));
  for (const char* hidden : {"root", "home", "work", "var", "passwd", "shadow", "hostname"}) {
    EXPECT_THAT("\n" + result.out, testing::Not(HasSubstr("\n" + std::string(hidden) + "\n")));
  }
  EXPECT_THAT(result.out, testing::Not(HasSubstr("\n0\n")));
}

TEST_F(SandboxTest, ItsOwnFirstProcessIsOutOfReach) {
  const auto result = Shell(
      "for f in mem maps fd root; do test -e /proc/1/$f && echo $f; done; test -r /proc/self/maps "
      "&& echo self");
  EXPECT_EQ(result.out, "self\n");
  EXPECT_THAT(Shell("echo x > /proc/1/x").err, HasSubstr("Read-only"));
}

TEST_F(SandboxTest, HiddenFoldersOfTheSystemAreEmpty) {
  ASSERT_NE(Shell("ls -A /usr/include").out, "");
  sandbox_->Hide("/usr/include");
  sandbox_->Hide("/nowhere");
  sandbox_->Hide("/usr/../etc");
  EXPECT_EQ(Shell("ls -A /usr/include").out, "");
  EXPECT_EQ(Shell("touch /usr/include/x").status.ok(), false);
}

TEST_F(SandboxTest, EnvironmentIsOurs) {
  setenv("SZARENA_SECRET_KEY", "secret", 1);
  EXPECT_THAT(Shell("env; cat /proc/*/environ").out, testing::Not(HasSubstr("secret")));
}

TEST_F(SandboxTest, NothingOfTheHostCanBeWritten) {
  EXPECT_FALSE(Shell("touch /usr/x").status.ok());
  EXPECT_FALSE(Shell("touch /usr/bin/ls").status.ok());
  EXPECT_FALSE(Shell("touch /x").status.ok());
  EXPECT_FALSE(Shell("touch /run/x").status.ok());
  EXPECT_FALSE(Shell("touch /dev/x").status.ok());
  EXPECT_FALSE(Shell("touch /dev/shm/x").status.ok());
  EXPECT_TRUE(Shell("touch /tmp/x && echo x > /dev/null").status.ok());
}

TEST_F(SandboxTest, BindsAreReadOnlyUnlessAsked) {
  const auto dir = os::TempDir::Create("szarena-sandbox-test-", 0777);
  ASSERT_TRUE(dir);
  std::ofstream(dir->path() + "/in") << "text";
  Command command;
  command.binds = {{dir->path(), "/box", false}};
  EXPECT_EQ(Shell("cat /box/in", command).out, "text");
  EXPECT_FALSE(Shell("echo x > /box/out", command).status.ok());
  command.binds[0].writable = true;
  EXPECT_TRUE(Shell("echo x > /box/out", command).status.ok());
  EXPECT_TRUE(std::filesystem::exists(dir->path() + "/out"));
}

TEST_F(SandboxTest, NoNetworkNoTracingNoNamespaces) {
  const auto result = RunC(R"(
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
static void say(const char* what, long r) { printf("%s %s\n", what, r < 0 ? "refused" : "ALLOWED"); }
int main(void) {
  say("inet", socket(AF_INET, SOCK_STREAM, 0));
  say("unix", socket(AF_UNIX, SOCK_STREAM, 0));
  say("ptrace", ptrace(PTRACE_TRACEME, 0, 0, 0));
  say("unshare", unshare(CLONE_NEWUSER));
  say("mount", mount("none", "/tmp", "tmpfs", 0, ""));
  say("io_uring", syscall(425, 1, 0));
  say("io_setup", syscall(SYS_io_setup, 1, 0));
  say("perf", syscall(SYS_perf_event_open, 0, 0, -1, -1, 0));
  say("bpf", syscall(SYS_bpf, 0, 0, 0));
  say("shmget", syscall(SYS_shmget, 0, 4096, 01600));
  say("setuid", setuid(0));
  return 0;
}
)");
  EXPECT_TRUE(result.status.ok()) << result.err;
  EXPECT_THAT(result.out, HasSubstr("inet refused"));
  EXPECT_THAT(result.out, testing::Not(HasSubstr("ALLOWED"))) << result.out;
}

TEST_F(SandboxTest, TheRunFilterAllowsThreadsAndNoOtherProcess) {
  const auto filter = MakeFilter(/*allow_fork=*/false);
  ASSERT_TRUE(filter);
  Command command;
  command.fds = {{filter->get(), 9}};
  const auto result = RunC(R"(
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
static void* thread(void* p) { return p; }
int main(void) {
  static struct sock_filter code[4096];
  long bytes = read(9, code, sizeof code);
  struct sock_fprog program = {(unsigned short)(bytes / 8), code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) { perror("seccomp"); return 1; }
  pthread_t t;
  printf("thread %d\n", pthread_create(&t, 0, thread, 0));
  pthread_join(t, 0);
  printf("fork %d\n", fork() < 0);
  printf("vfork %d\n", vfork() < 0);
  printf("kill %d\n", kill(1, 0) < 0);
  printf("cont %d\n", raise(SIGCONT) != 0);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
  timer_t timer;
  printf("timer %d\n", timer_create(CLOCK_MONOTONIC, &event, &timer) < 0);
  printf("setsig %d\n", fcntl(9, F_SETSIG, SIGCONT) < 0);
  printf("async %d\n", fcntl(9, F_SETFL, O_ASYNC) < 0);
  printf("setown %d\n", fcntl(9, F_SETOWN, getpid()) < 0);
  printf("usr1 %d\n", raise(SIGURG) != 0);
  printf("exec %d\n", execl("/bin/true", "true", (char*)0) < 0);
  return 0;
}
)",
                           command);
  EXPECT_EQ(result.out,
            "thread 0\nfork 1\nvfork 1\nkill 1\ncont 1\ntimer 1\nsetsig 1\nasync 1\nsetown 1\nusr1 "
            "0\nexec 1\n")
      << result.err;
}

TEST_F(SandboxTest, LimitsHold) {
  Command command;
  command.limits.tmp_bytes = 1 << 20;
  EXPECT_FALSE(Shell("head -c 2000000 /dev/zero > /tmp/x", command).status.ok());
  command.limits.address_space_bytes = 512ull << 20;
  EXPECT_FALSE(Shell("head -c 900M /dev/zero | tail", command).status.ok());
}

TEST_F(SandboxTest, EverythingDiesAtTheDeadline) {
  Command command;
  command.argv = {"/bin/sh", "-c", "setsid sleep 77.25 & setsid sleep 77.25"};
  const auto result = sandbox_->Run(command, milliseconds(300));
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  os::ProcessSpec look;
  look.argv = {
      "/bin/sh", "-c",
      "for i in 1 2 3 4 5 6 7 8 9 10; do "
      "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -q 'sleep 77[.]25' || exit 0; "
      "sleep 0.2; done; exit 1"};
  EXPECT_TRUE(os::RunProcess(look, milliseconds(10000))->status.ok());
}

// Inside a sandbox no namespace can be made: the place to see what happens where they are missing.
// This program is run again in there (with the variable set) and must find that it may not run
// anything.
TEST_F(SandboxTest, RefusesToRunAnythingWithoutNamespaces) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(self)), std::istreambuf_iterator<char>());
  const auto fd = os::MemoryFile("self", bytes);
  ASSERT_TRUE(fd);
  Command command;
  command.files = {{fd->get(), "/run/self", 0555}};
  command.env = {{"SZARENA_PROBE_ONLY", "1"}};
  const auto result = Shell("/run/self", command);
  EXPECT_THAT(result.out, HasSubstr("cannot be run safely")) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("namespaces are not available"));
  EXPECT_THAT(result.out, HasSubstr("unavailable"));
}

TEST_F(SandboxTest, DescribesItsLayers) {
  EXPECT_THAT(sandbox_->description(), HasSubstr("seccomp"));
}

}  // namespace
}  // namespace szarena::sandbox

// Runs before gtest's main where the variable is set (see RefusesToRunAnythingWithoutNamespaces).
[[gnu::constructor]] static void ProbeOnly() {
  if (getenv("SZARENA_PROBE_ONLY") == nullptr) return;
  const auto probe = szarena::sandbox::Sandbox::Probe();
  printf("%s\n%s\n",
         probe ? "works" : std::string(szarena::ErrorCodeName(probe.error().code)).c_str(),
         probe ? "" : probe.error().ToString().c_str());
  fflush(stdout);
  _exit(0);
}
