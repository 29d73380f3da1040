// SPDX-License-Identifier: Apache-2.0
// Streams that must never change, in testdata/streams.txt: one line a stream, its name and its
// bytes in hex. SZARENA_UPDATE_GOLDEN=1 writes the file anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "codec/szx/reference.h"
#include "codec/szx/szx.h"

namespace szarena::codec::szx {
namespace {

constexpr const char* kFile = SZARENA_SOURCE_DIR "/src/codec/szx/testdata/streams.txt";

struct Case {
  const char* data;
  std::size_t n;
  double eb;
};
constexpr Case kCases[] = {{"empty", 0, 1},       {"one", 1, 1e-3},     {"parabolas", 300, 0.5},
                           {"parabolas", 300, 8}, {"hash", 140, 0.25},  {"hash", 140, 1e-9},
                           {"steps", 700, 1e-3},  {"holes", 260, 0.01}, {"signed zeros", 130, 0}};

// Integer arithmetic only, so that every machine makes the same values.
template <Real T>
std::vector<T> Make(const std::string& data, std::size_t n) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::int32_t>(i);
    const std::int32_t wave = k % 200 - 100;
    const auto hash =
        static_cast<std::int32_t>((static_cast<std::uint32_t>(i) * 2654435761U) >> 20) - 2048;
    if (data == "hash" || data == "one") values[i] = static_cast<T>(hash) / 64;
    if (data == "parabolas") values[i] = static_cast<T>(wave * wave) / 16;
    if (data == "steps") values[i] = static_cast<T>(k / 150) * 3;
    if (data == "holes")
      values[i] = k % 131 == 7 ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(wave) / 8;
    if (data == "signed zeros") values[i] = k % 3 == 0 ? -T{0} : T{0};
  }
  return values;
}

std::string Hex(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte b : bytes) out += fmt::format("{:02x}", static_cast<unsigned>(b));
  return out;
}

template <Real T>
void AddStreams(std::map<std::string, std::string>& streams) {
  for (const Case& c : kCases) {
    for (const Mode mode : {Mode::kSequential, Mode::kRandomAccess}) {
      const auto values = Make<T>(c.data, c.n);
      const ConstArray view = ArrayOf<T>(std::span<const T>(values));
      const Params params{.eb = c.eb, .mode = mode};
      const auto stream = CompressReference(view, params);
      ASSERT_TRUE(stream);
      std::vector<std::byte> buffer(MaxPayloadSize(c.n, kDTypeOf<T>, params).value());
      const auto size = Compress(view, params, buffer);
      ASSERT_TRUE(size);
      const std::string name = fmt::format("{} {} n={} eb={} {}", DTypeName(kDTypeOf<T>), c.data,
                                           c.n, c.eb, ModeName(mode));
      streams[name] = Hex(*stream);
      EXPECT_EQ(Hex(std::span(buffer).first(*size)), streams[name]) << name;
    }
  }
}

TEST(SzxGolden, StreamsNeverChange) {
  std::map<std::string, std::string> streams;
  AddStreams<float>(streams);
  AddStreams<double>(streams);
  if (std::getenv("SZARENA_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(kFile);
    for (const auto& [name, hex] : streams) file << name << ": " << hex << '\n';
  }
  std::map<std::string, std::string> golden;
  std::ifstream file(kFile);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    ASSERT_NE(colon, std::string::npos) << line;
    golden[line.substr(0, colon)] = line.substr(colon + 2);
  }
  EXPECT_EQ(golden, streams);
}

}  // namespace
}  // namespace szarena::codec::szx
