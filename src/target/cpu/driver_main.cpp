// SPDX-License-Identifier: Apache-2.0
// Driver of a CPU candidate: loads its library inside the sandbox and makes the calls that the judge asks for. From the
// moment the library is loaded nothing here is trusted; the judge relies on what it sees from outside (docs/judge.md).
#include "target/driver.h"

namespace szarena::target::driver {
namespace {

using WorkspaceFunction = uint64_t (*)(const szarena_problem*);
using ForwardFunction = int (*)(const szarena_problem*, const void*, void*, uint64_t, void*, uint64_t,
                                szarena_payload*);
using BackwardFunction = int (*)(const szarena_problem*, const void*, uint64_t, void*, void*, uint64_t);

WorkspaceFunction workspace_function = nullptr;
ForwardFunction forward_function = nullptr;
BackwardFunction backward_function = nullptr;

char* workspace = nullptr;
uint64_t workspace_size = 0;

bool Load() {
  void* library = dlopen(kLibraryPath, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Refuse("%s", dlerror());  // NOLINT(concurrency-mt-unsafe)
  const bool compressor = control->compressor != 0;
  if (!Symbol(library, "szarena_workspace_bytes", workspace_function)) return false;
  if (!Symbol(library, compressor ? "szarena_compress" : "szarena_run", forward_function)) return false;
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
  if (got == MAP_FAILED) return Refuse("cannot allocate a workspace of %llu bytes",
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
    case Command::kUpload:
    case Command::kFetch:
      break;  // of devices only
  }
  return Refuse("unknown command");
}

}  // namespace
}  // namespace szarena::target::driver

int main() { return szarena::target::driver::Serve(szarena::target::driver::Run); }
