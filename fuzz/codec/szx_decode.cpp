// SPDX-License-Identifier: Apache-2.0
// Any bytes through the SZx decoders: both refuse or both give the same values, every one written.
#include <vector>

#include "codec/szx/reference.h"
#include "codec/szx/szx.h"
#include "input.h"

namespace {

using namespace szarena::codec;  // NOLINT(google-build-using-namespace): one file

template <Real T>
void Check(std::span<const std::byte> payload, uint64_t count) {
  std::vector<std::byte> fast(count * sizeof(T), std::byte{0x5A});
  std::vector<std::byte> slow(count * sizeof(T), std::byte{0xC3});
  const auto a = szx::Decompress(payload, {fast.data(), count, kDTypeOf<T>});
  const auto b = szx::DecompressReference(payload, {slow.data(), count, kDTypeOf<T>});
  szarena::fuzz::Require(a.has_value() == b.has_value(), "fast and reference disagree on validity");
  if (a) szarena::fuzz::Require(fast == slow, "fast and reference differ");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  szarena::fuzz::Input input(data, size);
  const auto choice = input.Take<uint8_t>();
  const uint64_t count = input.Take<uint16_t>() % 4096;
  const auto payload = input.Rest();
  if (choice % 2 == 0) {
    Check<float>(payload, count);
  } else {
    Check<double>(payload, count);
  }
  return 0;
}
