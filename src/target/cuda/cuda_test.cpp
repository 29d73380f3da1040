// SPDX-License-Identifier: Apache-2.0
// The CUDA driver program and the judge's side of it, with a CUDA driver that computes on the host:
// candidates are plain C++ here. What needs a GPU or nvcc says that it is skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "os/temp_dir.h"
#include "target/compile.h"
#include "target/cuda/build.h"
#include "target/cuda/device.h"
#include "target/cuda/embedded.h"
#include "target/cuda/sanitizer.h"
#include "target/cuda/toolkit.h"
#include "target/worker.h"

namespace szarena::target::cuda {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr size_t kBytes = 40000;

// A primitive that copies its input on the "device", compiled; `body` goes before the copy.
BuildResult CompileCopy(const sandbox::Sandbox& sandbox, const std::string& body) {
  CompileSpec spec;
  spec.argv = {"/usr/bin/g++", "-std=c++20", "-O1", "-shared", "-fPIC", "/src/candidate.cpp"};
  spec.headers = {{"szarena_candidate.h", std::string(CandidateHeader())},
                  {"szarena_candidate_cuda.h", std::string(CudaCandidateHeader())}};
  Candidate candidate;
  candidate.files.push_back(
      {"candidate.cpp",
       "#include \"szarena_candidate_cuda.h\"\n#include <cstring>\n#include <dlfcn.h>\n"
       "#include <unistd.h>\n"
       "uint64_t szarena_cuda_workspace_bytes(const szarena_problem*) { return 64; }\n"
       "int szarena_cuda_run(const szarena_problem* p, const void* in, void* out, uint64_t, "
       "void* workspace, uint64_t,\n"
       "                     szarena_payload* payload, szarena_stream) {\n"
       "  auto* bytes = static_cast<unsigned char*>(out); auto* input = const_cast<unsigned "
       "char*>(static_cast<const unsigned char*>(in));\n"
       "  (void)bytes; (void)input; (void)workspace;\n" +
           body +
           "  std::memcpy(out, in, p->n * 4); *payload = {0, p->n * 4};\n  return "
           "SZARENA_OK;\n}\n"});
  auto built = CompileLibrary(sandbox, candidate, spec);
  EXPECT_TRUE(built && built->ok) << (built ? built->log : built.error().ToString());
  return std::move(*built);
}

class CudaTarget : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto probe = sandbox::Sandbox::Probe();
    ASSERT_TRUE(probe) << probe.error().ToString();
    sandbox_ = new sandbox::Sandbox(std::move(*probe));
    auto device = FindDeviceWith(*sandbox_, SZARENA_HOST_CUDA_FOLDER);
    ASSERT_TRUE(device) << device.error().ToString();
    device_ = new DeviceAccess(std::move(*device));
  }

  // A worker on CompileCopy(body); `traced_on`: the device that it is traced on.
  static Worker StartWorker(const std::string& body, const DeviceAccess* traced_on = nullptr) {
    const BuildResult built = CompileCopy(*sandbox_, body);
    WorkerSpec worker_spec;
    worker_spec.driver = DriverProgram();
    worker_spec.library = built.library;
    worker_spec.compressor = false;
    worker_spec.need_backward = false;
    worker_spec.device = traced_on != nullptr ? traced_on : device_;
    worker_spec.trace = traced_on != nullptr;
    const std::vector<SlotSizes> slots(3, SlotSizes{kBytes, kBytes});
    worker_spec.input_bytes = InputBytesFor(slots);
    worker_spec.output_bytes = OutputBytesFor(slots);
    auto worker = Worker::Start(*sandbox_, worker_spec);
    EXPECT_TRUE(worker) << worker.error().ToString();
    return std::move(*worker);
  }

  static Outcome RunOnce(Worker& worker, bool with_transfers = false,
                         milliseconds timeout = milliseconds(5000)) {
    EXPECT_TRUE(worker.loaded().ok) << worker.loaded().message;
    szarena_problem problem = {};
    problem.struct_size = sizeof problem;
    problem.n = kBytes / 4;
    const std::vector<SlotSizes> slots(3, SlotSizes{kBytes, kBytes});
    auto prepared = worker.Prepare(problem, slots, false, milliseconds(5000));
    EXPECT_TRUE(prepared && prepared->ok)
        << (prepared ? prepared->message : prepared.error().ToString());
    for (size_t i = 0; i < 3; ++i) {
      std::memset(worker.input(i).data(), static_cast<int>(7 + i), kBytes);
      std::memset(worker.output(i).data(), 99, kBytes);
      std::memset(worker.guard_before(i).data(), 77, worker.guard_before(i).size());
      std::memset(worker.guard_after(i).data(), 77, worker.guard_after(i).size());
    }
    auto outcome = worker.Call(CallKind::kForward, timeout, with_transfers);
    EXPECT_TRUE(outcome) << outcome.error().ToString();
    return *outcome;
  }

  static bool All(std::span<const std::byte> bytes, int value) {
    for (const std::byte b : bytes) {
      if (b != static_cast<std::byte>(value)) return false;
    }
    return true;
  }

  static sandbox::Sandbox* sandbox_;
  static DeviceAccess* device_;
};
sandbox::Sandbox* CudaTarget::sandbox_ = nullptr;
DeviceAccess* CudaTarget::device_ = nullptr;

TEST_F(CudaTarget, UsageIsReadFromTheCompilersLog) {
  const auto kernels = ReadUsage(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'Encode(float const*, int)' for 'sm_90'\n"
      "ptxas info    : Function properties for _Z1kPfi\n"
      "    48 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 48 bytes cumulative stack size, 1024 "
      "bytes smem\n"
      "ptxas info    : Compiling entry function 'Scan()' for 'sm_90'\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n");
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].name, "Encode(float const*, int)");
  EXPECT_EQ(kernels[0].registers, 40);
  EXPECT_EQ(kernels[0].stack_bytes, 48);
  EXPECT_EQ(kernels[0].spill_store_bytes, 8);
  EXPECT_EQ(kernels[0].spill_load_bytes, 16);
  EXPECT_EQ(kernels[0].shared_bytes, 1024);
  EXPECT_EQ(kernels[1].registers, 8);
}

TEST_F(CudaTarget, TheCompilerTellsWhatKernelsUse) {
  if (!FindNvcc()) GTEST_SKIP() << "no nvcc here";
  Candidate candidate;
  candidate.files.push_back({"a.cu",
                             "__global__ void Twice(float* a, int n) { int i = blockIdx.x * "
                             "blockDim.x + threadIdx.x; if (i < n) a[i] *= 2; }\n"});
  const auto built = BuildWithUsage(*sandbox_, candidate);
  ASSERT_TRUE(built) << built.error().ToString();
  ASSERT_TRUE(built->ok) << built->log;
  const auto kernels = ReadUsage(built->log);
  ASSERT_EQ(kernels.size(), 1U) << built->log;
  EXPECT_EQ(kernels[0].name, "Twice(float*, int)");
  EXPECT_GT(kernels[0].registers, 0);
}

TEST_F(CudaTarget, ProbeNamesTheDevice) {
  EXPECT_THAT(device_->name,
              HasSubstr("host fixture, compute capability 9.0, driver of unknown version for CUDA "
                        "13.0; clocks after a copy: unknown"));
  EXPECT_GT(device_->copy_gbs, 0);
}

TEST_F(CudaTarget, NoDriverIsTheEnvironmentsLack) {
  const auto device = FindDeviceWith(*sandbox_, "/usr/share");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(device.error().message, HasSubstr("no CUDA device: not run"));
}

TEST_F(CudaTarget, MovesDataThereAndBack) {
  Worker worker = StartWorker("");
  const Outcome outcome = RunOnce(worker);
  ASSERT_TRUE(outcome.ok) << outcome.message;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(worker.answer(i).code, SZARENA_OK);
    EXPECT_EQ(worker.answer(i).payload.size, kBytes);
    EXPECT_GT(worker.answer(i).device_seconds, 0);
    EXPECT_LE(worker.answer(i).device_seconds, outcome.seconds);
    EXPECT_TRUE(All(worker.output(i), static_cast<int>(7 + i)));
    EXPECT_TRUE(All(worker.guard_before(i), 77));
    EXPECT_TRUE(All(worker.guard_after(i), 77));
  }
  EXPECT_FALSE(worker.input_changed());
}

TEST_F(CudaTarget, TransfersCanBePartOfTheCall) {
  Worker worker = StartWorker("");
  const Outcome outcome = RunOnce(worker, /*with_transfers=*/true);
  ASSERT_TRUE(outcome.ok) << outcome.message;
  EXPECT_TRUE(worker.pinned());
  EXPECT_TRUE(All(worker.output(2), 9));
  EXPECT_EQ(worker.answer(2).payload.size, kBytes);
}

TEST_F(CudaTarget, GuardsOnTheDeviceShowWritesOutside) {
  Worker worker = StartWorker("  bytes[p->n * 4 + 5] = 1; bytes[-3] = 1;\n");
  const Outcome outcome = RunOnce(worker);
  ASSERT_TRUE(outcome.ok) << outcome.message;
  EXPECT_FALSE(All(worker.guard_after(1), 77));
  EXPECT_FALSE(All(worker.guard_before(1), 77));
}

TEST_F(CudaTarget, ChangedInputIsSeen) {
  Worker worker = StartWorker("  input[100] ^= 1;\n");
  const Outcome outcome = RunOnce(worker);
  ASSERT_TRUE(outcome.ok) << outcome.message;
  EXPECT_TRUE(worker.input_changed());
}

TEST_F(CudaTarget, UnwrittenOutputKeepsItsPoison) {
  Worker worker = StartWorker("  *payload = {0, p->n * 4}; return SZARENA_OK;\n");
  ASSERT_TRUE(RunOnce(worker).ok);
  EXPECT_TRUE(All(worker.output(0), 99));
}

TEST_F(CudaTarget, PayloadOutsideTheBufferIsNotFollowed) {
  for (const bool transfers : {false, true}) {
    Worker worker = StartWorker("  *payload = {~0ull - 5, 100}; return SZARENA_OK;\n");
    const Outcome outcome = RunOnce(worker, transfers);
    ASSERT_TRUE(outcome.ok) << outcome.message;
    EXPECT_EQ(worker.answer(0).payload.offset, ~0ull - 5);
  }
}

TEST_F(CudaTarget, EndlessCallIsStopped) {
  Worker worker = StartWorker("  for (;;) usleep(1000);\n");
  const Outcome outcome = RunOnce(worker, false, milliseconds(400));
  EXPECT_EQ(outcome.ending, Ending::kTimedOut);
}

TEST_F(CudaTarget, CrashOfHostCodeIsDescribed) {
  Worker worker = StartWorker("  *reinterpret_cast<volatile int*>(16) = 1;\n");
  const Outcome outcome = RunOnce(worker);
  EXPECT_EQ(outcome.ending, Ending::kCrashed);
  EXPECT_THAT(outcome.message, HasSubstr("signal 11"));
}

TEST_F(CudaTarget, BuildsWithNvcc) {
  if (!FindNvcc()) GTEST_SKIP() << FindNvcc().error().message;
  Candidate candidate;
  candidate.files.push_back(
      {"a.cu",
       "#include \"szarena_candidate_cuda.h\"\n"
       "__global__ void k(int* p) { *p = 1; }\n"
       "uint64_t szarena_cuda_workspace_bytes(const szarena_problem*) { return 0; }\n"
       "int szarena_cuda_run(const szarena_problem*, const void*, void* out, uint64_t, void*, "
       "uint64_t,\n"
       "                     szarena_payload*, szarena_stream s) { k<<<1, 1, 0, s>>>((int*)out); "
       "return 0; }\n"});
  auto built = Build(*sandbox_, candidate);
  ASSERT_TRUE(built) << built.error().ToString();
  EXPECT_TRUE(built->ok) << built->log;
  EXPECT_GT(built->library.size(), 1000u);
  candidate.files[0].bytes += "int broken = \"text\";\n";
  built = Build(*sandbox_, candidate);
  ASSERT_TRUE(built) << built.error().ToString();
  EXPECT_FALSE(built->ok);
  EXPECT_THAT(built->reason, HasSubstr("a.cu(6)"));
}

// What a traced candidate says it launched on the device of these tests.
constexpr char kLaunches[] =
    "  using Launch = int (*)(const char*, uint64_t);\n"
    "  auto launch = reinterpret_cast<Launch>(dlsym(RTLD_DEFAULT, \"szarena_host_launch\"));\n"
    "  auto clear = reinterpret_cast<int (*)(void*, unsigned char, size_t, void*)>(\n"
    "      dlsym(RTLD_DEFAULT, \"cuMemsetD8Async\"));\n"
    "  for (int i = 0; i < LAUNCHES; ++i) launch(\"_Z6EncodePKfPj\", 2000);\n"
    "  launch(\"_Z4ScanPj\", 500);\n  clear(out, 0, 32, nullptr);\n";

class Tracing : public CudaTarget {
 protected:
  static Trace TraceWith(const std::string& wrong, const std::string& body) {
    DeviceAccess device = *device_;
    if (!wrong.empty()) device.env.emplace_back("SZARENA_HOST_CUPTI", wrong);
    Worker worker = StartWorker(body, &device);
    const Outcome outcome = RunOnce(worker);
    EXPECT_TRUE(outcome.ok) << outcome.message;
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(All(worker.output(i), static_cast<int>(7 + i)));
    return worker.TakeTrace();
  }
  static std::string Launching(const std::string& launches) {
    std::string text = kLaunches;
    return text.replace(text.find("LAUNCHES"), 8, launches);
  }
};

TEST_F(Tracing, TheLibraryIsFoundBesideTheDriver) {
  EXPECT_THAT(device_->tracer, HasSubstr("libcupti.so.13"));
  EXPECT_EQ(device_->no_tracer, "");
}

TEST_F(Tracing, KernelsOfTheCallsAreCountedAndNothingElse) {
  const Trace trace = TraceWith("", Launching("2"));
  ASSERT_EQ(trace.failure, "");
  EXPECT_EQ(trace.launches, 9U);
  EXPECT_DOUBLE_EQ(trace.seconds, 3 * 4500e-9);
  ASSERT_EQ(trace.kernels.size(), 2U);
  EXPECT_EQ(trace.kernels[0].name, "Encode(float const*, unsigned int*)");
  EXPECT_EQ(trace.kernels[0].launches, 6U);
  EXPECT_EQ(trace.kernels[0].grid[0], 132U);
  EXPECT_EQ(trace.kernels[0].registers, 40U);
  EXPECT_EQ(trace.kernels[1].name, "Scan(unsigned int*)");
  // The candidate's clearings, not the driver's marks; no copy of the driver's.
  const auto& sets = trace.transfers[static_cast<size_t>(Transfer::kSet)];
  EXPECT_EQ(sets.count, 3U);
  EXPECT_EQ(sets.bytes, 96U);
  for (const Transfer copy : {Transfer::kToDevice, Transfer::kFromDevice, Transfer::kOnDevice})
    EXPECT_EQ(trace.transfers[static_cast<size_t>(copy)].count, 0U);
}

TEST_F(Tracing, RecordsInManyBuffersAndLateOnesAreWaitedFor) {
  EXPECT_EQ(TraceWith("", Launching("100")).launches, 303U);
  const Trace late = TraceWith("late", Launching("2"));
  EXPECT_EQ(late.failure, "");
  EXPECT_EQ(late.launches, 9U);
}

TEST_F(Tracing, WhatIsWrongWithTheLibraryGivesAReasonAndNoFigure) {
  const std::pair<const char*, const char*> cases[] = {
      {"version", "CUPTI version 990000 are not known"},
      {"refuses", "cuptiActivityEnable: CUPTI_ERROR"},
      {"never", "0 of the driver's 4 marks"},
      {"cut", "cut short"},
      {"outside", "outside its buffer"},
      {"backwards", "no usable time"},
      {"dropped", "3 records were dropped"},
  };
  for (const auto& [wrong, reason] : cases) {
    const Trace trace = TraceWith(wrong, Launching("2"));
    EXPECT_THAT(trace.failure, HasSubstr(reason)) << wrong;
    EXPECT_EQ(trace.launches, 0U) << wrong;
  }
}

TEST_F(Tracing, CallsWithoutAKernelGiveNoFigure) {
  EXPECT_EQ(TraceWith("", "").failure, "no kernel ran");
}

TEST_F(Tracing, ADeviceWithoutTheLibrarySaysSo) {
  const auto folder = os::TempDir::Create("driver-", 0755);
  ASSERT_TRUE(folder);
  const std::string host = SZARENA_HOST_CUDA_FOLDER;
  std::filesystem::copy_file(host + "/libcuda.so.1", folder->path() + "/libcuda.so.1");
  auto device = FindDeviceWith(*sandbox_, folder->path());
  ASSERT_TRUE(device) << device.error().ToString();
  EXPECT_EQ(device->tracer, "");
  EXPECT_THAT(device->no_tracer, HasSubstr("no CUPTI was found"));
  // Something else under that name.
  std::ofstream(folder->path() + "/libcupti.so.13") << "no library";
  device = FindDeviceWith(*sandbox_, folder->path());
  ASSERT_TRUE(device) << device.error().ToString();
  EXPECT_EQ(device->tracer, "");
  EXPECT_THAT(device->no_tracer, HasSubstr("libcupti.so.13"));
}

// A compute-sanitizer that is a script: it runs the program as the real one does, with descriptors
// of its own open, then says `end`.
class Sanitizer : public CudaTarget {
 protected:
  void StandIn(const std::string& end) {
    folder_.emplace(*os::TempDir::Create("toolkit-", 0755));
    const std::string bin = folder_->path() + "/bin";
    ASSERT_EQ(mkdir(bin.c_str(), 0755), 0);
    const std::string program = bin + "/compute-sanitizer";
    std::ofstream(program) << "#!/bin/bash\n"
                              "test \"$1\" = --tool || exit 3\n"
                              "tool=$2\n"
                              "while [[ $1 != /run/driver ]]; do shift; done\n"
                              "echo '========= COMPUTE-SANITIZER'\n"
                              "exec 7</dev/null 8</dev/null 9</dev/null\n"
                              "\"$@\"; status=$?\n" +
                                  end;
    ASSERT_EQ(chmod(program.c_str(), 0755), 0);
    ASSERT_EQ(chmod(bin.c_str(), 0755), 0);
    setenv("CUDA_HOME", folder_->path().c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  void TearDown() override { unsetenv("CUDA_HOME"); }  // NOLINT(concurrency-mt-unsafe)

  // The reports on a primitive that copies its input, three calls each.
  static std::vector<ToolReport> Run(const std::string& body) {
    const BuildResult built = CompileCopy(*sandbox_, body);
    const std::vector<std::byte> input(4000, std::byte{7});
    ToolCall call;
    call.problem.struct_size = sizeof call.problem;
    call.problem.n = input.size() / 4;
    call.input = input;
    call.output_size = input.size();
    const std::vector<ToolCall> calls(3, call);
    const auto reports = RunSanitizers(*sandbox_, *device_, built.library, false, calls);
    EXPECT_TRUE(reports) << reports.error().ToString();
    EXPECT_EQ(reports->size(), 3U);
    return *reports;
  }

  std::optional<os::TempDir> folder_;
};

TEST_F(Sanitizer, IsCleanWhereTheToolSaysSo) {
  StandIn("echo '========= ERROR SUMMARY: 0 errors'; exit $status\n");
  for (const ToolReport& report : Run("")) {
    EXPECT_EQ(report.status, ToolReport::Status::kClean) << report.detail;
    EXPECT_THAT(report.detail, HasSubstr("3 calls"));
  }
}

TEST_F(Sanitizer, FindingsAreEvidence) {
  StandIn(
      "if [[ $tool == memcheck ]]; then\n"
      "  echo '========= Invalid __global__ write of size 4 bytes'\n"
      "  echo '=========     at Encode(float const*)+0x1d0 in /src/candidate.cu:17'\n"
      "  echo '========= ERROR SUMMARY: 2 errors'; exit 86\n"
      "fi\n"
      "if [[ $tool == racecheck ]]; then\n"
      "  echo '========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)'; exit 86\n"
      "fi\n"
      "echo '========= ERROR SUMMARY: 0 errors'\n");
  const auto reports = Run("");
  EXPECT_EQ(reports[0].tool, "compute-sanitizer memcheck");
  EXPECT_EQ(reports[0].status, ToolReport::Status::kFindings);
  EXPECT_EQ(reports[0].detail,
            "2 found: Invalid __global__ write of size 4 bytes; at Encode(float const*)+0x1d0 in "
            "/src/candidate.cu:17");
  EXPECT_EQ(reports[1].status, ToolReport::Status::kFindings);
  EXPECT_EQ(reports[2].status, ToolReport::Status::kClean);
}

// No summary, a summary of a program whose calls failed, and a program that ends well without them.
TEST_F(Sanitizer, WhatWasNotLookedAtIsNotClean) {
  StandIn("echo '========= Error: cannot attach to the process'; exit 1\n");
  for (const ToolReport& report : Run("")) {
    EXPECT_EQ(report.status, ToolReport::Status::kNotRun);
    EXPECT_THAT(report.detail, HasSubstr("cannot attach"));
  }
  StandIn("echo '========= ERROR SUMMARY: 0 errors'; exit 0\n");
  for (const ToolReport& report : Run("  return 4;\n")) {
    EXPECT_EQ(report.status, ToolReport::Status::kNotRun);
    EXPECT_THAT(report.detail, HasSubstr("call 0: the call returned 4"));
  }
  StandIn("echo 'nothing at all'; exit 0\n");
  for (const ToolReport& report : Run("")) EXPECT_EQ(report.status, ToolReport::Status::kNotRun);
  for (const char* text : {"", "========= ERROR SUMMARY: many errors\n", "checked\t3\n"}) {
    os::ProcessResult run;
    run.status.exited = true;
    run.out = text;
    EXPECT_EQ(ReadSanitizer("memcheck", run, 3).status, ToolReport::Status::kNotRun) << text;
  }
}

TEST_F(Sanitizer, WithoutTheProgramNothingIsSaid) {
  if (!FindComputeSanitizer().empty()) GTEST_SKIP() << "there is one here";
  for (const ToolReport& report : Run("")) {
    EXPECT_EQ(report.status, ToolReport::Status::kNotRun);
    EXPECT_THAT(report.detail, HasSubstr("'compute-sanitizer' is not in PATH"));
  }
}

TEST_F(Sanitizer, TheFailedCallIsNamed) {
  StandIn("echo '========= ERROR SUMMARY: 0 errors'; exit $status\n");
  const auto reports =
      Run("  static int calls = 0;\n"
          "  if (++calls == 2) return p->n == 1000 && in != out ? 3 : 1;\n");
  for (const ToolReport& report : reports) {
    EXPECT_EQ(report.status, ToolReport::Status::kNotRun);
    EXPECT_THAT(report.detail, HasSubstr("call 1: the call returned 3"));
  }
}

constexpr char kDeviceCandidate[] = R"(
#include "szarena_candidate_cuda.h"
__global__ void Copy(const unsigned* in, unsigned* out, unsigned long long n, szarena_payload* payload) {
  const unsigned long long i = blockIdx.x * 256ull + threadIdx.x;
  if (i < n) out[i] = in[i];
  if (i == 0) *payload = {0, n * 4};
}
uint64_t szarena_cuda_workspace_bytes(const szarena_problem*) { return 64; }
int szarena_cuda_run(const szarena_problem* p, const void* in, void* out, uint64_t, void*, uint64_t, szarena_payload* payload,
                     szarena_stream stream) {
  Copy<<<(p->n + 255) / 256, 256, 0, stream>>>((const unsigned*)in, (unsigned*)out, p->n, payload);
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}
)";

class OnDevice : public CudaTarget {
 protected:
  static Worker StartOnDevice(const std::string& source, const DeviceAccess& device) {
    Candidate candidate;
    candidate.files.push_back({"candidate.cu", source});
    auto built = Build(*sandbox_, candidate);
    EXPECT_TRUE(built && built->ok) << (built ? built->log : built.error().ToString());
    WorkerSpec spec;
    spec.driver = DriverProgram();
    spec.library = built->library;
    spec.compressor = false;
    spec.need_backward = false;
    spec.device = &device;
    spec.load_timeout = milliseconds(30000);
    const std::vector<SlotSizes> slots(3, SlotSizes{kBytes, kBytes});
    spec.input_bytes = InputBytesFor(slots);
    spec.output_bytes = OutputBytesFor(slots);
    auto worker = Worker::Start(*sandbox_, spec);
    EXPECT_TRUE(worker) << worker.error().ToString();
    return std::move(*worker);
  }
};

TEST_F(OnDevice, CopiesAndIsTimed) {
  const auto device = FindDevice(*sandbox_);
  if (!device) GTEST_SKIP() << device.error().message;
  if (!FindNvcc()) GTEST_SKIP() << FindNvcc().error().message;
  RecordProperty("device", device->name);
  printf("%s, copy %.0f GB/s\n", device->name.c_str(), device->copy_gbs);
  Worker worker = StartOnDevice(kDeviceCandidate, *device);
  for (const bool transfers : {false, true}) {
    const Outcome outcome = RunOnce(worker, transfers);
    ASSERT_TRUE(outcome.ok) << outcome.message;
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(All(worker.output(i), static_cast<int>(7 + i)));
      EXPECT_TRUE(All(worker.guard_before(i), 77) && All(worker.guard_after(i), 77));
      EXPECT_EQ(worker.answer(i).payload.size, kBytes);
    }
    printf("%s transfers: %.3f ms outside, %.3f ms between events, pinned %d\n",
           transfers ? "with" : "without", outcome.seconds * 1e3,
           worker.answer(1).device_seconds * 1e3, worker.pinned() ? 1 : 0);
  }
}

TEST_F(OnDevice, FaultOfAKernelIsDescribed) {
  const auto device = FindDevice(*sandbox_);
  if (!device) GTEST_SKIP() << device.error().message;
  if (!FindNvcc()) GTEST_SKIP() << FindNvcc().error().message;
  std::string source = kDeviceCandidate;
  source.replace(source.find("out[i] = in[i]"), 14, "out[i + (1ull << 40)] = in[i]");
  Worker worker = StartOnDevice(source, *device);
  const Outcome outcome = RunOnce(worker);
  EXPECT_FALSE(outcome.ok);
  EXPECT_THAT(outcome.message, HasSubstr("ILLEGAL_ADDRESS"));
}

// A kernel in a context of its own is waited for by nobody. The keeper notices.
TEST_F(OnDevice, WorkLeftInAnotherContextIsSeen) {
  const auto device = FindDevice(*sandbox_);
  if (!device) GTEST_SKIP() << device.error().message;
  if (!FindNvcc()) GTEST_SKIP() << FindNvcc().error().message;
  std::string source = kDeviceCandidate;
  source.insert(0, R"(#include <dlfcn.h>
__global__ void Spin(unsigned long long ns) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); while (now - begin < ns);
}
static void Leave() {
  const auto create = (int (*)(void**, unsigned, int))dlsym(RTLD_DEFAULT, "cuCtxCreate_v2");
  const auto current = (int (*)(void**))dlsym(RTLD_DEFAULT, "cuCtxGetCurrent");
  const auto set = (int (*)(void*))dlsym(RTLD_DEFAULT, "cuCtxSetCurrent");
  void* usual = nullptr;
  void* other = nullptr;
  current(&usual);
  if (create(&other, 0, 0) != 0) return;
  set(other);
  Spin<<<132, 64>>>(4000000000ull);
  set(usual);
}
)");
  const std::string call = "  Copy<<<";
  source.replace(source.find(call), call.size(),
                 "  static const bool left = (Leave(), true); (void)left;\n" + call);
  for (const bool leaves : {false, true}) {
    Worker worker = StartOnDevice(leaves ? source : kDeviceCandidate, *device);
    double wait = 0;
    for (int i = 0; i < 5; ++i) {
      const Outcome outcome = RunOnce(worker);
      ASSERT_TRUE(outcome.ok) << outcome.message;
      if (i > 0) wait += worker.keeper_wait_seconds() / 4;
    }
    printf("%s work left behind: the keeper waits %.3f ms a call, idle %.3f ms, window %.3f ms\n",
           leaves ? "with" : "without", wait * 1e3, worker.idle_seconds() * 1e3,
           worker.window_seconds() * 1e3);
    EXPECT_EQ(wait > 5 * worker.idle_seconds() + 0.001, leaves);
  }
}

}  // namespace
}  // namespace szarena::target::cuda
