// SPDX-License-Identifier: Apache-2.0
#include "judge/primitives.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "codec/core/accept.h"
#include "codec/core/bound.h"

namespace szarena::judge {
namespace {

template <typename T>
T At(ByteView bytes, uint64_t index) {
  return LoadLe<T>(bytes.data() + index * sizeof(T));
}

template <typename T>
void Put(Bytes& bytes, uint64_t index, T value) {
  StoreLe<T>(bytes.data() + index * sizeof(T), value);
}

template <typename T>
Bytes Quantize(const szarena_problem& problem, ByteView input) {
  const T ebq = codec::RoundBoundDown<T>(problem.abs_bound);
  const T limit = std::is_same_v<T, float> ? T{1 << 24} : T{1 << 30};
  const uint64_t n = problem.n;
  Bytes out(n * 4 + (n + 7) / 8);
  std::byte* bitmap = out.data() + n * 4;
  for (uint64_t i = 0; i < n; ++i) {
    const T x = At<T>(input, i);
    int32_t code = 0;
    bool raw = true;
    if (std::isfinite(x) && ebq > 0) {
      const T t = x * (T(0.5) / ebq);
      // Beyond the limit the conversion to an integer need not exist.
      if (std::isfinite(t) && std::abs(t) <= 2 * limit) {
        const T q = std::trunc(t + T(0.5)) - (t < T(-0.5) ? T(1) : T(0));
        const T back = (q * ebq) * T(2);
        if (std::abs(q) < limit && codec::WithinBound(x, back, ebq)) {
          raw = false;
          code = static_cast<int32_t>(q);
        }
      }
    }
    if (raw) bitmap[i / 8] |= std::byte{1} << (i % 8);
    Put<int32_t>(out, i, code);
  }
  return out;
}

uint64_t PaddedBlocks(const szarena_problem& problem) {
  const uint64_t blocks = (problem.n + 31) / 32;
  const uint64_t pad = std::max<uint32_t>(1, problem.pad_blocks);
  return (blocks + pad - 1) / pad * pad;
}

template <typename Word>
Bytes LeadingBytes(const szarena_problem& problem, ByteView input) {
  Bytes out((problem.n + 3) / 4);
  Word previous = 0;
  for (uint64_t i = 0; i < problem.n; ++i) {
    if (i % problem.block_size == 0) previous = 0;
    const Word word = At<Word>(input, i);
    const int same = std::min(3, std::countl_zero(static_cast<Word>(word ^ previous)) / 8);
    out[i / 4] |= static_cast<std::byte>(same << (6 - 2 * (i % 4)));
    previous = word;
  }
  return out;
}

}  // namespace

Bytes RunQuantize(const szarena_problem& problem, ByteView input) {
  return problem.dtype == SZARENA_F32 ? Quantize<float>(problem, input)
                                      : Quantize<double>(problem, input);
}

Bytes RunLorenzo(const szarena_problem& problem, ByteView input) {
  const uint64_t h = problem.dims[1];
  const uint64_t w = problem.dims[2];
  const auto at = [&](int64_t z, int64_t y, int64_t x) -> uint32_t {
    if (z < 0 || y < 0 || x < 0) return 0;
    return At<uint32_t>(input, (static_cast<uint64_t>(z) * h + static_cast<uint64_t>(y)) * w +
                                   static_cast<uint64_t>(x));
  };
  Bytes out(problem.n * 4);
  for (uint64_t i = 0; i < problem.n; ++i) {
    const auto x = static_cast<int64_t>(i % w);
    const auto y = static_cast<int64_t>(i / w % h);
    const auto z = static_cast<int64_t>(i / w / h);
    const uint32_t d = at(z, y, x) - at(z, y, x - 1) - at(z, y - 1, x) + at(z, y - 1, x - 1) -
                       at(z - 1, y, x) + at(z - 1, y, x - 1) + at(z - 1, y - 1, x) -
                       at(z - 1, y - 1, x - 1);
    Put<uint32_t>(out, i, d);
  }
  return out;
}

Bytes InvertLorenzo(const szarena_problem& problem, ByteView payload) {
  // The inverse is a running sum along every axis in turn.
  Bytes out(payload.begin(), payload.end());
  const uint64_t w = problem.dims[2];
  const uint64_t plane = problem.dims[1] * w;
  const auto add = [&](uint64_t i, uint64_t from) {
    Put<uint32_t>(out, i, At<uint32_t>(out, i) + At<uint32_t>(out, from));
  };
  for (uint64_t i = 0; i < problem.n; ++i) {
    if (i % w != 0) add(i, i - 1);
  }
  for (uint64_t i = 0; i < problem.n; ++i) {
    if (i % plane >= w) add(i, i - w);
  }
  for (uint64_t i = plane; i < problem.n; ++i) add(i, i - plane);
  return out;
}

Bytes RunHistogram(const szarena_problem& problem, ByteView input) {
  Bytes out((uint64_t{problem.bins} + 1) * 4);
  for (uint64_t i = 0; i < problem.n; ++i) {
    const auto value = At<int32_t>(input, i);
    const bool inside = value >= 0 && static_cast<uint32_t>(value) < problem.bins;
    const uint64_t bin = inside ? static_cast<uint32_t>(value) : problem.bins;
    Put<uint32_t>(out, bin, At<uint32_t>(out, bin) + 1);
  }
  return out;
}

Bytes RunBitpack(const szarena_problem& problem, ByteView input) {
  const uint64_t blocks = (problem.n + 31) / 32;
  Bytes out(PaddedBlocks(problem));
  for (uint64_t block = 0; block < blocks; ++block) {
    uint32_t magnitude[32] = {};
    uint32_t signs = 0;
    uint32_t largest = 0;
    for (uint64_t k = 0; k < 32 && block * 32 + k < problem.n; ++k) {
      const auto value = At<int32_t>(input, block * 32 + k);
      magnitude[k] = value < 0 ? 0u - static_cast<uint32_t>(value) : static_cast<uint32_t>(value);
      if (value < 0) signs |= 0x80000000u >> k;
      largest = std::max(largest, magnitude[k]);
    }
    const int rate = std::bit_width(largest);
    out[block] = static_cast<std::byte>(rate);
    if (rate == 0) continue;
    const size_t at = out.size();
    out.resize(at + 4 + 4 * static_cast<size_t>(rate));
    StoreBe<uint32_t>(out.data() + at, signs);
    for (int plane = 0; plane < rate; ++plane) {
      uint32_t bits = 0;
      for (int k = 0; k < 32; ++k) bits |= (magnitude[k] >> plane & 1) << (31 - k);
      StoreBe<uint32_t>(out.data() + at + 4 + 4 * static_cast<size_t>(plane), bits);
    }
  }
  return out;
}

Result<Bytes> InvertBitpack(const szarena_problem& problem, ByteView payload) {
  const uint64_t blocks = (problem.n + 31) / 32;
  size_t at = PaddedBlocks(problem);
  if (payload.size() < at) return Fail(ErrorCode::kCorrupt, "the rate bytes are cut off");
  Bytes out(problem.n * 4);
  for (uint64_t block = 0; block < blocks; ++block) {
    const auto rate = static_cast<size_t>(payload[block]);
    if (rate == 0) continue;
    if (rate > 31) return Fail(ErrorCode::kCorrupt, "a rate byte is above 31");
    if (payload.size() - at < 4 + 4 * rate) return Fail(ErrorCode::kCorrupt, "a block is cut off");
    const auto signs = LoadBe<uint32_t>(payload.data() + at);
    for (uint64_t k = 0; k < 32 && block * 32 + k < problem.n; ++k) {
      uint32_t value = 0;
      for (size_t plane = 0; plane < rate; ++plane) {
        const auto bits = LoadBe<uint32_t>(payload.data() + at + 4 + 4 * plane);
        value |= (bits >> (31 - k) & 1) << plane;
      }
      if ((signs >> (31 - k) & 1) != 0) value = 0u - value;
      Put<uint32_t>(out, block * 32 + k, value);
    }
    at += 4 + 4 * rate;
  }
  if (at != payload.size()) return Fail(ErrorCode::kCorrupt, "bytes follow the last block");
  return out;
}

Bytes RunScan(const szarena_problem& problem, ByteView input) {
  Bytes out((problem.n + 1) * 8);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < problem.n; ++i) {
    Put<uint64_t>(out, i, sum);
    sum += At<uint32_t>(input, i);
  }
  Put<uint64_t>(out, problem.n, sum);
  return out;
}

Bytes RunLeadingBytes(const szarena_problem& problem, ByteView input) {
  return problem.dtype == SZARENA_F32 ? LeadingBytes<uint32_t>(problem, input)
                                      : LeadingBytes<uint64_t>(problem, input);
}

}  // namespace szarena::judge
