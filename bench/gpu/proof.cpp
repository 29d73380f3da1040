// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/proof.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bench/gpu/timing.h"
#include "codec/cuda/szp_cuda.h"
#include "codec/cuda/szx_cuda.h"
#include "codec/szp/szp.h"
#include "codec/szx/szx.h"

namespace szarena::bench::gpu {
namespace {

using namespace codec;
using data::Json;

// One of our codecs, by the calls that a proof needs.
struct Subject {
  std::string name;
  bool is_szx;
  szp::Mode mode;

  uint64_t room(uint64_t count) const {
    return is_szx ? szx::RoomySize(count, DType::kF32, {}).value()
                  : szp::MaxPayloadSize(count, DType::kF32, {}).value();
  }
  uint64_t workspace(uint64_t count) const {
    return is_szx ? cuda::SzxWorkspaceBytes(count, DType::kF32)
                  : cuda::SzpWorkspaceBytes(count, DType::kF32, {});
  }
  bool Compress(const float* values, uint64_t count, double eb, void* buffer, uint64_t room,
                cuda::DeviceResult* result, void* work, uint64_t work_bytes) const {
    return cuda::LaunchStatus::kOk ==
           (is_szx ? cuda::SzxCompress(values, count, DType::kF32, eb, 0, buffer, room, result,
                                       nullptr, work, work_bytes, nullptr)
                   : cuda::SzpCompress(values, count, DType::kF32, {.eb = eb, .mode = mode}, 0,
                                       buffer, room, result, nullptr, work, work_bytes, nullptr));
  }
  bool Decompress(const void* payload, uint64_t size, uint64_t count, double eb, float* values,
                  cuda::DeviceResult* result, void* work, uint64_t work_bytes) const {
    return cuda::LaunchStatus::kOk ==
           (is_szx
                ? cuda::SzxDecompress(payload, size, count, DType::kF32, values, result, work,
                                      work_bytes, nullptr)
                : cuda::SzpDecompress(payload, size, count, DType::kF32, {.eb = eb, .mode = mode},
                                      values, result, work, work_bytes, nullptr));
  }
  // On the processor; the payload's place in `buffer`.
  szx::Placed CompressHere(const std::vector<float>& values, double eb,
                           std::vector<std::byte>& buffer) const {
    const ConstArray array = ArrayOf(std::span<const float>(values));
    if (is_szx) return szx::CompressInPlace(array, {.eb = eb}, buffer, 1).value();
    return {0, szp::Compress(array, {.eb = eb, .mode = mode}, buffer, 1).value()};
  }
};

const Subject kSubjects[] = {{"szp plain", false, szp::Mode::kPlain},
                             {"szp outlier", false, szp::Mode::kOutlier},
                             {"szx", true, {}}};

cuda::DeviceResult Fetch(const DeviceBuffer& result) {
  cuda::DeviceResult fetched;
  Check(cudaMemcpy(&fetched, result.as(), sizeof fetched, cudaMemcpyDeviceToHost),
        "fetching a result");
  return fetched;
}

struct Hashed {
  uint64_t size = 0;
  uint64_t hash = 0;
};

}  // namespace

Result<Json> ProveAllPatterns(double eb) {
  constexpr uint64_t kCount = 1 << 24;
  constexpr uint64_t kArrays = 256;
  Json rows = Json::MakeArray();
  for (const Subject& subject : kSubjects) {
    // The processor's side, on all its cores, while the device works.
    std::vector<Hashed> expected(kArrays);
    std::atomic<uint64_t> next = 0;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
      threads.emplace_back([&] {
        std::vector<float> values(kCount);
        std::vector<std::byte> buffer(subject.room(kCount));
        for (uint64_t a = next++; a < kArrays; a = next++) {
          for (uint64_t i = 0; i < kCount; ++i) {
            const auto bits = static_cast<uint32_t>(a * kCount + i);
            std::memcpy(&values[i], &bits, 4);
          }
          const auto placed = subject.CompressHere(values, eb, buffer);
          expected[a] = {placed.size, HashOnHost(buffer.data() + placed.offset, placed.size)};
        }
      });
    }
    const uint64_t room = subject.room(kCount);
    const uint64_t work_bytes = subject.workspace(kCount);
    const DeviceBuffer input(kCount * 4), output(kCount * 4), other(kCount * 4), payload(room),
        work(work_bytes), result(64);
    auto* const device_result = result.as<cuda::DeviceResult>();
    std::vector<Hashed> got(kArrays);
    uint64_t violations = 0;
    uint64_t unwritten = 0;
    bool ok = true;
    for (uint64_t a = 0; a < kArrays && ok; ++a) {
      FillPatterns(input.as<float>(), kCount, a * kCount);
      ok &= subject.Compress(input.as<float>(), kCount, eb, payload.as(), room, device_result,
                             work.as(), work_bytes);
      const auto placed = Fetch(result);
      const char* const stream = payload.as<char>() + placed.offset;
      got[a] = {placed.size, HashOnDevice(stream, placed.size)};
      Check(cudaMemset(output.as(), 0xFF, kCount * 4), "cudaMemset");
      Check(cudaMemset(other.as(), 0x5A, kCount * 4), "cudaMemset");
      for (const DeviceBuffer* to : {&output, &other}) {
        ok &= subject.Decompress(stream, placed.size, kCount, eb, to->as<float>(), device_result,
                                 work.as(), work_bytes);
        ok &= Fetch(result).status == cuda::DeviceStatus::kOk;
      }
      unwritten += CountDifferent(output.as(), other.as(), kCount);
      violations += CountViolations(input.as<float>(), output.as<float>(), kCount, eb);
    }
    for (std::thread& thread : threads) thread.join();
    uint64_t different = 0;
    for (uint64_t a = 0; a < kArrays; ++a)
      different += got[a].size != expected[a].size || got[a].hash != expected[a].hash;
    fmt::print(
        "all f32 patterns, {}: {} of {} payloads differ from the processor's, {} values outside "
        "the bound, {} unwritten{}\n",
        subject.name, different, kArrays, violations, unwritten, ok ? "" : ", a call FAILED");
    std::fflush(stdout);
    rows.Append(Json::Of({{"codec", subject.name},
                          {"eb", eb},
                          {"patterns", kArrays * kCount},
                          {"payloads", kArrays},
                          {"payloads_different", different},
                          {"violations", violations},
                          {"unwritten", unwritten},
                          {"passed", ok && different + violations + unwritten == 0}}));
  }
  return rows;
}

Result<Json> ProveHuge() {
  constexpr uint64_t kCount = (1ull << 32) + 12345;
  constexpr uint64_t kPiece = 1ull << 28;
  constexpr double kEb = 1e-3;
  Json rows = Json::MakeArray();
  const DeviceBuffer input(kCount * 4), output(kCount * 4), other(kCount * 4), result(64);
  FillField(3, input.as<float>(), kCount, 1);
  auto* const device_result = result.as<cuda::DeviceResult>();
  for (const Subject& subject : kSubjects) {
    const uint64_t room = subject.room(kCount);
    const uint64_t work_bytes = subject.workspace(kCount);
    const DeviceBuffer payload(room), work(work_bytes);
    // Pieces: blocks are coded alike wherever they are; only tables' ends and headers differ in
    // length.
    uint64_t pieces = 0;
    uint64_t most_slack = 0;
    bool ok = true;
    for (uint64_t first = 0; first < kCount; first += kPiece) {
      const uint64_t count = std::min(kPiece, kCount - first);
      ok &= subject.Compress(input.as<float>() + first, count, kEb, payload.as(), room,
                             device_result, work.as(), work_bytes);
      pieces += Fetch(result).size;
      most_slack += 1024 + 64;
    }
    ok &= subject.Compress(input.as<float>(), kCount, kEb, payload.as(), room, device_result,
                           work.as(), work_bytes);
    const auto placed = Fetch(result);
    ok &= placed.size <= pieces && pieces - placed.size <= most_slack;
    Check(cudaMemset(output.as(), 0xFF, kCount * 4), "cudaMemset");
    Check(cudaMemset(other.as(), 0x5A, kCount * 4), "cudaMemset");
    for (const DeviceBuffer* to : {&output, &other}) {
      ok &= subject.Decompress(payload.as<char>() + placed.offset, placed.size, kCount, kEb,
                               to->as<float>(), device_result, work.as(), work_bytes);
      ok &= Fetch(result).status == cuda::DeviceStatus::kOk;
    }
    const uint64_t unwritten = CountDifferent(output.as(), other.as(), kCount);
    const uint64_t violations = CountViolations(input.as<float>(), output.as<float>(), kCount, kEb);
    fmt::print(
        "{} values, {}: {} bytes ({} in pieces), {} values outside the bound, {} unwritten{}\n",
        kCount, subject.name, placed.size, pieces, violations, unwritten, ok ? "" : ", FAILED");
    std::fflush(stdout);
    rows.Append(Json::Of({{"codec", subject.name},
                          {"values", kCount},
                          {"payload_bytes", placed.size},
                          {"payload_bytes_in_pieces", pieces},
                          {"violations", violations},
                          {"unwritten", unwritten},
                          {"passed", ok && violations + unwritten == 0}}));
  }
  return rows;
}

}  // namespace szarena::bench::gpu
