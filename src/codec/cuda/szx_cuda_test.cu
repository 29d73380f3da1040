// SPDX-License-Identifier: Apache-2.0
// The device's SZx streams against the processor's, byte for byte, both directions; streams of
// other writers; damaged ones.
#include "codec/cuda/szx_cuda.h"

#include <algorithm>
#include <random>

#include "codec/core/bound.h"
#include "codec/cuda/testing/device_memory.h"
#include "codec/cuda/testing/sample_arrays.h"
#include "codec/cuda/testing/szx_streams.h"
#include "codec/szx/format.h"
#include "codec/szx/szx.h"

namespace szarena::codec::cuda {
namespace {

using szx::Mode;

template <class T>
std::vector<std::byte> OnProcessor(const std::vector<T>& values, double eb,
                                   Mode mode = Mode::kRandomAccess) {
  const ConstArray array = ArrayOf(std::span<const T>(values));
  const szx::Params params{.eb = eb, .mode = mode};
  std::vector<std::byte> stream(szx::MaxPayloadSize(array.count, array.dtype, params).value());
  stream.resize(szx::Compress(array, params, stream, 1).value());
  return stream;
}

DeviceResult Fetch(const DeviceResult* result) {
  DeviceResult got;
  MustSucceed(cudaDeviceSynchronize());
  MustSucceed(cudaMemcpy(&got, result, sizeof got, cudaMemcpyDeviceToHost));
  return got;
}

// Compresses on the device and compares with the processor's stream.
template <class T>
void CompressEquals(const std::vector<T>& values, double eb, double relative,
                    size_t values_misalignment, size_t buffer_misalignment) {
  const auto expected = OnProcessor(values, eb);
  const uint64_t capacity = szx::RoomySize(values.size(), kDTypeOf<T>, {}).value();
  GuardedBuffer input(values.size() * sizeof(T), values_misalignment * sizeof(T));
  GuardedBuffer buffer(capacity, buffer_misalignment);
  GuardedBuffer workspace(SzxWorkspaceBytes(values.size(), kDTypeOf<T>));
  GuardedBuffer result(sizeof(DeviceResult) + sizeof(double));
  auto* device_result = reinterpret_cast<DeviceResult*>(result.data());
  auto* bound = reinterpret_cast<double*>(result.data() + sizeof(DeviceResult));
  input.Upload(values.data(), values.size() * sizeof(T));
  ASSERT_EQ(SzxCompress(input.data(), values.size(), kDTypeOf<T>, relative != 0 ? 0 : eb, relative,
                        buffer.data(), capacity, device_result, bound, workspace.data(),
                        workspace.size(), nullptr),
            LaunchStatus::kOk);
  const DeviceResult got = Fetch(device_result);
  double used = -1;
  MustSucceed(cudaMemcpy(&used, bound, sizeof used, cudaMemcpyDeviceToHost));
  EXPECT_EQ(used, eb);
  ASSERT_EQ(got.status, DeviceStatus::kOk);
  ASSERT_EQ(got.size, expected.size());
  ASSERT_LE(got.offset + got.size, capacity);
  const auto all = buffer.Download(capacity);
  const auto [device, processor] = std::mismatch(
      all.begin() + got.offset, all.begin() + got.offset + got.size, expected.begin());
  ASSERT_EQ(processor - expected.begin(), static_cast<std::ptrdiff_t>(expected.size()))
      << "the first byte that differs";
  ASSERT_TRUE(buffer.GuardsIntact());
  ASSERT_TRUE(workspace.GuardsIntact());
  ASSERT_TRUE(result.GuardsIntact());
  ASSERT_EQ(std::memcmp(input.Download(input.size()).data(), values.data(), input.size()), 0);
}

// Decodes on both and compares status and values.
template <class T>
void DecompressEquals(const std::vector<std::byte>& stream, size_t count,
                      size_t values_misalignment, size_t stream_misalignment) {
  std::vector<T> expected(count);
  const bool good = szx::Decompress(stream, ArrayOf(std::span<T>(expected)), 1).has_value();
  GuardedBuffer payload(stream.size(), stream_misalignment);
  GuardedBuffer output(count * sizeof(T), values_misalignment * sizeof(T));
  GuardedBuffer workspace(SzxWorkspaceBytes(count, kDTypeOf<T>));
  GuardedBuffer result(sizeof(DeviceResult));
  payload.Upload(stream.data(), stream.size());
  auto* device_result = reinterpret_cast<DeviceResult*>(result.data());
  ASSERT_EQ(SzxDecompress(payload.data(), stream.size(), count, kDTypeOf<T>, output.data(),
                          device_result, workspace.data(), workspace.size(), nullptr),
            LaunchStatus::kOk);
  const DeviceResult got = Fetch(device_result);
  ASSERT_EQ(got.status == DeviceStatus::kOk, good);
  ASSERT_TRUE(output.GuardsIntact());
  ASSERT_TRUE(workspace.GuardsIntact());
  ASSERT_TRUE(result.GuardsIntact());
  ASSERT_TRUE(payload.GuardsIntact());
  const auto written = output.Download(output.size());
  if (good) {
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(std::memcmp(written.data() + i * sizeof(T), &expected[i], sizeof(T)), 0)
          << "element " << i;
    }
  }
}

template <class T>
class SzxCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (!HaveDevice()) GTEST_SKIP() << "no CUDA device";
  }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SzxCuda, Types);

TYPED_TEST(SzxCuda, StreamsEqualTheProcessors) {
  uint32_t seed = 1;
  for (const Kind kind : kKinds) {
    for (const double eb : {1e-1, 1e-3, 1e-6, 1e-42, 1e-310, 0.0, 0.25, 1e30}) {
      for (const size_t count : {0ul, 1ul, 2ul, 31ul, 32ul, 127ul, 128ul, 129ul, 1023ul, 1024ul,
                                 12288ul, 12289ul, 100003ul}) {
        SCOPED_TRACE(testing::Message()
                     << "kind " << static_cast<int>(kind) << " eb " << eb << " count " << count);
        const auto values = Make<TypeParam>(kind, count, ++seed);
        CompressEquals(values, eb, 0, 0, 0);
        if (this->HasFatalFailure()) return;
        DecompressEquals<TypeParam>(OnProcessor(values, eb), count, 0, 0);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(SzxCuda, AnyAlignment) {
  for (const size_t values_at : {0ul, 1ul, 3ul}) {
    for (const size_t stream_at : {0ul, 1ul, 2ul, 3ul, 7ul}) {
      for (const Kind kind : {Kind::kSmooth, Kind::kNonFinite, Kind::kSparse}) {
        SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " values "
                                        << values_at << " stream " << stream_at);
        const auto values = Make<TypeParam>(kind, 70001, 5);
        CompressEquals(values, 1e-3, 0, values_at, stream_at);
        if (this->HasFatalFailure()) return;
        DecompressEquals<TypeParam>(OnProcessor(values, 1e-3), values.size(), values_at, stream_at);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(SzxCuda, RelativeBoundEqualsTheProcessors) {
  for (const Kind kind : kKinds) {
    SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind));
    const auto values = Make<TypeParam>(kind, 123457, 9);
    const double eb =
        ResolveRelativeBound(1e-3, FindRange(ArrayOf(std::span<const TypeParam>(values))));
    CompressEquals(values, eb, 1e-3, 0, 0);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(SzxCuda, SequentialStreamsAreRead) {
  for (const Kind kind : kKinds) {
    for (const double eb : {1e-3, 0.25}) {
      for (const size_t count : {0ul, 1ul, 129ul, 5000ul}) {
        SCOPED_TRACE(testing::Message()
                     << "kind " << static_cast<int>(kind) << " eb " << eb << " count " << count);
        DecompressEquals<TypeParam>(
            OnProcessor(Make<TypeParam>(kind, count, 3), eb, Mode::kSequential), count, 0, 1);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(SzxCuda, OtherBlockSizesAreRead) {
  for (const Mode mode : {Mode::kRandomAccess, Mode::kSequential}) {
    for (const size_t block_values : {1ul, 3ul, 8ul, 32ul, 64ul, 100ul, 127ul, 129ul, 200ul, 255ul,
                                      256ul, 1000ul, 1024ul, 4096ul, 7936ul}) {
      if (mode == Mode::kSequential && block_values > 255) continue;
      for (const Kind kind :
           {Kind::kSmooth, Kind::kNonFinite, Kind::kSparse, Kind::kBits, Kind::kIntegers}) {
        SCOPED_TRACE(testing::Message()
                     << "blocks of " << block_values << " kind " << static_cast<int>(kind)
                     << " mode " << static_cast<int>(mode));
        const auto values = Make<TypeParam>(kind, mode == Mode::kSequential ? 2999 : 30011, 5);
        DecompressEquals<TypeParam>(WithBlockSize(values, block_values, mode, 1e-3), values.size(),
                                    0, 0);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(SzxCuda, DamagedStreamsAreReportedAndWriteEverything) {
  std::mt19937 random(4);
  for (const Kind kind : {Kind::kNoise, Kind::kSparse}) {
    for (int trial = 0; trial < 150; ++trial) {
      const bool usual = trial % 3 != 0;
      const auto values = Make<TypeParam>(kind, 20000, 3);
      auto bad =
          usual ? OnProcessor(values, 1e-3)
                : WithBlockSize(values, 96,
                                trial % 2 == 0 ? Mode::kSequential : Mode::kRandomAccess, 1e-3);
      const size_t tables = std::min<size_t>(bad.size(), 600);
      if (trial % 4 == 0) {
        bad.resize(random() % bad.size());
      } else if (trial % 10 == 1) {
        bad.resize(bad.size() + 1 + random() % 300);
      } else {
        bad[random() % (trial % 4 == 1   ? bad.size()
                        : trial % 4 == 2 ? tables
                                         : 20)] ^= static_cast<std::byte>(1 + random() % 255);
      }
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " trial " << trial);
      DecompressEquals<TypeParam>(bad, values.size(), 0, 0);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(SzxCuda, AnOlderErrorOfTheCallerIsNotTheirs) {
  ASSERT_NE(cudaSetDevice(1 << 20), cudaSuccess);
  const auto values = Make<TypeParam>(Kind::kSmooth, 5000, 1);
  CompressEquals(values, 1e-3, 0, 0, 0);
  DecompressEquals<TypeParam>(OnProcessor(values, 1e-3), values.size(), 0, 0);
  EXPECT_NE(cudaGetLastError(), cudaSuccess) << "it is the caller's still";
}

// The header alone decides, and everything is written.
TEST(SzxCudaLimits, SequentialStreamsOfTooManyBlocksAreNotWalkedThrough) {
  if (!HaveDevice()) GTEST_SKIP() << "no CUDA device";
  const uint64_t count = kMostSequentialBlocks + 1;
  std::vector<std::byte> stream(szx::HeaderBytes(Mode::kSequential));
  szx::WriteHeader<float>({.mode = Mode::kSequential, .block_values = 1},
                          reinterpret_cast<uint8_t*>(stream.data()));
  GuardedBuffer payload(stream.size()), output(count * 4), result(sizeof(DeviceResult));
  GuardedBuffer workspace(SzxWorkspaceBytes(count, DType::kF32));
  payload.Upload(stream.data(), stream.size());
  auto* device_result = reinterpret_cast<DeviceResult*>(result.data());
  ASSERT_EQ(SzxDecompress(payload.data(), stream.size(), count, DType::kF32, output.data(),
                          device_result, workspace.data(), workspace.size(), nullptr),
            LaunchStatus::kOk);
  EXPECT_EQ(Fetch(device_result).status, DeviceStatus::kTooManyBlocks);
  float last = -1;
  MustSucceed(cudaMemcpy(&last, output.data() + 4 * (count - 1), 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(last, 0);
}

// Looked at before anything of CUDA is called: needs no device.
TEST(SzxCudaArguments, MisalignedPointersAreRefused) {
  auto* const memory = reinterpret_cast<unsigned char*>(uint64_t{1} << 20);
  const auto compress = [&](size_t values, size_t result, size_t bound, size_t workspace) {
    return SzxCompress(memory + values, 100, DType::kF64, 1, 0, memory + 1, 1 << 20,
                       reinterpret_cast<DeviceResult*>(memory + result),
                       reinterpret_cast<double*>(memory + bound), memory + workspace, 1 << 20,
                       nullptr);
  };
  const auto decompress = [&](size_t values, size_t result, size_t workspace) {
    return SzxDecompress(memory + 1, 2000, 100, DType::kF64, memory + values,
                         reinterpret_cast<DeviceResult*>(memory + result), memory + workspace,
                         1 << 20, nullptr);
  };
  EXPECT_EQ(compress(4, 0, 0, 0), LaunchStatus::kMisaligned);
  EXPECT_EQ(compress(0, 4, 0, 0), LaunchStatus::kMisaligned);
  EXPECT_EQ(compress(0, 0, 4, 0), LaunchStatus::kMisaligned);
  EXPECT_EQ(compress(0, 0, 0, 128), LaunchStatus::kMisaligned);
  EXPECT_EQ(decompress(4, 0, 0), LaunchStatus::kMisaligned);
  EXPECT_EQ(decompress(0, 4, 0), LaunchStatus::kMisaligned);
  EXPECT_EQ(decompress(0, 0, 128), LaunchStatus::kMisaligned);
}

TEST(SzxCudaGraph, CallsCanBeCaptured) {
  if (!HaveDevice()) GTEST_SKIP() << "no CUDA device";
  const auto values = Make<float>(Kind::kSmooth, 1 << 20, 2);
  const uint64_t capacity = szx::RoomySize(values.size(), DType::kF32, {}).value();
  GuardedBuffer input(values.size() * 4), buffer(capacity);
  GuardedBuffer result(sizeof(DeviceResult) + sizeof(double));
  GuardedBuffer workspace(SzxWorkspaceBytes(values.size(), DType::kF32));
  auto* const bound = reinterpret_cast<double*>(result.data() + sizeof(DeviceResult));
  input.Upload(values.data(), values.size() * 4);
  cudaStream_t stream;
  MustSucceed(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  MustSucceed(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  ASSERT_EQ(SzxCompress(input.data(), values.size(), DType::kF32, 1e-4, 0, buffer.data(), capacity,
                        reinterpret_cast<DeviceResult*>(result.data()), bound, workspace.data(),
                        workspace.size(), stream),
            LaunchStatus::kOk);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  MustSucceed(cudaStreamEndCapture(stream, &graph));
  MustSucceed(cudaGraphInstantiate(&exec, graph, 0));
  const auto expected = OnProcessor(values, 1e-4);
  for (int i = 0; i < 3; ++i) {
    MustSucceed(cudaMemset(bound, 0xcd, sizeof *bound));
    MustSucceed(cudaGraphLaunch(exec, stream));
    MustSucceed(cudaStreamSynchronize(stream));
    double eb = -1;
    MustSucceed(cudaMemcpy(&eb, bound, sizeof eb, cudaMemcpyDeviceToHost));
    ASSERT_EQ(eb, 1e-4);
    const DeviceResult got = Fetch(reinterpret_cast<DeviceResult*>(result.data()));
    ASSERT_EQ(got.size, expected.size());
    const auto all = buffer.Download(capacity);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), all.begin() + got.offset));
  }
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace szarena::codec::cuda
