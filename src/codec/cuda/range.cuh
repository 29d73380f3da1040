// SPDX-License-Identifier: Apache-2.0
// The bound that decides: given, or relative to the range of the values, found by a reduction on the device.
#pragma once

#include "codec/core/dtype.h"
#include "codec/cuda/device_math.cuh"
#include "codec/cuda/device_result.h"
#include "codec/cuda/workspace.h"

struct CUstream_st;

namespace szarena::codec::cuda {

// Rounds an absolute bound down to the element type, as codec/core/bound.h does.
Bound HostBound(double eb, DType dtype);

// Enqueues: *bound_out = eb; nothing where it is null. The value travels with the launch, so that a captured call has it
// whenever it is replayed.
LaunchStatus PutBound(double eb, double* bound_out, CUstream_st* stream);

// Enqueues: *bound = relative * (max - min) over the finite values; *bound_out (may be null) the same before rounding.
// `state` must be zero.
LaunchStatus FindBound(const void* values, uint64_t count, DType dtype, double relative, RangeState* state, Bound* bound,
                       double* bound_out, CUstream_st* stream);

}  // namespace szarena::codec::cuda
