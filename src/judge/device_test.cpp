// SPDX-License-Identifier: Apache-2.0
// A target with a device, judged from end to end. The device is a CUDA driver that computes on the
// host, so the candidate is plain C++; nvcc compiles it. Without nvcc the verdict is the
// environment's: skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "judge/evaluate.h"
#include "os/temp_dir.h"
#include "target/cuda/build.h"

namespace szarena::judge {
namespace {

constexpr char kScan[] = R"(
#include "szarena_candidate_cuda.h"
#include <cstring>
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

  static Verdict Judge(const std::string& source) {
    auto folder = os::TempDir::Create("candidate-", 0755);
    auto honest = os::TempDir::Create("baseline-", 0755);
    EXPECT_TRUE(folder && honest);
    std::ofstream(folder->path() + "/candidate.cpp") << source;
    std::ofstream(honest->path() + "/candidate.cpp") << With(kScan, "");
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
    auto evaluation = Evaluate(options);
    EXPECT_TRUE(evaluation) << evaluation.error().ToString();
    return evaluation ? evaluation->verdict : Verdict{};
  }
};

TEST_F(DeviceTarget, IsMeasuredByTheDevicesTime) {
  const Verdict verdict = Judge(With(kScan, ""));
  EXPECT_TRUE(verdict.ranked()) << verdict.feedback;
  ASSERT_TRUE(verdict.directions[0].candidate);
  EXPECT_TRUE(verdict.directions[0].candidate->device);
  EXPECT_TRUE(verdict.directions[0].candidate->host);
  EXPECT_FALSE(verdict.directions[0].candidate->kernel);
  EXPECT_TRUE(verdict.copy_bandwidth_gbs);
  EXPECT_THAT(verdict.machine, testing::HasSubstr("host fixture"));
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

// The candidate's library is in the process that reads the events: it can make them lie, but not
// the judge's clock.
TEST_F(DeviceTarget, EventsThatLieAreFlagged) {
  const Verdict verdict = Judge(With(
      kScan, "usleep(30000);",
      "extern \"C\" __attribute__((constructor)) void Patch();\n"
      "#include <dlfcn.h>\n#include <sys/mman.h>\n"
      "static int Lie(float* ms, void*, void*) { *ms = 0.01f; return 0; }\n"
      "void Patch() {\n"
      "  auto* at = static_cast<unsigned char*>(dlsym(RTLD_DEFAULT, \"cuEventElapsedTime\"));\n"
      "  if (!at) return;\n"
      "  auto page = reinterpret_cast<unsigned long>(at) & ~4095ul;\n"
      "  mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);\n"
      "  void* lie = reinterpret_cast<void*>(&Lie);\n"
      "  at[0] = 0x48; at[1] = 0xb8; memcpy(at + 2, &lie, 8); at[10] = 0xff; at[11] = 0xe0;\n"
      "}\n"));
  EXPECT_TRUE(verdict.HasCheatFlag()) << verdict.feedback;
  EXPECT_FALSE(verdict.ranked());
  EXPECT_THAT(verdict.feedback, testing::HasSubstr("device-clock-disagrees"));
}

}  // namespace
}  // namespace szarena::judge
