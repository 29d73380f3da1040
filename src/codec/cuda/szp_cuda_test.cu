// SPDX-License-Identifier: Apache-2.0
// The device's streams against the processor's, byte for byte, both directions.
#include "codec/cuda/szp_cuda.h"

#include <random>

#include "codec/core/bound.h"
#include "codec/cuda/testing/device_memory.h"
#include "codec/cuda/testing/sample_arrays.h"
#include "codec/szp/format.h"
#include "codec/szp/szp.h"

namespace szarena::codec::cuda {
namespace {

struct Layout {
  size_t values_misalignment = 0;
  size_t payload_misalignment = 0;
};

template <class T>
void RoundTrip(const std::vector<T>& values, const szp::Params& params, Layout layout) {
  const ConstArray array = ArrayOf(std::span<const T>(values));
  const uint64_t capacity = szp::MaxPayloadSize(array.count, array.dtype, params).value();
  std::vector<std::byte> expected(capacity);
  expected.resize(szp::Compress(array, params, expected, 1).value());

  GuardedBuffer input(values.size() * sizeof(T), layout.values_misalignment * sizeof(T));
  GuardedBuffer payload(capacity, layout.payload_misalignment);
  GuardedBuffer output(values.size() * sizeof(T), layout.values_misalignment * sizeof(T));
  GuardedBuffer workspace(SzpWorkspaceBytes(array.count, array.dtype, params));
  GuardedBuffer result(sizeof(DeviceResult));
  auto* device_result = reinterpret_cast<DeviceResult*>(result.data());
  input.Upload(values.data(), values.size() * sizeof(T));
  ASSERT_EQ(SzpCompress(input.data(), array.count, array.dtype, params, 0, payload.data(), capacity, device_result, nullptr,
                        workspace.data(), workspace.size(), nullptr), LaunchStatus::kOk);
  MustSucceed(cudaDeviceSynchronize());
  DeviceResult got;
  MustSucceed(cudaMemcpy(&got, device_result, sizeof got, cudaMemcpyDeviceToHost));
  ASSERT_EQ(got.size, expected.size());
  ASSERT_EQ(payload.Download(got.size), expected);
  ASSERT_TRUE(payload.GuardsIntact());
  ASSERT_EQ(std::memcmp(input.Download(input.size()).data(), values.data(), input.size()), 0);

  std::vector<T> reference(values.size());
  ASSERT_TRUE(szp::Decompress(expected, params, ArrayOf(std::span<T>(reference)), 1));
  ASSERT_EQ(SzpDecompress(payload.data(), got.size, array.count, array.dtype, params, output.data(), device_result,
                          workspace.data(), workspace.size(), nullptr), LaunchStatus::kOk);
  MustSucceed(cudaDeviceSynchronize());
  MustSucceed(cudaMemcpy(&got, device_result, sizeof got, cudaMemcpyDeviceToHost));
  ASSERT_EQ(got.status, DeviceStatus::kOk);
  ASSERT_EQ(std::memcmp(output.Download(output.size()).data(), reference.data(), output.size()), 0);
  ASSERT_TRUE(output.GuardsIntact());
  ASSERT_TRUE(workspace.GuardsIntact());
}

template <class T>
class SzpCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (!HaveDevice()) GTEST_SKIP() << "no CUDA device";
  }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SzpCuda, Types);

TYPED_TEST(SzpCuda, StreamsEqualTheProcessors) {
  uint32_t seed = 1;
  for (const Kind kind : kKinds) {
    for (const auto mode : {szp::Mode::kFixed, szp::Mode::kPlain, szp::Mode::kOutlier}) {
      for (const double eb : {1e-1, 1e-3, 1e-6, 1e-42, 0.0, 0.25}) {
        for (const size_t count : {1ul, 31ul, 32ul, 33ul, 1023ul, 16384ul, 16385ul, 100003ul}) {
          SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " mode " << static_cast<int>(mode) << " eb " << eb << " count " << count);
          RoundTrip(Make<TypeParam>(kind, count, ++seed), {.eb = eb, .mode = mode}, {});
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(SzpCuda, AnyAlignment) {
  for (const auto mode : {szp::Mode::kPlain, szp::Mode::kOutlier}) {
    for (const size_t values : {0ul, 1ul, 3ul}) {
      for (const size_t payload : {0ul, 1ul, 2ul, 3ul, 7ul}) {
        for (const Kind kind : {Kind::kSmooth, Kind::kNonFinite, Kind::kSteps}) {
          RoundTrip(Make<TypeParam>(kind, 70001, 5), {.eb = 1e-3, .mode = mode, .padding_blocks = 1}, {values, payload});
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(SzpCuda, RelativeBoundEqualsTheProcessors) {
  for (const Kind kind : kKinds) {
    const auto values = Make<TypeParam>(kind, 123457, 9);
    const ConstArray array = ArrayOf(std::span<const TypeParam>(values));
    const szp::Params absolute{.eb = ResolveRelativeBound(1e-3, FindRange(array))};
    const uint64_t capacity = szp::MaxPayloadSize(array.count, array.dtype, absolute).value();
    std::vector<std::byte> expected(capacity);
    expected.resize(szp::Compress(array, absolute, expected, 1).value());
    for (const size_t misalignment : {0ul, 1ul}) {
      GuardedBuffer input(values.size() * sizeof(TypeParam), misalignment * sizeof(TypeParam));
      GuardedBuffer payload(capacity);
      GuardedBuffer workspace(SzpWorkspaceBytes(array.count, array.dtype, absolute));
      GuardedBuffer result(sizeof(DeviceResult) + sizeof(double));
      input.Upload(values.data(), input.size());
      auto* device_result = reinterpret_cast<DeviceResult*>(result.data());
      auto* bound = reinterpret_cast<double*>(result.data() + sizeof(DeviceResult));
      ASSERT_EQ(SzpCompress(input.data(), array.count, array.dtype, {}, 1e-3, payload.data(), capacity, device_result, bound,
                            workspace.data(), workspace.size(), nullptr), LaunchStatus::kOk);
      MustSucceed(cudaDeviceSynchronize());
      DeviceResult got;
      double eb = -1;
      MustSucceed(cudaMemcpy(&got, device_result, sizeof got, cudaMemcpyDeviceToHost));
      MustSucceed(cudaMemcpy(&eb, bound, sizeof eb, cudaMemcpyDeviceToHost));
      EXPECT_EQ(eb, absolute.eb) << "kind " << static_cast<int>(kind);
      ASSERT_EQ(payload.Download(got.size), expected) << "kind " << static_cast<int>(kind);
    }
  }
}

TYPED_TEST(SzpCuda, CorruptStreamsAreReportedAndWriteEverything) {
  const auto values = Make<TypeParam>(Kind::kNoise, 50000, 3);
  const ConstArray array = ArrayOf(std::span<const TypeParam>(values));
  const szp::Params params{.eb = 1e-3};
  std::vector<std::byte> stream(szp::MaxPayloadSize(array.count, array.dtype, params).value());
  stream.resize(szp::Compress(array, params, stream, 1).value());
  std::mt19937 random(4);
  for (int trial = 0; trial < 200; ++trial) {
    auto bad = stream;
    if (trial % 4 == 0) {
      bad.resize(2048 + random() % (bad.size() - 2048));
    } else {
      bad[random() % (trial % 4 == 1 ? bad.size() : 2048)] ^= static_cast<std::byte>(1 + random() % 255);
    }
    std::vector<TypeParam> reference(values.size());
    const bool good = szp::Decompress(bad, params, ArrayOf(std::span<TypeParam>(reference)), 1).has_value();
    GuardedBuffer payload(bad.size());
    GuardedBuffer output(values.size() * sizeof(TypeParam));
    GuardedBuffer workspace(SzpWorkspaceBytes(array.count, array.dtype, params));
    GuardedBuffer result(sizeof(DeviceResult));
    payload.Upload(bad.data(), bad.size());
    auto* device_result = reinterpret_cast<DeviceResult*>(result.data());
    ASSERT_EQ(SzpDecompress(payload.data(), bad.size(), array.count, array.dtype, params, output.data(), device_result,
                            workspace.data(), workspace.size(), nullptr), LaunchStatus::kOk);
    MustSucceed(cudaDeviceSynchronize());
    DeviceResult got;
    MustSucceed(cudaMemcpy(&got, device_result, sizeof got, cudaMemcpyDeviceToHost));
    ASSERT_EQ(got.status == DeviceStatus::kOk, good) << "trial " << trial;
    ASSERT_TRUE(output.GuardsIntact());
    if (good) ASSERT_EQ(std::memcmp(output.Download(output.size()).data(), reference.data(), output.size()), 0);
  }
}

TYPED_TEST(SzpCuda, TheBoundOfNoElementIsWritten) {
  for (const double relative : {0.0, 1e-3}) {
    GuardedBuffer result(sizeof(DeviceResult) + sizeof(double));
    GuardedBuffer workspace(SzpWorkspaceBytes(0, kDTypeOf<TypeParam>, {}));
    auto* bound = reinterpret_cast<double*>(result.data() + sizeof(DeviceResult));
    ASSERT_EQ(SzpCompress(nullptr, 0, kDTypeOf<TypeParam>, {.eb = 0.25}, relative, nullptr, 0, reinterpret_cast<DeviceResult*>(result.data()),
                          bound, workspace.data(), workspace.size(), nullptr), LaunchStatus::kOk);
    MustSucceed(cudaDeviceSynchronize());
    double eb = -1;
    MustSucceed(cudaMemcpy(&eb, bound, sizeof eb, cudaMemcpyDeviceToHost));
    EXPECT_EQ(eb, relative != 0 ? 0 : 0.25);
  }
}

TYPED_TEST(SzpCuda, AnOlderErrorOfTheCallerIsNotTheirs) {
  ASSERT_NE(cudaSetDevice(1 << 20), cudaSuccess);
  RoundTrip<TypeParam>(Make<TypeParam>(Kind::kSmooth, 5000, 1), {.eb = 1e-3}, {});
  EXPECT_NE(cudaGetLastError(), cudaSuccess) << "it is the caller's still";
}

// Blocks that the format allows and no encoder of ours writes: the largest is longer than a raw one.
TYPED_TEST(SzpCuda, TheLargestBlocksAreRead) {
  for (const uint64_t blocks : {1u, 32u, 33u, 1000u}) {
    const szp::Params params{.eb = 1e-3, .mode = szp::Mode::kOutlier, .padding_blocks = 1};
    std::vector<std::byte> stream(blocks, std::byte{0xff});
    std::mt19937 random(blocks);
    for (uint64_t i = 0; i < blocks * szp::MakeSizeTable(kDTypeOf<TypeParam>, szp::Mode::kOutlier)[0xff]; ++i)
      stream.push_back(static_cast<std::byte>(random() & 1u));
    std::vector<TypeParam> reference(32 * blocks);
    const bool good = szp::Decompress(stream, params, ArrayOf(std::span<TypeParam>(reference)), 1).has_value();
    GuardedBuffer payload(stream.size()), output(reference.size() * sizeof(TypeParam)), result(sizeof(DeviceResult));
    GuardedBuffer workspace(SzpWorkspaceBytes(reference.size(), kDTypeOf<TypeParam>, params));
    payload.Upload(stream.data(), stream.size());
    ASSERT_EQ(SzpDecompress(payload.data(), stream.size(), reference.size(), kDTypeOf<TypeParam>, params, output.data(),
                            reinterpret_cast<DeviceResult*>(result.data()), workspace.data(), workspace.size(), nullptr), LaunchStatus::kOk);
    MustSucceed(cudaDeviceSynchronize());
    DeviceResult got;
    MustSucceed(cudaMemcpy(&got, result.data(), sizeof got, cudaMemcpyDeviceToHost));
    ASSERT_EQ(got.status == DeviceStatus::kOk, good);
    if (good) ASSERT_EQ(std::memcmp(output.Download(output.size()).data(), reference.data(), output.size()), 0);
  }
}

// Looked at before anything of CUDA is called: needs no device.
TEST(SzpCudaArguments, MisalignedPointersAreRefused) {
  auto* const memory = reinterpret_cast<unsigned char*>(uint64_t{1} << 20);
  const szp::Params params{.eb = 1};
  const auto compress = [&](size_t values, size_t result, size_t bound, size_t workspace) {
    return SzpCompress(memory + values, 100, DType::kF64, params, 0, memory, 1 << 20, reinterpret_cast<DeviceResult*>(memory + result),
                       reinterpret_cast<double*>(memory + bound), memory + workspace, 1 << 20, nullptr);
  };
  const auto decompress = [&](size_t values, size_t result, size_t workspace) {
    return SzpDecompress(memory + 1, 2000, 100, DType::kF64, params, memory + values, reinterpret_cast<DeviceResult*>(memory + result),
                         memory + workspace, 1 << 20, nullptr);
  };
  EXPECT_EQ(compress(4, 0, 0, 0), LaunchStatus::kMisaligned);
  EXPECT_EQ(compress(0, 4, 0, 0), LaunchStatus::kMisaligned);
  EXPECT_EQ(compress(0, 0, 4, 0), LaunchStatus::kMisaligned);
  EXPECT_EQ(compress(0, 0, 0, 128), LaunchStatus::kMisaligned);
  EXPECT_EQ(decompress(4, 0, 0), LaunchStatus::kMisaligned);
  EXPECT_EQ(decompress(0, 4, 0), LaunchStatus::kMisaligned);
  EXPECT_EQ(decompress(0, 0, 128), LaunchStatus::kMisaligned);
}

TEST(SzpCudaGraph, CallsCanBeCaptured) {
  if (!HaveDevice()) GTEST_SKIP() << "no CUDA device";
  const auto values = Make<float>(Kind::kSmooth, 1 << 20, 2);
  const szp::Params params{.eb = 1e-4};
  const uint64_t capacity = szp::MaxPayloadSize(values.size(), DType::kF32, params).value();
  GuardedBuffer input(values.size() * 4), payload(capacity), result(sizeof(DeviceResult) + sizeof(double));
  GuardedBuffer workspace(SzpWorkspaceBytes(values.size(), DType::kF32, params));
  auto* const bound = reinterpret_cast<double*>(result.data() + sizeof(DeviceResult));
  input.Upload(values.data(), values.size() * 4);
  cudaStream_t stream;
  MustSucceed(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  MustSucceed(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  {
    szp::Params gone = params;  // before anything is replayed
    ASSERT_EQ(SzpCompress(input.data(), values.size(), DType::kF32, gone, 0, payload.data(), capacity,
                          reinterpret_cast<DeviceResult*>(result.data()), bound, workspace.data(), workspace.size(), stream), LaunchStatus::kOk);
    gone.eb = 77;
  }
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  MustSucceed(cudaStreamEndCapture(stream, &graph));
  MustSucceed(cudaGraphInstantiate(&exec, graph, 0));
  std::vector<std::byte> expected(capacity);
  expected.resize(szp::Compress(ArrayOf(std::span<const float>(values)), params, expected, 1).value());
  for (int i = 0; i < 3; ++i) {
    MustSucceed(cudaMemset(bound, 0xcd, sizeof *bound));
    MustSucceed(cudaGraphLaunch(exec, stream));
    MustSucceed(cudaStreamSynchronize(stream));
    ASSERT_EQ(payload.Download(expected.size()), expected);
    double eb = -1;
    MustSucceed(cudaMemcpy(&eb, bound, sizeof eb, cudaMemcpyDeviceToHost));
    ASSERT_EQ(eb, params.eb);
  }
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace szarena::codec::cuda
