// SPDX-License-Identifier: Apache-2.0
#include "codec/szp/kernels.h"

namespace szarena::codec::szp {
namespace {
template <Real T>
void DecodeAll(const std::byte* rates, const std::byte* payload, uint64_t blocks,
               const Quantiser<T>& quantiser, Mode mode, std::byte* values) {
  const SizeTable sizes = MakeSizeTable(kDTypeOf<T>, mode);
  for (uint64_t b = 0; b < blocks; ++b) {
    const auto rate_byte = std::to_integer<uint8_t>(rates[b]);
    DecodeBlock<T>(rate_byte, payload, kBlock, quantiser, mode, values + b * kBlock * sizeof(T));
    payload += sizes[rate_byte];
  }
}
}  // namespace
void DecodeBlocks(const std::byte* rates, const std::byte* payload, uint64_t blocks,
                  const Quantiser<float>& quantiser, Mode mode, std::byte* values) {
  DecodeAll(rates, payload, blocks, quantiser, mode, values);
}
void DecodeBlocks(const std::byte* rates, const std::byte* payload, uint64_t blocks,
                  const Quantiser<double>& quantiser, Mode mode, std::byte* values) {
  DecodeAll(rates, payload, blocks, quantiser, mode, values);
}
}  // namespace szarena::codec::szp
