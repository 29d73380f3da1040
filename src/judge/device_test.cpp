// SPDX-License-Identifier: Apache-2.0
// A target with a device, judged from end to end. The device is a CUDA driver that computes on the
// host, so the candidate is plain C++; nvcc compiles it. Without nvcc the verdict is the
// environment's: skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "judge/evaluate.h"
#include "judge/profile.h"
#include "os/temp_dir.h"
#include "target/cuda/build.h"
#include "target/cuda/sanitizer.h"
#include "target/cuda/toolkit.h"

namespace szarena::judge {
namespace {

constexpr char kScan[] = R"(
#include "szarena_candidate_cuda.h"
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>
uint64_t szarena_cuda_workspace_bytes(const szarena_problem*) { return 64; }
int szarena_cuda_run(const szarena_problem* p, const void* input, void* output, uint64_t, void*, uint64_t, szarena_payload* payload,
                     szarena_stream) {
  const auto* x = static_cast<const uint32_t*>(input);
  auto* out = static_cast<uint64_t*>(output);
  out[0] = 0;
  for (uint64_t i = 0; i < p->n; ++i) out[i + 1] = out[i] + x[i];
  *payload = {0, (p->n + 1) * 8};
  BODY
  return SZARENA_OK;
}
EXTRA
)";

// The "device" counts what candidates tell it.
constexpr char kLaunch[] =
    "auto launch = reinterpret_cast<int (*)(const char*, uint64_t)>(dlsym(RTLD_DEFAULT, "
    "\"szarena_host_launch\"));\n"
    "  launch(\"_Z3AddPKjPm\", 3000); launch(\"_Z3AddPKjPm\", 3000); "
    "launch(\"_Z7ReserveP6Record\", 2000);\n";

std::string With(std::string text, const std::string& body, const std::string& extra = "") {
  text.replace(text.find("BODY"), 4, body);
  return text.replace(text.find("EXTRA"), 5, extra);
}

class DeviceTarget : public testing::Test {
 protected:
  void SetUp() override {
    if (!target::cuda::FindNvcc()) GTEST_SKIP() << target::cuda::FindNvcc().error().message;
    setenv("LD_LIBRARY_PATH", SZARENA_HOST_CUDA_FOLDER, 1);  // NOLINT(concurrency-mt-unsafe)
  }

  void TearDown() override { unsetenv("CUDA_HOME"); }  // NOLINT(concurrency-mt-unsafe)

  // A compute-sanitizer that runs the program and then says `end`.
  void StandIn(const std::string& end) {
    toolkit_.emplace(*os::TempDir::Create("toolkit-", 0755));
    const std::string bin = toolkit_->path() + "/bin";
    std::filesystem::create_directory(bin);
    std::ofstream(bin + "/compute-sanitizer")
        << "#!/bin/bash\ntool=$2\nwhile [[ $1 != /run/driver ]]; do shift; done\n\"$@\" || exit 1\n"
        << end;
    for (const std::string& path : {bin, bin + "/compute-sanitizer"})
      std::filesystem::permissions(path, static_cast<std::filesystem::perms>(0755));
    setenv("CUDA_HOME", toolkit_->path().c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  std::optional<os::TempDir> toolkit_;

  // Calls f(options) for a candidate of this source beside an honest baseline.
  template <typename F>
  static auto WithOptions(const std::string& source, F f) {
    auto folder = os::TempDir::Create("candidate-", 0755);
    auto honest = os::TempDir::Create("baseline-", 0755);
    EXPECT_TRUE(folder && honest);
    std::ofstream(folder->path() + "/candidate.cpp") << source;
    std::ofstream(honest->path() + "/candidate.cpp") << With(kScan, kLaunch);
    auto task = task::LoadTask(SZARENA_SOURCE_DIR, "scan");
    EXPECT_TRUE(task);
    EvaluateOptions options;
    options.task = *SpecFromTask(*task);
    options.task.public_fields = {
        {"smooth 5000", "gen:smooth:seed=1:dims=5000", {1e-3, true}, options.task.modes.front()}};
    options.task.timed_fields = {
        {"smooth 30000", "gen:smooth:seed=3:dims=30000", {1e-3, true}, options.task.modes.front()}};
    options.task.timed_elements_on_device = 65536;
    options.target = "cuda";
    options.candidate = folder->path();
    options.baseline = honest->path();
    return f(options);
  }

  static Verdict Judge(const std::string& source, bool full = false) {
    return WithOptions(source, [&](EvaluateOptions& options) {
      options.full = full;
      auto evaluation = Evaluate(options);
      EXPECT_TRUE(evaluation) << evaluation.error().ToString();
      return evaluation ? evaluation->verdict : Verdict{};
    });
  }
};

TEST_F(DeviceTarget, IsMeasuredByTheDevicesTime) {
  const Verdict verdict = Judge(With(kScan, ""));
  EXPECT_TRUE(verdict.ranked()) << verdict.feedback;
  ASSERT_TRUE(verdict.directions[0].candidate);
  EXPECT_TRUE(verdict.directions[0].candidate->device);
  EXPECT_TRUE(verdict.directions[0].candidate->host);
  EXPECT_TRUE(verdict.copy_bandwidth_gbs);
  EXPECT_THAT(verdict.machine, testing::HasSubstr("host fixture"));
}

TEST_F(DeviceTarget, KernelsHaveAFigureOfTheirOwn) {
  const Verdict verdict = Judge(With(kScan, kLaunch));
  EXPECT_TRUE(verdict.ranked()) << verdict.feedback;
  EXPECT_TRUE(verdict.flags.empty()) << verdict.feedback;
  ASSERT_TRUE(verdict.directions[0].candidate && verdict.directions[0].baseline);
  // Four calls a run, 8 us of kernels each.
  const double speed = 65536 * 4 / 8e-6 * 1e-9;
  for (const auto* side : {&verdict.directions[0].candidate, &verdict.directions[0].baseline}) {
    const std::optional<Figure>& kernel = (*side)->kernel;
    ASSERT_TRUE(kernel);
    EXPECT_NEAR(kernel->median, speed, speed * 1e-9);
    EXPECT_NEAR(kernel->q1, speed, speed * 1e-9);
    EXPECT_EQ(kernel->samples, 3);
    EXPECT_TRUE((*side)->device);
  }
  EXPECT_EQ(ShownFigure(verdict.directions[0].candidate),
            &*verdict.directions[0].candidate->device);
  EXPECT_THAT(verdict.at(Stage::kMeasured).detail, testing::HasSubstr("3 more to trace kernels"));
  EXPECT_THAT(verdict.feedback, testing::HasSubstr("its kernels alone 32.77 GB/s"));
}

TEST_F(DeviceTarget, WithoutAKernelThereIsAReasonAndNoFigure) {
  const Verdict verdict = Judge(With(kScan, ""));
  EXPECT_TRUE(verdict.ranked()) << verdict.feedback;
  ASSERT_TRUE(verdict.directions[0].candidate);
  EXPECT_TRUE(verdict.directions[0].candidate->device);
  EXPECT_FALSE(verdict.directions[0].candidate->kernel);
  EXPECT_THAT(verdict.feedback,
              testing::HasSubstr("flag kernel-not-measured: szarena_cuda_run: no kernel ran"));
}

// It is right wherever it counts, and wrong where it is traced: no fault, and no figure.
TEST_F(DeviceTarget, WhatFailsOnlyWhileTracedDecidesNothing) {
  const Verdict verdict =
      Judge(With(kScan, std::string(kLaunch) + "if (dup(9) >= 0) out[5] ^= 1;"));
  EXPECT_EQ(verdict.Failed(), std::nullopt) << verdict.feedback;
  EXPECT_TRUE(verdict.ranked());
  EXPECT_FALSE(verdict.directions[0].candidate->kernel);
  EXPECT_FALSE(verdict.directions[0].baseline->kernel);
  EXPECT_THAT(verdict.feedback, testing::HasSubstr("kernel-not-measured: szarena_cuda_run: while "
                                                   "it was traced: the result of a timed run "
                                                   "differs"));
}

TEST_F(DeviceTarget, AProfileTellsWhichKernelsTookTheTime) {
  WithOptions(With(kScan, kLaunch), [](const EvaluateOptions& options) {
    const auto report = ProfileCandidate(options);
    ASSERT_TRUE(report) << report.error().ToString();
    ASSERT_TRUE(report->ok) << report->text;
    const data::Json& run = *report->content.Find("run");
    EXPECT_GT(*run.Find("kernel_gbs")->number(), 0);
    const data::Json& traced = *run.Find("traced");
    ASSERT_TRUE(traced.is_object()) << report->text;
    EXPECT_EQ(*traced.Find("runs")->integer(), 3);
    EXPECT_DOUBLE_EQ(*traced.Find("launches")->number(), 12);
    EXPECT_NEAR(*traced.Find("kernel_seconds")->number(), 32e-6, 1e-12);
    const data::Json& add = traced.Find("kernels")->items().at(0);
    EXPECT_EQ(*add.Find("kernel")->string(), "Add(unsigned int const*, unsigned long*)");
    EXPECT_DOUBLE_EQ(*add.Find("launches")->number(), 8);
    EXPECT_NEAR(*add.Find("share")->number(), 0.75, 1e-9);
    EXPECT_EQ(*add.Find("grid")->items().at(0).integer(), 132);
    EXPECT_EQ(*add.Find("registers")->integer(), 40);
    EXPECT_EQ(*add.Find("dynamic_shared_bytes")->integer(), 2048);
    EXPECT_THAT(report->text, testing::HasSubstr("75.0%"));
    EXPECT_THAT(report->text, testing::HasSubstr("Reserve(Record*)"));
  });
}

TEST_F(DeviceTarget, WritesOutsideTheOutputAreFound) {
  const Verdict verdict = Judge(With(kScan, "static_cast<char*>(output)[-7] = 1;"));
  EXPECT_EQ(verdict.Failed(), Stage::kOutputProduced) << verdict.feedback;
}

TEST_F(DeviceTarget, ChangedInputIsFound) {
  const Verdict verdict = Judge(With(kScan, "if (p->n > 2) const_cast<uint32_t*>(x)[2] ^= 1;"));
  EXPECT_EQ(verdict.Failed(), Stage::kOutputProduced) << verdict.feedback;
  EXPECT_THAT(verdict.feedback, testing::HasSubstr("input was changed"));
}

TEST_F(DeviceTarget, AFullCheckWithoutItsToolDoesNotSayThatItPassed) {
  if (!target::cuda::FindComputeSanitizer().empty()) GTEST_SKIP() << "there is one here";
  const Verdict verdict = Judge(With(kScan, ""), /*full=*/true);
  EXPECT_TRUE(verdict.ranked()) << verdict.feedback;
  ASSERT_EQ(verdict.tools.size(), 3U);
  for (const ToolResult& result : verdict.tools)
    EXPECT_EQ(result.status, ToolResult::Status::kNotRun);
  EXPECT_THAT(verdict.feedback, testing::HasSubstr("compute-sanitizer memcheck: not run"));
  EXPECT_EQ(VerdictFromJson(VerdictToJson(verdict), "verdict")->tools, verdict.tools);
}

TEST_F(DeviceTarget, WhatASanitizerFindsIsEvidence) {
  StandIn(
      "if [[ $tool == initcheck ]]; then echo '========= Uninitialized __global__ memory read';\n"
      "  echo '========= ERROR SUMMARY: 1 error'; exit 86; fi\n"
      "echo '========= ERROR SUMMARY: 0 errors'\n");
  Verdict verdict = Judge(With(kScan, ""), /*full=*/true);
  EXPECT_TRUE(verdict.ranked()) << verdict.feedback;
  ASSERT_EQ(verdict.tools.size(), 3U);
  EXPECT_EQ(verdict.tools[0].status, ToolResult::Status::kClean) << verdict.tools[0].detail;
  EXPECT_EQ(verdict.tools[1].status, ToolResult::Status::kClean);
  EXPECT_EQ(verdict.tools[2].status, ToolResult::Status::kFindings);
  EXPECT_THAT(
      verdict.feedback,
      testing::HasSubstr("flag tool-findings: compute-sanitizer initcheck: 1 found: Uninit"));
  StandIn(
      "if [[ $tool == memcheck ]]; then echo '========= Invalid __global__ read of size 4 bytes';\n"
      "  echo '========= ERROR SUMMARY: 9 errors'; exit 86; fi\n"
      "echo '========= ERROR SUMMARY: 0 errors'\n");
  verdict = Judge(With(kScan, ""), /*full=*/true);
  EXPECT_EQ(verdict.Failed(), Stage::kOutputProduced) << verdict.feedback;
  EXPECT_THAT(verdict.at(Stage::kOutputProduced).detail,
              testing::HasSubstr("memcheck: 9 found: Invalid __global__ read"));
}

// Code that is run instead of a function of the driver, in the candidate's own process.
std::string Instead(const std::string& function, const std::string& code) {
  return "extern \"C\" __attribute__((constructor)) void Patch();\n"
         "#include <dlfcn.h>\n#include <sys/mman.h>\n" +
         code +
         "\nvoid Patch() {\n"
         "  auto* at = static_cast<unsigned char*>(dlsym(RTLD_DEFAULT, \"" +
         function +
         "\"));\n"
         "  if (!at) return;\n"
         "  auto page = reinterpret_cast<unsigned long>(at) & ~4095ul;\n"
         "  mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);\n"
         "  void* other = reinterpret_cast<void*>(&Other);\n"
         "  at[0] = 0x48; at[1] = 0xb8; memcpy(at + 2, &other, 8); at[10] = 0xff; at[11] = 0xe0;\n"
         "}\n";
}

// A scan that only notes what is to be done; Work() does it.
constexpr char kPutOff[] = R"(
#include "szarena_candidate_cuda.h"
#include <cstring>
#include <unistd.h>
struct Job { const uint32_t* x; uint64_t* out; uint64_t n; szarena_payload* payload; };
static Job jobs[16];
static int pending = 0;
static void Work() {
  for (int k = 0; k < pending; ++k) {
    const Job& job = jobs[k];
    usleep(3000);
    job.out[0] = 0;
    for (uint64_t i = 0; i < job.n; ++i) job.out[i + 1] = job.out[i] + job.x[i];
    *job.payload = {0, (job.n + 1) * 8};
  }
  pending = 0;
}
uint64_t szarena_cuda_workspace_bytes(const szarena_problem*) { return 64; }
int szarena_cuda_run(const szarena_problem* p, const void* input, void* output, uint64_t, void*, uint64_t, szarena_payload* payload,
                     szarena_stream) {
  jobs[pending++] = {static_cast<const uint32_t*>(input), static_cast<uint64_t*>(output), p->n, payload};
  BODY
  return SZARENA_OK;
}
EXTRA
)";

// The candidate's library is in the process that reads the events: it can make them lie, but not
// the keeper's clock.
TEST_F(DeviceTarget, EventsThatLieAreFlagged) {
  const Verdict verdict =
      Judge(With(kScan, "usleep(30000);",
                 Instead("cuEventElapsedTime",
                         "static int Other(float* ms, void*, void*) { *ms = 0.01f; return 0; }")));
  EXPECT_TRUE(verdict.HasCheatFlag()) << verdict.feedback;
  EXPECT_FALSE(verdict.ranked());
  EXPECT_THAT(verdict.feedback, testing::HasSubstr("device-clock-disagrees"));
}

// What a device does with work on a stream of the candidate's own: it is done when the context is
// waited for, after the last event.
TEST_F(DeviceTarget, WorkThatTheEventsMissIsFlagged) {
  const Verdict verdict = Judge(
      With(kPutOff, "", Instead("cuCtxSynchronize", "static int Other() { Work(); return 0; }")));
  EXPECT_FALSE(verdict.Failed()) << verdict.feedback;
  EXPECT_FALSE(verdict.ranked());
  EXPECT_THAT(verdict.feedback, testing::HasSubstr("device-clock-disagrees"));
}

// The keeper has taken the results by then.
TEST_F(DeviceTarget, WorkAfterTheAnswerIsTooLate) {
  const Verdict verdict = Judge(With(kPutOff,
                                     "static std::thread late([] { for (;;) { usleep(20000); "
                                     "Work(); } }); static bool left = (late.detach(), true); "
                                     "(void)left;",
                                     "")
                                    .insert(0, "#include <thread>\n"));
  EXPECT_TRUE(verdict.Failed()) << verdict.feedback;
}

// The calls with transfers come after others in the same process.
TEST_F(DeviceTarget, WhatWasSeenOnceIsOfNoUse) {
  const Verdict verdict = Judge(With(
      kScan,
      "static char* kept[4]; static unsigned calls = 0;\n"
      "if (p->n == 65536) {\n"
      "  const unsigned k = calls++ % 6; char*& mine = kept[k % 4];\n"
      "  if (k >= 4) { memcpy(output, mine, (p->n + 1) * 8); }\n"
      "  else { if (!mine) mine = new char[(p->n + 1) * 8]; memcpy(mine, output, (p->n + 1) * 8); "
      "}\n"
      "}\n"));
  EXPECT_EQ(verdict.Failed(), Stage::kMeasured) << verdict.feedback;
}

}  // namespace
}  // namespace szarena::judge
