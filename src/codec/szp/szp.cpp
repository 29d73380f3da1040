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
#include "codec/szp/format.h"
#include "codec/szp/kernels.h"
#include "codec/szp/reference.h"

namespace szarena::codec::szp {
namespace {

// Work is cut into chunks of this many blocks: an f32 chunk and its worst payload fit a level-2 cache.
constexpr uint64_t kChunkBlocks = 1024;

template <typename F>
auto WithType(DType dtype, F&& body) {
  return dtype == DType::kF32 ? body(float{}) : body(double{});
}

// Encodes blocks first..first+blocks-1; the last one may be short. As EncodeBlocks otherwise.
template <Real T>
uint64_t EncodeChunk(ConstArray values, uint64_t first, uint64_t blocks,
                     const Quantiser<T>& quantiser, Mode mode, std::byte* rates,
                     std::byte* payload) {
  const std::byte* from = values.data + first * kBlock * sizeof(T);
  const uint64_t whole = std::min(blocks, values.count / kBlock - first);
  uint64_t used = EncodeBlocks(from, whole, quantiser, mode, rates, payload);
  if (whole < blocks) {
    const EncodedBlock tail =
        EncodeBlock<T>(from + whole * kBlock * sizeof(T), static_cast<uint32_t>(values.count % kBlock),
                       quantiser, mode, payload + used);
    rates[whole] = static_cast<std::byte>(tail.rate_byte);
    used += tail.size;
  }
  return used;
}

// Chunks are encoded in parallel, each into its worker's scratch, and copied to their place as soon as
// the end of the chunk before is known. Where the rest of the buffer can hold any chunk, a single
// thread encodes in place.
template <Real T>
Result<uint64_t> CompressAs(ConstArray values, const Params& params, std::span<std::byte> payload,
                            uint64_t rate_bytes, unsigned threads) {
  const Quantiser<T> quantiser(params.eb);
  const uint64_t blocks = BlockCount(values.count);
  const uint64_t chunks = blocks / kChunkBlocks + (blocks % kChunkBlocks != 0);
  constexpr uint64_t kWorstChunk = kChunkBlocks * kBlock * sizeof(T) + kEncodeSlack;
  threads = ResolveThreads(threads, chunks);

  std::byte* const rates = payload.data();
  std::memset(rates + blocks, 0, rate_bytes - blocks);
  std::vector<std::unique_ptr<std::byte[]>> scratch(threads);
  constexpr uint64_t kUnknown = ~uint64_t{0};
  const auto ends = std::make_unique<std::atomic<uint64_t>[]>(chunks + 1);
  for (uint64_t c = 1; c <= chunks; ++c) ends[c].store(kUnknown, std::memory_order_relaxed);
  ends[0].store(rate_bytes, std::memory_order_relaxed);

  ForEachChunkOnWorkers(threads, chunks, [&](uint64_t chunk, unsigned worker) {
    const uint64_t first = chunk * kChunkBlocks;
    const uint64_t count = std::min(kChunkBlocks, blocks - first);
    uint64_t begin = ends[chunk].load(std::memory_order_acquire);
    const bool in_place = begin != kUnknown && begin <= payload.size() &&
                          payload.size() - begin >= kWorstChunk && threads == 1;
    std::byte* target = payload.data() + (in_place ? begin : 0);
    if (!in_place) {
      if (!scratch[worker]) scratch[worker].reset(new std::byte[kWorstChunk]);
      target = scratch[worker].get();
    }
    const uint64_t size =
        EncodeChunk<T>(values, first, count, quantiser, params.mode, rates + first, target);
    while (begin == kUnknown) {
      ends[chunk].wait(kUnknown, std::memory_order_acquire);
      begin = ends[chunk].load(std::memory_order_acquire);
    }
    ends[chunk + 1].store(begin + size, std::memory_order_release);
    ends[chunk + 1].notify_all();
    if (!in_place && begin <= payload.size() && size <= payload.size() - begin) {
      std::memcpy(payload.data() + begin, target, size);
    }
  });
  const uint64_t end = ends[chunks].load();
  if (end > payload.size()) {
    return Fail(ErrorCode::kCapacity,
                fmt::format("payload of '{}' bytes does not fit the buffer of '{}'", end,
                            payload.size()));
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
  const uint64_t chunks = blocks / kChunkBlocks + (blocks % kChunkBlocks != 0);
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
  // Refused where even the largest payload's size has no 64-bit value, so that no sum below overflows.
  SZARENA_TRY_VOID(MaxPayloadSize(values.count, values.dtype, params));
  SZARENA_TRY(const uint64_t rate_bytes, RateTableBytes(values.count, params));
  if (payload.size() < rate_bytes) {
    return Fail(ErrorCode::kCapacity,
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
                     payload.data() + payload.size(), count, quantiser, params.mode, values.data + first * kBlock * sizeof(T));
    });
  });
  return {};
}

Result<void> DecompressBlocks(std::span<const std::byte> payload, uint64_t count,
                              const Params& params, uint64_t first_block, MutableArray values) {
  const DefaultFloatEnv env;
  SZARENA_TRY(const Layout layout, ReadLayout(payload, count, values.dtype, params, 1));
  const uint64_t blocks = BlockCount(count);
  const uint64_t available = first_block <= blocks ? count - std::min(count, first_block * kBlock) : 0;
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
                   quantiser, params.mode,
                   values.data);
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
