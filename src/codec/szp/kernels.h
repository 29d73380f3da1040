// SPDX-License-Identifier: Apache-2.0
// The fast block coders, chosen at run time for the processor. Inner interface of szp.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/szp/reference.h"

namespace szarena::codec::szp {

// Bytes that EncodeBlocks may write beyond the end of what it returns.
inline constexpr uint32_t kEncodeSlack = 64;

// Encodes `blocks` whole blocks: one rate byte each at `rates`, payloads one after another at
// `payload`, which has room for blocks * RawBlockBytes + kEncodeSlack bytes (bytes beyond the
// returned size may be overwritten). Returns the payloads' size. Equals EncodeBlock bit for bit.
uint64_t EncodeBlocks(const std::byte* values, uint64_t blocks, const Quantiser<float>& quantiser,
                      Mode mode, std::byte* rates, std::byte* payload);
uint64_t EncodeBlocks(const std::byte* values, uint64_t blocks, const Quantiser<double>& quantiser,
                      Mode mode, std::byte* rates, std::byte* payload);

// Decodes `blocks` whole blocks with valid rate bytes whose payloads are all present before `end`.
// Reads nothing at or behind `end`, writes nothing else. Equals DecodeBlock bit for bit.
void DecodeBlocks(const std::byte* rates, const std::byte* payload, const std::byte* end,
                  uint64_t blocks, const Quantiser<float>& quantiser, Mode mode, std::byte* values);
void DecodeBlocks(const std::byte* rates, const std::byte* payload, const std::byte* end,
                  uint64_t blocks, const Quantiser<double>& quantiser, Mode mode,
                  std::byte* values);

}  // namespace szarena::codec::szp
