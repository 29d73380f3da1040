// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "bench/gpu/proof.h"
#include "bench/gpu/timing.h"
#include "codec/cuda/host_codec.h"

namespace szarena::bench::gpu {
namespace {

using namespace codec;
using data::Json;

// Milliseconds of wall clock, the first two calls not counted.
template <class Call>
Time TimeOnHost(int runs, Call&& call) {
  std::vector<double> times;
  for (int i = 0; i < runs + 2; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    if (i >= 2) times.push_back(ms.count());
  }
  return Summarise(std::move(times));
}

class Stream {
 public:
  Stream() {
    Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace

Result<Json> RaceOnHost(uint64_t bytes, int runs) {
  const uint64_t count = bytes / 4;
  SZARENA_TRY(const auto input, cuda::PinnedBuffer::Allocate(bytes));
  SZARENA_TRY(const auto output, cuda::PinnedBuffer::Allocate(bytes));
  const uint64_t room = std::max(szp::MaxPayloadSize(count, DType::kF32, {}).value(),
                                 szx::RoomySize(count, DType::kF32, {}).value());
  SZARENA_TRY(const auto payload, cuda::PinnedBuffer::Allocate(room));
  SZARENA_TRY(auto codec, cuda::HostCodec::Create());
  const DeviceBuffer device(bytes);
  FillField(0, device.as<float>(), count, 1);
  Check(cudaMemcpy(input.data(), device.as(), bytes, cudaMemcpyDeviceToHost), "fetching a field");
  const auto transfer = [&](bool up) {
    return TimeOnHost(runs, [&] {
      Check(
          up ? cudaMemcpyAsync(device.as(), input.data(), bytes, cudaMemcpyHostToDevice, nullptr)
             : cudaMemcpyAsync(output.data(), device.as(), bytes, cudaMemcpyDeviceToHost, nullptr),
          "a transfer");
      Check(cudaStreamSynchronize(nullptr), "a transfer");
    });
  };
  const Time up = transfer(true);
  const Time down = transfer(false);
  // Both directions at once, each on a stream of its own: what the link gives a call that sends the
  // one and fetches the other.
  const DeviceBuffer other(bytes);
  const Stream sending;
  const Stream fetching;
  const auto both = [&](uint64_t bytes_up, uint64_t bytes_down) {
    return TimeOnHost(runs, [&] {
      Check(cudaMemcpyAsync(device.as(), input.data(), bytes_up, cudaMemcpyHostToDevice,
                            sending.get()),
            "a transfer");
      Check(cudaMemcpyAsync(output.data(), other.as(), bytes_down, cudaMemcpyDeviceToHost,
                            fetching.get()),
            "a transfer");
      Check(cudaStreamSynchronize(sending.get()), "a transfer");
      Check(cudaStreamSynchronize(fetching.get()), "a transfer");
    });
  };
  const double size = static_cast<double>(bytes);
  const auto rate = [&](const Time& time) {
    return Json::Of({{"median", size / time.median / 1e6},
                     {"low", size / time.high / 1e6},
                     {"high", size / time.low / 1e6}});
  };
  fmt::print("link: {:.1f} GB/s to the device, {:.1f} GB/s from it ({} MiB, pinned)\n",
             size / up.median / 1e6, size / down.median / 1e6, bytes >> 20);
  Json result = Json::Of({{"bytes", bytes}, {"to_device", rate(up)}, {"from_device", rate(down)}});
  Json rows = Json::MakeArray();
  const ConstArray values{input.data(), count, DType::kF32};
  const MutableArray restored{output.data(), count, DType::kF32};
  for (const double eb : {2.6e-2, 2.6e-3, 2.6e-4}) {
    for (const bool is_szx : {false, true}) {
      const szp::Params params{.eb = eb};
      szx::Placed placed;
      Result<void> status;
      const Time compress = TimeOnHost(runs, [&] {
        if (is_szx) {
          const auto done = codec.SzxCompress(values, eb, {payload.data(), room});
          if (done)
            placed = *done;
          else
            status = tl::unexpected(done.error());
        } else {
          const auto done = codec.SzpCompress(values, params, {payload.data(), room});
          if (done)
            placed = {0, *done};
          else
            status = tl::unexpected(done.error());
        }
      });
      const std::span<const std::byte> stream(payload.data() + placed.offset, placed.size);
      std::memset(output.data(), 0xFF, bytes);
      const Time decompress = TimeOnHost(runs, [&] {
        const auto done = is_szx ? codec.SzxDecompress(stream, restored)
                                 : codec.SzpDecompress(stream, params, restored);
        if (!done) status = done;
      });
      if (!status) return tl::unexpected(status.error());
      uint64_t violations = 0;
      const auto* const x = reinterpret_cast<const float*>(input.data());
      const auto* const y = reinterpret_cast<const float*>(output.data());
      for (uint64_t i = 0; i < count; ++i)
        violations += !(std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i])) <= eb);
      const Time compress_both = both(bytes, placed.size);
      const Time decompress_both = both(placed.size, bytes);
      const double packed = static_cast<double>(placed.size) / size;
      const double compress_limit = std::max(up.median, down.median * packed);
      const double decompress_limit = std::max(up.median * packed, down.median);
      const char* const name = is_szx ? "szx" : "szp outlier";
      fmt::print(
          "host {:<12} eb {:.1e} ratio {:6.2f} | compress {:5.1f} GB/s ({:.3f} of the slower "
          "transfer alone, {:.3f} of both at once) | decompress {:5.1f} ({:.3f}, {:.3f}) | {} "
          "outside the bound\n",
          name, eb, 1 / packed, size / compress.median / 1e6, compress_limit / compress.median,
          compress_both.median / compress.median, size / decompress.median / 1e6,
          decompress_limit / decompress.median, decompress_both.median / decompress.median,
          violations);
      rows.Append(Json::Of({{"codec", name},
                            {"eb", eb},
                            {"ratio", 1 / packed},
                            {"compress", rate(compress)},
                            {"decompress", rate(decompress)},
                            {"compress_of_limit", compress_limit / compress.median},
                            {"decompress_of_limit", decompress_limit / decompress.median},
                            {"compress_of_both", compress_both.median / compress.median},
                            {"decompress_of_both", decompress_both.median / decompress.median},
                            {"violations", violations}}));
    }
  }
  result.Set("rows", rows);
  return result;
}

}  // namespace szarena::bench::gpu
