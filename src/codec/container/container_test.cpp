// SPDX-License-Identifier: Apache-2.0
// Containers of both codecs: round trips with bounds, fill values and constants; golden header;
// damage.
#include "codec/container/container.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "codec/container/fill_mask.h"
#include "codec/core/testing/sample_data.h"

namespace szarena::codec::container {
namespace {

using codec::testing::SampleData;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <Real T>
std::vector<std::byte> MakeFile(const std::vector<T>& v, const Dims& dims, const Options& options) {
  std::vector<std::byte> file(*MaxSize(v.size(), kDTypeOf<T>, options));
  const auto size = Compress(ArrayOf(std::span<const T>(v)), dims, options, file);
  EXPECT_TRUE(size) << size.error().ToString();
  file.resize(size.value_or(0));
  return file;
}

template <Real T>
std::vector<T> Read(const std::vector<std::byte>& file) {
  const auto header = ReadHeader(file, file.size());
  EXPECT_TRUE(header) << header.error().ToString();
  std::vector<T> out(header ? header->count() : 0, T{-77});
  const auto status = Decompress(file, ArrayOf(std::span<T>(out)));
  EXPECT_TRUE(status) << status.error().ToString();
  return out;
}

class Container : public ::testing::TestWithParam<Codec> {};
INSTANTIATE_TEST_SUITE_P(Codecs, Container, ::testing::Values(Codec::kSzp, Codec::kSzx));

TEST_P(Container, RelativeBoundIsOfTheRange) {
  std::vector<double> v = SampleData<double>("smooth", 3 * 5 * 41, 3);
  const auto [low, high] = std::minmax_element(v.begin(), v.end());
  const double eb = 1e-3 * (*high - *low);
  const Options options{.codec = GetParam(), .bound_kind = BoundKind::kRelative, .bound = 1e-3};
  const Dims dims{{3, 5, 41}, 3};
  const auto file = MakeFile(v, dims, options);
  const auto header = ReadHeader(file, file.size());
  ASSERT_TRUE(header);
  EXPECT_EQ(header->dims, dims);
  EXPECT_EQ(header->bound, 1e-3);
  EXPECT_EQ(header->eb, eb);
  EXPECT_EQ(header->codec, GetParam());
  EXPECT_FALSE(header->constant);
  const auto out = Read<double>(file);
  for (size_t i = 0; i < v.size(); ++i) ASSERT_LE(std::fabs(v[i] - out[i]), eb);
}

TEST_P(Container, ConstantFieldIsExactAndTiny) {
  const std::vector<float> v(100000, 100000001.5f);
  const auto file =
      MakeFile(v, Dims::Of(v.size()),
               {.codec = GetParam(), .bound_kind = BoundKind::kRelative, .bound = 1e-3});
  EXPECT_EQ(file.size(), kHeaderBytes + 4);
  EXPECT_EQ(Read<float>(file), v);
}

TEST_P(Container, ZeroRangeWithOtherValuesIsExactToo) {
  std::vector<float> v(500, 3.25f);
  v[7] = kNan;
  v[100] = -std::numeric_limits<float>::infinity();
  const auto file =
      MakeFile(v, Dims::Of(v.size()),
               {.codec = GetParam(), .bound_kind = BoundKind::kRelative, .bound = 1e-3});
  const auto out = Read<float>(file);
  EXPECT_EQ(std::memcmp(out.data(), v.data(), v.size() * 4), 0);
}

TEST_P(Container, FillValuesAreExactAndOutOfTheRange) {
  for (const float fill : {-1e34f, -1e10f, 0.0f, kNan}) {
    std::mt19937 rng(4);
    auto v = SampleData<float>("smooth", 20000, 8);
    for (size_t i = 0; i < v.size(); ++i) {
      if ((i / 700) % 2 == 1) v[i] = fill;           // runs
      if (i > 15000 && rng() % 3 == 0) v[i] = fill;  // and noise
    }
    const Options options{
        .codec = GetParam(), .bound_kind = BoundKind::kRelative, .bound = 1e-3, .fill = fill};
    const auto file = MakeFile(v, Dims::Of(v.size()), options);
    const auto header = ReadHeader(file, file.size());
    ASSERT_TRUE(header);
    EXPECT_LT(header->eb, 0.5) << "the fill value must not widen the bound";
    const auto out = Read<float>(file);
    for (size_t i = 0; i < v.size(); ++i) {
      if (std::bit_cast<uint32_t>(v[i]) == std::bit_cast<uint32_t>(fill)) {
        ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(fill)) << i;
      } else {
        ASSERT_LE(std::fabs(static_cast<double>(v[i]) - out[i]), header->eb) << i;
      }
    }
  }
}

TEST_P(Container, FillEverywhereAndEmptyArrays) {
  const Options options{.codec = GetParam(), .bound = 1, .fill = 9.0};
  for (const auto& v : {std::vector<float>(1000, 9.0f), std::vector<float>{}}) {
    EXPECT_EQ(Read<float>(MakeFile(v, Dims::Of(v.size()), options)), v);
  }
  Options relative{.codec = GetParam(), .bound_kind = BoundKind::kRelative, .bound = 1};
  EXPECT_TRUE(Read<double>(MakeFile(std::vector<double>{}, Dims{{4, 0, 2}, 3}, relative)).empty());
  const std::vector<float> nans(40, kNan);
  const auto out = Read<float>(MakeFile(nans, Dims::Of(40), relative));
  EXPECT_TRUE(std::isnan(out[39]));
}

TEST_P(Container, BoundsWithoutMeaningAreRefused) {
  const std::vector<float> v(10, 1.0f);
  std::vector<std::byte> file(100000);
  for (const double bound : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    for (const BoundKind kind : {BoundKind::kAbsolute, BoundKind::kRelative}) {
      const auto size = Compress(ArrayOf(std::span<const float>(v)), Dims::Of(10),
                                 {.codec = GetParam(), .bound_kind = kind, .bound = bound}, file);
      ASSERT_FALSE(size);
      EXPECT_EQ(size.error().code, ErrorCode::kInvalidArgument);
    }
  }
  const Options fine{.codec = GetParam(), .bound = 1};
  EXPECT_FALSE(Compress(ArrayOf(std::span<const float>(v)), Dims{{3, 3, 1}, 2}, fine, file));
  EXPECT_FALSE(Compress(ArrayOf(std::span<const float>(v)), Dims{{10, 1, 1}, 4}, fine, file));
  EXPECT_FALSE(Compress(ArrayOf(std::span<const float>(v)), Dims::Of(10),
                        {.codec = GetParam(), .bound = 1, .fill = 1e40}, file));
  EXPECT_FALSE(Compress(ArrayOf(std::span<const float>(v)), Dims::Of(10), fine,
                        std::span(file).first(kHeaderBytes)));
  EXPECT_FALSE(MaxSize(std::numeric_limits<uint64_t>::max(), DType::kF32, fine));
}

TEST_P(Container, EveryFlippedBitAndTruncationIsSeen) {
  auto v = SampleData<float>("smooth", 300, 1);
  v[5] = -1e34f;
  const auto file =
      MakeFile(v, Dims{{3, 100, 1}, 2}, {.codec = GetParam(), .bound = 1e-2, .fill = -1e34});
  std::vector<float> out(v.size());
  for (size_t bit = 0; bit < file.size() * 8; bit += bit < 1024 ? 1 : 13) {
    auto damaged = file;
    damaged[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const auto status = Decompress(damaged, ArrayOf(std::span<float>(out)));
    ASSERT_FALSE(status) << "bit " << bit;
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  }
  for (size_t size = 0; size < file.size(); ++size) {
    ASSERT_FALSE(Decompress(std::span(file).first(size), ArrayOf(std::span<float>(out))));
  }
  std::vector<double> wider(v.size());
  EXPECT_FALSE(Decompress(file, ArrayOf(std::span<double>(wider))));
  out.push_back(0);
  EXPECT_FALSE(Decompress(file, ArrayOf(std::span<float>(out))));
}

// Fields that make no sense under right checksums, as a hostile file has.
TEST_P(Container, NonsenseWithRightChecksums) {
  const auto v = SampleData<float>("smooth", 300, 1);
  const Options options{.codec = GetParam(), .bound = 1e-2, .fill = v[3]};
  const auto file = MakeFile(v, Dims::Of(v.size()), options);
  const auto good = ReadHeader(file, file.size());
  ASSERT_TRUE(good);
  const auto refused = [&](auto&& change) {
    Header header = *good;
    change(header);
    auto changed = file;
    WriteHeader(header, changed);
    const auto read = ReadHeader(changed, changed.size());
    if (!read) return true;
    std::vector<float> out(std::min<uint64_t>(read->count(), 1 << 20));
    return !Decompress(changed, ArrayOf(std::span<float>(out)));
  };
  EXPECT_FALSE(refused([](Header&) {}));
  EXPECT_TRUE(refused([](Header& h) { h.dims.extent[0] = 1 << 19; }));
  EXPECT_TRUE(refused([](Header& h) { h.dims.extent[0] = ~uint64_t{0}; }));
  EXPECT_TRUE(refused([](Header& h) { h.dims = {{uint64_t{1} << 40, uint64_t{1} << 40, 1}, 2}; }));
  EXPECT_TRUE(refused([](Header& h) { h.dims.rank = 0; }));
  EXPECT_TRUE(refused([](Header& h) { h.dims.rank = 4; }));
  EXPECT_TRUE(refused([](Header& h) { h.dims.extent[2] = 2; }));
  EXPECT_TRUE(refused([](Header& h) { h.dtype = static_cast<DType>(7); }));
  EXPECT_TRUE(refused([](Header& h) { h.codec = static_cast<Codec>(3); }));
  EXPECT_TRUE(refused([](Header& h) { h.mode = 9; }));
  EXPECT_TRUE(refused([](Header& h) { h.eb = -1; }));
  EXPECT_TRUE(refused([](Header& h) { h.bound = std::nan(""); }));
  EXPECT_TRUE(refused([](Header& h) { h.fill = uint64_t{1} << 40; }));
  EXPECT_TRUE(refused([](Header& h) { h.fill.reset(); }));
  EXPECT_TRUE(refused([](Header& h) { h.constant = true; }));
  EXPECT_TRUE(refused([](Header& h) {
    h.fill_bytes += 1;
    h.payload_bytes -= 1;
  }));
  EXPECT_TRUE(refused([](Header& h) { h.fill_bytes = ~uint64_t{0}; }));
  EXPECT_TRUE(refused([](Header& h) { h.payload_bytes += 1; }));
  EXPECT_TRUE(refused([](Header& h) { h.parameter = h.parameter == 0 ? 1 : 0; }));
}

TEST(ContainerGolden, HeaderBytes) {
  const std::vector<float> v(6, 2.0f);
  const auto file =
      MakeFile(v, Dims{{2, 3, 1}, 2},
               {.codec = Codec::kSzp, .bound_kind = BoundKind::kRelative, .bound = 0.5});
  ASSERT_EQ(file.size(), 132u);
  const auto at = [&](size_t i) { return std::to_integer<int>(file[i]); };
  const int magic[] = {0x89, 0x53, 0x5A, 0x41, 0x0D, 0x0A, 0x1A, 0x0A, 1, 0, 128, 0, 1, 0, 2, 2};
  for (size_t i = 0; i < std::size(magic); ++i) EXPECT_EQ(at(i), magic[i]) << i;
  EXPECT_EQ(LoadLe<uint64_t>(&file[16]), 2u);
  EXPECT_EQ(LoadLe<uint64_t>(&file[24]), 3u);
  EXPECT_EQ(LoadLe<uint64_t>(&file[32]), 1u);
  EXPECT_EQ(at(40), 1);  // relative
  EXPECT_EQ(at(41), 1);  // constant
  EXPECT_EQ(LoadLe<uint32_t>(&file[44]), 1024u);
  EXPECT_EQ(LoadLe<double>(&file[48]), 0.5);
  EXPECT_EQ(LoadLe<double>(&file[56]), 0.0);
  EXPECT_EQ(LoadLe<uint64_t>(&file[80]), 4u);
  EXPECT_EQ(LoadLe<float>(&file[128]), 2.0f);
  // XXH3-64 of the four bytes 00 00 00 40.
  EXPECT_EQ(LoadLe<uint64_t>(&file[112]), 0x8cbcb19766caa19aull);
}

TEST(ContainerNames, OfCodecs) {
  EXPECT_EQ(ParseCodec("szp"), Codec::kSzp);
  EXPECT_EQ(ParseCodec("szx"), Codec::kSzx);
  EXPECT_EQ(ParseCodec("zfp"), std::nullopt);
}

TEST(FillSection, GoldenRunsAndBitmap) {
  // 3 kept, 200 fill, 97 kept: runs of 3, 200 (two LEB128 bytes) and 97.
  std::vector<float> v(300, 1.0f);
  std::fill(v.begin() + 3, v.begin() + 203, 9.0f);
  std::vector<std::byte> section(MaxFillSectionBytes(v.size()));
  std::vector<std::byte> kept(100 * 4);
  const auto values = ArrayOf(std::span<const float>(v));
  const uint64_t nine = FillBits(9, DType::kF32);
  section.resize(WriteFillSection(values, nine, section, kept.data()));
  const std::vector<std::byte> runs = {std::byte{0}, std::byte{3}, std::byte{0xC8}, std::byte{1},
                                       std::byte{97}};
  EXPECT_EQ(section, runs);
  EXPECT_EQ(CountKept(section, 300).value_or(0), 100u);
  // Every other one of 16 is fill, starting with the first: the bitmap is shorter.
  std::vector<float> w(16, 1.0f);
  for (size_t i = 0; i < 16; i += 2) w[i] = 9;
  section.assign(MaxFillSectionBytes(16), std::byte{0xEE});
  section.resize(WriteFillSection(ArrayOf(std::span<const float>(w)), nine, section, kept.data()));
  const std::vector<std::byte> bitmap = {std::byte{1}, std::byte{0x55}, std::byte{0x55}};
  EXPECT_EQ(section, bitmap);
}

TEST(FillSection, NonsenseIsRefused) {
  const auto bytes = [](std::initializer_list<int> list) {
    std::vector<std::byte> b;
    for (const int x : list) b.push_back(static_cast<std::byte>(x));
    return b;
  };
  EXPECT_TRUE(CountKept(bytes({0, 5, 5}), 10));
  EXPECT_TRUE(CountKept(bytes({0, 0, 10}), 10));
  EXPECT_TRUE(CountKept(bytes({0}), 0));
  for (const auto& bad :
       {bytes({}), bytes({2, 5, 5}), bytes({0, 5}), bytes({0, 5, 0, 5}), bytes({0, 5, 6}),
        bytes({0, 0x85}), bytes({0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}),
        bytes({0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 11}), bytes({1, 0}),
        bytes({1, 0, 0x04}), bytes({1, 0, 0, 0})}) {
    EXPECT_FALSE(CountKept(bad, 10));
  }
}

}  // namespace
}  // namespace szarena::codec::container
