// SPDX-License-Identifier: Apache-2.0
#include "target/worker.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/check.h"
#include "os/errno.h"
#include "os/files.h"
#include "sandbox/seccomp.h"
#include "target/samples.h"

namespace szarena::target {
namespace {

using os::Clock;
using std::chrono::milliseconds;

size_t Pages(size_t bytes) { return (bytes + os::PageSize() - 1) / os::PageSize(); }
// A slot occupies at least one page, so that an empty one has an address of its own.
size_t SlotPages(size_t bytes) { return std::max<size_t>(1, Pages(bytes)); }

// The keeper moves data on a device that may be busy.
constexpr milliseconds kKeeperTimeout{60000};

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

// Calls f(text of /proc/<pid>/task/<tid>/<file>) for every thread until it returns false.
template <typename F>
void ForEachThread(pid_t pid, const char* file, F f) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/task";
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return;
  while (const dirent* entry = readdir(dir)) {  // NOLINT(concurrency-mt-unsafe)
    if (entry->d_name[0] == '.') continue;
    const std::string path = folder + "/" + entry->d_name + "/" + file;
    const os::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char text[1024];
    const ssize_t got = fd ? read(fd.get(), text, sizeof text) : -1;
    if (got > 0 && !f(std::string_view(text, static_cast<size_t>(got)))) break;
  }
  closedir(dir);
}

// From "tid (name) S ...": the name may hold anything, the state follows the last parenthesis.
char ThreadState(std::string_view stat) {
  const size_t at = stat.rfind(')');
  return at != std::string_view::npos && at + 2 < stat.size() ? stat[at + 2] : '?';
}

}  // namespace

size_t InputBytesFor(std::span<const SlotSizes> slots) {
  size_t pages = 1;
  for (const SlotSizes& slot : slots) pages += SlotPages(slot.input) + 1;
  return pages * os::PageSize();
}

size_t OutputBytesFor(std::span<const SlotSizes> slots) {
  size_t pages = 1;
  for (const SlotSizes& slot : slots) pages += SlotPages(slot.output) + 3;
  return pages * os::PageSize();
}

namespace {

// Two descriptors of device memory from the keeper.
Result<void> Receive(int socket, os::UniqueFd (&memory)[2]) {
  char byte = 0;
  iovec part = {&byte, 1};
  int got[2] = {-1, -1};
  alignas(cmsghdr) char buffer[CMSG_SPACE(sizeof got)];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = buffer;
  message.msg_controllen = sizeof buffer;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
    return os::FailErrno("the keeper hands no device memory over");
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof got))
    return Fail(ErrorCode::kInternal, "the keeper hands something else over than device memory");
  std::memcpy(got, CMSG_DATA(header), sizeof got);
  memory[0] = os::UniqueFd(got[0]);
  memory[1] = os::UniqueFd(got[1]);
  return {};
}

}  // namespace

Result<Worker> Worker::Launch(const sandbox::Sandbox& sandbox, const WorkerSpec& spec, bool keeper,
                              std::span<const std::pair<int, int>> fds) {
  Worker worker;
  worker.stops_ = !keeper;
  SZARENA_TRY(worker.control_,
              os::SharedMemory::Create("control", sizeof(Control), os::Sharing::kWritable));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    return os::FailErrno("cannot make a socket pair");
  worker.doorbell_ = os::UniqueFd(ends[0]);
  const os::UniqueFd theirs(ends[1]);
  const int on = 1;
  if (setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0) {
    return os::FailErrno("cannot ask for credentials");
  }
  SZARENA_TRY(
      const os::UniqueFd filter,
      sandbox::MakeFilter(/*allow_fork=*/false, spec.device != nullptr ? sandbox::Sockets::kLocal
                                                                       : sandbox::Sockets::kNone));
  SZARENA_TRY(const os::UniqueFd driver, os::MemoryFile("driver", spec.driver));
  SZARENA_TRY(const os::UniqueFd library, os::MemoryFile("library", spec.library));

  sandbox::Command command;
  command.argv = {kDriverPath};
  command.env = {{"OMP_NUM_THREADS", std::to_string(spec.threads)},
                 {"OMP_WAIT_POLICY", "passive"},
                 {"OMP_DYNAMIC", "false"}};
  command.files = {{driver.get(), kDriverPath, 0555}};
  if (keeper) {
    command.argv.emplace_back("--keep");
  } else {
    command.files.push_back({library.get(), kLibraryPath, 0555});
  }
  command.fds = {
      {theirs.get(), kDoorbellFd}, {worker.control_.fd(), kControlFd}, {filter.get(), kFilterFd}};
  command.fds.insert(command.fds.end(), fds.begin(), fds.end());
  if (spec.take_samples) {
    SZARENA_TRY(worker.samples_,
                os::SharedMemory::Create("samples", sizeof(SamplePage), os::Sharing::kWritable));
    command.fds.emplace_back(worker.samples_.fd(), kSamplesFd);
  }
  if (spec.trace && !keeper) {
    SZARENA_CHECK(spec.device != nullptr && !spec.device->tracer.empty(), "nothing can trace here");
    SZARENA_TRY(worker.trace_,
                os::SharedMemory::Create("trace", sizeof(TracePage), os::Sharing::kWritable));
    auto& page = *reinterpret_cast<TracePage*>(worker.trace_.data());
    SZARENA_CHECK(spec.device->tracer.size() < sizeof page.library,
                  "the tracer's path is too long");
    spec.device->tracer.copy(page.library, sizeof page.library - 1);
    command.fds.emplace_back(worker.trace_.fd(), kTraceFd);
  }
  command.limits.cpu_seconds = spec.cpu_seconds;
  command.limits.address_space_bytes = (2ull << 30) +
                                       (256ull << 20) * static_cast<uint64_t>(spec.threads) +
                                       44 * spec.input_bytes + 4 * spec.output_bytes;
  // The library itself is written inside; beyond that /tmp is the only place, and has its own
  // limit.
  command.limits.file_bytes = (1 << 20) + std::max(spec.driver.size(), spec.library.size());
  // The keeper's memory may be a file to the system.
  if (keeper)
    command.limits.file_bytes += (64ull << 20) + 2 * (spec.input_bytes + spec.output_bytes);
  command.limits.tmp_bytes = 1 << 20;
  command.limits.processes = 16 + 8 * static_cast<uint64_t>(spec.threads);
  command.limits.open_files = 64;
  command.output_limit = 64 << 10;
  if (spec.device != nullptr) {
    command.devices = spec.device->nodes;
    command.sockets = sandbox::Sockets::kLocal;
    command.binds = spec.device->folders;
    command.env.insert(command.env.end(), spec.device->env.begin(), spec.device->env.end());
    command.limits.address_space_bytes =
        0;  // the device's memory and the host's share one address space
    command.limits.open_files = 1024;
    command.limits.processes += 64;
  }
  SZARENA_TRY(os::Process process, sandbox.Start(command));
  worker.process_.emplace(std::move(process));
  SZARENA_TRY_VOID(worker.Hello(spec.load_timeout));

  if (keeper) return worker;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  cpu_set_t ours;
  if (sched_getaffinity(0, sizeof ours, &ours) == 0) {
    int taken = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && taken < spec.threads; ++cpu) {
      if (!CPU_ISSET(cpu, &ours)) continue;
      CPU_SET(cpu, &allowed);
      ++taken;
    }
    if (sched_setaffinity(worker.pid_, sizeof allowed, &allowed) < 0) {
      return os::FailErrno("cannot choose the driver's processors");
    }
  }
  // Should memory run out, this process goes first, not the judge.
  std::ofstream("/proc/" + std::to_string(worker.pid_) + "/oom_score_adj") << "1000";
  return worker;
}

Result<void> Worker::StartKeeper(const sandbox::Sandbox& sandbox, const WorkerSpec& spec,
                                 os::UniqueFd (&memory)[2]) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    return os::FailErrno("cannot make a socket pair");
  const os::UniqueFd ours(ends[0]);
  const os::UniqueFd theirs(ends[1]);
  const std::pair<int, int> fds[] = {
      {input_.fd(), kInputFd}, {output_.fd(), kOutputFd}, {theirs.get(), kHandFd}};
  SZARENA_TRY(Worker keeper, Launch(sandbox, spec, /*keeper=*/true, fds));
  keeper_ = std::make_unique<Worker>(std::move(keeper));
  SZARENA_TRY(const Outcome opened, keeper_->Command_(Command::kOpen, spec.load_timeout));
  if (!opened.ok)
    return Fail(ErrorCode::kUnavailable, "the device cannot be used: " + opened.message);
  return Receive(ours.get(), memory);
}

Result<Worker> Worker::Start(const sandbox::Sandbox& sandbox, const WorkerSpec& spec) {
  SZARENA_TRY(os::SharedMemory input,
              os::SharedMemory::Create("input", spec.input_bytes, os::Sharing::kReadOnlyForOthers));
  SZARENA_TRY(os::SharedMemory output,
              os::SharedMemory::Create("output", spec.output_bytes, os::Sharing::kWritable));
  Worker holder;
  holder.input_ = std::move(input);
  holder.output_ = std::move(output);
  os::UniqueFd memory[2];
  if (spec.device != nullptr) SZARENA_TRY_VOID(holder.StartKeeper(sandbox, spec, memory));
  const std::pair<int, int> fds[] = {
      {spec.device != nullptr ? memory[0].get() : holder.input_.fd(), kInputFd},
      {spec.device != nullptr ? memory[1].get() : holder.output_.fd(), kOutputFd}};
  SZARENA_TRY(Worker worker, Launch(sandbox, spec, /*keeper=*/false, fds));
  worker.input_ = std::move(holder.input_);
  worker.output_ = std::move(holder.output_);
  worker.keeper_ = std::move(holder.keeper_);
  Control& page = worker.control();
  page.compressor = spec.compressor ? 1 : 0;
  page.need_backward = spec.need_backward ? 1 : 0;
  page.trace = spec.trace ? 1 : 0;
  if (worker.keeper_) {
    page.device_input_bytes = worker.keeper_->control().device_input_bytes;
    page.device_output_bytes = worker.keeper_->control().device_output_bytes;
    // No code of the candidate runs before kLoad: what fails now is the machine's.
    SZARENA_TRY(const Outcome opened, worker.Command_(Command::kOpen, spec.load_timeout));
    if (!opened.ok)
      return Fail(ErrorCode::kUnavailable, "the device cannot be used: " + opened.message);
  }
  SZARENA_TRY(worker.loaded_, worker.Command_(Command::kLoad, spec.load_timeout));
  return worker;
}

Worker::Samples Worker::TakeSamples() const {
  Samples samples;
  if (samples_.data() == nullptr) return samples;
  const auto& page = *reinterpret_cast<const SamplePage*>(samples_.data());
  samples.count = std::min(page.count, kMaxSamples);
  for (size_t i = 0; i < samples.count; ++i) {
    const uint64_t address = page.addresses[i];
    if (address >= page.library_begin && address < page.library_end) {
      samples.offsets.push_back(address - page.library_begin);
    }
  }
  return samples;
}

Trace Worker::TakeTrace() const {
  SZARENA_CHECK(trace_.data() != nullptr, "the worker traces nothing");
  // The process is stopped, but it may have left the page in any state.
  return ReadTrace(*reinterpret_cast<const TracePage*>(trace_.data()));
}

Worker::~Worker() { Kill(); }

// The driver's first message carries its process id as the kernel sees it from here. At that point
// only our own code has run in it.
Result<void> Worker::Hello(milliseconds timeout) {
  const os::Deadline deadline = os::After(timeout);
  for (;;) {
    pollfd fds[2] = {{doorbell_.get(), POLLIN, 0}, {process_->pidfd(), POLLIN, 0}};
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Fail(ErrorCode::kTimeout, "the driver did not start in time");
    const int ready = poll(fds, 2, static_cast<int>(std::min<long long>(left, 100)));
    if (ready < 0 && errno != EINTR) return os::FailErrno("cannot wait for the driver");
    process_->Drain();
    if (ready > 0 && (fds[0].revents & POLLIN) != 0) break;
    if (ready > 0 && (fds[1].revents & POLLIN) != 0) {
      SZARENA_TRY([[maybe_unused]] const bool ended, process_->Wait(deadline));
      return Fail(ErrorCode::kUnavailable, "the driver did not start in the sandbox: " +
                                               process_->result().status.ToString() + " " +
                                               process_->result().err);
    }
  }
  char byte = 0;
  iovec part = {&byte, 1};
  alignas(cmsghdr) char buffer[CMSG_SPACE(sizeof(ucred))];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = buffer;
  message.msg_controllen = sizeof buffer;
  if (recvmsg(doorbell_.get(), &message, MSG_CMSG_CLOEXEC) != 1)
    return os::FailErrno("cannot hear the driver");
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials;
      std::memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
      pid_ = credentials.pid;
    }
  }
  if (pid_ <= 1)
    return Fail(ErrorCode::kInternal, "the kernel did not tell the driver's process id");
  pidfd_ = os::UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd_) return os::FailErrno("cannot open the driver's process descriptor");
  const int off = 0;
  setsockopt(doorbell_.get(), SOL_SOCKET, SO_PASSCRED, &off, sizeof off);
  alive_ = true;
  return Stop();
}

bool Worker::AllThreadsStopped() const {
  bool any = false;
  bool all = true;
  ForEachThread(pid_, "stat", [&](std::string_view text) {
    const char state = ThreadState(text);
    any |= state == 'T';
    all = state == 'T' || state == 'Z';  // Z: a thread that has ended while others live
    return all;
  });
  return any && all;
}

Result<void> Worker::Stop() {
  if (!alive_ || stopped_ || !stops_) return {};
  if (syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGSTOP, nullptr, 0) < 0 && errno != ESRCH) {
    return os::FailErrno("cannot stop the driver");
  }
  const os::Deadline deadline = os::After(milliseconds(5000));
  for (;;) {
    const bool stopped = AllThreadsStopped();
    pollfd gone = {pidfd_.get(), POLLIN, 0};
    if (poll(&gone, 1, 0) > 0) {
      alive_ = false;
      return {};
    }
    if (stopped) break;
    if (Clock::now() > deadline) {
      Kill();
      return {};
    }
  }
  stopped_ = true;
  return {};
}

Result<Outcome> Worker::Command_(Command command, milliseconds timeout,
                                 const std::function<Result<void>()>& then) {
  SZARENA_CHECK(alive_, "the worker is gone");
  Outcome outcome;
  Control& page = control();
  page.command = static_cast<uint32_t>(command);
  page.command_ok = 0;
  page.fault_signal = 0;
  page.message[0] = '\0';
  // Whatever the process sent without being asked.
  char stale[64];
  while (recv(doorbell_.get(), stale, sizeof stale, MSG_DONTWAIT) > 0) {
  }
  // Before anything that the process could notice.
  const auto begin = Clock::now();
  const os::Deadline deadline = begin + timeout;
  const char byte = 1;
  if (send(doorbell_.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) {
    Kill();
    outcome.ending = Ending::kCrashed;
    outcome.message = "the candidate's process closed its connection to the judge";
    return outcome;
  }
  stopped_ = false;
  if (syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGCONT, nullptr, 0) < 0) {
    return os::FailErrno("cannot resume the driver");
  }
  bool answered = false;
  while (!answered) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) break;
    pollfd fds[2] = {{doorbell_.get(), POLLIN, 0}, {pidfd_.get(), POLLIN, 0}};
    const int ready = poll(fds, 2, static_cast<int>(std::min<long long>(left, 50)));
    if (ready < 0 && errno != EINTR) return os::FailErrno("cannot wait for the driver");
    if (ready > 0 && (fds[1].revents & POLLIN) != 0) {
      alive_ = false;
      break;
    }
    if (ready > 0 && fds[0].revents != 0) {
      char answer = 0;
      answered = recv(doorbell_.get(), &answer, 1, MSG_DONTWAIT) == 1;
      if (!answered && errno != EINTR) {
        // The other end is closed: the process is about to be gone, or has nothing to say any more.
        alive_ = false;
        pollfd gone = {pidfd_.get(), POLLIN, 0};
        poll(&gone, 1, 2000);
        break;
      }
    }
    if (!answered) process_->Drain();
  }
  if (answered && then) {
    SZARENA_TRY_VOID(then());
  }
  SZARENA_TRY_VOID(Stop());
  outcome.seconds = Seconds(Clock::now() - begin);
  process_->Drain();
  if (!alive_) {
    outcome.ending = Ending::kCrashed;
    outcome.message = DescribeCrash();
    Kill();
    return outcome;
  }
  if (!answered) {
    outcome.ending = Ending::kTimedOut;
    outcome.message = fmt::format("no answer within {:.1f} s", Seconds(timeout));
    Kill();
    return outcome;
  }
  // The process is stopped: what is copied now cannot change any more.
  const Control answer = page;
  answers_.assign(answer.slots, answer.slots + layout_.size());
  outcome.ok = answer.command_ok == 1;
  if (!outcome.ok) {
    outcome.message.assign(answer.message, strnlen(answer.message, sizeof answer.message));
    if (outcome.message.empty()) outcome.message = "the driver reports a failure";
  }
  return outcome;
}

std::string Worker::DescribeCrash() {
  const Control answer = control();
  std::string how = "the candidate's process ended";
  const Result<bool> ended = process_->Wait(os::After(milliseconds(2000)));
  int number = static_cast<int>(answer.fault_signal);
  if (ended && *ended) {
    const os::ExitStatus& status = process_->result().status;
    // The sandbox reports a signal as 128 + number.
    if (status.exited && status.code > 128) number = status.code - 128;
    if (status.exited && status.code <= 128)
      how += fmt::format(" with exit status {}", status.code);
  }
  if (number > 0 && number < 65) {
    os::ExitStatus by_signal;
    by_signal.signal = number;
    how += " by " + by_signal.ToString();
    if (number == SIGXCPU || number == SIGKILL)
      how += ": a limit of processor time or memory was reached";
  }
  if (number == SIGSEGV || number == SIGBUS) {
    const uint64_t address = answer.fault_address;
    const auto near = [&](const char* name, uint64_t base, uint64_t offset, uint64_t size) {
      const uint64_t begin = base + offset;
      const uint64_t slack = 1 << 20;
      if (base == 0 || address + slack < begin || address > begin + size + slack) return false;
      if (address < begin) {
        how += fmt::format(", {} bytes before the {}", begin - address, name);
      } else if (address >= begin + size) {
        how += fmt::format(", {} bytes past the end of the {} ({} bytes)", address - begin - size,
                           name, size);
      } else {
        how += fmt::format(", at byte {} of the {}, which is read-only", address - begin, name);
      }
      return true;
    };
    bool placed = false;
    for (const Slot& slot : layout_) {
      placed = near("input", answer.input_base, slot.input_offset, slot.input_size) ||
               near("output buffer", answer.output_base, slot.output_offset, slot.output_size);
      if (placed) break;
    }
    if (!placed) how += fmt::format(", at address {:#x}", address);
  }
  return how;
}

Result<Outcome> Worker::Prepare(const szarena_problem& problem, std::span<const SlotSizes> slots,
                                bool flush_front, milliseconds timeout) {
  SZARENA_CHECK(slots.size() <= kMaxSlots, "too many slots");
  SZARENA_CHECK(InputBytesFor(slots) <= input_.size() && OutputBytesFor(slots) <= output_.size(),
                "shared memory is too small for these slots");
  const size_t page = os::PageSize();
  layout_.assign(slots.size(), Slot{});
  size_t in = 0;
  size_t out = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    const size_t in_bytes = SlotPages(slots[i].input) * page;
    const size_t out_bytes = SlotPages(slots[i].output) * page;
    Slot& slot = layout_[i];
    slot.input_size = slots[i].input;
    slot.output_size = slots[i].output;
    slot.input_offset = in + page + (flush_front ? 0 : in_bytes - slots[i].input);
    slot.output_offset = out + 2 * page + (flush_front ? 0 : out_bytes - slots[i].output);
    in += in_bytes + page;
    out += out_bytes + 3 * page;
  }
  control().problem = problem;
  ShowLayout();
  if (keeper_) {
    SZARENA_TRY_VOID(Keep(Command::kPrepare, timeout));
  }
  return Command_(Command::kPrepare, timeout);
}

std::span<std::byte> Worker::input(size_t slot) const {
  return input_.bytes().subspan(layout_[slot].input_offset, layout_[slot].input_size);
}

std::span<std::byte> Worker::output(size_t slot) const {
  return output_.bytes().subspan(layout_[slot].output_offset, layout_[slot].output_size);
}

std::span<std::byte> Worker::guard_before(size_t slot) const {
  const size_t page = os::PageSize();
  const size_t begin = layout_[slot].output_offset;
  const size_t from = begin / page * page - page;
  return output_.bytes().subspan(from, begin - from);
}

std::span<std::byte> Worker::guard_after(size_t slot) const {
  const size_t page = os::PageSize();
  const size_t end = layout_[slot].output_offset + layout_[slot].output_size;
  const size_t to = (end + page - 1) / page * page + page;
  return output_.bytes().subspan(end, to - end);
}

// The slots on the control pages.
void Worker::ShowLayout() {
  if (keeper_) keeper_->layout_ = layout_;
  for (Worker* side : {this, keeper_.get()}) {
    if (side == nullptr) continue;
    Control& page = side->control();
    page.first_slot = 0;
    page.slot_count = static_cast<uint32_t>(layout_.size());
    std::copy(layout_.begin(), layout_.end(), page.slots);
  }
}

Result<void> Worker::Keep(Command command, milliseconds timeout) {
  SZARENA_CHECK(keeper_->alive_, "the keeper is gone");
  SZARENA_TRY(const Outcome outcome, keeper_->Command_(command, timeout));
  if (outcome.ok) return {};
  return Fail(ErrorCode::kUnavailable, "the device failed: " + outcome.message);
}

Result<Outcome> Worker::Call(CallKind kind, milliseconds timeout, bool with_transfers) {
  control().kind = static_cast<uint32_t>(kind);
  ShowLayout();
  if (!keeper_) {
    SZARENA_TRY(Outcome outcome, Command_(Command::kCall, timeout));
    return AllCalled(std::move(outcome));
  }
  Control& kept = keeper_->control();
  kept.kind = static_cast<uint32_t>(kind);
  kept.with_transfers = with_transfers ? 1 : 0;
  SZARENA_TRY_VOID(Keep(Command::kStage, kKeeperTimeout));
  pinned_ = kept.pinned == 1;
  const auto begin = Clock::now();
  SZARENA_TRY_VOID(Keep(Command::kAdmit, kKeeperTimeout));
  Clock::time_point collected;
  SZARENA_TRY(Outcome outcome, Command_(Command::kCall, timeout, [&]() -> Result<void> {
                SZARENA_TRY_VOID(Keep(Command::kCollect, kKeeperTimeout));
                collected = Clock::now();
                return {};
              }));
  if (outcome.ending != Ending::kDone || !outcome.ok) return outcome;
  outcome.seconds = Seconds(collected - begin);
  window_seconds_ = kept.window_seconds - kept.copy_seconds;
  if (!with_transfers) {
    SZARENA_TRY_VOID(Keep(Command::kFetch, kKeeperTimeout));
    input_changed_ = kept.input_changed != 0;
  }
  for (size_t i = 0; i < layout_.size(); ++i) answers_[i].payload = kept.slots[i].payload;
  return AllCalled(std::move(outcome));
}

double Worker::keeper_wait_seconds() const { return keeper_->control().wait_seconds; }
double Worker::idle_seconds() const { return keeper_->control().idle_seconds; }

Outcome Worker::AllCalled(Outcome outcome) const {
  if (!outcome.ok) return outcome;
  for (const Slot& slot : answers_) {
    if (slot.called == 1) continue;
    outcome.ok = false;
    outcome.message = "the driver says done before every call returned";
  }
  return outcome;
}

double Worker::ThreadSeconds() const {
  double total = 0;
  ForEachThread(pid_, "schedstat", [&](std::string_view text) {
    // "ns-on-a-processor ns-waiting-for-one timeslices"
    const std::string line(text);
    char* rest = nullptr;
    total += 1e-9 * std::strtod(line.c_str(), &rest);
    total += 1e-9 * std::strtod(rest, nullptr);
    return true;
  });
  return total;
}

Result<double> Worker::IdleSeconds(milliseconds time) {
  SZARENA_CHECK(alive_, "the worker is gone");
  double before = ThreadSeconds();
  stopped_ = false;
  if (syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGCONT, nullptr, 0) < 0) {
    return os::FailErrno("cannot resume the driver");
  }
  pollfd gone = {pidfd_.get(), POLLIN, 0};
  // The driver itself has to find its way back to where it waits, which takes its time on a busy
  // machine.
  const os::Deadline settle = os::After(milliseconds(1000));
  while (Clock::now() < settle) {
    bool asleep = true;
    ForEachThread(pid_, "stat", [&](std::string_view text) {
      asleep = ThreadState(text) == 'S';
      return asleep;
    });
    if (asleep) {
      before = ThreadSeconds();
      break;
    }
    poll(&gone, 1, 1);
  }
  poll(&gone, 1, static_cast<int>(time.count()));
  const double after = ThreadSeconds();
  SZARENA_TRY_VOID(Stop());
  return alive_ ? after - before : 0.0;
}

int Worker::ThreadCount() const {
  int count = 0;
  ForEachThread(pid_, "stat", [&](std::string_view) {
    ++count;
    return true;
  });
  return count;
}

uint64_t Worker::PeakMemoryBytes() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

void Worker::Kill() {
  if (keeper_) keeper_->Kill();
  if (pidfd_) {
    syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
    pollfd gone = {pidfd_.get(), POLLIN, 0};
    poll(&gone, 1, 5000);
    pidfd_.Reset();
  }
  if (process_) process_->Kill();
  alive_ = false;
}

std::string Worker::TakeOutput() {
  if (!process_) return "";
  return process_->result().out + process_->result().err;
}

}  // namespace szarena::target
