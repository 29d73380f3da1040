// SPDX-License-Identifier: Apache-2.0
// Any values through both codecs: the fast stream equals the reference's, and the bound holds
// exactly.
#include <cmath>
#include <cstring>
#include <vector>

#include "codec/core/accept.h"
#include "codec/core/bound.h"
#include "codec/szp/reference.h"
#include "codec/szx/reference.h"
#include "codec/szx/szx.h"
#include "input.h"

namespace {

using namespace szarena::codec;  // NOLINT(google-build-using-namespace): one file
using szarena::fuzz::Require;

template <Real T>
void CheckValues(ConstArray values, const std::vector<std::byte>& decoded, double eb) {
  const T ebq = RoundBoundDown<T>(eb);
  for (uint64_t i = 0; i < values.count; ++i) {
    const T x = Load<T>(values.data + i * sizeof(T));
    const T y = Load<T>(decoded.data() + i * sizeof(T));
    const bool same = std::memcmp(&x, &y, sizeof x) == 0;
    Require(same || (std::isfinite(x) && WithinBound(x, y, ebq)), "the bound is broken");
  }
}

template <Real T>
void Check(ConstArray values, double eb, unsigned mode, uint32_t padding) {
  std::vector<std::byte> decoded(values.count * sizeof(T));
  const MutableArray out{decoded.data(), values.count, values.dtype};
  const szp::Params p{
      .eb = eb, .mode = static_cast<szp::Mode>(mode % 3), .padding_blocks = padding};
  std::vector<std::byte> fast(*szp::MaxPayloadSize(values.count, values.dtype, p));
  std::vector<std::byte> slow(fast.size());
  fast.resize(szp::Compress(values, p, fast).value());
  slow.resize(szp::ReferenceCompress(values, p, slow).value());
  Require(fast == slow, "SZp: fast and reference streams differ");
  Require(szp::Decompress(fast, p, out).has_value(), "SZp: its own stream is refused");
  CheckValues<T>(values, decoded, eb);

  const szx::Params x{.eb = eb, .mode = static_cast<szx::Mode>(mode % 2)};
  std::vector<std::byte> stream(*szx::MaxPayloadSize(values.count, values.dtype, x));
  stream.resize(szx::Compress(values, x, stream).value());
  Require(stream == szx::CompressReference(values, x).value(),
          "SZx: fast and reference streams differ");
  Require(szx::Decompress(stream, out).has_value(), "SZx: its own stream is refused");
  CheckValues<T>(values, decoded, eb);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  szarena::fuzz::Input input(data, size);
  const auto choice = input.Take<uint8_t>();
  const double eb = std::fabs(input.Take<float>());
  const uint32_t padding = 1 + input.Take<uint8_t>();
  const auto bytes = input.Rest();
  if (!std::isfinite(eb)) return 0;
  if (choice % 2 == 0) {
    Check<float>({bytes.data(), bytes.size() / 4, DType::kF32}, eb, choice / 2, padding);
  } else {
    Check<double>({bytes.data(), bytes.size() / 8, DType::kF64}, eb, choice / 2, padding);
  }
  return 0;
}
