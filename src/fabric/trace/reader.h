// SPDX-License-Identifier: Apache-2.0
// Reads a trace file.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "fabric/trace/format.h"

namespace szarena::fabric::trace {

// The whole trace. Refuses (kCorrupt) what is no trace, another version, a wrong checksum, a number
// out of range. A file that ends between chunks is a run that was cut short: `complete` is false.
// One that ends in the middle of a chunk is refused too, or is the same without that chunk.
enum class HalfChunk { kRefused, kLeftOut };
Result<Trace> Read(const std::string& path, HalfChunk last = HalfChunk::kRefused);
Result<Trace> Parse(std::string_view bytes, HalfChunk last = HalfChunk::kRefused);

}  // namespace szarena::fabric::trace
