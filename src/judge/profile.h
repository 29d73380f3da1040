// SPDX-License-Identifier: Apache-2.0
// Where a candidate spends its time, on public data: feedback for whoever writes it, never part of
// a verdict.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/json.h"
#include "judge/evaluate.h"

namespace szarena::judge {

// `ok` false: the candidate could not be profiled, `text` says why. Else `content` has "target" and
// what decides the next step there:
//   cpu       per direction: samples, seconds_per_call, outside (share of samples in libraries),
//   functions [{function, share}], lines [{location, function, text, share}]
//   cuda      kernels [{kernel, registers, warps_by_registers (null on a device that we do not
//   know), stack_bytes, spill_store_bytes,
//   spill_load_bytes, shared_bytes}] as the compiler tells them; with a device copy_bandwidth_gbs
//   and per direction kernel_gbs, device_gbs, host_gbs, floor_fraction, traced: null where nothing
//   traces kernels, else of one run {runs, launches, kernel_seconds, kernels [{kernel, launches,
//   seconds, share, grid, block, registers, static_shared_bytes, dynamic_shared_bytes,
//   local_bytes}], transfers [{transfer, count, bytes, seconds}]}, the longest first
//   cerebras  per direction: pes_active, busy, stalled and idle cycles, instructions, vector
//   elements, wavelets, times apart
struct ProfileReport {
  bool ok = false;
  data::Json content;
  std::string text;
};

// Of the largest public case (cpu), or of the timed data. `options` as for Evaluate.
Result<ProfileReport> ProfileCandidate(const EvaluateOptions& options);

// How many warps of a kernel that uses so many registers a thread a multiprocessor of the
// architecture ("sm_90") has room for; empty where it is not known.
std::optional<int64_t> WarpsByRegisters(std::string_view architecture, int64_t registers);

}  // namespace szarena::judge
