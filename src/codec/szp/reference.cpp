// SPDX-License-Identifier: Apache-2.0
#include "codec/szp/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "codec/core/accept.h"
#include "codec/core/bound.h"
#include "codec/core/float_env.h"

namespace szarena::codec::szp {
namespace {

using Words = std::array<uint32_t, kBlock>;

// Bit `plane` of each value as four bytes, the first value in the top bit of the first byte.
void StorePlane(const Words& words, uint32_t plane, std::byte* out) {
  for (uint32_t b = 0; b < kPlaneBytes; ++b) {
    uint32_t bits = 0;
    for (uint32_t k = 0; k < 8; ++k) bits = bits << 1 | (words[8 * b + k] >> plane & 1);
    out[b] = static_cast<std::byte>(bits);
  }
}

void LoadPlane(const std::byte* in, uint32_t plane, Words& words) {
  for (uint32_t i = 0; i < kBlock; ++i) {
    const uint32_t bit = std::to_integer<uint32_t>(in[i / 8]) >> (7 - i % 8) & 1;
    words[i] |= bit << plane;
  }
}

uint32_t BitLength(uint32_t value) { return static_cast<uint32_t>(std::bit_width(value)); }

// Writes the coded form of 32 differences.
EncodedBlock EncodeDifferences(const std::array<int32_t, kBlock>& differences, Mode mode,
                               std::byte* payload) {
  Words signs{};
  Words magnitudes{};
  uint32_t all = 0;
  uint32_t all_but_first = 0;
  for (uint32_t i = 0; i < kBlock; ++i) {
    const int32_t d = differences[i];
    signs[i] = d < 0;
    magnitudes[i] = d < 0 ? 0u - static_cast<uint32_t>(d) : static_cast<uint32_t>(d);
    all |= magnitudes[i];
    if (i > 0) all_but_first |= magnitudes[i];
  }
  uint32_t rate = BitLength(all);
  std::byte* out = payload;
  uint8_t rate_byte = static_cast<uint8_t>(rate);
  if (mode == Mode::kOutlier) {
    const uint32_t rate_apart = BitLength(all_but_first);
    const uint32_t first_bytes = (BitLength(magnitudes[0]) + 7) / 8;
    const uint32_t cost = rate == 0 ? 0 : kSignBytes + kPlaneBytes * rate;
    const uint32_t cost_apart = kSignBytes + kPlaneBytes * rate_apart + first_bytes;
    if (cost > cost_apart) {
      for (uint32_t b = 0; b < first_bytes; ++b) {
        *out++ = static_cast<std::byte>(magnitudes[0] >> (8 * b));
      }
      magnitudes[0] = 0;
      rate = rate_apart;
      rate_byte = static_cast<uint8_t>(kOutlierFlag | (first_bytes - 1) << 5 | rate);
    }
  }
  if (rate_byte == 0) return {};
  StorePlane(signs, 0, out);
  out += kSignBytes;
  for (uint32_t p = 0; p < rate; ++p, out += kPlaneBytes) StorePlane(magnitudes, p, out);
  return {rate_byte, static_cast<uint32_t>(out - payload)};
}

}  // namespace

template <Real T>
Quantiser<T>::Quantiser(double eb)
    : ebq(RoundBoundDown<T>(eb)),
      scale(ebq > 0 ? T{0.5} / ebq : std::numeric_limits<T>::infinity()) {}

template <Real T>
std::optional<int32_t> Quantiser<T>::Quantise(T x) const {
  const T t = x * scale;
  const T rounded = std::trunc(t + T{0.5}) - (t < T{-0.5} ? T{1} : T{0});
  if (!(std::fabs(rounded) < kQuantLimit<T>)) return std::nullopt;
  const auto q = static_cast<int32_t>(rounded);
  if (!WithinBound(x, Reconstruct(q), ebq)) return std::nullopt;
  return q;
}

template <Real T>
EncodedBlock EncodeBlock(const std::byte* values, uint32_t count, const Quantiser<T>& quantiser,
                         Mode mode, std::byte* payload) {
  std::array<int32_t, kBlock> differences{};
  int32_t previous = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const auto q = quantiser.Quantise(Load<T>(values + i * sizeof(T)));
    if (!q) {
      std::memset(payload, 0, RawBlockBytes(kDTypeOf<T>));
      std::memcpy(payload, values, count * sizeof(T));
      return {kRawRate, RawBlockBytes(kDTypeOf<T>)};
    }
    differences[i] = *q - previous;
    if (mode != Mode::kFixed) previous = *q;
  }
  return EncodeDifferences(differences, mode, payload);
}

template <Real T>
void DecodeBlock(uint8_t rate_byte, const std::byte* payload, uint32_t count,
                 const Quantiser<T>& quantiser, Mode mode, std::byte* values) {
  if (rate_byte == kRawRate) {
    std::memcpy(values, payload, count * sizeof(T));
    return;
  }
  Words signs{};
  Words magnitudes{};
  if (rate_byte != 0) {
    const uint32_t first_bytes = (rate_byte & kOutlierFlag) != 0 ? (rate_byte >> 5 & 3u) + 1 : 0;
    uint32_t first = 0;
    for (uint32_t b = 0; b < first_bytes; ++b) {
      first |= std::to_integer<uint32_t>(*payload++) << (8 * b);
    }
    LoadPlane(payload, 0, signs);
    payload += kSignBytes;
    for (uint32_t p = 0; p < (rate_byte & 0x1Fu); ++p, payload += kPlaneBytes) {
      LoadPlane(payload, p, magnitudes);
    }
    if (first_bytes > 0) magnitudes[0] = first;
  }
  uint32_t q = 0;  // prefix sums modulo 2^32: foreign streams may overflow
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t d = signs[i] != 0 ? 0 - magnitudes[i] : magnitudes[i];
    q = mode == Mode::kFixed ? d : q + d;
    Store<T>(values + i * sizeof(T), quantiser.Reconstruct(static_cast<int32_t>(q)));
  }
}

namespace {

template <Real T>
Result<uint64_t> CompressAs(ConstArray values, const Params& params, std::span<std::byte> payload,
                            uint64_t rate_bytes) {
  const Quantiser<T> quantiser(params.eb);
  std::memset(payload.data(), 0, rate_bytes);
  uint64_t used = rate_bytes;
  std::array<std::byte, RawBlockBytes(kDTypeOf<T>)> block_payload;
  for (uint64_t block = 0; block < BlockCount(values.count); ++block) {
    const uint64_t first = block * kBlock;
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(kBlock, values.count - first));
    const EncodedBlock encoded = EncodeBlock<T>(values.data + first * sizeof(T), count, quantiser,
                                                params.mode, block_payload.data());
    if (encoded.size > payload.size() - used) {
      return Fail(ErrorCode::kCapacity,
                  fmt::format("payload buffer of '{}' bytes is too small", payload.size()));
    }
    payload[block] = static_cast<std::byte>(encoded.rate_byte);
    std::memcpy(payload.data() + used, block_payload.data(), encoded.size);
    used += encoded.size;
  }
  return used;
}

template <Real T>
void DecompressAs(std::span<const std::byte> payload, const Params& params, MutableArray values,
                  uint64_t rate_bytes) {
  const Quantiser<T> quantiser(params.eb);
  const SizeTable sizes = MakeSizeTable(kDTypeOf<T>, params.mode);
  const std::byte* next = payload.data() + rate_bytes;
  for (uint64_t block = 0; block < BlockCount(values.count); ++block) {
    const uint64_t first = block * kBlock;
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(kBlock, values.count - first));
    const auto rate_byte = std::to_integer<uint8_t>(payload[block]);
    DecodeBlock<T>(rate_byte, next, count, quantiser, params.mode, values.data + first * sizeof(T));
    next += sizes[rate_byte];
  }
}

}  // namespace

Result<uint64_t> ReferenceCompress(ConstArray values, const Params& params,
                                   std::span<std::byte> payload) {
  const DefaultFloatEnv env;
  SZARENA_TRY_VOID(CheckParams(params));
  SZARENA_TRY(const uint64_t rate_bytes, RateTableBytes(values.count, params));
  if (payload.size() < rate_bytes) {
    return Fail(ErrorCode::kCapacity,
                fmt::format("payload buffer of '{}' bytes is too small", payload.size()));
  }
  if (values.count == 0) return 0;
  return values.dtype == DType::kF32 ? CompressAs<float>(values, params, payload, rate_bytes)
                                     : CompressAs<double>(values, params, payload, rate_bytes);
}

Result<void> ReferenceDecompress(std::span<const std::byte> payload, const Params& params,
                                 MutableArray values) {
  const DefaultFloatEnv env;
  SZARENA_TRY(const Info info, Inspect(payload, values.count, values.dtype, params));
  if (values.dtype == DType::kF32) {
    DecompressAs<float>(payload, params, values, info.rate_bytes);
  } else {
    DecompressAs<double>(payload, params, values, info.rate_bytes);
  }
  return {};
}

template struct Quantiser<float>;
template struct Quantiser<double>;
template EncodedBlock EncodeBlock<float>(const std::byte*, uint32_t, const Quantiser<float>&, Mode,
                                         std::byte*);
template EncodedBlock EncodeBlock<double>(const std::byte*, uint32_t, const Quantiser<double>&,
                                          Mode, std::byte*);
template void DecodeBlock<float>(uint8_t, const std::byte*, uint32_t, const Quantiser<float>&, Mode,
                                 std::byte*);
template void DecodeBlock<double>(uint8_t, const std::byte*, uint32_t, const Quantiser<double>&,
                                  Mode, std::byte*);

}  // namespace szarena::codec::szp
