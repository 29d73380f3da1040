// SPDX-License-Identifier: Apache-2.0
#include "judge/device_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace szarena::judge {
namespace {

constexpr double kMs = 1e-3;

// Runs whose events say `device` milliseconds; the clock sees `way` more, up to `noise` on top.
std::vector<Times> Runs(double device, double way, double noise, uint32_t seed, int count = 10) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> part(0, 1);
  std::vector<Times> runs;
  for (int i = 0; i < count; ++i) {
    Times times;
    times.device = device * kMs * (1 + 0.01 * part(random));
    times.unseen = (way + noise * part(random)) * kMs;
    runs.push_back(times);
  }
  return runs;
}

bool Has(const ClockReport& report, const std::string& flag) {
  return std::ranges::any_of(report.flags, [&](const Flag& one) { return one.name == flag; });
}

DeviceClaim Claim(double floor_fraction = 0.6) {
  return {"szarena_cuda_run", floor_fraction, 512u << 20, 6e-6};
}

// As a measurement goes: ten runs, and up to thirty more while the clocks disagree.
Series Measured(const std::vector<Times>& candidate, const std::vector<Times>& baseline) {
  Series series;
  for (size_t i = 0; i < candidate.size(); ++i) {
    if (i >= 10 && ViewClock(series).agrees) break;
    series.candidate.push_back(candidate[i]);
    series.baseline.push_back(baseline[i]);
  }
  return series;
}

TEST(DeviceClock, AnHonestCandidateIsBelieved) {
  for (uint32_t seed = 0; seed < 5000; ++seed) {
    const ClockReport report = CheckDeviceClock(
        Measured(Runs(0.24, 0.45, 0.1, seed, 40), Runs(0.23, 0.45, 0.1, seed + 50000, 40)),
        Claim());
    EXPECT_TRUE(report.flags.empty()) << seed << ": " << report.note;
    EXPECT_TRUE(report.proven);
  }
}

TEST(DeviceClock, WorkThatTheEventsMissIsFlagged) {
  for (uint32_t seed = 0; seed < 5000; ++seed) {
    // The same work as the baseline's, of which the events see a tenth.
    const Series series =
        Measured(Runs(0.024, 0.45 + 0.216, 0.1, seed, 40), Runs(0.24, 0.45, 0.1, seed + 50000, 40));
    EXPECT_TRUE(Has(CheckDeviceClock(series, Claim()), "device-clock-disagrees")) << seed;
  }
}

TEST(DeviceClock, OnlyTheRunsThatMakeTheMedianCount) {
  // Every second run is honest: the others make the figure.
  Series series{Runs(0.024, 0.666, 0.01, 1), Runs(0.24, 0.45, 0.01, 2)};
  const std::vector<Times> honest = Runs(0.24, 0.45, 0.01, 3);
  series.candidate.insert(series.candidate.end(), honest.begin(), honest.begin() + 9);
  EXPECT_TRUE(Has(CheckDeviceClock(series, Claim()), "device-clock-disagrees"));
}

TEST(DeviceClock, ABusyMachineIsNoCheatAndSaysThatItIsCoarse) {
  int coarse = 0;
  for (uint32_t seed = 0; seed < 5000; ++seed) {
    // Milliseconds of noise on both sides.
    const ClockReport report = CheckDeviceClock(
        Measured(Runs(0.24, 0.45, 4, seed, 40), Runs(0.23, 0.45, 4, seed + 50000, 40)), Claim());
    EXPECT_FALSE(Has(report, "device-clock-disagrees")) << seed << ": " << report.note;
    coarse += Has(report, "device-clock-coarse") ? 1 : 0;
  }
  EXPECT_GT(coarse, 4850);  // ten runs of a busy machine may look like a quiet one's
}

TEST(DeviceClock, WithoutABaselineALongWayProvesNothing) {
  EXPECT_TRUE(CheckDeviceClock({Runs(0.24, 0.45, 0.1, 1), {}}, Claim()).proven);
  const ClockReport report = CheckDeviceClock({Runs(0.24, 2, 0.1, 1), {}}, Claim());
  EXPECT_TRUE(Has(report, "device-clock-unproven"));
  EXPECT_FALSE(report.proven);
}

TEST(DeviceClock, EventsThatSayNothingPassedAreNoClaim) {
  const Series series{Runs(0, 0.45, 0.1, 1), Runs(0.23, 0.45, 0.1, 2)};
  EXPECT_TRUE(Has(CheckDeviceClock(series, Claim()), "device-clock-disagrees"));
}

TEST(DeviceClock, NothingIsFasterThanMemory) {
  const Series series{Runs(0.24, 0.45, 0.1, 1), Runs(0.23, 0.45, 0.1, 2)};
  EXPECT_TRUE(Has(CheckDeviceClock(series, Claim(1.6)), "faster-than-memory"));
  DeviceClaim small = Claim(1.6);
  small.input_bytes = 1u << 20;
  EXPECT_FALSE(Has(CheckDeviceClock(series, small), "faster-than-memory"));
}

TEST(DeviceClock, ADeviceThatIsBusyWhileNothingRunsIsFlagged) {
  Series series{Runs(0.24, 0.45, 0.1, 1), Runs(0.23, 0.45, 0.1, 2)};
  for (Times& times : series.candidate) times.keeper_wait = 1e-4;
  for (Times& times : series.baseline) times.keeper_wait = 1.5e-4;
  EXPECT_FALSE(Has(CheckDeviceClock(series, Claim()), "work-left-on-the-device"));
  for (Times& times : series.baseline) times.keeper_wait = 4e-3;
  for (Times& times : series.candidate) times.keeper_wait = 2e-3;
  EXPECT_TRUE(Has(CheckDeviceClock(series, Claim()), "work-left-on-the-device"));
}

}  // namespace
}  // namespace szarena::judge
