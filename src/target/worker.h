// SPDX-License-Identifier: Apache-2.0
// Worker: one driver process in its own sandbox with one candidate loaded, stopped except while a
// command runs. Nothing the process writes is trusted: time is taken here, from before it is
// resumed until all its threads are seen stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "os/process.h"
#include "os/shared_memory.h"
#include "sandbox/sandbox.h"
#include "target/backend.h"
#include "target/protocol.h"
#include "target/trace.h"

namespace szarena::target {

struct WorkerSpec {
  std::string driver;      // bytes of the driver program
  std::string library;     // bytes of the candidate's library
  bool compressor = true;  // which functions to look for
  bool need_backward = true;
  size_t input_bytes = 0;  // of shared memory, see LayOut
  size_t output_bytes = 0;
  int threads = 1;  // processors it may run on
  std::chrono::milliseconds load_timeout{10000};
  uint64_t cpu_seconds = 120;
  bool take_samples = false;  // of where its processor time goes (samples.h)
  bool trace = false;         // has the device's tracer tell what runs during calls (trace.h)
  const DeviceAccess* device =
      nullptr;  // calls run on a device: their data are moved there before and fetched afterwards
};

// How a command ended.
enum class Ending : uint8_t {
  kDone,      // it came back; `message` is set where the driver says that it did not succeed
  kCrashed,   // the process ended
  kTimedOut,  // stopped by the judge
};
struct Outcome {
  Ending ending = Ending::kDone;
  bool ok = false;      // kDone and the driver reports success
  std::string message;  // evidence fit to be shown
  double seconds = 0;   // resumed to seen stopped; on a device, the keeper's part included
};

// Where one call's data lie. Sizes may be 0.
struct SlotSizes {
  size_t input = 0;
  size_t output = 0;
};

// Bytes of shared memory that these slots need.
size_t InputBytesFor(std::span<const SlotSizes> slots);
size_t OutputBytesFor(std::span<const SlotSizes> slots);

class Worker {
 public:
  // Starts the driver and loads the library. An Error is the environment's or our fault; a library
  // that cannot be loaded is an outcome (`loaded()`), not an error.
  static Result<Worker> Start(const sandbox::Sandbox& sandbox, const WorkerSpec& spec);

  Worker(Worker&&) noexcept = default;
  Worker& operator=(Worker&&) noexcept = default;
  ~Worker();

  const Outcome& loaded() const { return loaded_; }
  bool alive() const { return alive_; }

  // Lays the slots out (data flush with the end of their pages, or with the beginning where
  // `flush_front`), maps them in the driver and lets the candidate size its workspace. Inputs and
  // outputs are then this side's to fill.
  Result<Outcome> Prepare(const szarena_problem& problem, std::span<const SlotSizes> slots,
                          bool flush_front, std::chrono::milliseconds timeout);
  std::span<std::byte> input(size_t slot) const;
  std::span<std::byte> output(size_t slot) const;
  // The guard pages before and after an output, and the padding between it and them.
  std::span<std::byte> guard_before(size_t slot) const;
  std::span<std::byte> guard_after(size_t slot) const;

  // Makes one call per slot. On a device the keeper moves data within that time: inputs within
  // reach of the candidate and results out of it, on the device, or `with_transfers` from and to
  // host memory.
  Result<Outcome> Call(CallKind kind, std::chrono::milliseconds timeout,
                       bool with_transfers = false);
  // Of devices, after a call without transfers: the input on the device is another than what was
  // put there.
  bool input_changed() const { return input_changed_; }
  // Of devices: transfers within the last call were made from and to page-locked memory.
  bool pinned() const { return pinned_; }
  // Of devices, by the keeper's clock: from when the inputs came within reach of the candidate in
  // the last call until what it had given was out of its reach, without the keeper's own copies.
  double window_seconds() const { return window_seconds_; }
  // Of devices: what the keeper's own work in the last call took beyond the device's time for it,
  // and what a trifle takes while no candidate is there: more of the former says that the device
  // was busy with something else.
  double keeper_wait_seconds() const;
  double idle_seconds() const;
  // What the candidate answered for a slot, copied after the process was stopped; on a device the
  // payload's place is what the keeper read.
  const Slot& answer(size_t slot) const { return answers_[slot]; }

  // Lets the process run with nothing to do and says how much time its threads ran or wanted to run
  // (waited for a processor): work left running shows, on a busy machine too.
  Result<double> IdleSeconds(std::chrono::milliseconds time);
  // Threads of the process now; 0 when it is gone.
  int ThreadCount() const;
  uint64_t PeakMemoryBytes() const;

  // Samples so far: offsets in the library of those inside it, and how many there are in all. A
  // claim of the process.
  struct Samples {
    std::vector<uint64_t> offsets;
    size_t count = 0;
  };
  Samples TakeSamples() const;

  // Of devices, started with `trace`: what ran during the last call. A claim of the process.
  Trace TakeTrace() const;

  // Ends the process and waits until it is gone.
  void Kill();
  // What the candidate printed (at most 64 kB each), after the end.
  std::string TakeOutput();

 private:
  Worker() = default;
  // The process and its control page; `keeper`: of the device memory, without a candidate, never
  // stopped.
  static Result<Worker> Launch(const sandbox::Sandbox& sandbox, const WorkerSpec& spec, bool keeper,
                               std::span<const std::pair<int, int>> fds);
  Result<void> StartKeeper(const sandbox::Sandbox& sandbox, const WorkerSpec& spec,
                           os::UniqueFd (&memory)[2]);
  Control& control() const { return *reinterpret_cast<Control*>(control_.data()); }
  // `then`: done as soon as the answer is there, before the process is stopped; within the time.
  Result<Outcome> Command_(Command command, std::chrono::milliseconds timeout,
                           const std::function<Result<void>()>& then = {});
  // A command of the keeper; it fails only where the device does.
  Result<void> Keep(Command command, std::chrono::milliseconds timeout);
  void ShowLayout();
  Outcome AllCalled(Outcome outcome) const;
  Result<void> Hello(std::chrono::milliseconds timeout);
  Result<void> Stop();
  bool AllThreadsStopped() const;
  double ThreadSeconds() const;
  std::string DescribeCrash();

  std::optional<os::Process> process_;
  os::UniqueFd doorbell_;
  os::SharedMemory control_;
  os::SharedMemory input_;
  os::SharedMemory output_;
  os::SharedMemory samples_;  // empty: none are taken
  os::SharedMemory trace_;    // empty: nothing is traced
  pid_t pid_ = -1;            // of the driver itself, told by the kernel
  os::UniqueFd pidfd_;
  bool alive_ = false;
  bool stopped_ = false;
  bool stops_ = true;
  std::unique_ptr<Worker> keeper_;  // of a candidate on a device
  bool input_changed_ = false;
  bool pinned_ = false;
  double window_seconds_ = 0;
  Outcome loaded_;
  std::vector<Slot> layout_;
  std::vector<Slot> answers_;
};

}  // namespace szarena::target
