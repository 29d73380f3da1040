// SPDX-License-Identifier: Apache-2.0
// Arrays on the device to compress, and what became of them.
#pragma once

#include <cstdint>
#include <string_view>

namespace szarena::bench::gpu {

// Ends the program where a CUDA call failed.
void Check(int cuda_error, const char* what);

// Made on the device; a cube of 512 values a side, repeated, differs by seed.
inline constexpr std::string_view kFieldNames[] = {"smooth", "sparse", "noise", "smooth+noise"};
template <class T>
void FillField(int kind, T* values, uint64_t count, uint64_t seed);

// Repeats the first `period` values over the whole array.
template <class T>
void Repeat(T* values, uint64_t period, uint64_t count);

// Every f32 bit pattern from `first` on.
void FillPatterns(float* values, uint64_t count, uint64_t first);

// How many values are farther from the original than eb, exactly, or were not finite and have other
// bits.
template <class T>
uint64_t CountViolations(const T* original, const T* restored, uint64_t count, double eb);

// How many 4-byte words differ.
uint64_t CountDifferent(const void* a, const void* b, uint64_t words);

// A sum over all bytes that depends on their places; HashOnHost gives the same.
uint64_t HashOnDevice(const void* bytes, uint64_t size);
uint64_t HashOnHost(const void* bytes, uint64_t size);

}  // namespace szarena::bench::gpu
