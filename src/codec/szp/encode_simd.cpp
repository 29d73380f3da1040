// SPDX-License-Identifier: Apache-2.0
#include "codec/szp/kernels.h"

namespace szarena::codec::szp {
namespace {
template <Real T>
uint64_t EncodeAll(const std::byte* values, uint64_t blocks, const Quantiser<T>& quantiser,
                   Mode mode, std::byte* rates, std::byte* payload) {
  uint64_t used = 0;
  for (uint64_t b = 0; b < blocks; ++b) {
    const EncodedBlock e = EncodeBlock<T>(values + b * kBlock * sizeof(T), kBlock, quantiser, mode,
                                          payload + used);
    rates[b] = static_cast<std::byte>(e.rate_byte);
    used += e.size;
  }
  return used;
}
}  // namespace
uint64_t EncodeBlocks(const std::byte* values, uint64_t blocks, const Quantiser<float>& quantiser,
                      Mode mode, std::byte* rates, std::byte* payload) {
  return EncodeAll(values, blocks, quantiser, mode, rates, payload);
}
uint64_t EncodeBlocks(const std::byte* values, uint64_t blocks, const Quantiser<double>& quantiser,
                      Mode mode, std::byte* rates, std::byte* payload) {
  return EncodeAll(values, blocks, quantiser, mode, rates, payload);
}
}  // namespace szarena::codec::szp
