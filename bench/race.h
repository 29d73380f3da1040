// SPDX-License-Identifier: Apache-2.0
// Races contenders on one field: every round runs each of them once, and a copy of the same bytes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/contender.h"
#include "stats/summary.h"

namespace szarena::bench {

struct RaceOptions {
  unsigned rounds = 15;        // timed, after one that is not
  double min_seconds = 0.002;  // a sample repeats its call until it lasts so long
};

// GB/s (1e9) of uncompressed bytes: median and quartiles over the rounds.
using Speed = stats::Quartiles;

struct RaceRow {
  std::string contender;
  std::string version;
  unsigned threads = 1;
  double ratio = 0;
  Speed compress = {}, decompress = {};
  // Bytes that must move (raw + compressed), over the time, over the speed of the copy in the same
  // rounds.
  double compress_floor_fraction = 0, decompress_floor_fraction = 0;
  std::uint64_t violations = 0;  // of the bound, exactly
  double max_error_over_bound = 0;
};

struct Race {
  // Bytes read plus bytes written by memcpy of the field, one slice a thread; GB/s.
  Speed copy = {};
  std::vector<RaceRow> rows;
  std::vector<std::string> left_out;  // contender: why
};

// All contenders at problem.threads. Those that know no threads take part where it is 1.
Result<Race> RunRace(const Problem& problem, std::span<const std::unique_ptr<Contender>> contenders,
                     const RaceOptions& options);

}  // namespace szarena::bench
