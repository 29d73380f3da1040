// SPDX-License-Identifier: Apache-2.0
// The C interface: round trips of both codecs, refusals with messages, structs of older programs.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "codec/c_api/szarena_codec.h"
#include "codec/core/testing/sample_data.h"

extern "C" int RoundTripInC(szac_codec codec, float* values, uint64_t count, double eb,
                            void* scratch, uint64_t work);

namespace szarena::codec {
namespace {

using testing::SampleData;

class CApi : public ::testing::TestWithParam<szac_codec> {
 protected:
  CApi() : context_(szac_context_create()) {}
  ~CApi() override { szac_context_destroy(context_); }
  szac_params Params(szac_dtype dtype, double eb) {
    szac_params params;
    EXPECT_EQ(szac_params_init(context_, &params, GetParam(), dtype), SZAC_OK);
    params.eb = eb;
    return params;
  }
  szac_context* context_;
};
INSTANTIATE_TEST_SUITE_P(Codecs, CApi, ::testing::Values(SZAC_SZP, SZAC_SZX));

TEST_P(CApi, RoundTripInspectAndRandomAccess) {
  for (const szac_dtype dtype : {SZAC_F32, SZAC_F64}) {
    const uint64_t n = 128 * 40 + 7;
    auto f = SampleData<float>("smooth", n, 1);
    f[300] = NAN;
    const std::vector<double> d(f.begin(), f.end());
    const bool f32 = dtype == SZAC_F32;
    const void* values = f32 ? static_cast<const void*>(f.data()) : d.data();
    const uint64_t width = f32 ? 4 : 8;
    szac_params params = Params(dtype, 1e-3);
    uint64_t capacity = 0;
    ASSERT_EQ(szac_max_payload_size(context_, &params, n, &capacity), SZAC_OK);
    std::vector<unsigned char> payload(capacity);
    uint64_t size = 0;
    ASSERT_EQ(szac_compress(context_, &params, values, n, payload.data(), capacity, &size), SZAC_OK)
        << szac_message(context_);
    EXPECT_LT(size, n * width);
    std::vector<unsigned char> out(n * width);
    ASSERT_EQ(szac_decompress(context_, &params, payload.data(), size, out.data(), n), SZAC_OK);
    for (uint64_t i = 0; i < n; ++i) {
      const double x = f32 ? f[i] : d[i];
      double y = 0;
      if (f32) {
        float single = 0;
        std::memcpy(&single, out.data() + i * 4, 4);
        y = single;
      } else {
        std::memcpy(&y, out.data() + i * 8, 8);
      }
      ASSERT_TRUE(std::isnan(x) ? std::isnan(y) : std::fabs(x - y) <= 1e-3) << i;
    }
    szac_payload_info info;
    ASSERT_EQ(szac_payload_info_init(context_, &info), SZAC_OK);
    ASSERT_EQ(szac_inspect(context_, &params, payload.data(), size, n, &info), SZAC_OK);
    EXPECT_EQ(info.blocks, (n + info.block_values - 1) / info.block_values);
    EXPECT_GE(info.raw_blocks, 1u);
    EXPECT_LT(info.raw_blocks, info.blocks / 4);
    std::vector<unsigned char> part(info.block_values * width);
    ASSERT_EQ(szac_decompress_blocks(context_, &params, payload.data(), size, n, 7, part.data(),
                                     info.block_values),
              SZAC_OK);
    EXPECT_EQ(std::memcmp(part.data(), out.data() + 7 * part.size(), part.size()), 0);
  }
}

TEST_P(CApi, RefusalsHaveMessages) {
  szac_params params = Params(SZAC_F32, 1e-3);
  std::vector<float> v(100, 1.0f);
  std::vector<unsigned char> payload(10);
  uint64_t size = 0;
  EXPECT_EQ(szac_compress(context_, &params, v.data(), 100, payload.data(), 10, &size),
            SZAC_CAPACITY);
  EXPECT_NE(std::string(szac_message(context_)), "");
  EXPECT_EQ(szac_decompress(context_, &params, payload.data(), 10, v.data(), 100), SZAC_CORRUPT);
  EXPECT_NE(std::string(szac_message(context_)), "");
  EXPECT_EQ(szac_compress(context_, &params, nullptr, 100, payload.data(), 10, &size),
            SZAC_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(szac_message(context_)), "'values' is null");
  EXPECT_EQ(szac_compress(context_, &params, v.data(), UINT64_MAX, payload.data(), 10, &size),
            SZAC_CAPACITY);
  EXPECT_EQ(szac_max_payload_size(context_, &params, UINT64_MAX, &size), SZAC_CAPACITY);
  EXPECT_EQ(szac_max_payload_size(context_, nullptr, 1, &size), SZAC_INVALID_ARGUMENT);
  EXPECT_EQ(szac_max_payload_size(context_, &params, 1, nullptr), SZAC_INVALID_ARGUMENT);
  for (const double eb : {-1.0, std::nan(""), HUGE_VAL}) {
    params.eb = eb;
    EXPECT_EQ(szac_max_payload_size(context_, &params, 1, &size), SZAC_INVALID_ARGUMENT);
  }
  params = Params(SZAC_F32, 1);
  params.mode = 3;
  EXPECT_EQ(szac_max_payload_size(context_, &params, 1, &size), SZAC_INVALID_ARGUMENT);
  params = Params(SZAC_F32, 1);
  params.codec = 9;
  EXPECT_EQ(szac_max_payload_size(nullptr, &params, 1, &size), SZAC_INVALID_ARGUMENT);
  params = Params(SZAC_F32, 1);
  params.dtype = 2;
  EXPECT_EQ(szac_max_payload_size(nullptr, &params, 1, &size), SZAC_INVALID_ARGUMENT);
  EXPECT_EQ(szac_max_payload_size(context_, &(params = Params(SZAC_F32, 1)), 0, &size), SZAC_OK);
  EXPECT_EQ(std::string(szac_message(context_)), "") << "success clears the message";
}

TEST_P(CApi, EmptyArrayRoundTrips) {
  const szac_params params = Params(SZAC_F64, 1);
  uint64_t capacity = 0;
  ASSERT_EQ(szac_max_payload_size(context_, &params, 0, &capacity), SZAC_OK);
  std::vector<unsigned char> payload(capacity + 1);
  uint64_t size = 77;
  ASSERT_EQ(szac_compress(context_, &params, nullptr, 0, payload.data(), capacity, &size), SZAC_OK);
  EXPECT_LE(size, capacity);
  EXPECT_EQ(szac_decompress(context_, &params, payload.data(), size, nullptr, 0), SZAC_OK);
}

TEST_P(CApi, StructsOfAnOlderProgram) {
  szac_params params = Params(SZAC_F32, 1e-3);
  uint64_t expected = 0;
  ASSERT_EQ(szac_max_payload_size(context_, &params, 100, &expected), SZAC_OK);
  params.size =
      offsetof(szac_params, padding_blocks);  // knew nothing of padding: the default holds
  params.padding_blocks = 0;
  uint64_t size = 0;
  EXPECT_EQ(szac_max_payload_size(context_, &params, 100, &size), SZAC_OK);
  EXPECT_EQ(size, expected);
  params.size = 0;
  EXPECT_EQ(szac_max_payload_size(context_, &params, 100, &size), SZAC_INVALID_ARGUMENT);

  params = Params(SZAC_F32, 1e-3);
  std::vector<float> v(100, 2.0f);
  std::vector<unsigned char> payload(expected);
  ASSERT_EQ(szac_compress(context_, &params, v.data(), 100, payload.data(), expected, &size),
            SZAC_OK);
  szac_payload_info info;
  szac_payload_info_init(context_, &info);
  info.size = offsetof(szac_payload_info, raw_blocks);
  info.raw_blocks = 12345;
  ASSERT_EQ(szac_inspect(context_, &params, payload.data(), size, 100, &info), SZAC_OK);
  EXPECT_EQ(info.size, offsetof(szac_payload_info, raw_blocks));
  EXPECT_EQ(info.raw_blocks, 12345u) << "beyond the program's struct";
  EXPECT_GT(info.blocks, 0u);
}

TEST_P(CApi, WorksFromC) {
  auto v = SampleData<float>("noise", 1000, 2);
  const auto original = v;
  std::vector<unsigned char> scratch(16384);
  ASSERT_EQ(RoundTripInC(GetParam(), v.data(), v.size(), 0.5, scratch.data(), scratch.size()), 0);
  for (size_t i = 0; i < v.size(); ++i) ASSERT_LE(std::fabs(v[i] - original[i]), 0.5f);
  EXPECT_NE(v, original);
}

TEST_P(CApi, ContainerRoundTrip) {
  auto v = SampleData<float>("smooth", 6 * 70, 2);
  v[9] = -1e34f;
  szac_container_options options;
  ASSERT_EQ(szac_container_options_init(context_, &options, GetParam(), SZAC_F32), SZAC_OK);
  uint64_t size = 0;
  EXPECT_EQ(szac_container_max_size(context_, &options, &size), SZAC_INVALID_ARGUMENT)
      << "no bound yet";
  options.rank = 2;
  options.dims[0] = 6;
  options.dims[1] = 70;
  options.bound_kind = SZAC_RELATIVE;
  options.bound = 1e-3;
  options.has_fill = 1;
  options.fill = -1e34;
  ASSERT_EQ(szac_container_max_size(context_, &options, &size), SZAC_OK);
  std::vector<unsigned char> file(size);
  ASSERT_EQ(szac_container_compress(context_, &options, v.data(), file.data(), 50, &size),
            SZAC_CAPACITY);
  ASSERT_EQ(szac_container_compress(context_, &options, v.data(), file.data(), file.size(), &size),
            SZAC_OK)
      << szac_message(context_);
  szac_container_info info;
  ASSERT_EQ(szac_container_info_init(context_, &info), SZAC_OK);
  ASSERT_EQ(szac_container_inspect(context_, file.data(), 128, size, &info), SZAC_OK);
  EXPECT_EQ(info.count, v.size());
  EXPECT_EQ(info.dims[1], 70u);
  EXPECT_EQ(info.codec, static_cast<uint32_t>(GetParam()));
  EXPECT_EQ(info.fill, static_cast<double>(-1e34f));
  EXPECT_EQ(info.payload_offset + info.payload_bytes, size);
  std::vector<float> out(v.size());
  ASSERT_EQ(
      szac_container_decompress(context_, file.data(), size, SZAC_F32, out.data(), out.size(), 2),
      SZAC_OK);
  EXPECT_EQ(out[9], -1e34f);
  for (size_t i = 0; i < v.size(); ++i) {
    ASSERT_LE(std::fabs(static_cast<double>(v[i]) - out[i]), info.eb);
  }
  EXPECT_EQ(
      szac_container_decompress(context_, file.data(), size, SZAC_F64, out.data(), out.size(), 1),
      SZAC_INVALID_ARGUMENT);
  file[size / 2] ^= 1;
  EXPECT_EQ(
      szac_container_decompress(context_, file.data(), size, SZAC_F32, out.data(), out.size(), 1),
      SZAC_CORRUPT);
  EXPECT_EQ(szac_container_inspect(context_, file.data(), 20, size, &info), SZAC_CORRUPT);
  options.rank = 4;
  EXPECT_EQ(szac_container_max_size(context_, &options, &size), SZAC_INVALID_ARGUMENT);
}

TEST(CApiBound, RelativeBoundSkipsFill) {
  const std::vector<float> v = {1, 5, -1e34f, NAN};
  const double fill = -1e34;
  double eb = -1;
  ASSERT_EQ(szac_resolve_relative_bound(nullptr, SZAC_F32, v.data(), 4, 0.25, &fill, 1, &eb),
            SZAC_OK);
  EXPECT_EQ(eb, 1.0);
  EXPECT_EQ(szac_resolve_relative_bound(nullptr, SZAC_F32, v.data(), 4, 0, &fill, 1, &eb),
            SZAC_INVALID_ARGUMENT);
  EXPECT_EQ(szac_resolve_relative_bound(nullptr, SZAC_F32, v.data(), 1, 0.25, nullptr, 1, &eb),
            SZAC_OK);
  EXPECT_EQ(eb, 0.0);
}

TEST(CApiStatus, EveryStatusHasAName) {
  for (int s = SZAC_OK; s <= SZAC_INTERNAL; ++s) {
    EXPECT_STRNE(szac_status_name(static_cast<szac_status>(s)), "unknown");
  }
}

}  // namespace
}  // namespace szarena::codec
