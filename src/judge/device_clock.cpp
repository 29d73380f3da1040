// SPDX-License-Identifier: Apache-2.0
#include "judge/device_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace szarena::judge {
namespace {

// A device's events may miss this much of what the keeper's clock sees, beyond what they miss
// beside the baseline: what is more was hidden from them.
constexpr double kUnseenSeconds = 0.00006;
constexpr double kUnseenShare = 0.1;
// How much of what the baseline's unseen time varies by.
constexpr double kUnseenNoise = 0.5;
// And without a baseline, this much at all.
constexpr double kUnseenAloneSeconds = 0.001;
// The keeper waits for the device so many times as long as before there was a candidate, and this
// much more: something else runs there.
constexpr double kBusyTimes = 5;
constexpr double kBusySeconds = 0.001;
// Nothing reads its input and writes its result sooner than a copy of them; the copy's speed is
// measured, so not exactly known.
constexpr double kFasterThanCopy = 1.5;
// Runs of at least so many bytes are no cache's.
constexpr uint64_t kLargeRun = 256u << 20;

double MedianOf(const std::vector<Times>& all, double Times::* what) {
  std::vector<double> values;
  for (const Times& times : all) values.push_back(times.*what);
  return MakeFigure(std::move(values)).median;
}

}  // namespace

// The way to the process and back is in what the keeper's clock sees, and longer on a busy machine,
// but not in every run: the least unseen time tells, of the baseline's runs; and of the faster half
// of the candidate's, since events that lie must do so in the runs that make the median.
ClockView ViewClock(const Series& series) {
  const auto least_unseen = [](const std::vector<Times>& all, double up_to) {
    double least = HUGE_VAL;
    for (const Times& times : all) {
      if (times.device <= up_to) least = std::min(least, times.unseen);
    }
    return least;
  };
  ClockView view;
  view.shown = MedianOf(series.candidate, &Times::device);
  view.hidden = least_unseen(series.candidate, view.shown);
  view.allowed = std::max(kUnseenSeconds, kUnseenShare * view.shown);
  if (series.baseline.empty()) {
    view.agrees = view.shown > 0 && view.hidden <= kUnseenAloneSeconds + view.allowed;
    return view;
  }
  view.usual = least_unseen(series.baseline, HUGE_VAL);
  // A busy machine: the least of some is no sharp figure either.
  const double noise = MedianOf(series.baseline, &Times::unseen) - view.usual;
  view.allowed = std::max(view.allowed, kUnseenNoise * noise);
  view.agrees = view.shown > 0 && view.hidden <= view.usual + view.allowed;
  view.lies = !(view.shown > 0 && view.hidden <= view.usual + std::max(view.allowed, noise));
  return view;
}

ClockReport CheckDeviceClock(const Series& series, const DeviceClaim& claim) {
  ClockReport report;
  const bool large = claim.input_bytes >= kLargeRun;
  if (large && claim.floor_fraction && !(*claim.floor_fraction <= kFasterThanCopy)) {
    report.flags.push_back(
        {"faster-than-memory", FlagKind::kCheat,
         fmt::format("{}: {:.1f} times as fast as a copy of what it must read and write",
                     claim.function, *claim.floor_fraction)});
  }
  const ClockView view = ViewClock(series);
  const bool compared = !series.baseline.empty();
  report.note =
      fmt::format("{}: the device's events say {:.3f} ms, the keeper's clock saw {:.3f} ms more",
                  claim.function, view.shown * 1e3, view.hidden * 1e3);
  if (compared) {
    report.note += fmt::format(" ({:.3f} ms for the baseline, give or take {:.3f} ms)",
                               view.usual * 1e3, view.allowed * 1e3);
  }
  if (compared && view.lies) {
    report.flags.push_back({"device-clock-disagrees", FlagKind::kCheat, report.note});
  } else if (!view.agrees) {
    // Nothing says whether the machine is busy or the events lie: no number then.
    report.flags.push_back({"device-clock-unproven", FlagKind::kWarning,
                            report.note + "; measure beside a baseline on a quiet machine"});
    report.proven = false;
  } else if (compared && large && view.allowed > view.shown) {
    report.flags.push_back({"device-clock-coarse", FlagKind::kWarning,
                            report.note + "; a quiet machine tells more exactly"});
  }
  // While the keeper works, no call runs: whatever keeps the device from it was left there.
  std::vector<double> waits;
  for (const auto* side : {&series.candidate, &series.baseline}) {
    for (const Times& times : *side) waits.push_back(times.keeper_wait);
  }
  const double wait = MakeFigure(std::move(waits)).median;
  if (wait > kBusyTimes * claim.idle_seconds + kBusySeconds) {
    report.flags.push_back(
        {"work-left-on-the-device", FlagKind::kCheat,
         fmt::format(
             "{}: while nothing of it was to run, the device took {:.3f} ms longer than its "
             "work; before the candidate was there, {:.3f} ms",
             claim.function, wait * 1e3, claim.idle_seconds * 1e3)});
  }
  return report;
}

}  // namespace szarena::judge
