// SPDX-License-Identifier: Apache-2.0
// The race on device pointers: medians over rotating inputs, checked results, a copy's speed in the
// same run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/gpu/contender.h"
#include "data/json.h"

namespace szarena::bench::gpu {

struct SpeedOptions {
  uint64_t bytes = 512ull << 20;  // of an array
  int runs = 15;
  uint32_t dtype = SZARENA_F32;
  std::vector<double> relative_bounds = {1e-2, 1e-3, 1e-4};
  std::vector<std::string>
      fields;  // names of kFieldNames or NAME=FILE.f32, repeated up to the size
};

// Prints a table and returns one JSON row for every field, bound and contender.
Result<data::Json> RaceOnDevice(const SpeedOptions& options,
                                const std::vector<Contender>& contenders);

// Our decoder on the streams of the peers `names` and theirs on ours; one JSON row each.
Result<data::Json> CrossDecode(const std::vector<Contender>& contenders,
                               const std::vector<std::string>& names);

}  // namespace szarena::bench::gpu
