// SPDX-License-Identifier: Apache-2.0
// A profile leads to the line that is slow, and says why where there is none.
#include "judge/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "judge/task_spec.h"
#include "os/temp_dir.h"
#include "task/task.h"

namespace szarena::judge {
namespace {

using testing::HasSubstr;

ProfileReport Profile(const std::string& source) {
  const auto folder = os::TempDir::Create("profile-");
  std::ofstream(folder->path() + "/candidate.cpp") << source;
  EvaluateOptions options;
  options.task = *SpecFromTask(*task::LoadTask(SZARENA_SOURCE_DIR, "scan"));
  options.candidate = folder->path();
  options.threads = 1;
  const auto report = ProfileCandidate(options);
  EXPECT_TRUE(report) << report.error().ToString();
  return report ? *report : ProfileReport{};
}

// The body of szarena_run follows.
const std::string kHead = R"(#include "szarena_candidate.h"
static volatile uint64_t sink;
__attribute__((noinline)) static void Slow(uint64_t n) {
  for (uint64_t i = 0; i < 300 * n; ++i) sink = i;  // the slow line
}
extern "C" SZARENA_EXPORT uint64_t szarena_workspace_bytes(const szarena_problem*) { return 0; }
extern "C" SZARENA_EXPORT int szarena_run(const szarena_problem* p, const void* in, void* out, uint64_t, void*, uint64_t,
                           szarena_payload* payload) {
)";

TEST(Profile, NamesTheSlowFunctionAndItsLine) {
  const ProfileReport report = Profile(kHead + R"(  uint64_t sum = 0;
  for (uint64_t i = 0; i < p->n; ++i) { ((uint64_t*)out)[i] = sum; sum += ((const uint32_t*)in)[i]; }
  ((uint64_t*)out)[p->n] = sum;
  Slow(p->n);
  *payload = {0, (p->n + 1) * 8};
  return SZARENA_OK;
})");
  ASSERT_TRUE(report.ok) << report.text;
  const data::Json& run = *report.content.Find("run");
  EXPECT_GT(*run.Find("samples")->integer(), 5);
  const data::Json& function = run.Find("functions")->items().at(0);
  EXPECT_THAT(*function.Find("function")->string(), HasSubstr("Slow"));
  EXPECT_GT(*function.Find("share")->number(), 0.5);
  const data::Json& line = run.Find("lines")->items().at(0);
  EXPECT_EQ(*line.Find("location")->string(), "candidate.cpp:4");
  EXPECT_THAT(*line.Find("text")->string(), HasSubstr("the slow line"));
  EXPECT_THAT(report.text, HasSubstr("candidate.cpp:4"));
}

TEST(Profile, SaysWhyThereIsNone) {
  EXPECT_THAT(Profile("int x").text, HasSubstr("it does not build: candidate.cpp:1"));
  EXPECT_THAT(Profile(kHead + "  *(volatile int*)0 = 1; return 0; }").text, HasSubstr("run: "));
  EXPECT_THAT(Profile(kHead + "  return 1; }").text, HasSubstr("run: it returned 1"));
}

// Figures of the CUDA occupancy calculator.
TEST(Profile, WarpsDependOnTheArchitecture) {
  EXPECT_EQ(WarpsByRegisters("sm_90", 1), 64);
  EXPECT_EQ(WarpsByRegisters("sm_90", 32), 64);
  EXPECT_EQ(WarpsByRegisters("sm_90", 33), 48);
  EXPECT_EQ(WarpsByRegisters("sm_90", 255), 8);
  EXPECT_EQ(WarpsByRegisters("sm_75", 32), 32);
  EXPECT_EQ(WarpsByRegisters("sm_75", 64), 32);
  EXPECT_EQ(WarpsByRegisters("sm_86", 32), 48);
  EXPECT_EQ(WarpsByRegisters("sm_89", 40), 48);
  EXPECT_EQ(WarpsByRegisters("sm_89", 48), 40);
  EXPECT_FALSE(WarpsByRegisters("sm_999", 32));
}

}  // namespace
}  // namespace szarena::judge
