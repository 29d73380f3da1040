// SPDX-License-Identifier: Apache-2.0
// What a device's events say of a candidate's calls, held against the keeper's clock
// (docs/contracts/cuda.md): the rule that decides whether a `device` figure is believed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "judge/verdict.h"

namespace szarena::judge {

// Seconds of one command's calls.
struct Times {
  double host = 0;
  double device = 0;  // between device events; 0: no device
  double unseen = 0;  // what the keeper's clock saw beside them
  double payload_bytes = 0;
  double keeper_wait = 0;  // beyond the device's time for the keeper's own work
};

// Of the runs that count, in order.
struct Series {
  std::vector<Times> candidate;
  std::vector<Times> baseline;
};

// Seconds a run.
struct ClockView {
  double shown = 0;    // what the candidate's events say
  double hidden = 0;   // what the keeper's clock saw more, at least
  double usual = 0;    // and beside the baseline
  double allowed = 0;  // that hidden is more than usual
  bool agrees = false;
  bool lies = false;  // what is more is no noise of a busy machine either
};
// `series.candidate` is not empty.
ClockView ViewClock(const Series& series);

struct DeviceClaim {
  std::string function;  // "szarena_cuda_compress"
  std::optional<double> floor_fraction;
  uint64_t input_bytes = 0;  // of a run
  double idle_seconds = 0;   // a trifle on the device before there was a candidate
};
struct ClockReport {
  std::string note;  // what both clocks saw, for the stage's detail
  std::vector<Flag> flags;
  bool proven = true;  // else there is nothing that proves the device's own times
};
ClockReport CheckDeviceClock(const Series& series, const DeviceClaim& claim);

}  // namespace szarena::judge
