// SPDX-License-Identifier: Apache-2.0
// SZp written as the specification reads: one block, one value, one bit at a time. The oracle that
// the fast version must equal bit for bit, and what it falls back to for tails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "codec/szp/format.h"

namespace szarena::codec::szp {

// The arithmetic of a bound, the same in encoder and decoder.
template <Real T>
struct Quantiser {
  explicit Quantiser(double eb);

  // The quantised value, or nothing where x has to be stored as it is: not finite, |q| too large,
  // or the decoder's value would miss the bound.
  std::optional<int32_t> Quantise(T x) const;
  T Reconstruct(int32_t q) const { return (static_cast<T>(q) * ebq) * T{2}; }

  T ebq;    // the bound, rounded down to T
  T scale;  // 0.5 / ebq, infinite where that overflows: then nothing is quantised
};

struct EncodedBlock {
  uint8_t rate_byte = 0;
  uint32_t size = 0;  // bytes written
};

// Encodes `count` (1..32) values at `values`; `payload` has room for RawBlockBytes.
template <Real T>
EncodedBlock EncodeBlock(const std::byte* values, uint32_t count, const Quantiser<T>& quantiser,
                         Mode mode, std::byte* payload);

// Decodes `count` (1..32) values. `payload` has the bytes that MakeSizeTable gives for a valid rate
// byte.
template <Real T>
void DecodeBlock(uint8_t rate_byte, const std::byte* payload, uint32_t count,
                 const Quantiser<T>& quantiser, Mode mode, std::byte* values);

// As Compress and Decompress in szp.h, with one thread.
Result<uint64_t> ReferenceCompress(ConstArray values, const Params& params,
                                   std::span<std::byte> payload);
Result<void> ReferenceDecompress(std::span<const std::byte> payload, const Params& params,
                                 MutableArray values);

}  // namespace szarena::codec::szp
