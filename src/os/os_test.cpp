// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "os/files.h"
#include "os/process.h"
#include "os/shared_memory.h"
#include "os/temp_dir.h"

namespace szarena::os {
namespace {

using std::chrono::milliseconds;

ProcessSpec Shell(const std::string& script) {
  ProcessSpec spec;
  spec.argv = {"/bin/sh", "-c", script};
  return spec;
}

TEST(Process, CapturesOutputAndStatus) {
  const auto result = RunProcess(Shell("echo out; echo err >&2; exit 3"), milliseconds(5000));
  ASSERT_TRUE(result) << result.error().ToString();
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->status.ToString(), "exit status 3");
}

TEST(Process, KillsTheWholeGroupAtTheDeadline) {
  const auto begin = Clock::now();
  const auto result = RunProcess(Shell("sleep 60 & sleep 60"), milliseconds(50));
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(20));
}

TEST(Process, DoesNotWaitForABackgroundChildThatHoldsTheOutput) {
  const auto begin = Clock::now();
  const auto result = RunProcess(Shell("sleep 60 & echo done"), milliseconds(30000));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "done\n");
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(20));
}

TEST(Process, CutsLongOutputAndGoesOn) {
  ProcessSpec spec = Shell("head -c 300000 /dev/zero; echo end >&2");
  spec.output_limit = 1000;
  const auto result = RunProcess(spec, milliseconds(10000));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out.size(), 1000u);
  EXPECT_TRUE(result->out_cut);
  EXPECT_EQ(result->err, "end\n");
}

TEST(Process, ADeadlineHoldsAgainstOutputWithoutEnd) {
  ProcessSpec spec = Shell("cat /dev/zero");
  spec.output_limit = 1000;
  const auto begin = Clock::now();
  const auto result = RunProcess(spec, milliseconds(200));
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
}

TEST(Process, EnvironmentAndDescriptorsAreExactlyWhatWasAsked) {
  const auto file = MemoryFile("text", "hello");
  ASSERT_TRUE(file);
  const int stray = open("/dev/null", O_RDONLY);  // not close-on-exec: must not leak all the same
  ProcessSpec spec = Shell("cat <&7; echo $A; ls /proc/self/fd | wc -l; env | grep -c HOME");
  spec.env = {{"A", "b"}};
  spec.fds = {{file->get(), 7}};
  const auto result = RunProcess(spec, milliseconds(5000));
  close(stray);
  ASSERT_TRUE(result);
  // 0, 1, 2, 7 and the folder that ls itself has open.
  EXPECT_EQ(result->out, "hellob\n5\n0\n");
}

TEST(Process, NamesAProgramThatDoesNotExist) {
  ProcessSpec spec;
  spec.argv = {"no-such-program"};
  const auto result = RunProcess(spec, milliseconds(100));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(result.error().message, testing::HasSubstr("no-such-program"));
}

TEST(Process, LimitsHold) {
  ProcessSpec spec = Shell("ulimit -f");
  spec.limits = {{RLIMIT_FSIZE, {1024, 1024}}};
  const auto result = RunProcess(spec, milliseconds(5000));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "2\n");
}

TEST(SafeJoin, KeepsPathsBelowTheirFolder) {
  const auto dir = TempDir::Create("szarena-os-test-");
  ASSERT_TRUE(dir);
  const std::string root = dir->path();
  std::filesystem::create_directory(root + "/sub");
  std::filesystem::create_symlink("/etc", root + "/link");
  EXPECT_EQ(*SafeJoin(root, "sub/new.txt"), root + "/sub/new.txt");
  for (const char* bad :
       {"", "/etc/passwd", "../x", "sub/../../x", "a//b", "./a", "link/passwd", "link", "a\nb"}) {
    EXPECT_FALSE(SafeJoin(root, bad)) << bad;
  }
}

TEST(ReadRegularFile, RefusesLinksPipesAndLongFiles) {
  const auto dir = TempDir::Create("szarena-os-test-");
  ASSERT_TRUE(dir);
  const std::string file = dir->path() + "/file";
  std::ofstream(file) << "12345";
  std::filesystem::create_symlink(file, dir->path() + "/link");
  ASSERT_EQ(mkfifo((dir->path() + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(*ReadRegularFile(file, 5), "12345");
  EXPECT_FALSE(ReadRegularFile(file, 4));
  EXPECT_FALSE(ReadRegularFile(dir->path() + "/link", 100));
  EXPECT_FALSE(ReadRegularFile(dir->path() + "/pipe", 100));
}

TEST(TempDir, GoesAwayWithItsContents) {
  std::string path;
  {
    const auto dir = TempDir::Create("szarena-os-test-");
    ASSERT_TRUE(dir);
    path = dir->path();
    std::ofstream(path + "/file") << "x";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SharedMemory, ReadOnlyForOthersCannotBeWrittenByAnyRoute) {
  const auto memory = SharedMemory::Create("test", 100, Sharing::kReadOnlyForOthers);
  ASSERT_TRUE(memory) << memory.error().ToString();
  std::memcpy(memory->data(), "abc", 3);  // we can, at any time
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd(), 0), MAP_FAILED);
  EXPECT_LT(pwrite(memory->fd(), "x", 1, 0), 0);
  EXPECT_LT(ftruncate(memory->fd(), 0), 0);
  void* readable = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, memory->fd(), 0);
  ASSERT_NE(readable, MAP_FAILED);
  EXPECT_LT(mprotect(readable, 4096, PROT_READ | PROT_WRITE), 0);
  std::memcpy(memory->data(), "xyz", 3);
  EXPECT_EQ(std::memcmp(readable, "xyz", 3), 0);
  munmap(readable, 4096);
  const std::string again = "/proc/self/fd/" + std::to_string(memory->fd());
  const UniqueFd reopened(open(again.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_LT(pwrite(reopened.get(), "x", 1, 0), 0);
}

TEST(SharedMemory, WritableCannotBeResized) {
  const auto memory = SharedMemory::Create("test", 100, Sharing::kWritable);
  ASSERT_TRUE(memory);
  EXPECT_EQ(pwrite(memory->fd(), "x", 1, 0), 1);
  EXPECT_LT(ftruncate(memory->fd(), 0), 0);
}

}  // namespace
}  // namespace szarena::os
