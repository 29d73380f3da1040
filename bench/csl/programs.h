// SPDX-License-Identifier: Apache-2.0
// Programs that the benchmark runs on the simulated wafer.
#pragma once

#include "fabric/testing/program_kit.h"

namespace szarena::bench {

// Each PE runs a loop of scalar instructions (integer and f32 arithmetic, loads, stores, a branch) `turns` times.
fabric::testing::ProgramKit ScalarProgram(int width, int height, uint32_t turns);
// Each PE calls a small function of two arguments `turns` times, with a branch and integer arithmetic in it.
fabric::testing::ProgramKit CallsProgram(int width, int height, uint32_t turns);
// Each PE runs @fmacs over `length` contiguous f32 elements `turns` times.
fabric::testing::ProgramKit VectorProgram(int width, int height, uint16_t length, uint32_t turns);
// Rows pass `length` wavelets from the west edge to the east edge; each PE of a row forwards in its router, the last PE receives.
fabric::testing::ProgramKit CommunicationProgram(int width, int height, uint16_t length);
// A launch that does little on each PE (adds one to `length` elements): a wafer that is mostly idle.
fabric::testing::ProgramKit IdleProgram(int width, int height, uint16_t length);

}  // namespace szarena::bench
