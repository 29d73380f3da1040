// SPDX-License-Identifier: Apache-2.0
// Build and worker together: what the driver's process may do, and what the judge's side sees of
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "os/temp_dir.h"
#include "target/cpu/build.h"
#include "target/cpu/embedded.h"
#include "target/worker.h"

namespace szarena::target::cpu {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// A primitive that copies its input; `extra` goes to the top of the file, `body` into szarena_run.
std::string CopyCandidate(const std::string& body, const std::string& extra = "") {
  return "#include \"szarena_candidate.h\"\n#include <cstring>\n" + extra +
         "uint64_t szarena_workspace_bytes(const szarena_problem*) { return 64; }\n"
         "int szarena_run(const szarena_problem* p, const void* in, void* out, uint64_t capacity, "
         "void*, uint64_t,\n"
         "                szarena_payload* payload) {\n"
         "  (void)p; (void)capacity; auto* bytes = static_cast<unsigned char*>(out); "
         "(void)bytes;\n" +
         body + "  *payload = {0, p->n * 4};\n  return SZARENA_OK;\n}\n";
}

class CpuTarget : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto probe = sandbox::Sandbox::Probe();
    ASSERT_TRUE(probe) << probe.error().ToString();
    sandbox_ = new sandbox::Sandbox(std::move(*probe));
  }

  BuildResult BuildSource(const std::string& source) {
    Candidate candidate;
    candidate.files.push_back({"candidate.cpp", source});
    auto built = Build(*sandbox_, candidate);
    EXPECT_TRUE(built) << built.error().ToString();
    return built ? *built : BuildResult{};
  }

  Worker StartWorker(const std::string& source) {
    const BuildResult built = BuildSource(source);
    EXPECT_TRUE(built.ok) << built.log;
    WorkerSpec spec;
    spec.driver = DriverProgram();
    spec.library = built.library;
    spec.compressor = false;
    spec.need_backward = false;
    const SlotSizes slot{kBytes, kBytes};
    spec.input_bytes = InputBytesFor({&slot, 1});
    spec.output_bytes = OutputBytesFor({&slot, 1});
    auto worker = Worker::Start(*sandbox_, spec);
    EXPECT_TRUE(worker) << worker.error().ToString();
    return std::move(*worker);
  }

  // Starts, prepares one slot of kBytes and calls once.
  Outcome RunOnce(Worker& worker, milliseconds timeout = milliseconds(5000)) {
    EXPECT_TRUE(worker.loaded().ok) << worker.loaded().message;
    szarena_problem problem = {};
    problem.struct_size = sizeof problem;
    problem.n = kBytes / 4;
    const SlotSizes slot{kBytes, kBytes};
    auto prepared = worker.Prepare(problem, {&slot, 1}, false, milliseconds(5000));
    EXPECT_TRUE(prepared && prepared->ok)
        << (prepared ? prepared->message : prepared.error().ToString());
    std::memset(worker.input(0).data(), 7, kBytes);
    std::memset(worker.output(0).data(), 9, kBytes);
    auto outcome = worker.Call(CallKind::kForward, timeout);
    EXPECT_TRUE(outcome) << outcome.error().ToString();
    return *outcome;
  }

  static constexpr size_t kBytes = 40000;
  static sandbox::Sandbox* sandbox_;
};
sandbox::Sandbox* CpuTarget::sandbox_ = nullptr;

TEST_F(CpuTarget, WordsOfTheSandboxInTheCompilersMouthAreTheCandidatesFailure) {
  const BuildResult built = BuildSource("#line 1 \"bwrap: no namespaces\"\n#error x\n");
  EXPECT_FALSE(built.ok);
  EXPECT_THAT(built.reason, HasSubstr("#error x"));
}

TEST_F(CpuTarget, BuildsLoadsAndCalls) {
  Worker worker = StartWorker(CopyCandidate("std::memcpy(out, in, p->n * 4);\n"));
  const Outcome outcome = RunOnce(worker);
  EXPECT_TRUE(outcome.ok) << outcome.message;
  EXPECT_EQ(worker.answer(0).code, 0);
  EXPECT_EQ(worker.answer(0).payload.size, kBytes);
  EXPECT_EQ(std::memcmp(worker.output(0).data(), worker.input(0).data(), kBytes), 0);
  EXPECT_GT(worker.PeakMemoryBytes(), kBytes);
  EXPECT_LT(*worker.IdleSeconds(milliseconds(30)), 0.01);
}

TEST_F(CpuTarget, CompilerErrorsNameFileAndLine) {
  const BuildResult built = BuildSource("int x = \"text\";\n");
  EXPECT_FALSE(built.ok);
  EXPECT_THAT(built.reason, HasSubstr("candidate.cpp:1"));
}

TEST_F(CpuTarget, AMissingFunctionIsFoundWhenLinkingOrLoading) {
  EXPECT_FALSE(BuildSource("int f(); int g() { return f(); }\n").ok);
  Worker worker = StartWorker("int g() { return 1; }\n");
  EXPECT_FALSE(worker.loaded().ok);
  EXPECT_THAT(worker.loaded().message, HasSubstr("szarena_workspace_bytes"));
}

TEST_F(CpuTarget, SourcesCannotIncludeFilesOfTheHost) {
  EXPECT_FALSE(BuildSource("#include \"/etc/passwd\"\n").ok);
  EXPECT_FALSE(BuildSource("#include \"" SZARENA_SOURCE_DIR "/README.md\"\n").ok);
}

// A folder that the sandbox's user cannot enter is the environment's fault, never the candidate's.
TEST_F(CpuTarget, AnUnreachableTemporaryFolderIsNoVerdict) {
  const auto dir = os::TempDir::Create("szarena-cpu-test-", 0700);
  ASSERT_TRUE(dir);
  const char* before = getenv("TMPDIR");
  const std::string saved = before != nullptr ? before : "";
  setenv("TMPDIR", dir->path().c_str(), 1);
  Candidate candidate;
  candidate.files.push_back({"candidate.cpp", "int x;\n"});
  const auto built = Build(*sandbox_, candidate);
  before != nullptr ? setenv("TMPDIR", saved.c_str(), 1) : unsetenv("TMPDIR");
  if (built) {
    EXPECT_TRUE(built->ok);  // not root: the sandbox's user is ours
  } else {
    EXPECT_EQ(built.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(built.error().message, HasSubstr("reachable"));
  }
}

TEST_F(CpuTarget, InputsCannotBeWritten) {
  Worker worker = StartWorker(
      CopyCandidate("*const_cast<volatile char*>(static_cast<const char*>(in) + 5) = 1;\n"));
  const Outcome outcome = RunOnce(worker);
  EXPECT_EQ(outcome.ending, Ending::kCrashed);
  EXPECT_THAT(outcome.message, HasSubstr("at byte 5 of the input"));
}

TEST_F(CpuTarget, ReadingPastTheInputCrashes) {
  Worker worker = StartWorker(
      CopyCandidate("bytes[0] = static_cast<const volatile unsigned char*>(in)[p->n * 4];\n"));
  const Outcome outcome = RunOnce(worker);
  EXPECT_EQ(outcome.ending, Ending::kCrashed);
  EXPECT_THAT(outcome.message, HasSubstr("0 bytes past the end of the input"));
}

TEST_F(CpuTarget, WritingJustPastTheOutputShowsInTheGuard) {
  Worker worker = StartWorker(CopyCandidate("bytes[capacity + 3] = 1; bytes[-1] = 2;\n"));
  const auto clean = [](std::span<std::byte> guard) {
    return std::all_of(guard.begin(), guard.end(), [](std::byte b) { return b == std::byte{0}; });
  };
  EXPECT_TRUE(RunOnce(worker).ok);
  EXPECT_FALSE(clean(worker.guard_after(0)));
  EXPECT_FALSE(clean(worker.guard_before(0)));
}

TEST_F(CpuTarget, AHangEndsAtTheDeadline) {
  Worker worker = StartWorker(CopyCandidate("for (;;) asm volatile(\"\");\n"));
  const Outcome outcome = RunOnce(worker, milliseconds(100));
  EXPECT_EQ(outcome.ending, Ending::kTimedOut);
  EXPECT_FALSE(worker.alive());
}

TEST_F(CpuTarget, NoChildrenNoPrograms) {
  Worker worker = StartWorker(CopyCandidate(
      "bytes[0] = fork() < 0; bytes[1] = vfork() < 0; bytes[2] = system(\"true\") != 0;\n",
      "#include <unistd.h>\n#include <cstdlib>\n"));
  EXPECT_TRUE(RunOnce(worker).ok);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(static_cast<int>(worker.output(0)[static_cast<size_t>(i)]), 1) << i;
}

// The clock is outside: nothing runs before it starts or after it stops.
TEST_F(CpuTarget, AnsweringEarlyGainsNothing) {
  Worker worker =
      StartWorker(CopyCandidate("static char one = 1; write(3, &one, 1);\n"
                                "timespec t{5, 0}; clock_nanosleep(CLOCK_MONOTONIC, 0, &t, "
                                "nullptr); std::memcpy(out, in, p->n * 4);\n",
                                "#include <unistd.h>\n#include <ctime>\n"));
  const Outcome outcome = RunOnce(worker, milliseconds(4000));
  EXPECT_FALSE(outcome.ok);  // stopped before the call returned, nothing was written
  EXPECT_EQ(static_cast<int>(worker.output(0)[0]), 9);
}

TEST_F(CpuTarget, WorkLeftRunningShows) {
  Worker worker = StartWorker(CopyCandidate(
      "static std::thread* t = new std::thread([] { for (;;) asm volatile(\"\"); }); (void)t;\n",
      "#include <thread>\n"));
  EXPECT_TRUE(RunOnce(worker).ok);
  EXPECT_EQ(worker.ThreadCount(), 2);
  EXPECT_GT(*worker.IdleSeconds(milliseconds(50)), 0.02);
}

TEST_F(CpuTarget, StoppingMeansThatNoThreadRuns) {
  Worker worker =
      StartWorker(CopyCandidate("for (int i = 0; i < 4; ++i) new std::thread([bytes] { for (;;) "
                                "++*(volatile unsigned long long*)(bytes + 8); });\n",
                                "#include <thread>\n"));
  EXPECT_TRUE(RunOnce(worker).ok);
  const auto load = [&] {
    return *reinterpret_cast<volatile uint64_t*>(worker.output(0).data() + 8);
  };
  const uint64_t first = load();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(load(), first);
}

TEST_F(CpuTarget, ClosingTheConnectionIsACrash) {
  Worker worker = StartWorker(CopyCandidate("close(3);\n", "#include <unistd.h>\n"));
  EXPECT_EQ(RunOnce(worker, milliseconds(2000)).ending, Ending::kCrashed);
}

TEST_F(CpuTarget, ExitingIsACrashWithItsStatus) {
  Worker worker = StartWorker(CopyCandidate("_exit(0);\n", "#include <unistd.h>\n"));
  const Outcome outcome = RunOnce(worker);
  EXPECT_EQ(outcome.ending, Ending::kCrashed);
  EXPECT_THAT(outcome.message, HasSubstr("exit status 0"));
}

}  // namespace
}  // namespace szarena::target::cpu
