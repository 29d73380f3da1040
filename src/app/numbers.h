// SPDX-License-Identifier: Apache-2.0
// Checks of numbers on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace szarena::app {

// A number from `least` to `most`; unlike CLI::Range it refuses nan.
CLI::Validator Within(double least, double most);

// A whole number in decimal digits from `least` to `most`; unlike CLI11's conversion it takes none
// that does not fit for the nearest one.
CLI::Validator Whole(uint64_t least, uint64_t most);

inline constexpr uint64_t kMostTrials = 1'000'000'000;

}  // namespace szarena::app
