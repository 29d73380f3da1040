// SPDX-License-Identifier: Apache-2.0
// SZx in plain serial code that follows the specification step by step. Kept for ever as the
// oracle: szx.h must give the same bytes and the same values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "codec/core/array.h"
#include "codec/szx/szx.h"

namespace szarena::codec::szx {

// The payload of `values`. Fails with kInvalidArgument where the bound has no meaning.
Result<std::vector<std::byte>> CompressReference(ConstArray values, const Params& params);

// As Decompress.
Result<void> DecompressReference(std::span<const std::byte> payload, MutableArray values);

}  // namespace szarena::codec::szx
