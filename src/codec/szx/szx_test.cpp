// SPDX-License-Identifier: Apache-2.0
// The fast version against the reference: same bytes, same values, same refusals, whatever the
// data.
#include "codec/szx/szx.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "codec/core/accept.h"
#include "codec/szx/format.h"
#include "codec/szx/reference.h"

namespace szarena::codec::szx {
namespace {

constexpr unsigned kSeed = 20260101;

template <Real T>
using Generator = T (*)(std::size_t i, std::mt19937_64& random);

template <Real T>
T Uniform(std::mt19937_64& random) {
  return static_cast<T>(std::ldexp(static_cast<double>(random() >> 11), -53));
}

template <Real T>
struct Kind {
  const char* name;
  Generator<T> make;
};

// Each entry is a kind of data that has broken some compressor.
template <Real T>
const Kind<T> kKinds[] = {
    {"zero", [](std::size_t, std::mt19937_64&) { return T{0}; }},
    {"negative zero", [](std::size_t, std::mt19937_64&) { return -T{0}; }},
    {"zeros of both signs",
     [](std::size_t, std::mt19937_64& r) { return (r() & 1) != 0 ? T{0} : -T{0}; }},
    {"constant", [](std::size_t, std::mt19937_64&) { return T(100000001.5); }},
    {"smooth", [](std::size_t i,
                  std::mt19937_64&) { return T(std::sin(static_cast<double>(i) * 0.01) * 10); }},
    {"smooth and noise",
     [](std::size_t i, std::mt19937_64& r) {
       return T(std::sin(static_cast<double>(i) * 0.01)) + Uniform<T>(r) / 1000;
     }},
    {"noise", [](std::size_t, std::mt19937_64& r) { return Uniform<T>(r) * 2 - 1; }},
    {"steps", [](std::size_t i, std::mt19937_64&) { return T(i / 200); }},
    {"ramp", [](std::size_t i, std::mt19937_64&) { return T(1000000) + T(i) / 64; }},
    {"large with fine noise",
     [](std::size_t, std::mt19937_64& r) { return T(1e8) + Uniform<T>(r); }},
    {"midpoint that rounds",
     [](std::size_t i, std::mt19937_64&) { return T(i % 2 == 0 ? 16777216.0 : 16777218.0); }},
    {"huge range",
     [](std::size_t i, std::mt19937_64& r) {
       const T huge = std::numeric_limits<T>::max();
       return i % 300 < 200 ? (Uniform<T>(r) - T(0.5)) * huge * 2 : Uniform<T>(r);
     }},
    {"all exponents",
     [](std::size_t, std::mt19937_64& r) {
       return std::ldexp(Uniform<T>(r) - T(0.5), static_cast<int>(r() % 200) - 100);
     }},
    {"denormal",
     [](std::size_t, std::mt19937_64& r) { return Uniform<T>(r) * std::numeric_limits<T>::min(); }},
    {"random bits",
     [](std::size_t, std::mt19937_64& r) {
       return std::bit_cast<T>(static_cast<typename Type<T>::Bits>(r()));
     }},
    {"NaN and infinity sprinkled",
     [](std::size_t i, std::mt19937_64& r) {
       if (i % 131 == 5) return std::numeric_limits<T>::quiet_NaN();
       if (i % 397 == 0) return -std::numeric_limits<T>::infinity();
       return Uniform<T>(r);
     }},
    {"sparse",
     [](std::size_t, std::mt19937_64& r) { return r() % 50 == 0 ? Uniform<T>(r) : T{0}; }},
    {"fill values",
     [](std::size_t i, std::mt19937_64& r) { return i / 100 % 2 == 0 ? T(-1e34) : Uniform<T>(r); }},
    {"infinite runs",
     [](std::size_t i, std::mt19937_64&) {
       return i / 150 % 2 == 0 ? std::numeric_limits<T>::infinity() : T(1);
     }},
};

template <Real T>
std::vector<T> Make(const Kind<T>& kind, std::size_t n) {
  std::mt19937_64 random(kSeed);
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = kind.make(i, random);
  return values;
}

constexpr std::size_t kLengths[] = {0, 1, 2, 3, 31, 33, 127, 128, 129, 255, 272, 1000, 4096 + 77};
constexpr double kBounds[] = {0, 5e-324, 1e-42, 1e-12, 1e-8, 1e-3, 0.1, 0.5, 1, 1e6, 1e31, 1e300};

template <Real T>
ConstArray View(const std::vector<T>& values) {
  return ArrayOf<T>(std::span<const T>(values));
}

// Exactly |x - y| <= eb for finite values, equal bits for the others.
template <Real T>
bool Holds(T x, T y, double eb) {
  if (!std::isfinite(x)) return std::memcmp(&x, &y, sizeof x) == 0;
  return WithinBound<double>(x, y, eb);
}

template <Real T>
void CheckEverything(const Kind<T>& kind, std::size_t n, double eb, Mode mode) {
  SCOPED_TRACE(std::string(kind.name) + " n=" + std::to_string(n) + " eb=" + std::to_string(eb) +
               " " + std::string(ModeName(mode)));
  const std::vector<T> values = Make<T>(kind, n);
  const Params params{.eb = eb, .mode = mode};
  const auto reference = CompressReference(View(values), params);
  ASSERT_TRUE(reference) << reference.error().ToString();

  // The exact capacity suffices, and nothing is written beyond it.
  const auto capacity = MaxPayloadSize(n, kDTypeOf<T>, params);
  ASSERT_TRUE(capacity);
  ASSERT_LE(reference->size(), *capacity);
  for (const unsigned threads : {1U, 3U}) {
    std::vector<std::byte> buffer(*capacity + 64, std::byte{0xA5});
    const auto size = Compress(View(values), params, std::span(buffer).first(*capacity), threads);
    ASSERT_TRUE(size) << size.error().ToString();
    ASSERT_EQ(*size, reference->size());
    ASSERT_TRUE(std::equal(reference->begin(), reference->end(), buffer.begin()));
    for (std::size_t i = *capacity; i < buffer.size(); ++i) ASSERT_EQ(buffer[i], std::byte{0xA5});
  }
  const auto roomy = RoomySize(n, kDTypeOf<T>, params);
  ASSERT_TRUE(roomy);
  std::vector<std::byte> buffer(*roomy);
  const auto placed = CompressInPlace(View(values), params, buffer);
  ASSERT_TRUE(placed);
  ASSERT_EQ(placed->size, reference->size());
  ASSERT_TRUE(std::equal(reference->begin(), reference->end(),
                         buffer.begin() + static_cast<std::ptrdiff_t>(placed->offset)));

  std::vector<T> plain(n, std::numeric_limits<T>::signaling_NaN());
  ASSERT_TRUE(DecompressReference(*reference, ArrayOf<T>(std::span<T>(plain))));
  for (const unsigned threads : {1U, 3U}) {
    std::vector<T> fast(n, std::numeric_limits<T>::signaling_NaN());
    const auto status = Decompress(*reference, ArrayOf<T>(std::span<T>(fast)), threads);
    ASSERT_TRUE(status) << status.error().ToString();
    ASSERT_TRUE(n == 0 || std::memcmp(plain.data(), fast.data(), n * sizeof(T)) == 0);
  }
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_TRUE(Holds(values[i], plain[i], eb))
        << "value " << i << ": " << values[i] << " became " << plain[i];
    ASSERT_TRUE(eb > 0 || std::memcmp(&values[i], &plain[i], sizeof(T)) == 0) << i;
  }
}

template <typename T>
class SzxFast : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SzxFast, Types);

TYPED_TEST(SzxFast, EqualsReferenceAndHoldsTheBound) {
  for (const auto& kind : kKinds<TypeParam>) {
    for (const std::size_t n : kLengths) {
      for (const double eb : kBounds) {
        for (const Mode mode : {Mode::kSequential, Mode::kRandomAccess}) {
          CheckEverything<TypeParam>(kind, n, eb, mode);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

// Several chunks of blocks, so that threads meet.
TYPED_TEST(SzxFast, ManyChunks) {
  for (const std::size_t k : {5U, 15U, 16U, 17U}) {
    CheckEverything<TypeParam>(kKinds<TypeParam>[k], 3 * 512 * 128 + 4321, 1e-3,
                               Mode::kRandomAccess);
    CheckEverything<TypeParam>(kKinds<TypeParam>[k], 3 * 512 * 128 + 4321, 1e-3, Mode::kSequential);
  }
}

}  // namespace
}  // namespace szarena::codec::szx
