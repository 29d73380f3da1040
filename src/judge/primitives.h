// SPDX-License-Identifier: Apache-2.0
// The six primitives in plain scalar code, as szarena_candidate.h defines them: the oracle for
// exactness.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "szarena_candidate.h"

namespace szarena::judge {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

// Inputs are the raw bytes of n elements of the primitive's input type.
Bytes RunQuantize(const szarena_problem& problem, ByteView input);
Bytes RunLorenzo(const szarena_problem& problem, ByteView input);
Bytes InvertLorenzo(const szarena_problem& problem, ByteView payload);
Bytes RunHistogram(const szarena_problem& problem, ByteView input);
Bytes RunBitpack(const szarena_problem& problem, ByteView input);
Result<Bytes> InvertBitpack(const szarena_problem& problem, ByteView payload);
Bytes RunScan(const szarena_problem& problem, ByteView input);
Bytes RunLeadingBytes(const szarena_problem& problem, ByteView input);

}  // namespace szarena::judge
