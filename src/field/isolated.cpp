// SPDX-License-Identifier: Apache-2.0
#include "field/isolated.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <system_error>

#include "field/library_lock.h"

namespace szarena::field {
namespace {

constexpr size_t kReportBytes = 16384;  // the data follow, aligned for any element

// What the child says of its result, at the start of the memory that both see.
struct Report {
  uint8_t ok;
  DType dtype;
  ErrorCode code;
  uint32_t rank;
  uint64_t dims[3];
  uint32_t missing_count;
  double missing[64];
  uint32_t message_bytes;
  char message[8192];
};
static_assert(sizeof(Report) <= kReportBytes);

bool WriteAt(int fd, const void* data, size_t size, size_t offset) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t done = pwrite(fd, from, size, static_cast<off_t>(offset));
    if (done <= 0) return false;
    from += done;
    offset += static_cast<size_t>(done);
    size -= static_cast<size_t>(done);
  }
  return true;
}

// The child's whole life; gives its exit status.
int Child(int fd, unsigned cpu_seconds, const std::function<Result<Field>()>& read) {
  rlimit cpu{cpu_seconds, cpu_seconds + 1};
  setrlimit(RLIMIT_CPU, &cpu);
  rlimit core{0, 0};
  setrlimit(RLIMIT_CORE, &core);
  for (int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGXCPU}) std::signal(signal, SIG_DFL);
  Result<Field> result = read();
  Report report{};
  if (result) {
    report.ok = 1;
    report.dtype = result->dtype();
    report.rank = static_cast<uint32_t>(result->dims().size());
    std::ranges::copy(result->dims(), report.dims);
    report.missing_count =
        static_cast<uint32_t>(std::min<size_t>(result->missing_values().size(), 64));
    std::copy_n(result->missing_values().begin(), report.missing_count, report.missing);
    if (!WriteAt(fd, result->bytes().data(), result->size_bytes(), kReportBytes)) return 1;
  } else {
    report.code = result.error().code;
    report.message_bytes =
        static_cast<uint32_t>(std::min(result.error().message.size(), sizeof report.message));
    std::memcpy(report.message, result.error().message.data(), report.message_bytes);
  }
  return WriteAt(fd, &report, sizeof report, 0) ? 0 : 1;
}

Result<Field> Collect(int fd, const std::string& path) {
  Report report{};
  if (pread(fd, &report, sizeof report, 0) != static_cast<ssize_t>(sizeof report)) {
    return Fail(ErrorCode::kInternal, fmt::format("the reader of '{}' left no result", path));
  }
  if (!report.ok) return Fail(report.code, std::string(report.message, report.message_bytes));
  SZARENA_TRY(Pages pages, Pages::MapFile(fmt::format("/proc/self/fd/{}", fd)));
  SZARENA_TRY(Field field, Field::Adopt(std::move(pages), kReportBytes, report.dtype,
                                        Dims(report.dims, report.dims + report.rank)));
  field.set_missing_values({report.missing, report.missing + report.missing_count});
  return field;
}

}  // namespace

Result<Field> ReadIsolated(const std::string& path, unsigned cpu_seconds,
                           const std::function<Result<Field>()>& read) {
  std::lock_guard guard(LibraryLock());
  int fd = memfd_create("szarena-field", MFD_CLOEXEC);
  if (fd < 0) return Fail(ErrorCode::kIo, fmt::format("cannot read '{}': no memory file", path));
  if (ftruncate(fd, kReportBytes) != 0) {
    close(fd);
    return Fail(ErrorCode::kIo, fmt::format("cannot read '{}': no memory file", path));
  }
  pid_t child = fork();
  if (child == 0) _exit(Child(fd, cpu_seconds, read));
  if (child < 0) {
    auto error = Fail(ErrorCode::kIo, fmt::format("cannot start a reader of '{}': {}", path,
                                                  std::generic_category().message(errno)));
    close(fd);
    return error;
  }
  int status = 0;
  pid_t waited;
  do {
    waited = waitpid(child, &status, 0);
  } while (waited < 0 && errno == EINTR);
  Result<Field> result = tl::unexpected(Error{});
  if (waited == child && WIFSIGNALED(status)) {
    result = Fail(ErrorCode::kCorrupt,
                  fmt::format("'{}' is malformed: its library died of signal {} ({}) while reading",
                              path, WTERMSIG(status), strsignal(WTERMSIG(status))));
  } else if (waited == child && WEXITSTATUS(status) != 0) {
    result = Fail(ErrorCode::kCapacity, fmt::format("cannot read '{}': out of memory", path));
  } else {
    result = Collect(fd, path);
  }
  close(fd);
  return result;
}

}  // namespace szarena::field
