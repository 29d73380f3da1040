// SPDX-License-Identifier: Apache-2.0
// Driver of a CPU candidate: loads its library inside the sandbox and makes the calls that the
// judge asks for. From the moment the library is loaded nothing here is trusted; the judge relies
// on what it sees from outside (docs/judge.md).
#include <link.h>
#include <sys/time.h>
#include <ucontext.h>

#include "target/driver.h"
#include "target/samples.h"

namespace szarena::target::driver {
namespace {

using WorkspaceFunction = uint64_t (*)(const szarena_problem*);
using ForwardFunction = int (*)(const szarena_problem*, const void*, void*, uint64_t, void*,
                                uint64_t, szarena_payload*);
using BackwardFunction = int (*)(const szarena_problem*, const void*, uint64_t, void*, void*,
                                 uint64_t);

WorkspaceFunction workspace_function = nullptr;
ForwardFunction forward_function = nullptr;
BackwardFunction backward_function = nullptr;

char* workspace = nullptr;
uint64_t workspace_size = 0;

SamplePage* samples = nullptr;

void OnSample(int, siginfo_t*, void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const auto address = static_cast<uint64_t>(machine.gregs[REG_RIP]);
#else
  const auto address = static_cast<uint64_t>(machine.pc);
#endif
  const uint32_t at = __atomic_fetch_add(&samples->count, 1, __ATOMIC_RELAXED);
  if (at < kMaxSamples) samples->addresses[at] = address;
}

// Where the judge gave a page for them, samples are taken from now on: of processor time, so that
// nothing ticks while the process is stopped.
void SampleFromNowOn() {
  struct stat info;
  if (fstat(kSamplesFd, &info) < 0 || info.st_size < static_cast<off_t>(sizeof(SamplePage))) return;
  void* page = mmap(nullptr, sizeof(SamplePage), PROT_READ | PROT_WRITE, MAP_SHARED, kSamplesFd, 0);
  if (page == MAP_FAILED) return;
  samples = static_cast<SamplePage*>(page);
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void*) {
        if (strcmp(object->dlpi_name, kLibraryPath) != 0) return 0;
        samples->library_begin = object->dlpi_addr;
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const uint64_t end =
              object->dlpi_addr + object->dlpi_phdr[i].p_vaddr + object->dlpi_phdr[i].p_memsz;
          if (object->dlpi_phdr[i].p_type == PT_LOAD && end > samples->library_end)
            samples->library_end = end;
        }
        return 1;
      },
      nullptr);
  struct sigaction action = {};
  action.sa_sigaction = OnSample;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  const itimerval every = {{0, kSampleMicroseconds}, {0, kSampleMicroseconds}};
  setitimer(ITIMER_PROF, &every, nullptr);
}

bool Load() {
  void* library = dlopen(kLibraryPath, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Refuse("%s", dlerror());  // NOLINT(concurrency-mt-unsafe)
  SampleFromNowOn();
  const bool compressor = control->compressor != 0;
  if (!Symbol(library, "szarena_workspace_bytes", workspace_function)) return false;
  if (!Symbol(library, compressor ? "szarena_compress" : "szarena_run", forward_function))
    return false;
  if (control->need_backward == 0) return true;
  return Symbol(library, compressor ? "szarena_decompress" : "szarena_inverse", backward_function);
}

bool Prepare() {
  if (!ExposeSlots()) return false;
  const szarena_problem problem = control->problem;
  const uint64_t wanted = workspace_function(&problem);
  control->workspace_bytes = wanted;
  if (!WorkspaceAllowed("szarena_workspace_bytes", wanted, problem)) return false;
  if (workspace != nullptr) munmap(workspace, workspace_size);
  workspace = nullptr;
  workspace_size = (wanted + Page() - 1) / Page() * Page() + Page();
  void* got = mmap(nullptr, workspace_size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (got == MAP_FAILED)
    return Refuse("cannot allocate a workspace of %llu bytes",
                  static_cast<unsigned long long>(wanted));
  workspace = static_cast<char*>(got);
  memset(workspace, 0xa5, workspace_size);  // arbitrary contents, as the contract says
  return true;
}

bool Call() {
  const szarena_problem problem = control->problem;
  for (uint32_t i = control->first_slot; i < control->slot_count; ++i) {
    Slot& slot = control->slots[i];
    const char* input = input_region.base + slot.input_offset;
    char* output = output_region.base + slot.output_offset;
    szarena_payload payload = {0, 0};
    int code = 0;
    if (static_cast<CallKind>(control->kind) == CallKind::kForward) {
      code = forward_function(&problem, input, output, slot.output_size, workspace,
                              control->workspace_bytes, &payload);
    } else {
      code = backward_function(&problem, input, slot.input_size, output, workspace,
                               control->workspace_bytes);
    }
    slot.payload = payload;
    slot.code = code;
    slot.called = 1;
  }
  return true;
}

bool Run(Command command) {
  switch (command) {
    case Command::kLoad:
      return Load();
    case Command::kPrepare:
      return Prepare();
    case Command::kCall:
      return Call();
    default:
      break;  // of devices only
  }
  return Refuse("unknown command");
}

}  // namespace
}  // namespace szarena::target::driver

int main() { return szarena::target::driver::Serve(szarena::target::driver::Run); }
