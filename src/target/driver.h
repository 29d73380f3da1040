// SPDX-License-Identifier: Apache-2.0
// What driver programs have in common: the control page, the doorbell, the filter, notes about
// crashes, and shared memory mapped slot by slot. Included by a driver's only source file; links
// nothing of ours.
#pragma once

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

namespace szarena::target::driver {

inline Control* control = nullptr;

struct Region {
  char* base = nullptr;  // address of offset 0
  size_t size = 0;
  // The spans of it that are mapped.
  uint32_t spans = 0;
  uint64_t offsets[kMaxSlots] = {};
  uint64_t sizes[kMaxSlots] = {};
};
inline Region input_region;
inline Region output_region;

inline size_t Page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

[[gnu::format(printf, 1, 2)]] inline bool Refuse(const char* format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(control->message, sizeof control->message, format, args);
  va_end(args);
  return false;
}

[[noreturn]] inline void Die(const char* what) {
  fprintf(stderr, "driver: %s: %s\n", what, strerror(errno));  // NOLINT(concurrency-mt-unsafe)
  _exit(120);
}

// Leaves a note about where it crashed, then crashes as it would have done.
inline void OnFault(int number, siginfo_t* info, void*) {
  control->fault_signal = static_cast<uint32_t>(number);
  control->fault_address = reinterpret_cast<uint64_t>(info->si_addr);
  signal(number, SIG_DFL);
  if (number == SIGABRT || info->si_code <= 0) raise(number);
}

inline void CatchFaults() {
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

inline void InstallFilter() {
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
inline bool Symbol(void* library, const char* name, F& function) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) return Refuse("the library does not export '%s'", name);
  static_assert(sizeof symbol == sizeof function);
  memcpy(&function, &symbol, sizeof symbol);
  return true;
}

inline void Unmap(Region& region) {
  if (region.base != nullptr) munmap(region.base - Page(), region.size + 2 * Page());
  region = {};
}

// Reserves addresses for the whole memory and a page on both sides; nothing is accessible yet.
inline bool Reserve(int fd, Region& region) {
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
inline bool Expose(int fd, const Region& region, uint64_t offset, uint64_t size, int protection,
                   size_t around) {
  const size_t page = Page();
  const size_t begin = offset / page * page - around * page;
  const size_t end = (offset + size + page - 1) / page * page + around * page;
  if (begin >= end) return true;  // no byte at all
  if (end > region.size) return Refuse("a slot lies outside shared memory");
  void* got = mmap(region.base + begin, end - begin, protection,
                   MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, static_cast<off_t>(begin));
  return got != MAP_FAILED || Refuse("cannot map shared memory");
}

// Of a slot of the control page, the part that lies in this region.
inline uint64_t SpanOffset(const Region& region, const Slot& slot) {
  return &region == &input_region ? slot.input_offset : slot.output_offset;
}
inline uint64_t SpanSize(const Region& region, const Slot& slot) {
  return &region == &input_region ? slot.input_size : slot.output_size;
}

// Whether the region maps the slots of the control page already, perhaps with more behind them.
inline bool Shows(const Region& region) {
  if (region.base == nullptr || region.spans < control->slot_count) return false;
  for (uint32_t i = 0; i < control->slot_count; ++i) {
    const Slot& slot = control->slots[i];
    if (region.offsets[i] != SpanOffset(region, slot) || region.sizes[i] != SpanSize(region, slot))
      return false;
  }
  return true;
}

inline bool Show(int fd, Region& region, int protection, size_t around) {
  if (Shows(region)) return true;
  if (!Reserve(fd, region)) return false;
  for (uint32_t i = 0; i < control->slot_count; ++i) {
    const Slot& slot = control->slots[i];
    region.offsets[i] = SpanOffset(region, slot);
    region.sizes[i] = SpanSize(region, slot);
    if (!Expose(fd, region, region.offsets[i], region.sizes[i], protection, around)) return false;
  }
  region.spans = control->slot_count;
  return true;
}

// Maps the slots of the control page: inputs read-only, outputs with a guard page on both sides. A
// region whose slots lie as before stays as it is.
inline bool ExposeSlots() {
  if (!Show(kInputFd, input_region, PROT_READ, 0) ||
      !Show(kOutputFd, output_region, PROT_READ | PROT_WRITE, 1))
    return false;
  control->input_base = reinterpret_cast<uint64_t>(input_region.base);
  control->output_base = reinterpret_cast<uint64_t>(output_region.base);
  return true;
}

// A workspace of this many bytes is no mistake: 64 MiB and 16 times the data.
inline bool WorkspaceAllowed(const char* function, uint64_t wanted,
                             const szarena_problem& problem) {
  if (wanted == UINT64_MAX) return Refuse("%s says that the problem is not supported", function);
  const uint64_t limit = (64ull << 20) + 16 * (problem.n * 8 + 4096);
  if (wanted <= limit) return true;
  return Refuse("%s asks for %llu bytes, the limit is %llu", function,
                static_cast<unsigned long long>(wanted), static_cast<unsigned long long>(limit));
}

// Answers commands until the judge hangs up. `run` executes one and says whether it succeeded.
inline int Serve(bool (*run)(Command)) {
  void* page = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, kControlFd, 0);
  if (page == MAP_FAILED) Die("control page");
  control = static_cast<Control*>(page);
  InstallFilter();
  CatchFaults();
  char byte = 1;
  if (write(kDoorbellFd, &byte, 1) != 1)
    Die("doorbell");  // the kernel tells the judge our process id
  for (;;) {
    const ssize_t got = read(kDoorbellFd, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got != 1) return 0;
    control->command_ok = run(static_cast<Command>(control->command)) ? 1 : 0;
    if (write(kDoorbellFd, &byte, 1) != 1) return 0;
  }
}

}  // namespace szarena::target::driver
