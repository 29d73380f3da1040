// SPDX-License-Identifier: Apache-2.0
// Whole payloads: sizes, chunks and threads around the block coders.
#include "codec/szp/szp.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "codec/core/float_env.h"
#include "codec/core/parallel.h"
#include "codec/core/size.h"
#include "codec/szp/format.h"
#include "codec/szp/kernels.h"
#include "codec/szp/reference.h"

namespace szarena::codec::szp {
namespace {

// Starts of every so many blocks are known when decoding; a chunk is a decoding thread's unit of
// work.
constexpr uint64_t kChunkBlocks = 1024;
// An encoding thread's unit: long beside the cost of waking a thread that waits for its place.
constexpr uint64_t kTaskBlocks = 16 * kChunkBlocks;

template <typename F>
auto WithType(DType dtype, F&& body) {
  return dtype == DType::kF32 ? body(float{}) : body(double{});
}

// Encodes blocks first..first+blocks-1, blocks >= 1, the last of all maybe short; `payload` has
// room for blocks * RawBlockBytes. The last block goes the slow way: what EncodeBlocks may
// overwrite behind its payload stays inside the room.
template <Real T>
uint64_t EncodeTask(ConstArray values, uint64_t first, uint64_t blocks,
                    const Quantiser<T>& quantiser, Mode mode, std::byte* rates,
                    std::byte* payload) {
  static_assert(kEncodeSlack <= RawBlockBytes(kDTypeOf<T>));
  const std::byte* const from = values.data + first * kBlock * sizeof(T);
  const uint64_t used = EncodeBlocks(from, blocks - 1, quantiser, mode, rates, payload);
  const uint64_t done = first + blocks - 1;
  const auto count =
      static_cast<uint32_t>(std::min<uint64_t>(kBlock, values.count - done * kBlock));
  const EncodedBlock last = EncodeBlock<T>(from + (blocks - 1) * kBlock * sizeof(T), count,
                                           quantiser, mode, payload + used);
  rates[blocks - 1] = static_cast<std::byte>(last.rate_byte);
  return used + last.size;
}

// Where a task's payload ends, handed from task to task.
class Ends {
 public:
  Ends(uint64_t tasks, uint64_t begin) : ends_(new std::atomic<uint64_t>[tasks + 1]) {
    for (uint64_t t = 1; t <= tasks; ++t) ends_[t].store(kUnknown, std::memory_order_relaxed);
    ends_[0].store(begin, std::memory_order_release);
  }
  // Where task `t` begins; waits for the task before, which has started (ForEachChunk).
  uint64_t Begin(uint64_t t) const {
    for (int spin = 0; spin < 4096; ++spin) {
      if (const uint64_t end = ends_[t].load(std::memory_order_acquire); end != kUnknown)
        return end;
    }
    ends_[t].wait(kUnknown, std::memory_order_acquire);
    return ends_[t].load(std::memory_order_acquire);
  }
  void SetEnd(uint64_t t, uint64_t end) {
    ends_[t + 1].store(end, std::memory_order_release);
    ends_[t + 1].notify_all();
  }

 private:
  static constexpr uint64_t kUnknown = ~uint64_t{0};
  std::unique_ptr<std::atomic<uint64_t>[]> ends_;
};

// Several threads encode each into scratch of its own and copy a task's payload to its place as
// soon as the end of the task before is known. A single thread encodes in place where the buffer
// can hold whatever comes.
template <Real T>
Result<uint64_t> CompressAs(ConstArray values, const Params& params, std::span<std::byte> payload,
                            uint64_t rate_bytes, unsigned threads) {
  const Quantiser<T> quantiser(params.eb);
  const uint64_t blocks = BlockCount(values.count);
  const uint64_t tasks = CeilDiv(blocks, kTaskBlocks);
  threads = ResolveThreads(threads, tasks);
  std::byte* const rates = payload.data();
  std::memset(rates + blocks, 0, rate_bytes - blocks);
  std::vector<std::unique_ptr<std::byte[]>> scratch(threads);
  Ends ends(tasks, rate_bytes);

  ForEachChunkOnWorkers(threads, tasks, [&](uint64_t task, unsigned worker) {
    const uint64_t first = task * kTaskBlocks;
    const uint64_t count = std::min(kTaskBlocks, blocks - first);
    const uint64_t worst = count * RawBlockBytes(kDTypeOf<T>);
    if (threads == 1) {
      const uint64_t begin = ends.Begin(task);
      if (begin <= payload.size() && payload.size() - begin >= worst) {
        ends.SetEnd(task, begin + EncodeTask<T>(values, first, count, quantiser, params.mode,
                                                rates + first, payload.data() + begin));
        return;
      }
    }
    if (!scratch[worker]) {
      scratch[worker].reset(
          new std::byte[std::min(blocks, kTaskBlocks) * RawBlockBytes(kDTypeOf<T>)]);
    }
    std::byte* const made = scratch[worker].get();
    const uint64_t size =
        EncodeTask<T>(values, first, count, quantiser, params.mode, rates + first, made);
    const uint64_t begin = ends.Begin(task);
    ends.SetEnd(task, begin + size);
    if (begin <= payload.size() && size <= payload.size() - begin) {
      std::memcpy(payload.data() + begin, made, size);
    }
  });
  const uint64_t end = ends.Begin(tasks);
  if (end > payload.size()) {
    return Fail(
        ErrorCode::kCapacity,
        fmt::format("payload of '{}' bytes does not fit the buffer of '{}'", end, payload.size()));
  }
  return end;
}

tl::unexpected<Error> Corrupt(std::string message) {
  return Fail(ErrorCode::kCorrupt, std::move(message));
}

// Where the payloads of every kChunkBlocks-th block start; one more entry for the end.
struct Layout {
  uint64_t rate_bytes = 0;
  std::vector<uint64_t> starts;
};

// Checks all of a payload's sizes before anything is decoded.
Result<Layout> ReadLayout(std::span<const std::byte> payload, uint64_t count, DType dtype,
                          const Params& params, unsigned threads) {
  SZARENA_TRY_VOID(CheckParams(params));
  Layout layout;
  SZARENA_TRY(layout.rate_bytes, RateTableBytes(count, params));
  if (payload.size() < layout.rate_bytes) {
    return Corrupt(fmt::format("payload of '{}' bytes, expected at least '{}' for the rate table",
                               payload.size(), layout.rate_bytes));
  }
  const uint64_t blocks = BlockCount(count);
  const uint64_t chunks = CeilDiv(blocks, kChunkBlocks);
  const SizeTable sizes = MakeSizeTable(dtype, params.mode);
  layout.starts.resize(chunks + 1);
  std::atomic<uint64_t> first_bad{blocks};
  // A sum of 1024 sizes, each at most 65535, cannot overflow; 2^54 chunks of them cannot either.
  constexpr uint64_t kChunksPerTask = 256;
  ForEachChunk(threads, chunks / kChunksPerTask + 1, [&](uint64_t task) {
    const uint64_t end = std::min(chunks, (task + 1) * kChunksPerTask);
    for (uint64_t c = task * kChunksPerTask; c < end; ++c) {
      const std::byte* rates = payload.data() + c * kChunkBlocks;
      const uint64_t in_chunk = std::min(kChunkBlocks, blocks - c * kChunkBlocks);
      uint64_t sum = 0;
      bool bad = false;
      for (uint64_t b = 0; b < in_chunk; ++b) {
        const uint16_t size = sizes[std::to_integer<uint8_t>(rates[b])];
        sum += size;
        bad |= size == kInvalidSize;
      }
      layout.starts[c + 1] = sum;
      if (!bad) continue;
      uint64_t b = 0;
      while (sizes[std::to_integer<uint8_t>(rates[b])] != kInvalidSize) ++b;
      uint64_t seen = first_bad.load();
      while (c * kChunkBlocks + b < seen &&
             !first_bad.compare_exchange_weak(seen, c * kChunkBlocks + b)) {
      }
    }
  });
  if (const uint64_t bad = first_bad.load(); bad < blocks) {
    return Corrupt(fmt::format("rate byte '{:#04x}' of block '{}' is not valid in mode '{}'",
                               std::to_integer<unsigned>(payload[bad]), bad,
                               ModeName(params.mode)));
  }
  for (uint64_t b = blocks; b < layout.rate_bytes; ++b) {
    if (payload[b] != std::byte{0}) {
      return Corrupt(fmt::format("rate byte '{:#04x}' in the padding at '{}', expected 0",
                                 std::to_integer<unsigned>(payload[b]), b));
    }
  }
  layout.starts[0] = layout.rate_bytes;
  for (uint64_t c = 0; c < chunks; ++c) layout.starts[c + 1] += layout.starts[c];
  if (layout.starts[chunks] != payload.size()) {
    return Corrupt(fmt::format("payload of '{}' bytes, its rate bytes ask for '{}'", payload.size(),
                               layout.starts[chunks]));
  }
  return layout;
}

// Decodes `count` values, the last block maybe short; `end` is the whole payload's.
template <Real T>
void DecodeChunk(const std::byte* rates, const std::byte* payload, const std::byte* end,
                 uint64_t count, const Quantiser<T>& quantiser, Mode mode, std::byte* values) {
  const uint64_t whole = count / kBlock;
  DecodeBlocks(rates, payload, end, whole, quantiser, mode, values);
  if (count % kBlock == 0) return;
  const SizeTable sizes = MakeSizeTable(kDTypeOf<T>, mode);
  for (uint64_t b = 0; b < whole; ++b) payload += sizes[std::to_integer<uint8_t>(rates[b])];
  DecodeBlock<T>(std::to_integer<uint8_t>(rates[whole]), payload,
                 static_cast<uint32_t>(count % kBlock), quantiser, mode,
                 values + whole * kBlock * sizeof(T));
}

}  // namespace

Result<uint64_t> Compress(ConstArray values, const Params& params, std::span<std::byte> payload,
                          unsigned threads) {
  const DefaultFloatEnv env;
  // Refused where even the largest payload's size has no 64-bit value, so that no sum below
  // overflows.
  SZARENA_TRY_VOID(MaxPayloadSize(values.count, values.dtype, params));
  SZARENA_TRY(const uint64_t rate_bytes, RateTableBytes(values.count, params));
  if (payload.size() < rate_bytes) {
    return Fail(
        ErrorCode::kCapacity,
        fmt::format("payload buffer of '{}' bytes, expected at least '{}' for the rate table",
                    payload.size(), rate_bytes));
  }
  if (values.count == 0) return 0;
  return WithType(values.dtype, [&](auto zero) {
    return CompressAs<decltype(zero)>(values, params, payload, rate_bytes, threads);
  });
}

Result<void> Decompress(std::span<const std::byte> payload, const Params& params,
                        MutableArray values, unsigned threads) {
  const DefaultFloatEnv env;
  SZARENA_TRY(const Layout layout,
              ReadLayout(payload, values.count, values.dtype, params, threads));
  WithType(values.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Quantiser<T> quantiser(params.eb);
    ForEachChunk(threads, layout.starts.size() - 1, [&](uint64_t chunk) {
      const uint64_t first = chunk * kChunkBlocks;
      const uint64_t count = std::min(kChunkBlocks * kBlock, values.count - first * kBlock);
      DecodeChunk<T>(payload.data() + first, payload.data() + layout.starts[chunk],
                     payload.data() + payload.size(), count, quantiser, params.mode,
                     values.data + first * kBlock * sizeof(T));
    });
  });
  return {};
}

Result<void> DecompressBlocks(std::span<const std::byte> payload, uint64_t count,
                              const Params& params, uint64_t first_block, MutableArray values) {
  const DefaultFloatEnv env;
  SZARENA_TRY(const Layout layout, ReadLayout(payload, count, values.dtype, params, 1));
  const uint64_t blocks = BlockCount(count);
  const uint64_t available =
      first_block <= blocks ? count - std::min(count, first_block * kBlock) : 0;
  if (first_block > blocks || values.count > available ||
      (values.count % kBlock != 0 && values.count != available)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' values from block '{}' of '{}' are not whole blocks of the array",
                            values.count, first_block, blocks));
  }
  if (values.count == 0) return {};
  WithType(values.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Quantiser<T> quantiser(params.eb);
    const SizeTable sizes = MakeSizeTable(values.dtype, params.mode);
    const uint64_t chunk = first_block / kChunkBlocks;
    const std::byte* at = payload.data() + layout.starts[chunk];
    for (uint64_t b = chunk * kChunkBlocks; b < first_block; ++b) {
      at += sizes[std::to_integer<uint8_t>(payload[b])];
    }
    DecodeChunk<T>(payload.data() + first_block, at, payload.data() + payload.size(), values.count,
                   quantiser, params.mode, values.data);
  });
  return {};
}

Result<Info> Inspect(std::span<const std::byte> payload, uint64_t count, DType dtype,
                     const Params& params) {
  SZARENA_TRY(const Layout layout, ReadLayout(payload, count, dtype, params, 1));
  Info info{.blocks = BlockCount(count), .rate_bytes = layout.rate_bytes};
  for (uint64_t b = 0; b < info.blocks; ++b) {
    const auto rate_byte = std::to_integer<uint8_t>(payload[b]);
    info.zero_blocks += rate_byte == 0;
    info.raw_blocks += rate_byte == kRawRate;
    info.outlier_blocks += (rate_byte & kOutlierFlag) != 0;
  }
  return info;
}

}  // namespace szarena::codec::szp
