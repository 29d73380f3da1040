// SPDX-License-Identifier: Apache-2.0
// What cannot be shown with small arrays: every f32 there is, and more than 2^32 elements.
#pragma once

#include "base/error.h"
#include "data/json.h"

namespace szarena::bench::gpu {

// All 2^32 bit patterns, in arrays of 2^24: the device's payload against the processor's by hash,
// its own restored values against the originals, every element written. One JSON row a codec.
Result<data::Json> ProveAllPatterns(double eb);

// An array of 2^32 + 12345 f32 in one call each way: bound, every element written, and the
// payload's length, which must be what the pieces of it give.
Result<data::Json> ProveHuge();

// Arrays in pinned host memory: how close a call comes to the slower of its two transfers alone.
// One JSON row a codec.
Result<data::Json> RaceOnHost(uint64_t bytes, int runs);

}  // namespace szarena::bench::gpu
