// SPDX-License-Identifier: Apache-2.0
// Driver of a CPU candidate: loads its library inside the sandbox and makes the calls that the judge asks for. From the
// moment the library is loaded nothing here is trusted; the judge relies on what it sees from outside (docs/judge.md).
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "target/protocol.h"

namespace szarena::target {
namespace {

Control* control = nullptr;

using WorkspaceFunction = uint64_t (*)(const szarena_problem*);
using ForwardFunction = int (*)(const szarena_problem*, const void*, void*, uint64_t, void*, uint64_t,
                                szarena_payload*);
using BackwardFunction = int (*)(const szarena_problem*, const void*, uint64_t, void*, void*, uint64_t);

WorkspaceFunction workspace_function = nullptr;
ForwardFunction forward_function = nullptr;
BackwardFunction backward_function = nullptr;

struct Region {
  char* base = nullptr;  // address of offset 0
  size_t size = 0;
};
Region input_region;
Region output_region;
char* workspace = nullptr;
uint64_t workspace_size = 0;

size_t Page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

[[gnu::format(printf, 1, 2)]] bool Refuse(const char* format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(control->message, sizeof control->message, format, args);
  va_end(args);
  return false;
}

[[noreturn]] void Die(const char* what) {
  fprintf(stderr, "driver: %s: %s\n", what, strerror(errno));  // NOLINT(concurrency-mt-unsafe)
  _exit(120);
}

// Leaves a note about where it crashed, then crashes as it would have done.
void OnFault(int number, siginfo_t* info, void*) {
  control->fault_signal = static_cast<uint32_t>(number);
  control->fault_address = reinterpret_cast<uint64_t>(info->si_addr);
  signal(number, SIG_DFL);
  if (number == SIGABRT || info->si_code <= 0) raise(number);
}

void CatchFaults() {
  static char stack[64 * 1024];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(number, &action, nullptr);
}

void InstallFilter() {
  struct stat info;
  if (fstat(kFilterFd, &info) < 0) Die("filter");
  const auto size = static_cast<size_t>(info.st_size);
  void* code = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, kFilterFd, 0);
  if (code == MAP_FAILED) Die("filter");
  const sock_fprog program = {static_cast<unsigned short>(size / sizeof(sock_filter)),
                              static_cast<sock_filter*>(code)};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) Die("no new privileges");
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) Die("filter");
  munmap(code, size);
  close(kFilterFd);
}

template <typename F>
bool Symbol(void* library, const char* name, F& function) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) return Refuse("the library does not export '%s'", name);
  static_assert(sizeof symbol == sizeof function);
  memcpy(&function, &symbol, sizeof symbol);
  return true;
}

bool Load() {
  void* library = dlopen(kLibraryPath, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Refuse("%s", dlerror());  // NOLINT(concurrency-mt-unsafe)
  const bool compressor = control->compressor != 0;
  if (!Symbol(library, "szarena_workspace_bytes", workspace_function)) return false;
  if (!Symbol(library, compressor ? "szarena_compress" : "szarena_run", forward_function)) return false;
  if (control->need_backward == 0) return true;
  return Symbol(library, compressor ? "szarena_decompress" : "szarena_inverse", backward_function);
}

void Unmap(Region& region) {
  if (region.base != nullptr) munmap(region.base - Page(), region.size + 2 * Page());
  region = {};
}

// Reserves addresses for the whole memory and a page on both sides; nothing is accessible yet.
bool Reserve(int fd, Region& region) {
  Unmap(region);
  struct stat info;
  if (fstat(fd, &info) < 0) return Refuse("cannot inspect shared memory");
  region.size = static_cast<size_t>(info.st_size);
  void* base = mmap(nullptr, region.size + 2 * Page(), PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    region = {};
    return Refuse("cannot reserve %zu bytes of addresses", region.size);
  }
  region.base = static_cast<char*>(base) + Page();
  return true;
}

// Makes the pages that hold [offset, offset + size), and `around` pages on both sides, accessible.
bool Expose(int fd, const Region& region, uint64_t offset, uint64_t size, int protection,
            size_t around) {
  const size_t page = Page();
  const size_t begin = offset / page * page - around * page;
  const size_t end = (offset + size + page - 1) / page * page + around * page;
  if (begin >= end) return true;  // no byte at all
  if (end > region.size) return Refuse("a slot lies outside shared memory");
  void* got = mmap(region.base + begin, end - begin, protection, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
                   static_cast<off_t>(begin));
  return got != MAP_FAILED || Refuse("cannot map shared memory");
}

bool Prepare() {
  if (!Reserve(kInputFd, input_region) || !Reserve(kOutputFd, output_region)) return false;
  control->input_base = reinterpret_cast<uint64_t>(input_region.base);
  control->output_base = reinterpret_cast<uint64_t>(output_region.base);
  for (uint32_t i = 0; i < control->slot_count; ++i) {
    const Slot& slot = control->slots[i];
    if (!Expose(kInputFd, input_region, slot.input_offset, slot.input_size, PROT_READ, 0) ||
        !Expose(kOutputFd, output_region, slot.output_offset, slot.output_size,
                PROT_READ | PROT_WRITE, 1)) {
      return false;
    }
  }
  const szarena_problem problem = control->problem;
  const uint64_t wanted = workspace_function(&problem);
  control->workspace_bytes = wanted;
  if (wanted == UINT64_MAX) return Refuse("szarena_workspace_bytes says that the problem is not supported");
  const uint64_t limit = (64ull << 20) + 16 * (problem.n * 8 + 4096);
  if (wanted > limit) {
    return Refuse("szarena_workspace_bytes asks for %llu bytes, the limit is %llu",
                  static_cast<unsigned long long>(wanted), static_cast<unsigned long long>(limit));
  }
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

int Serve() {
  void* page = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, kControlFd, 0);
  if (page == MAP_FAILED) Die("control page");
  control = static_cast<Control*>(page);
  InstallFilter();
  CatchFaults();
  char byte = 1;
  if (write(kDoorbellFd, &byte, 1) != 1) Die("doorbell");  // the kernel tells the judge our process id
  for (;;) {
    const ssize_t got = read(kDoorbellFd, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got != 1) return 0;
    bool ok = false;
    switch (static_cast<Command>(control->command)) {
      case Command::kLoad:
        ok = Load();
        break;
      case Command::kPrepare:
        ok = Prepare();
        break;
      case Command::kCall:
        ok = Call();
        break;
    }
    control->command_ok = ok ? 1 : 0;
    if (write(kDoorbellFd, &byte, 1) != 1) return 0;
  }
}

}  // namespace
}  // namespace szarena::target

int main() { return szarena::target::Serve(); }
