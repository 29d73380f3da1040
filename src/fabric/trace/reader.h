// SPDX-License-Identifier: Apache-2.0
// Reads a trace file.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "fabric/trace/format.h"

namespace szarena::fabric::trace {

// The whole trace. Refuses (kCorrupt) what is no trace, another version, a wrong checksum, a number
// out of range, and a file that ends in the middle of a chunk. A file that ends between chunks is a
// run that was cut short: `complete` is false.
Result<Trace> Read(const std::string& path);
Result<Trace> Parse(std::string_view bytes);

}  // namespace szarena::fabric::trace
