// SPDX-License-Identifier: Apache-2.0
// Driver of a CUDA candidate: makes the calls on a stream of its own, in device memory that it
// shares with the keeper. From the moment the library is loaded nothing here is trusted: what the
// device's events say is a claim that is held against the keeper's clock (docs/contracts/cuda.md).
// `driver --keep` is the keeper (keeper.h). `driver --probe` loads no candidate: it prints what the
// device is and how fast it copies. `driver --probe-tracer` says whether a CUPTI can be used.
// `driver --check` makes the calls of a file, for tools that watch a program. Started with a trace
// page, it has CUPTI tell what runs during the calls.
#include "target/cuda/check_jobs.h"
#include "target/cuda/driver_device.h"
#include "target/cuda/keeper.h"
#include "target/cuda/tracer.h"

#include "szarena_candidate_cuda.h"

namespace szarena::target::driver {
namespace {

using cuda::JobHeader;
using cuda::JobsHeader;

decltype(&szarena_cuda_workspace_bytes) workspace_function = nullptr;
decltype(&szarena_cuda_compress) forward_function = nullptr;
decltype(&szarena_cuda_decompress) backward_function = nullptr;

Buffer workspace;
Buffer mark_memory;

// Where the judge asks for it. Before the device is opened, so that nothing runs unseen.
bool StartTracer() {
  if (control->trace == 0) return true;
  void* page = mmap(nullptr, sizeof(TracePage), PROT_READ | PROT_WRITE, MAP_SHARED, kTraceFd, 0);
  if (page == MAP_FAILED) return Refuse("cannot map the trace page");
  cuda::tracer.Start(static_cast<TracePage*>(page));
  return true;
}

// Something that only the driver does, seen in the records.
bool Mark(uint64_t& marks) {
  if (!cuda::tracer.started()) return true;
  ++marks;
  return Ok(api.MemsetD8(mark_memory.at, cuda::kMarkValue, cuda::kMarkBytes, stream),
            "cuMemsetD8Async");
}

bool OpenTracedDevice() {
  CUresult code = 0;
  return StartTracer() && (OpenDevice(code) || Refuse("%s", api_message)) &&
         (!cuda::tracer.started() || Grow(mark_memory, kAlignment, "marks"));
}

bool LoadCandidate() {
  void* library = dlopen(kLibraryPath, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Refuse("%s", dlerror());  // NOLINT(concurrency-mt-unsafe)
  const bool compressor = control->compressor != 0;
  if (!Symbol(library, "szarena_cuda_workspace_bytes", workspace_function)) return false;
  if (!Symbol(library, compressor ? "szarena_cuda_compress" : "szarena_cuda_run", forward_function))
    return false;
  if (control->need_backward == 0) return true;
  return Symbol(library, compressor ? "szarena_cuda_decompress" : "szarena_cuda_inverse",
                backward_function);
}

// The memory that the keeper shares.
bool Import(int descriptor, uint64_t size, Buffer& buffer) {
  cuda::CUmemHandle handle = 0;
  void* const as_pointer = reinterpret_cast<void*>(static_cast<uintptr_t>(descriptor));
  const bool good = Ok(api.MemImport(&handle, as_pointer, cuda::kHandleDescriptor),
                       "cuMemImportFromShareableHandle") &&
                    MapShared(buffer, handle, size);
  close(descriptor);
  return good;
}

bool OpenEvents() {
  for (DeviceSlot& slot : device_slots) {
    if (!Ok(api.EventCreate(&slot.begin, 0), "cuEventCreate") ||
        !Ok(api.EventCreate(&slot.end, 0), "cuEventCreate"))
      return false;
  }
  return true;
}

bool Open() {
  return OpenTracedDevice() && Import(kInputFd, control->device_input_bytes, shared_input) &&
         Import(kOutputFd, control->device_output_bytes, shared_output) && OpenEvents();
}

bool Prepare() {
  if (!PlaceSlots()) return false;
  const szarena_problem problem = control->problem;
  const uint64_t wanted = workspace_function(&problem);
  control->workspace_bytes = wanted;
  if (!WorkspaceAllowed("szarena_cuda_workspace_bytes", wanted, problem)) return false;
  if (!Grow(workspace, Aligned(wanted) + kAlignment, "the workspace")) return false;
  return Ok(api.MemsetD8(workspace.at, 0xa5, workspace.size, stream), "cuMemsetD8Async") &&
         Ok(api.StreamSynchronize(stream), "clearing the workspace");
}

void* Pointer(CUdeviceptr at) { return reinterpret_cast<void*>(static_cast<uintptr_t>(at)); }

bool Call() {
  const szarena_problem problem = control->problem;
  const bool forward = static_cast<CallKind>(control->kind) == CallKind::kForward;
  const auto as_stream = reinterpret_cast<szarena_stream>(stream);
  uint64_t marks = 0;
  if (cuda::tracer.started()) cuda::tracer.Begin();
  for (uint32_t i = control->first_slot; i < control->slot_count; ++i) {
    Slot& slot = control->slots[i];
    const DeviceSlot& here = device_slots[i];
    if (!Mark(marks)) return false;
    void* output = Pointer(shared_output.at + here.output);
    const void* input = Pointer(shared_input.at + here.input + InputSkew(slot));
    if (!Ok(api.EventRecord(here.begin, stream), "cuEventRecord")) return false;
    if (forward) {
      slot.code = forward_function(
          &problem, input, output, slot.output_size, Pointer(workspace.at),
          control->workspace_bytes,
          static_cast<szarena_payload*>(Pointer(shared_output.at + here.payload)), as_stream);
    } else {
      slot.code = backward_function(&problem, input, slot.input_size, output, Pointer(workspace.at),
                                    control->workspace_bytes, as_stream);
    }
    if (!Ok(api.EventRecord(here.end, stream), "the call")) return false;
    slot.called = 1;
  }
  if (!Mark(marks)) return false;
  // Work that the candidate did not order before the end of the stream is waited for, too: the
  // keeper's clock runs on.
  if (!Ok(api.StreamSynchronize(stream), "the call") || !Ok(api.CtxSynchronize(), "after the call"))
    return false;
  if (cuda::tracer.started()) cuda::tracer.End(marks);
  for (uint32_t i = control->first_slot; i < control->slot_count; ++i) {
    float milliseconds = 0;
    if (!Ok(api.EventElapsedTime(&milliseconds, device_slots[i].begin, device_slots[i].end),
            "cuEventElapsedTime"))
      return false;
    control->slots[i].device_seconds = static_cast<double>(milliseconds) * 1e-3;
  }
  return true;
}

bool Run(Command command) {
  switch (command) {
    case Command::kOpen:
      return Open();
    case Command::kLoad:
      return LoadCandidate();
    case Command::kPrepare:
      return Prepare();
    case Command::kCall:
      return Call();
    default:
      return Refuse("unknown command");
  }
}

// Device memory of exactly this size, so that a tool sees every access outside of it.
struct Exact {
  CUdeviceptr at = 0;
  explicit Exact(uint64_t size) {
    if (size > 0 && !Ok(api.MemAlloc(&at, size), "cuMemAlloc")) at = 0;
  }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  ~Exact() {
    if (at != 0) api.MemFree(at);
  }
};

bool MakeJob(const JobHeader& job, const char* input) {
  constexpr uint64_t kSkew = 3;  // a payload has any address
  const bool forward = static_cast<CallKind>(job.kind) == CallKind::kForward;
  const uint64_t skew = forward ? 0 : kSkew;
  const szarena_problem problem = job.problem;
  const uint64_t scratch_bytes = workspace_function(&problem);
  if (!WorkspaceAllowed("szarena_cuda_workspace_bytes", scratch_bytes, problem)) return false;
  const Exact in(job.input_size == 0 ? 0 : job.input_size + skew);
  const Exact out(job.output_size);
  const Exact scratch(scratch_bytes);
  const Exact record(forward ? sizeof(szarena_payload) : 0);
  if ((job.input_size > 0 && in.at == 0) || (job.output_size > 0 && out.at == 0) ||
      (scratch_bytes > 0 && scratch.at == 0) || (forward && record.at == 0)) {
    return false;
  }
  if (job.input_size > 0 && !Ok(api.MemcpyHtoD(in.at + skew, input, job.input_size, stream),
                                "copying the input to the device")) {
    return false;
  }
  const auto as_stream = reinterpret_cast<szarena_stream>(stream);
  const void* from = Pointer(in.at == 0 ? 0 : in.at + skew);
  const int code =
      forward ? forward_function(&problem, from, Pointer(out.at), job.output_size,
                                 Pointer(scratch.at), scratch_bytes,
                                 static_cast<szarena_payload*>(Pointer(record.at)), as_stream)
              : backward_function(&problem, from, job.input_size, Pointer(out.at),
                                  Pointer(scratch.at), scratch_bytes, as_stream);
  if (!Ok(api.StreamSynchronize(stream), "the call") || !Ok(api.CtxSynchronize(), "after the call"))
    return false;
  return code == SZARENA_OK || Refuse("the call returned %d", code);
}

int Check() {
  static Control page;
  control = &page;
  FILE* file = fopen(cuda::kJobsPath, "rb");
  JobsHeader header = {};
  if (file == nullptr || fread(&header, sizeof header, 1, file) != 1) Die(cuda::kJobsPath);
  control->compressor = header.compressor;
  control->need_backward = header.need_backward;
  uint64_t made = 0;
  CUresult code = 0;
  const bool loaded = (OpenDevice(code) || Refuse("%s", api_message)) && LoadCandidate();
  for (uint64_t i = 0; loaded && i < header.count; ++i) {
    JobHeader job = {};
    if (fread(&job, sizeof job, 1, file) != 1) Die(cuda::kJobsPath);
    auto* input = static_cast<char*>(malloc(job.input_size + 1));
    if (input == nullptr || fread(input, 1, job.input_size, file) != job.input_size)
      Die(cuda::kJobsPath);
    const bool good = MakeJob(job, input);
    free(input);
    if (!good) {
      fprintf(stderr, "call %llu: ", static_cast<unsigned long long>(i));
      break;
    }
    ++made;
  }
  fclose(file);
  if (!loaded || made < header.count) {
    fprintf(stderr, "%s\n", control->message);
    return 1;
  }
  printf("%s\t%llu\n", cuda::kCheckedWord, static_cast<unsigned long long>(made));
  return 0;
}

// Device to device, bytes read plus bytes written; the best of some, as nothing else is meant to
// run.
double CopyGigabytesPerSecond() {
  constexpr uint64_t kBytes = 512ull << 20;
  CUdeviceptr from = 0;
  CUdeviceptr to = 0;
  CUevent begin = nullptr;
  CUevent end = nullptr;
  if (api.MemAlloc(&from, kBytes) != 0 || api.MemAlloc(&to, kBytes) != 0 ||
      api.EventCreate(&begin, 0) != 0 || api.EventCreate(&end, 0) != 0 ||
      api.MemsetD8(from, 1, kBytes, stream) != 0) {
    return 0;
  }
  float best = 0;
  for (int i = 0; i < 12; ++i) {
    float milliseconds = 0;
    if (api.EventRecord(begin, stream) != 0 || api.MemcpyDtoD(to, from, kBytes, stream) != 0 ||
        api.EventRecord(end, stream) != 0 || api.StreamSynchronize(stream) != 0 ||
        api.EventElapsedTime(&milliseconds, begin, end) != 0 || milliseconds <= 0) {
      return 0;
    }
    if (best == 0 || milliseconds < best) best = milliseconds;
  }
  api.MemFree(from);
  api.MemFree(to);
  return 2.0 * static_cast<double>(kBytes) / (static_cast<double>(best) * 1e6);
}

// What NVML tells of the device, right after work: "driver" and clocks; nothing where it is
// missing.
void ProbeManagement() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto find = [&]<typename F>(F*& function, const char* name) {
    void* found = library == nullptr ? nullptr : dlsym(library, name);
    memcpy(&function, &found, sizeof found);
    return found != nullptr;
  };
  int (*init)() = nullptr;
  int (*version)(char*, unsigned) = nullptr;
  int (*handle_of)(const char*, void**) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*most)(void*, int, unsigned*) = nullptr;
  if (!find(init, "nvmlInit_v2") || !find(version, "nvmlSystemGetDriverVersion") ||
      !find(handle_of, "nvmlDeviceGetHandleByPciBusId_v2") ||
      !find(clock, "nvmlDeviceGetClockInfo") || !find(most, "nvmlDeviceGetMaxClockInfo") ||
      init() != 0)
    return;
  char text[96] = "";
  if (version(text, sizeof text) == 0) printf("driver\t%s\n", text);
  char bus[32] = "";
  void* handle = nullptr;
  constexpr int kSm = 1;
  constexpr int kMemory = 2;
  unsigned now[2] = {};
  unsigned at_most[2] = {};
  if (api.DeviceGetPciBusId(bus, sizeof bus, device) == 0 && handle_of(bus, &handle) == 0 &&
      clock(handle, kSm, &now[0]) == 0 && clock(handle, kMemory, &now[1]) == 0 &&
      most(handle, kSm, &at_most[0]) == 0 && most(handle, kMemory, &at_most[1]) == 0) {
    printf("clocks\tSM %u of %u MHz, memory %u of %u MHz\n", now[0], at_most[0], now[1],
           at_most[1]);
  }
}

// One "key<TAB>value" per line, for target/cuda/device.cpp.
int Probe() {
  CUresult code = 0;
  if (!OpenDevice(code)) {
    printf("missing\t%s\n", api_message);
    return 0;
  }
  char name[128] = "";
  int major = 0;
  int minor = 0;
  int version = 0;
  api.DeviceGetName(name, sizeof name, device);
  api.DeviceGetAttribute(&major, cuda::kAttributeComputeMajor, device);
  api.DeviceGetAttribute(&minor, cuda::kAttributeComputeMinor, device);
  api.DriverGetVersion(&version);
  printf("name\t%s\nmajor\t%d\nminor\t%d\ncuda\t%d.%d\ncopy_gbs\t%.6g\n", name, major, minor,
         version / 1000, version % 1000 / 10, CopyGigabytesPerSecond());
  ProbeManagement();
  return 0;
}

// Whether the library at `path` is a CUPTI that can be used here.
int ProbeTracer(const char* path) {
  cuda::CuptiApi cupti;
  char why[400];
  if (cupti.Open(path, why, sizeof why)) {
    printf("tracer\t%u\n", cupti.version);
  } else {
    printf("missing\t%s\n", why);
  }
  return 0;
}

}  // namespace
}  // namespace szarena::target::driver

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--keep") == 0)
    return szarena::target::driver::Serve(szarena::target::driver::keeper::Run);
  if (argc == 2 && strcmp(argv[1], "--probe") == 0) return szarena::target::driver::Probe();
  if (argc == 3 && strcmp(argv[1], "--probe-tracer") == 0)
    return szarena::target::driver::ProbeTracer(argv[2]);
  if (argc == 2 && strcmp(argv[1], "--check") == 0) return szarena::target::driver::Check();
  return szarena::target::driver::Serve(szarena::target::driver::Run);
}
