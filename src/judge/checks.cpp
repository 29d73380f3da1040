// SPDX-License-Identifier: Apache-2.0
#include "judge/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "base/bytes.h"
#include "base/check.h"
#include "codec/core/accept.h"
#include "judge/random.h"

namespace szarena::judge {
namespace {

uint64_t PoisonWord(PoisonKey key, uint64_t word) {
  const uint64_t value = Mix64(key.seed + (word + 1) * 0x9e3779b97f4a7c15ull);
  return key.inverted ? ~value : value;
}

template <typename T>
FieldError Compare(ByteView original, ByteView got, double bound) {
  FieldError error;
  const uint64_t n = original.size() / sizeof(T);
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double squares = 0;
  double worst = -1;
  uint64_t finite = 0;
  for (uint64_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(LoadLe<T>(original.data() + i * sizeof(T)));
    const auto y = static_cast<double>(LoadLe<T>(got.data() + i * sizeof(T)));
    bool held;
    if (std::isfinite(x)) [[likely]] {
      // Exact for both types: f32 values are f64 values, and the comparison accounts for the lost
      // part of x - y.
      const double d = std::isfinite(y) ? std::abs(x - y) : std::numeric_limits<double>::infinity();
      held = d < bound || codec::WithinBound<double>(x, y, bound);
      low = std::min(low, x);
      high = std::max(high, x);
      squares += d * d;
      ++finite;
      if (d > worst) {
        worst = d;
        error.worst = i;
      }
    } else {
      // Kept bit for bit, the payload of a NaN too: docs/formats stores such values as they are.
      held =
          std::memcmp(original.data() + i * sizeof(T), got.data() + i * sizeof(T), sizeof(T)) == 0;
    }
    if (!held) {
      if (error.violations == 0) error.first_violation = i;
      ++error.violations;
    }
  }
  if (worst > 0) error.max_error_over_bound = worst / bound;
  const double range = high - low;
  if (finite > 0 && range > 0 && std::isfinite(range)) {
    const double rmse = std::sqrt(squares / static_cast<double>(finite));
    error.nrmse = rmse / range;
    error.psnr = rmse > 0 ? 20 * std::log10(range / rmse) : std::numeric_limits<double>::infinity();
  } else {
    error.psnr = error.nrmse = std::numeric_limits<double>::quiet_NaN();
  }
  return error;
}

}  // namespace

std::byte PoisonByte(PoisonKey key, uint64_t index) {
  return static_cast<std::byte>(PoisonWord(key, index / 8) >> (8 * (index % 8)));
}

void Poison(std::span<std::byte> bytes, PoisonKey key, uint64_t first) {
  SZARENA_CHECK(first % 8 == 0, "poison is made of words");
  uint64_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) StoreLe(bytes.data() + i, PoisonWord(key, (first + i) / 8));
  for (; i < bytes.size(); ++i) bytes[i] = PoisonByte(key, first + i);
}

std::optional<uint64_t> FirstTouched(ByteView bytes, PoisonKey key) {
  for (uint64_t i = 0; i < bytes.size(); ++i) {
    if (i % 8 == 0 && i + 8 <= bytes.size() &&
        LoadLe<uint64_t>(bytes.data() + i) == PoisonWord(key, i / 8)) {
      i += 7;
      continue;
    }
    if (bytes[i] != PoisonByte(key, i)) return i;
  }
  return std::nullopt;
}

bool LooksUnwritten(const PoisonedPair& pair, uint64_t at) {
  if (at < pair.begin || at + pair.width > pair.begin + pair.first.size()) return false;
  for (uint64_t k = at; k < at + pair.width; ++k) {
    if (pair.first[k - pair.begin] != PoisonByte({pair.seed, false}, k) ||
        pair.second[k - pair.begin] != PoisonByte({pair.seed, true}, k)) {
      return false;
    }
  }
  return true;
}

Unwritten FindUnwritten(const PoisonedPair& pair) {
  Unwritten result;
  uint64_t unwritten = 0;
  uint64_t inverse = 0;
  const auto each = [&pair](auto f) {
    for (uint64_t i = 0; i + pair.width <= pair.first.size(); i += pair.width) {
      if ((pair.first[i] ^ pair.second[i]) == std::byte{0xff}) f(pair.begin + i);
    }
  };
  each([&](uint64_t at) {
    ++inverse;
    if (!LooksUnwritten(pair, at)) return;
    if (!result.first) result.first = at;
    ++unwritten;
  });
  if (unwritten == 0) return result;
  // Of d elements that can look so, u or more do by chance with binomial(d, u) p^u <= (e d p / u)^u
  // at most.
  const auto u = static_cast<double>(unwritten);
  const double log_chance = u * (std::log2(std::numbers::e * static_cast<double>(inverse) / u) -
                                 8.0 * static_cast<double>(pair.width));
  result.certain = log_chance < -60;
  if (result.certain) return result;
  each([&](uint64_t at) {
    if (LooksUnwritten(pair, at)) result.doubtful.push_back(at);
  });
  return result;
}

FieldError CompareFields(uint32_t dtype, ByteView original, ByteView got, double bound) {
  return dtype == SZARENA_F32 ? Compare<float>(original, got, bound)
                              : Compare<double>(original, got, bound);
}

std::string Printable(std::string_view text, size_t limit, Lines lines) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (out.size() >= limit) return out + "...";
    const auto c = static_cast<unsigned char>(text[i]);
    const bool second_set =
        c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (second_set) {  // U+0080 to U+009F in UTF-8
      out += '?';
      ++i;
    } else if (c == '\t' || (c == '\n' && lines == Lines::kOne)) {
      out += ' ';
    } else {
      const bool obeyed = (c < 0x20 && c != '\n') || c == 0x7f;
      out += obeyed ? '?' : text[i];
    }
  }
  return out;
}

std::string DescribeElement(uint32_t dtype, ByteView original, ByteView got, uint64_t index,
                            double bound) {
  const auto at = [&](ByteView bytes) {
    return dtype == SZARENA_F32 ? static_cast<double>(LoadLe<float>(bytes.data() + index * 4))
                                : LoadLe<double>(bytes.data() + index * 8);
  };
  const double x = at(original);
  const double y = at(got);
  if (!std::isfinite(x)) {
    const auto bits = [&](ByteView bytes) {
      return dtype == SZARENA_F32 ? uint64_t{LoadLe<uint32_t>(bytes.data() + index * 4)}
                                  : LoadLe<uint64_t>(bytes.data() + index * 8);
    };
    const int digits = dtype == SZARENA_F32 ? 10 : 18;
    return fmt::format("element {} is not finite and must stay as it is: {:#0{}x} became {:#0{}x}",
                       index, bits(original), digits, bits(got), digits);
  }
  return fmt::format("element {}: {:.9g} became {:.9g}, error {:.9g}, bound {:.9g}", index, x, y,
                     std::abs(x - y), bound);
}

}  // namespace szarena::judge
