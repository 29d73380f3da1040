// SPDX-License-Identifier: Apache-2.0
// Driver of a CUDA candidate: mirrors the judge's shared memory on the device and makes the calls
// on a stream of its own. From the moment the library is loaded nothing here is trusted: what the
// device's events say is a claim that the judge holds against its own clock
// (docs/contracts/cuda.md). `driver --probe` loads no candidate: it prints what the device is and
// how fast it copies. `driver --probe-tracer` says whether a CUPTI can be used. `driver --check`
// makes the calls of a file, for tools that watch a program. Started with a trace page, it has
// CUPTI tell what runs during the calls.
#include "target/cuda/driver_api.h"

#include "target/cuda/check_jobs.h"
#include "target/cuda/tracer.h"

#include "szarena_candidate_cuda.h"
#include "target/driver.h"

namespace szarena::target::driver {
namespace {

using cuda::CUcontext;
using cuda::CUdevice;
using cuda::CUdeviceptr;
using cuda::CUevent;
using cuda::CUresult;
using cuda::CUstream;
using cuda::JobHeader;
using cuda::JobsHeader;

// Both sides of an output on the device; at most a page, which is what shared memory has around it.
constexpr uint64_t kGuard = 4096;
constexpr uint64_t kAlignment = 256;
// Less data than this is copied sooner than its pages are locked.
constexpr uint64_t kWorthPinning = 64ull << 20;

cuda::DriverApi api;
CUdevice device = 0;
CUstream stream = nullptr;
char api_message[512];
bool api_ready = false;

decltype(&szarena_cuda_workspace_bytes) workspace_function = nullptr;
decltype(&szarena_cuda_compress) forward_function = nullptr;
decltype(&szarena_cuda_decompress) backward_function = nullptr;

// Device memory that grows as needed.
struct Buffer {
  CUdeviceptr at = 0;
  uint64_t size = 0;
};

// Where a slot's data lie on the device.
struct DeviceSlot {
  CUdeviceptr input = 0;
  CUdeviceptr output = 0;
  CUdeviceptr payload = 0;  // a szarena_payload
  CUevent begin = nullptr;
  CUevent end = nullptr;
};

Buffer input_memory;
Buffer output_memory;
Buffer workspace;
Buffer payload_memory;
Buffer mark_memory;
// Host memory for what is compared piece by piece.
constexpr uint64_t kPieceBytes = 16ull << 20;
char* piece = nullptr;
DeviceSlot device_slots[kMaxSlots];
// Page-locked parts of a region.
struct Pinned {
  void* at[kMaxSlots] = {};
  uint32_t count = 0;
  bool complete = false;  // every slot of the region
};
Pinned pinned_input;
Pinned pinned_output;

bool Ok(CUresult code, const char* what) {
  return code == 0 || Refuse("%s: %s", what, api.Name(code));
}

bool OpenDevice(CUresult& code) {
  if (!api.Open(api_message, sizeof api_message)) return false;
  int count = 0;
  CUcontext context = nullptr;
  const char* what = "cuInit";
  code = api.Init(0);
  if (code == 0) what = "cuDeviceGetCount", code = api.DeviceGetCount(&count);
  if (code == 0 && count == 0) {
    snprintf(api_message, sizeof api_message, "no CUDA device");
    return false;
  }
  if (code == 0) what = "cuDeviceGet", code = api.DeviceGet(&device, 0);
  if (code == 0)
    what = "cuDevicePrimaryCtxRetain", code = api.DevicePrimaryCtxRetain(&context, device);
  if (code == 0) what = "cuCtxSetCurrent", code = api.CtxSetCurrent(context);
  if (code == 0)
    what = "cuStreamCreate", code = api.StreamCreate(&stream, cuda::kStreamNonBlocking);
  if (code != 0)
    snprintf(api_message, sizeof api_message, "no CUDA device: %s: %s", what, api.Name(code));
  return code == 0;
}

bool Grow(Buffer& buffer, uint64_t size, const char* what) {
  if (buffer.size >= size) return true;
  if (buffer.at != 0 && !Ok(api.MemFree(buffer.at), "cuMemFree")) return false;
  buffer = {};
  const CUresult code = api.MemAlloc(&buffer.at, size);
  if (code != 0) {
    buffer = {};
    return Refuse("cannot allocate %llu bytes of device memory for %s: %s",
                  static_cast<unsigned long long>(size), what, api.Name(code));
  }
  buffer.size = size;
  return true;
}

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

bool Load() {
  CUresult code = 0;
  if (!api_ready && !StartTracer()) return false;
  if (!api_ready && !OpenDevice(code)) return Refuse("%s", api_message);
  api_ready = true;
  if (cuda::tracer.started() && !Grow(mark_memory, kAlignment, "marks")) return false;
  if (piece == nullptr) {
    void* got = mmap(nullptr, kPieceBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (got == MAP_FAILED) return Refuse("out of memory");
    piece = static_cast<char*>(got);
    api.MemHostRegister(piece, kPieceBytes, 0);  // where that is not allowed, copies are slower
  }
  for (DeviceSlot& slot : device_slots) {
    if (!Ok(api.EventCreate(&slot.begin, 0), "cuEventCreate") ||
        !Ok(api.EventCreate(&slot.end, 0), "cuEventCreate"))
      return false;
  }
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

uint64_t Aligned(uint64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

// Inputs of a call backward keep the odd address that they have in shared memory, everything else
// is aligned.
uint64_t InputSkew(const Slot& slot) {
  return static_cast<CallKind>(control->kind) == CallKind::kBackward
             ? slot.input_offset % kAlignment
             : 0;
}

bool PlaceSlots() {
  uint64_t inputs = 0;
  uint64_t outputs = 0;
  for (uint32_t i = 0; i < control->slot_count; ++i) {
    inputs += Aligned(control->slots[i].input_size) + 2 * kAlignment;
    outputs += Aligned(control->slots[i].output_size) + 2 * kGuard;
  }
  if (!Grow(input_memory, inputs, "inputs") || !Grow(output_memory, outputs, "outputs") ||
      !Grow(payload_memory, kMaxSlots * kAlignment, "payload records")) {
    return false;
  }
  CUdeviceptr input = input_memory.at;
  CUdeviceptr output = output_memory.at;
  for (uint32_t i = 0; i < control->slot_count; ++i) {
    const Slot& slot = control->slots[i];
    device_slots[i].input = input;
    device_slots[i].output = output + kGuard;
    device_slots[i].payload = payload_memory.at + i * kAlignment;
    input += Aligned(slot.input_size) + 2 * kAlignment;
    output += Aligned(slot.output_size) + 2 * kGuard;
  }
  return true;
}

void Unpin(Pinned& pinned) {
  for (uint32_t i = 0; i < pinned.count; ++i) api.MemHostUnregister(pinned.at[i]);
  pinned = {};
}

// Page-locks the slots' part of a region, once for all calls whose slots lie the same. Not every
// system allows it: then transfers are slower.
void Pin(const Region& region, Pinned& pinned, unsigned flags) {
  if (pinned.complete) return;
  Unpin(pinned);
  const auto page = static_cast<uintptr_t>(Page());
  for (uint32_t i = 0; i < control->slot_count; ++i) {
    const Slot& slot = control->slots[i];
    const auto begin = reinterpret_cast<uintptr_t>(region.base + SpanOffset(region, slot));
    const uintptr_t from = begin / page * page;
    const uintptr_t to = (begin + SpanSize(region, slot) + page - 1) / page * page;
    if (from == to) continue;
    if (api.MemHostRegister(reinterpret_cast<void*>(from), to - from, flags) != 0) return;
    pinned.at[pinned.count++] = reinterpret_cast<void*>(from);
  }
  pinned.complete = true;
}

bool Prepare() {
  if (!Shows(input_region)) Unpin(pinned_input);
  if (!Shows(output_region)) Unpin(pinned_output);
  if (!ExposeSlots() || !PlaceSlots()) return false;
  const szarena_problem problem = control->problem;
  const uint64_t wanted = workspace_function(&problem);
  control->workspace_bytes = wanted;
  if (!WorkspaceAllowed("szarena_cuda_workspace_bytes", wanted, problem)) return false;
  if (!Grow(workspace, Aligned(wanted) + kAlignment, "the workspace")) return false;
  return Ok(api.MemsetD8(workspace.at, 0xa5, workspace.size, stream), "cuMemsetD8Async") &&
         Ok(api.StreamSynchronize(stream), "clearing the workspace");
}

char* InputOf(const Slot& slot) { return input_region.base + slot.input_offset; }
char* OutputOf(const Slot& slot) { return output_region.base + slot.output_offset; }

bool CopyIn(const Slot& slot, const DeviceSlot& on_device) {
  if (slot.input_size == 0) return true;
  return Ok(
      api.MemcpyHtoD(on_device.input + InputSkew(slot), InputOf(slot), slot.input_size, stream),
      "copying the input to the device");
}

bool Upload() {
  const bool transfers = control->with_transfers != 0;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < control->slot_count; ++i)
    bytes += control->slots[i].input_size + control->slots[i].output_size;
  if (transfers || bytes >= kWorthPinning) {
    Pin(input_region, pinned_input, cuda::kHostRegisterReadOnly);
    Pin(output_region, pinned_output, 0);
  }
  control->pinned = pinned_input.complete && pinned_output.complete ? 1 : 0;
  for (uint32_t i = 0; i < control->slot_count; ++i) {
    const Slot& slot = control->slots[i];
    const DeviceSlot& here = device_slots[i];
    const uint64_t size = slot.output_size + 2 * kGuard;
    if (transfers) {
      // The call itself copies the input. Only what it gives is looked at: one byte of the poison
      // everywhere is as good as all of it, and costs no copy.
      if (!Ok(api.MemsetD8(here.output - kGuard,
                           static_cast<unsigned char>(*(OutputOf(slot) - kGuard)), size, stream),
              "poisoning the output")) {
        return false;
      }
    } else if (!CopyIn(slot, here) ||
               !Ok(api.MemcpyHtoD(here.output - kGuard, OutputOf(slot) - kGuard, size, stream),
                   "copying the poison to the device")) {
      return false;
    }
  }
  return Ok(api.CtxSynchronize(), "copying to the device");
}

void* Pointer(CUdeviceptr at) { return reinterpret_cast<void*>(static_cast<uintptr_t>(at)); }

bool CopyOut(Slot& slot, const DeviceSlot& on_device, bool forward) {
  uint64_t offset = 0;
  uint64_t size = slot.output_size;
  if (forward) {
    szarena_payload payload = {0, 0};
    if (!Ok(api.MemcpyDtoH(&payload, on_device.payload, sizeof payload, stream),
            "copying the payload's size") ||
        !Ok(api.StreamSynchronize(stream), "the call")) {
      return false;
    }
    slot.payload = payload;
    if (payload.offset > size || payload.size > size - payload.offset)
      return true;  // the judge says what is wrong
    offset = payload.offset;
    size = payload.size;
  }
  return size == 0 ||
         Ok(api.MemcpyDtoH(OutputOf(slot) + offset, on_device.output + offset, size, stream),
            "copying the output");
}

bool Call() {
  const szarena_problem problem = control->problem;
  const bool forward = static_cast<CallKind>(control->kind) == CallKind::kForward;
  const bool transfers = control->with_transfers != 0;
  const auto as_stream = reinterpret_cast<szarena_stream>(stream);
  uint64_t marks = 0;
  if (cuda::tracer.started()) cuda::tracer.Begin();
  for (uint32_t i = control->first_slot; i < control->slot_count; ++i) {
    Slot& slot = control->slots[i];
    const DeviceSlot& here = device_slots[i];
    if (!Mark(marks)) return false;
    void* output = Pointer(here.output);
    const void* input = Pointer(here.input + InputSkew(slot));
    if (transfers && !CopyIn(slot, here)) return false;
    if (!Ok(api.EventRecord(here.begin, stream), "cuEventRecord")) return false;
    if (forward) {
      slot.code = forward_function(&problem, input, output, slot.output_size, Pointer(workspace.at),
                                   control->workspace_bytes,
                                   static_cast<szarena_payload*>(Pointer(here.payload)), as_stream);
    } else {
      slot.code = backward_function(&problem, input, slot.input_size, output, Pointer(workspace.at),
                                    control->workspace_bytes, as_stream);
    }
    if (!Ok(api.EventRecord(here.end, stream), "the call")) return false;
    if (transfers && !CopyOut(slot, here, forward)) return false;
    slot.called = 1;
  }
  if (!Mark(marks)) return false;
  // Work that the candidate did not order before the end of the stream is waited for, too: it
  // counts in the judge's time.
  if (!Ok(api.StreamSynchronize(stream), "the call") || !Ok(api.CtxSynchronize(), "after the call"))
    return false;
  if (cuda::tracer.started()) cuda::tracer.End(marks);
  return true;
}

// Whether the input on the device is still what was put there.
bool CompareInput(const Slot& slot, const DeviceSlot& here) {
  for (uint64_t at = 0; at < slot.input_size; at += kPieceBytes) {
    const uint64_t size = slot.input_size - at < kPieceBytes ? slot.input_size - at : kPieceBytes;
    if (!Ok(api.MemcpyDtoH(piece, here.input + InputSkew(slot) + at, size, stream),
            "reading the input back") ||
        !Ok(api.StreamSynchronize(stream), "reading the input back")) {
      return false;
    }
    if (memcmp(piece, InputOf(slot) + at, size) != 0) control->input_changed = 1;
  }
  return true;
}

bool Fetch() {
  const bool forward = static_cast<CallKind>(control->kind) == CallKind::kForward;
  control->input_changed = 0;
  for (uint32_t i = 0; i < control->slot_count; ++i) {
    Slot& slot = control->slots[i];
    const DeviceSlot& here = device_slots[i];
    float milliseconds = 0;
    if (!Ok(api.EventElapsedTime(&milliseconds, here.begin, here.end), "cuEventElapsedTime"))
      return false;
    slot.device_seconds = static_cast<double>(milliseconds) * 1e-3;
    if (forward && !Ok(api.MemcpyDtoH(&slot.payload, here.payload, sizeof slot.payload, stream),
                       "copying the payload's size"))
      return false;
    if (!Ok(api.MemcpyDtoH(OutputOf(slot) - kGuard, here.output - kGuard,
                           slot.output_size + 2 * kGuard, stream),
            "copying the output")) {
      return false;
    }
    if (!CompareInput(slot, here)) return false;
  }
  return Ok(api.StreamSynchronize(stream), "copying the output");
}

bool Run(Command command) {
  switch (command) {
    case Command::kLoad:
      return Load();
    case Command::kPrepare:
      return Prepare();
    case Command::kUpload:
      return Upload();
    case Command::kCall:
      return Call();
    case Command::kFetch:
      return Fetch();
  }
  return Refuse("unknown command");
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
  const bool loaded = Load();
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
  if (argc == 2 && strcmp(argv[1], "--probe") == 0) return szarena::target::driver::Probe();
  if (argc == 3 && strcmp(argv[1], "--probe-tracer") == 0)
    return szarena::target::driver::ProbeTracer(argv[2]);
  if (argc == 2 && strcmp(argv[1], "--check") == 0) return szarena::target::driver::Check();
  return szarena::target::driver::Serve(szarena::target::driver::Run);
}
