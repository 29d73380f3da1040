// SPDX-License-Identifier: Apache-2.0
// SZp on an NVIDIA GPU: the streams of codec/szp, byte for byte. Everything is enqueued on the
// caller's stream; nothing is allocated and nothing waits, so that calls can be captured in a
// graph. A pointer that is not aligned as said below is LaunchStatus::kMisaligned; `result` and
// `bound_out` are as their types ask for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../format.h"
#include "device_result.h"

struct CUstream_st;

namespace szarena::codec::cuda {

// Bytes of device scratch that either direction needs; its address is a multiple of 256.
uint64_t SzpWorkspaceBytes(uint64_t count, DType dtype, const szp::Params& params);

// `values`, `payload`, `workspace` and `result` are device pointers. `values` has the alignment of
// its elements at least, `payload` any; 16-byte alignment of both is fast. `capacity` must be at
// least szp::MaxPayloadSize. `relative` != 0: params.eb is ignored and the bound is relative * (max
// - min) over the finite values, found on the device first; a range of 0 gives a bound of 0, which
// stores everything as it is. `bound_out`, where not null, receives the bound (f64), of no
// element too: 0 where it is relative.
LaunchStatus SzpCompress(const void* values, uint64_t count, DType dtype, const szp::Params& params,
                         double relative, void* payload, uint64_t capacity, DeviceResult* result,
                         double* bound_out, void* workspace, uint64_t workspace_bytes,
                         CUstream_st* stream);

// Writes every element of `values`.
LaunchStatus SzpDecompress(const void* payload, uint64_t payload_size, uint64_t count, DType dtype,
                           const szp::Params& params, void* values, DeviceResult* result,
                           void* workspace, uint64_t workspace_bytes, CUstream_st* stream);

}  // namespace szarena::codec::cuda
