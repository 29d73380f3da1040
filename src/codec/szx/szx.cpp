// SPDX-License-Identifier: Apache-2.0
// Whole streams: blocks are handled in chunks of a fixed size, whatever the number of threads.
#include "codec/szx/szx.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "base/bytes.h"
#include "codec/core/float_env.h"
#include "codec/core/parallel.h"
#include "codec/szx/block.h"
#include "codec/szx/kernels.h"
#include "codec/szx/pack_tables.h"

namespace szarena::codec::szx {
namespace {

// A multiple of 8, so that no two chunks share a byte of state bits. 256 KiB of f32.
constexpr std::uint64_t kChunkBlocks = 512;

template <Real T>
constexpr std::size_t kChunkScratch = kChunkBlocks * MaxBlockBytes<T>(kBlockValues) + kEncodeSlack;

// Chunks that are coded into buffers of their own, finish in any order and move to the output in
// theirs. A thread that has finished one early goes on with another instead of waiting for its
// place.
class Placement {
 public:
  struct Piece {
    std::uint8_t* to;
    std::uint8_t* from;
    std::uint64_t size_bytes;
  };

  Placement(std::uint8_t* out, std::uint64_t chunks, unsigned threads, std::size_t buffer_bytes)
      : next_to_(out), finished_(chunks), most_ahead_(8 * threads), buffer_bytes_(buffer_bytes) {}

  // A buffer for `chunk`, which must be given back by Finish. Waits while the chunk is far ahead of
  // the first one that is not finished: that one is being worked on, since chunks start in order.
  std::uint8_t* Take(std::uint64_t chunk) {
    std::unique_lock lock(mutex_);
    advanced_.wait(lock, [&] { return chunk <= placed_ + most_ahead_; });
    if (free_.empty()) {
      buffers_.push_back(std::make_unique_for_overwrite<std::uint8_t[]>(buffer_bytes_));
      free_.push_back(buffers_.back().get());
    }
    std::uint8_t* const buffer = free_.back();
    free_.pop_back();
    return buffer;
  }

  // The chunk's bytes are in its buffer. Copies whatever has its place by now.
  void Finish(std::uint64_t chunk, std::uint8_t* buffer, std::uint64_t size_bytes) {
    std::unique_lock lock(mutex_);
    finished_[chunk] = {nullptr, buffer, size_bytes};
    for (; placed_ < finished_.size() && finished_[placed_].from != nullptr; ++placed_) {
      finished_[placed_].to = next_to_;
      next_to_ += finished_[placed_].size_bytes;
    }
    advanced_.notify_all();
    while (copied_ < placed_) {
      const Piece piece = finished_[copied_++];
      lock.unlock();
      std::memcpy(piece.to, piece.from, piece.size_bytes);
      lock.lock();
      free_.push_back(piece.from);
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable advanced_;
  std::uint8_t* next_to_;
  std::vector<Piece> finished_;  // by chunk
  std::uint64_t placed_ = 0;     // chunks before this one have their place
  std::uint64_t copied_ = 0;     // and these are copied, or somebody is about it
  const std::uint64_t most_ahead_;
  const std::size_t buffer_bytes_;
  std::vector<std::unique_ptr<std::uint8_t[]>> buffers_;
  std::vector<std::uint8_t*> free_;
};

// EncodeRun for a chunk whose last block may be short.
template <Real T>
RunSizes EncodeChunk(const std::byte* values, std::uint64_t count, const Bound<T>& bound,
                     const EncodeTarget& target) {
  const std::uint64_t whole = count / kBlockValues;
  const std::size_t tail = count % kBlockValues;
  RunSizes run = EncodeRun<T>(values, whole, bound, target);
  if (tail == 0) return run;
  const std::byte* const first = values + whole * kBlockValues * sizeof(T);
  const auto plan = PlanBlock<T>(first, tail, bound);
  if (whole % 8 == 0) target.states[whole / 8] = 0;
  if (plan.constant) {
    StoreBe(target.medians + (whole - run.coded_blocks) * sizeof(T), plan.median);
    return run;
  }
  const std::size_t size = WriteBlock<T>(first, tail, plan, target.coded + run.coded_bytes);
  target.states[whole / 8] |= static_cast<std::uint8_t>(0x80 >> (whole % 8));
  StoreLe(target.sizes + 2 * run.coded_blocks, static_cast<std::uint16_t>(size));
  return {run.coded_blocks + 1, run.coded_bytes + size};
}

template <Real T>
Result<Placed> CompressTyped(ConstArray values, const Params& params,
                             std::span<std::uint8_t> buffer, unsigned threads) {
  SZARENA_TRY(const auto bound, MakeBound<T>(params.eb));
  SZARENA_TRY(const auto least, MaxPayloadSize(values.count, values.dtype, params));
  SZARENA_TRY(const auto roomy, RoomySize(values.count, values.dtype, params));
  if (buffer.size() < least) {
    return Fail(ErrorCode::kCapacity,
                fmt::format("output buffer has {} bytes, SZx needs {} for {} values", buffer.size(),
                            least, values.count));
  }
  const std::uint64_t blocks = BlockCount(values.count);
  const std::uint64_t chunks = CeilDiv(blocks, kChunkBlocks);
  threads = ResolveThreads(threads, chunks);

  // Blocks go to their final place at once, behind room for the longest tables. Where the buffer
  // lacks that room and the tables turn out long, the blocks move up at the end.
  const std::uint64_t all_coded_tables =
      HeaderBytes(params.mode) + TableBytes<T>(params.mode, blocks, blocks);
  const std::uint64_t coded_at = all_coded_tables + std::min(buffer.size() - least, roomy - least);
  std::uint8_t* const coded = buffer.data() + coded_at;
  const std::uint64_t coded_room = buffer.size() - coded_at;

  const auto sizes = std::make_unique_for_overwrite<std::uint8_t[]>(2 * blocks);
  const auto medians = std::make_unique_for_overwrite<std::uint8_t[]>(sizeof(T) * blocks);
  const auto states = std::make_unique_for_overwrite<std::uint8_t[]>(CeilDiv(blocks, 8));
  std::vector<RunSizes> runs(chunks);
  const auto encode = [&](std::uint64_t c, std::uint8_t* to) {
    const std::uint64_t first_block = c * kChunkBlocks;
    const std::uint64_t first = first_block * kBlockValues;
    const std::uint64_t count = std::min(kChunkBlocks * kBlockValues, values.count - first);
    runs[c] = EncodeChunk<T>(values.data + first * sizeof(T), count, bound,
                             {.coded = to,
                              .sizes = sizes.get() + 2 * first_block,
                              .medians = medians.get() + sizeof(T) * first_block,
                              .states = states.get() + first_block / 8});
  };
  // A single thread codes in place, but for the last chunks of a full buffer, which lack the slack.
  std::uint64_t done = 0;
  std::uint64_t in_place_bytes = 0;
  while (threads == 1 && done < chunks && coded_room - in_place_bytes >= kChunkScratch<T>) {
    encode(done, coded + in_place_bytes);
    in_place_bytes += runs[done++].coded_bytes;
  }
  Placement placement(coded + in_place_bytes, chunks - done, threads, kChunkScratch<T>);
  ForEachChunk(threads, chunks - done, [&](std::uint64_t c) {
    std::uint8_t* const scratch = placement.Take(c);
    encode(done + c, scratch);
    placement.Finish(c, scratch, runs[done + c].coded_bytes);
  });

  std::uint64_t coded_blocks = 0;
  std::uint64_t coded_bytes = 0;
  for (const RunSizes& run : runs) {
    coded_blocks += run.coded_blocks;
    coded_bytes += run.coded_bytes;
  }
  const std::uint64_t tables =
      HeaderBytes(params.mode) + TableBytes<T>(params.mode, blocks, coded_blocks);
  if (tables > coded_at) std::memmove(buffer.data() + tables, coded, coded_bytes);
  const Placed placed{std::max(tables, coded_at) - tables, tables + coded_bytes};

  std::uint8_t* out = buffer.data() + placed.offset;
  WriteHeader<T>({.mode = params.mode, .constant_blocks = blocks - coded_blocks}, out);
  out += HeaderBytes(params.mode);
  const auto append = [&out](const std::uint8_t* from, std::size_t bytes) {
    if (bytes != 0) std::memcpy(out, from, bytes);
    out += bytes;
  };
  if (params.mode == Mode::kRandomAccess) {
    for (std::uint64_t c = 0; c < chunks; ++c)
      append(sizes.get() + 2 * c * kChunkBlocks, 2 * runs[c].coded_blocks);
  }
  append(states.get(), CeilDiv(blocks, 8));
  for (std::uint64_t c = 0; c < chunks; ++c) {
    const std::uint64_t in_chunk = std::min(kChunkBlocks, blocks - c * kChunkBlocks);
    append(medians.get() + sizeof(T) * c * kChunkBlocks,
           sizeof(T) * (in_chunk - runs[c].coded_blocks));
  }
  return placed;
}

// A stream with its blocks found: where every chunk of kChunkBlocks blocks starts.
struct Index {
  struct Start {
    std::uint64_t coded_blocks = 0;  // before the chunk
    std::uint64_t coded_bytes = 0;
  };
  Parts parts;
  std::vector<std::uint8_t> measured;  // sizes of a sequential stream's blocks
  std::vector<Start> starts;           // of every chunk, and the end

  const std::uint8_t* sizes() const {
    return measured.empty() ? parts.sizes.data() : measured.data();
  }
};

// Number of coded blocks among blocks [first, first + count); first is a multiple of 8.
std::uint64_t CountCoded(Bytes states, std::uint64_t first, std::uint64_t count) {
  const std::uint8_t* const from = states.data() + first / 8;
  std::uint64_t coded = 0;
  std::uint64_t byte = 0;
  for (; 8 * (byte + 8) <= count; byte += 8) {
    coded += static_cast<std::uint64_t>(std::popcount(LoadLe<std::uint64_t>(from + byte)));
  }
  for (; 8 * byte < count; ++byte) {
    const std::uint64_t rest = count - 8 * byte;
    const auto bits =
        static_cast<std::uint8_t>(rest >= 8 ? from[byte] : from[byte] & ~(0xff >> rest));
    coded += static_cast<std::uint64_t>(std::popcount(bits));
  }
  return coded;
}

// MeasureBlock, with four codes a step for whole blocks of the usual size.
template <Real T>
std::optional<std::size_t> FastMeasure(Bytes bytes, std::size_t count) {
  constexpr std::size_t kCodeBytes = kBlockValues / 4;
  constexpr std::size_t kHead = kBlockHeadBytes<T> + kCodeBytes;
  if (count != kBlockValues || bytes.size() < kHead || bytes[0] < Type<T>::kHeadBits ||
      bytes[0] > Type<T>::kBits) {
    return MeasureBlock<T>(bytes, count);
  }
  const auto& stored = kPackTables<T>.ForKept((bytes[0] + 7) / 8).count;
  std::size_t size = kHead;
  for (const std::uint8_t codes : bytes.subspan(kBlockHeadBytes<T>, kCodeBytes)) {
    size += sizeof(T) == 4 ? stored[codes] : stored[codes >> 4] + stored[codes & 15];
  }
  if (bytes.size() < size) return std::nullopt;
  return size;
}

// Fails with kCorrupt unless state bits, sizes and medians agree with each other and with the
// stream's length.
template <Real T>
Result<Index> BuildIndex(Bytes stream, std::uint64_t count) {
  Index index;
  SZARENA_TRY(index.parts, Split<T>(stream, count));
  const Parts& parts = index.parts;
  const std::uint64_t chunks = CeilDiv(parts.blocks, kChunkBlocks);
  const std::uint64_t coded_blocks = parts.blocks - parts.header.constant_blocks;
  if (CountCoded(parts.states, 0, parts.blocks) != coded_blocks) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("SZx state bits disagree with the header's {} constant blocks",
                            parts.header.constant_blocks));
  }
  const bool sequential = parts.header.mode == Mode::kSequential;
  if (sequential) index.measured.resize(2 * coded_blocks);
  index.starts.resize(chunks + 1);
  Index::Start at;
  for (std::uint64_t c = 0; c < chunks; ++c) {
    index.starts[c] = at;
    const std::uint64_t first = c * kChunkBlocks;
    const std::uint64_t in_chunk = std::min(kChunkBlocks, parts.blocks - first);
    const std::uint64_t coded_in_chunk = CountCoded(parts.states, first, in_chunk);
    if (sequential) {
      for (std::uint64_t b = first; b < first + in_chunk; ++b) {
        if (!parts.coded_block(b)) continue;
        const std::uint64_t values =
            std::min(parts.header.block_values, count - b * parts.header.block_values);
        const auto size = FastMeasure<T>(parts.coded.subspan(at.coded_bytes), values);
        if (!size)
          return Fail(ErrorCode::kCorrupt,
                      fmt::format("SZx block {} of {} is damaged", b, parts.blocks));
        StoreLe(index.measured.data() + 2 * at.coded_blocks++, static_cast<std::uint16_t>(*size));
        at.coded_bytes += *size;
      }
    } else {
      const std::uint8_t* const sizes = parts.sizes.data() + 2 * at.coded_blocks;
      std::uint64_t bytes = 0;
      for (std::uint64_t i = 0; i < coded_in_chunk; ++i)
        bytes += LoadLe<std::uint16_t>(sizes + 2 * i);
      at.coded_blocks += coded_in_chunk;
      at.coded_bytes += bytes;
    }
  }
  index.starts[chunks] = at;
  if (at.coded_bytes != parts.coded.size()) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("SZx blocks take {} bytes, the stream has {} for them", at.coded_bytes,
                            parts.coded.size()));
  }
  return index;
}

// Decodes blocks [first, first + blocks) of the stream, whose place is `start`; false where one is
// damaged.
template <Real T>
bool DecodeBlocks(const Index& index, std::uint64_t count, std::uint64_t first,
                  std::uint64_t blocks, Index::Start start, std::byte* out) {
  const Parts& parts = index.parts;
  DecodeSource source{.parts = &parts,
                      .first_block = first,
                      .sizes = index.sizes() + 2 * start.coded_blocks,
                      .medians = parts.medians.data() + sizeof(T) * (first - start.coded_blocks),
                      .coded = parts.coded.data() + start.coded_bytes};
  const std::uint64_t block_values = parts.header.block_values;
  std::uint64_t done = 0;
  if (block_values == kBlockValues) {
    // All but a short last block; then that one below, from where the run has ended.
    const bool short_end = first + blocks == parts.blocks && count % kBlockValues != 0;
    done = blocks - short_end;
    if (!DecodeRun<T>(source, done, out)) return false;
    if (!short_end) return true;
    for (std::uint64_t b = first; b < first + done; ++b) {
      if (parts.coded_block(b)) {
        source.coded += LoadLe<std::uint16_t>(source.sizes);
        source.sizes += 2;
      } else {
        source.medians += sizeof(T);
      }
    }
  }
  for (std::uint64_t b = first + done; b < first + blocks; ++b) {
    std::byte* const to = out + (b - first) * block_values * sizeof(T);
    const std::size_t values = std::min(block_values, count - b * block_values);
    if (parts.coded_block(b)) {
      const std::size_t size = LoadLe<std::uint16_t>(source.sizes);
      if (!ReadBlock<T>({source.coded, size}, values, to)) return false;
      source.coded += size;
      source.sizes += 2;
    } else {
      const T median = LoadBe<T>(source.medians);
      for (std::size_t i = 0; i < values; ++i) Store<T>(to + i * sizeof(T), median);
      source.medians += sizeof(T);
    }
  }
  return true;
}

Error DamagedBetween(std::uint64_t first, std::uint64_t last) {
  return {ErrorCode::kCorrupt,
          fmt::format("an SZx block between {} and {} is damaged", first, last),
          {}};
}

template <Real T>
Result<void> DecompressTyped(Bytes stream, MutableArray values, unsigned threads) {
  SZARENA_TRY(const auto index, BuildIndex<T>(stream, values.count));
  const std::uint64_t blocks = index.parts.blocks;
  const std::uint64_t block_bytes = index.parts.header.block_values * sizeof(T);
  const std::uint64_t chunks = index.starts.size() - 1;
  std::atomic<std::uint64_t> damaged{chunks};  // first damaged chunk
  ForEachChunk(threads, chunks, [&](std::uint64_t c) {
    const std::uint64_t first = c * kChunkBlocks;
    const std::uint64_t in_chunk = std::min(kChunkBlocks, blocks - first);
    if (DecodeBlocks<T>(index, values.count, first, in_chunk, index.starts[c],
                        values.data + first * block_bytes)) {
      return;
    }
    std::uint64_t seen = damaged;
    while (c < seen && !damaged.compare_exchange_weak(seen, c)) {
    }
  });
  if (damaged < chunks) {
    const std::uint64_t first = damaged * kChunkBlocks;
    return tl::unexpected(DamagedBetween(first, std::min(first + kChunkBlocks, blocks) - 1));
  }
  return {};
}

template <Real T>
Result<void> DecompressBlocksTyped(Bytes stream, std::uint64_t count, std::uint64_t first_block,
                                   MutableArray values) {
  SZARENA_TRY(const auto index, BuildIndex<T>(stream, count));
  const Parts& parts = index.parts;
  const std::uint64_t block_values = parts.header.block_values;
  if (values.count == 0) return {};
  const bool inside =
      first_block < parts.blocks && values.count <= count - first_block * block_values;
  const bool whole = inside && (values.count % block_values == 0 ||
                                first_block * block_values + values.count == count);
  if (!whole) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "{} values from block {} on are not whole blocks of {} of a stream of {} values",
            values.count, first_block, block_values, count));
  }
  // From the chunk's start on, step over the blocks before the first one wanted.
  Index::Start start = index.starts[first_block / kChunkBlocks];
  for (std::uint64_t b = first_block / kChunkBlocks * kChunkBlocks; b < first_block; ++b) {
    if (parts.coded_block(b))
      start.coded_bytes += LoadLe<std::uint16_t>(index.sizes() + 2 * start.coded_blocks++);
  }
  const std::uint64_t blocks = CeilDiv(values.count, block_values);
  if (!DecodeBlocks<T>(index, count, first_block, blocks, start, values.data)) {
    return tl::unexpected(DamagedBetween(first_block, first_block + blocks - 1));
  }
  return {};
}

template <Real T>
Result<Info> InspectTyped(Bytes stream, std::uint64_t count) {
  SZARENA_TRY(const auto index, BuildIndex<T>(stream, count));
  const Parts& parts = index.parts;
  Info info{.mode = parts.header.mode,
            .block_values = parts.header.block_values,
            .blocks = parts.blocks,
            .constant_blocks = parts.header.constant_blocks,
            .table_bytes = stream.size() - parts.coded.size(),
            .block_bytes = parts.coded.size()};
  const std::uint8_t* size = index.sizes();
  Bytes rest = parts.coded;
  for (std::uint64_t b = 0; b < parts.blocks; ++b) {
    if (!parts.coded_block(b)) continue;
    const Bytes block = rest.first(LoadLe<std::uint16_t>(size));
    const std::uint64_t values = std::min(info.block_values, count - b * info.block_values);
    if (FastMeasure<T>(block, values) != block.size()) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("SZx block {} of {} is damaged", b, parts.blocks));
    }
    info.full_blocks += block[0] == Type<T>::kBits && LoadBe<T>(block.data() + 1) == 0;
    rest = rest.subspan(block.size());
    size += 2;
  }
  return info;
}

Bytes AsBytes(std::span<const std::byte> payload) {
  return {reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size()};
}

}  // namespace

Result<Placed> CompressInPlace(ConstArray values, const Params& params, std::span<std::byte> buffer,
                               unsigned threads) {
  const DefaultFloatEnv float_env;
  const std::span<std::uint8_t> bytes(reinterpret_cast<std::uint8_t*>(buffer.data()),
                                      buffer.size());
  return values.dtype == DType::kF32 ? CompressTyped<float>(values, params, bytes, threads)
                                     : CompressTyped<double>(values, params, bytes, threads);
}

Result<std::uint64_t> Compress(ConstArray values, const Params& params,
                               std::span<std::byte> payload, unsigned threads) {
  SZARENA_TRY(const auto placed, CompressInPlace(values, params, payload, threads));
  if (placed.offset != 0) std::memmove(payload.data(), payload.data() + placed.offset, placed.size);
  return placed.size;
}

Result<void> Decompress(std::span<const std::byte> payload, MutableArray values, unsigned threads) {
  const DefaultFloatEnv float_env;
  return values.dtype == DType::kF32 ? DecompressTyped<float>(AsBytes(payload), values, threads)
                                     : DecompressTyped<double>(AsBytes(payload), values, threads);
}

Result<void> DecompressBlocks(std::span<const std::byte> payload, std::uint64_t count,
                              std::uint64_t first_block, MutableArray values) {
  const DefaultFloatEnv float_env;
  return values.dtype == DType::kF32
             ? DecompressBlocksTyped<float>(AsBytes(payload), count, first_block, values)
             : DecompressBlocksTyped<double>(AsBytes(payload), count, first_block, values);
}

Result<Info> Inspect(std::span<const std::byte> payload, std::uint64_t count, DType dtype) {
  return dtype == DType::kF32 ? InspectTyped<float>(AsBytes(payload), count)
                              : InspectTyped<double>(AsBytes(payload), count);
}

}  // namespace szarena::codec::szx
