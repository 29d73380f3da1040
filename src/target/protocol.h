// SPDX-License-Identifier: Apache-2.0
// What the judge and a driver program share: descriptor numbers and the layout of the control page.
// The driver runs the candidate's code and is not trusted: whatever it writes here is a claim,
// checked or used as text only. C-compatible types only; included by driver programs that link
// nothing of ours.
#pragma once

#include <cstdint>

#include "szarena_candidate.h"

namespace szarena::target {

// Descriptors that a driver is started with.
inline constexpr int kDoorbellFd =
    3;  // SOCK_SEQPACKET: a byte from the judge starts a command, a byte back ends it
inline constexpr int kControlFd = 4;  // Control
// Host memory of inputs and outputs; of a driver whose candidate runs on a device, device memory,
// which it shares with the keeper.
inline constexpr int kInputFd = 5;  // sealed: cannot be written by the driver
inline constexpr int kOutputFd = 6;
inline constexpr int kFilterFd = 7;  // BPF program to install before the candidate is loaded
inline constexpr int kHandFd = 10;   // SOCK_SEQPACKET: the keeper hands its device memory over
inline constexpr char kLibraryPath[] = "/run/candidate.so";
inline constexpr char kDriverPath[] = "/run/driver";

enum class Command : uint32_t {
  kLoad = 1,
  kPrepare = 2,
  kCall = 3,
  // Of the keeper, a process beside a driver whose candidate runs on a device. It holds the memory
  // that both share there, and it alone moves data: no code of the candidate runs in it.
  kStage = 4,    // inputs and poison from host memory to the device, inputs out of reach
  kAdmit = 5,    // inputs within reach; the clock starts
  kCollect = 6,  // results out of reach; the clock stops
  kFetch = 7,    // results with their guards to host memory, inputs compared
  kOpen = 8,     // of a driver beside a keeper, before kLoad: the device and the shared memory
};
enum class CallKind : uint32_t {
  kForward = 0,
  kBackward = 1
};  // compress or run; decompress or inverse

inline constexpr uint32_t kMaxSlots = 16;

// One call: where its data lie in the input and output memory, and what the candidate answered.
struct Slot {
  uint64_t
      input_offset;  // first byte of the data; its pages are mapped, the pages around them are not
  uint64_t input_size;
  uint64_t
      output_offset;  // first byte of the buffer; a guard page before and after it is mapped too
  uint64_t output_size;
  szarena_payload payload;  // answer
  double
      device_seconds;  // answer: between device events around the call; 0 where there is no device
  int32_t code;        // answer: what the candidate returned
  uint32_t called;     // answer: 1 when the call returned
};

struct Control {
  uint32_t command;
  uint32_t kind;  // CallKind
  uint32_t
      compressor;  // 1: szarena_compress and szarena_decompress, 0: szarena_run and szarena_inverse
  uint32_t need_backward;
  uint32_t trace;  // of devices: descriptor kTraceFd is a page for what runs during calls (trace.h)
  uint32_t with_transfers;  // of the keeper: from and to host memory within the clock
  uint32_t first_slot;
  uint32_t slot_count;
  szarena_problem problem;
  Slot slots[kMaxSlots];
  // answers
  uint32_t command_ok;
  uint64_t workspace_bytes;
  char message[1024];      // why a command did not succeed
  uint32_t pinned;         // of the keeper: host memory is page-locked
  uint32_t input_changed;  // of the keeper: the input on the device is another than was put there
  double idle_seconds;     // of the keeper: a trifle on the device before a candidate is there
  double wait_seconds;     // of the keeper: its last admission and collection beyond copy_seconds
  double window_seconds;   // of the keeper: from the clock's start to its end
  double copy_seconds;     // of the keeper, within that: its own copies, by the device's events
  uint32_t fault_signal;
  uint64_t fault_address;
  uint64_t input_base;  // address of offset 0
  uint64_t output_base;
  // Of the shared device memory: told by the keeper, then given to the driver.
  uint64_t device_input_bytes;
  uint64_t device_output_bytes;
};

}  // namespace szarena::target
