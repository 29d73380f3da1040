// SPDX-License-Identifier: Apache-2.0
// Block coders for processors with AVX-512, VBMI, VBMI2 and GFNI. Plain types only:
// block_avx512.cpp is compiled for those processors and must not share inline functions with the
// rest of the program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace szarena::codec::szp {

// As EncodeBlocks and DecodeBlocks in kernels.h; `mode` is Mode's number. kMinEbq <= ebq <=
// kMaxEbq, so that (q * ebq) * 2 equals q * (2 * ebq) without exception.
inline constexpr double kMinEbq = 0x1p-90;
inline constexpr double kMaxEbq = 0x1p90;

// How far ahead decoders ask for the payload: processors do not see its uneven steps as a stream
// (2.4 times the speed on payloads beyond the caches).
inline constexpr uint64_t kPrefetchBytes = 2048;

uint64_t EncodeBlocksAvx512(const std::byte* values, uint64_t blocks, float scale, float ebq,
                            int mode, std::byte* rates, std::byte* payload);
uint64_t EncodeBlocksAvx512(const std::byte* values, uint64_t blocks, double scale, double ebq,
                            int mode, std::byte* rates, std::byte* payload);
void DecodeBlocksAvx512(const std::byte* rates, const std::byte* payload, uint64_t blocks,
                        float ebq, int mode, std::byte* values);
void DecodeBlocksAvx512(const std::byte* rates, const std::byte* payload, uint64_t blocks,
                        double ebq, int mode, std::byte* values);

}  // namespace szarena::codec::szp
