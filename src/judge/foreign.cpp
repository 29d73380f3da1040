// SPDX-License-Identifier: Apache-2.0
#include "judge/foreign.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "base/check.h"
#include "codec/szp/format.h"
#include "judge/append.h"
#include "judge/random.h"

namespace szarena::judge {
namespace {

using codec::szp::kBlock;

// Signs and planes of m magnitudes of at most `rate` bits, the first value left out where it stands
// apart.
void AppendPlanes(Bytes& to, Random& random, uint64_t m, uint32_t rate, bool apart,
                  bool first_negative) {
  uint32_t magnitudes[kBlock] = {};
  uint32_t signs = first_negative ? 0x80000000u : 0;
  for (uint64_t i = apart ? 1 : 0; i < m; ++i) {
    const uint32_t bits =
        random.Below(2) == 0 ? rate : static_cast<uint32_t>(random.Below(rate + 1));
    magnitudes[i] = static_cast<uint32_t>(random.Next() & ((uint64_t{1} << bits) - 1));
    if (magnitudes[i] != 0 && random.Below(2) == 0) signs |= 0x80000000u >> i;
  }
  AppendBe(to, signs);
  for (uint32_t plane = 0; plane < rate; ++plane) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < kBlock; ++i) bits |= (magnitudes[i] >> plane & 1) << (31 - i);
    AppendBe(to, bits);
  }
}

Bytes Szp(const szarena_problem& problem, Random& random) {
  const uint64_t blocks = (problem.n + kBlock - 1) / kBlock;
  const uint64_t pad = std::max<uint32_t>(1, problem.pad_blocks);
  const uint32_t width = problem.dtype == SZARENA_F32 ? 4 : 8;
  Bytes out((blocks + pad - 1) / pad * pad);
  for (uint64_t block = 0; block < blocks; ++block) {
    const uint64_t m = std::min<uint64_t>(kBlock, problem.n - block * kBlock);
    // Half of them are rates that our encoder has no use for.
    const auto rate =
        static_cast<uint32_t>(random.Below(2) == 0 ? 25 + random.Below(7) : random.Below(32));
    const uint64_t form = random.Below(8);
    if (form == 0) {
      out[block] = static_cast<std::byte>(codec::szp::kRawRate);
      for (uint64_t i = 0; i < m * width; ++i) out.push_back(static_cast<std::byte>(random.Next()));
      out.resize(out.size() + (kBlock - m) * width);
    } else if (form < 4 && problem.mode == SZARENA_MODE_OUTLIER) {
      const auto bytes = static_cast<uint32_t>(1 + random.Below(4));
      out[block] = static_cast<std::byte>(codec::szp::kOutlierFlag | (bytes - 1) << 5 | rate);
      const auto first =
          static_cast<uint32_t>(random.Next() & 0x7fffffff & ((uint64_t{1} << 8 * bytes) - 1));
      for (uint32_t i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(first >> 8 * i));
      AppendPlanes(out, random, m, rate, true, first != 0 && random.Below(2) == 0);
    } else {
      out[block] = static_cast<std::byte>(rate);
      if (rate > 0) AppendPlanes(out, random, m, rate, false, false);
    }
  }
  return out;
}

// Of either sign, a size between 2^-12 and 2^12.
template <typename T>
T Real(Random& random) {
  return static_cast<T>((random.Below(2) == 0 ? 1 : -1) *
                        std::ldexp(1 + random.Unit(), static_cast<int>(random.Below(24)) - 12));
}

template <typename T>
Bytes Szx(const szarena_problem& problem, Random& random) {
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr uint32_t kFull = 8 * sizeof(T);
  constexpr uint32_t kLeast = sizeof(T) == 4 ? 9 : 12;
  const uint64_t size = problem.block_size;
  const uint64_t blocks = (problem.n + size - 1) / size;
  const bool random_access = problem.mode != SZARENA_MODE_SEQUENTIAL;
  Bytes sizes, states((blocks + 7) / 8), medians, coded;
  uint64_t constant = 0;
  for (uint64_t block = 0; block < blocks; ++block) {
    const uint64_t m = std::min(size, problem.n - block * size);
    T median = Real<T>(random);
    if (random.Below(4) == 0) {
      AppendBe(medians, std::bit_cast<Word>(median));
      ++constant;
      continue;
    }
    states[block / 8] |= std::byte{0x80} >> (block % 8);
    const auto required = random.Below(8) == 0
                              ? kFull
                              : static_cast<uint32_t>(kLeast + random.Below(kFull - kLeast + 1));
    if (random.Below(3) == 0) median = random.Below(2) == 0 ? T(0) : -T(0);
    const bool any_bits = required == kFull && median == 0;
    const uint32_t kept = (required + 7) / 8;
    const uint32_t shift = 8 * kept - required;
    const size_t begin = coded.size();
    coded.push_back(static_cast<std::byte>(required));
    AppendBe(coded, std::bit_cast<Word>(median));
    const size_t codes = coded.size();
    coded.resize(codes + (m + 3) / 4);
    Word previous = 0;
    Word bits = 0;
    for (uint64_t i = 0; i < m; ++i) {
      // The same again, a neighbour of it, or another one.
      const uint64_t which = random.Below(4);
      if (which == 1) bits ^= static_cast<Word>(random.Next() & 0xffff);
      if (which > 1)
        bits = any_bits ? static_cast<Word>(random.Next()) : std::bit_cast<Word>(Real<T>(random));
      const Word word = bits >> shift;
      const auto code = static_cast<uint32_t>(
          std::min(3, std::countl_zero(static_cast<Word>(word ^ previous)) / 8));
      coded[codes + i / 4] |= static_cast<std::byte>(code << (6 - 2 * (i % 4)));
      for (uint32_t byte = sizeof(T) - kept; byte + code < sizeof(T); ++byte)
        coded.push_back(static_cast<std::byte>(word >> 8 * byte));
      previous = word;
    }
    if (random_access) AppendLe(sizes, static_cast<uint16_t>(coded.size() - begin));
  }
  Bytes out = {std::byte{1}, std::byte{1}, std::byte{sizeof(T) == 4 ? 1 : 2},
               std::byte{random_access}};
  if (random_access) {
    AppendBe(out, size);
  } else {
    out.push_back(static_cast<std::byte>(size));
  }
  AppendBe(out, constant);
  for (const Bytes* part : {&sizes, &states, &medians, &coded})
    out.insert(out.end(), part->begin(), part->end());
  return out;
}

}  // namespace

Bytes ForeignPayload(const TaskSpec& task, const szarena_problem& problem, uint64_t seed) {
  SZARENA_CHECK(task.compressor, "only compressors have other encoders");
  Random random(seed);
  if (task.kind == TaskKind::kSzp) return Szp(problem, random);
  return problem.dtype == SZARENA_F32 ? Szx<float>(problem, random) : Szx<double>(problem, random);
}

}  // namespace szarena::judge
