// SPDX-License-Identifier: Apache-2.0
// Any bytes through the SZp decoders: both refuse or both give the same values, every one written.
#include <vector>

#include "codec/szp/reference.h"
#include "input.h"

namespace {

using namespace szarena::codec;  // NOLINT(google-build-using-namespace): one file

template <Real T>
void Check(std::span<const std::byte> payload, const szp::Params& params, uint64_t count) {
  std::vector<std::byte> fast(count * sizeof(T), std::byte{0x5A});
  std::vector<std::byte> slow(count * sizeof(T), std::byte{0xC3});
  const auto a = szp::Decompress(payload, params, {fast.data(), count, kDTypeOf<T>});
  const auto b = szp::ReferenceDecompress(payload, params, {slow.data(), count, kDTypeOf<T>});
  szarena::fuzz::Require(a.has_value() == b.has_value(), "fast and reference disagree on validity");
  if (a) szarena::fuzz::Require(fast == slow, "fast and reference differ");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  szarena::fuzz::Input input(data, size);
  const auto choice = input.Take<uint8_t>();
  const uint64_t count = input.Take<uint16_t>() % 4096;
  const szp::Params params{.eb = input.Take<float>(),
                           .mode = static_cast<szp::Mode>(choice / 2 % 4),
                           .padding_blocks = input.Take<uint8_t>()};
  const auto payload = input.Rest();
  if (choice % 2 == 0) {
    Check<float>(payload, params, count);
  } else {
    Check<double>(payload, params, count);
  }
  return 0;
}
