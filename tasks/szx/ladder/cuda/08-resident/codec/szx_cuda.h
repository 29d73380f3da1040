// SPDX-License-Identifier: Apache-2.0
// SZx on an NVIDIA GPU: the random-access streams of codec/szx, byte for byte. Everything is
// enqueued on the caller's stream; nothing is allocated and nothing waits, so that calls can be
// captured in a graph. A pointer that is not aligned as said below is LaunchStatus::kMisaligned;
// `result` and `bound_out` are as their types ask for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../format.h"
#include "device_result.h"

struct CUstream_st;

namespace szarena::codec::cuda {

// Bytes of device scratch that either direction needs; its address is a multiple of 256.
uint64_t SzxWorkspaceBytes(uint64_t count, DType dtype);

// `values`, `buffer`, `workspace` and `result` are device pointers. `values` has the alignment of
// its elements at least, `buffer` any; 16-byte alignment of `values` is fast. `capacity` must be at
// least szx::RoomySize: the payload lies inside the buffer, where `result` says; bytes outside of
// it have no meaning afterwards. `eb`: absolute, finite, >= 0. `relative` != 0: eb is ignored and
// the bound is relative * (max - min) over the finite values, found on the device first; a range of
// 0 gives a bound of 0. `bound_out`, where not null, receives the bound (f64).
LaunchStatus SzxCompress(const void* values, uint64_t count, DType dtype, double eb,
                         double relative, void* buffer, uint64_t capacity, DeviceResult* result,
                         double* bound_out, void* workspace, uint64_t workspace_bytes,
                         CUstream_st* stream);

// Writes every element of `values`. Reads either mode and any block size that the format allows;
// fast for random-access streams of the usual block size. A sequential stream is walked through by
// one warp first, about a microsecond a block; one of more than kMostSequentialBlocks blocks is
// DeviceStatus::kTooManyBlocks (at the usual 128 values a block these are 2^33 values), so that no
// payload keeps the device busy for longer than some minutes.
inline constexpr uint64_t kMostSequentialBlocks = 1u << 26;
LaunchStatus SzxDecompress(const void* payload, uint64_t payload_size, uint64_t count, DType dtype,
                           void* values, DeviceResult* result, void* workspace,
                           uint64_t workspace_bytes, CUstream_st* stream);

}  // namespace szarena::codec::cuda
