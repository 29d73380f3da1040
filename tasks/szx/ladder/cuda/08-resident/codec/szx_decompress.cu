// SPDX-License-Identifier: Apache-2.0
// SZx decompression: a first, small kernel finds the places of blocks from the tables; then warps
// that wait for nothing decode a region of 4 KiB each, the next ones' tables and bytes on their way
// meanwhile.
#include <cuda_runtime.h>

#include <algorithm>

#include "../format.h"
#include "launch.cuh"
#include "lookback.cuh"
#include "rows.cuh"
#include "szx_any_block.cuh"
#include "szx_cuda.h"
#include "szx_stream.cuh"
#include "workspace.h"

namespace szarena::codec::cuda {
namespace {

struct DecompressArgs {
  const unsigned char* stream;
  uint64_t size;
  uint64_t count;
  unsigned char* values;
  DeviceResult* result;
  uint64_t most_groups;
  uint64_t most_tiles;  // of either table
  ScanState state_scan;
  ScanState size_scan;
  unsigned long long* damaged;       // a DeviceStatus; 1, corrupt: the tables do not fit together
  unsigned long long* coded_before;  // coded blocks before a group
  unsigned long long*
      size_before;  // bytes before so many coded blocks as a group has; sequential: before a group
};

// First kernel. The first tiles count state bits, a thread a group; the others sum sizes, a thread
// as many coded blocks.
constexpr uint32_t kPlaceThreads = 1024;

template <class T>
__device__ __noinline__ void WalkSequential(const DecompressArgs& args, const SzxParts& parts) {
  uint64_t at = parts.coded_at;
  uint64_t coded = 0;
  bool good = true;
  for (uint64_t block = 0; block < parts.blocks; ++block) {
    if (block % parts.group_blocks == 0 && threadIdx.x == 0) {
      args.coded_before[block / parts.group_blocks] = coded;
      args.size_before[block / parts.group_blocks] = at - parts.coded_at;
    }
    if ((StateByte(args.stream, parts, block / 8 * 8) >> (7 - block % 8) & 1u) == 0) continue;
    const uint64_t first = block * parts.block_values;
    const uint64_t values = min(static_cast<unsigned long long>(parts.block_values),
                                static_cast<unsigned long long>(args.count - first));
    const uint64_t found =
        good ? MeasureBlock<T>(args.stream + at, args.size - at, static_cast<uint32_t>(values)) : 0;
    if (found == 0) good = false;
    ++coded;
    at += found;
  }
  if (threadIdx.x == 0 && (!good || coded != parts.coded_blocks || at != args.size))
    *args.damaged = 1;
}

template <class T>
__global__ void __launch_bounds__(kPlaceThreads)
    PlaceKernel(const __grid_constant__ DecompressArgs args) {
  __shared__ uint32_t tile_shared;
  __shared__ SzxParts parts;
  __shared__ uint32_t warp_sum[kPlaceThreads / 32];
  __shared__ unsigned long long base_shared;
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    tile_shared = atomicAdd(args.state_scan.ticket, 1u);
    if (tile_shared == 0) *args.result = DeviceResult{};
  }
  if (warp == 1) {
    const SzxParts read = ReadParts<T>(args.stream, args.size, args.count);
    if (lane == 0) parts = read;
  }
  __syncthreads();
  if (!parts.ok || parts.sequential) {
    if (tile_shared == 0 && warp == 0) {
      if (parts.ok) {
        WalkSequential<T>(args, parts);
      } else if (lane == 0) {
        *args.damaged = static_cast<unsigned long long>(
            parts.too_many_blocks ? DeviceStatus::kTooManyBlocks : DeviceStatus::kCorrupt);
      }
    }
    return;
  }
  const uint64_t state_tiles = CeilDiv(parts.groups, kPlaceThreads);
  const uint64_t size_groups = CeilDiv(parts.coded_blocks, parts.group_blocks);
  const uint64_t size_tiles = CeilDiv(size_groups, kPlaceThreads);
  const bool of_states = tile_shared < state_tiles;
  const uint64_t tile = of_states ? tile_shared : tile_shared - state_tiles;
  if (!of_states && tile >= size_tiles && !(tile == 0 && size_tiles == 0)) return;
  const uint64_t group = tile * kPlaceThreads + threadIdx.x;
  const uint64_t first = group * parts.group_blocks;
  uint32_t sum = 0;
  if (of_states) {
    for (uint64_t b = 0; b < parts.group_blocks; b += 8)
      sum += __popc(StateByte(args.stream, parts, first + b));
  } else {
    // More than a block can have: lost, and not to be summed up.
    const uint32_t most = static_cast<uint32_t>(szx::MaxBlockBytes<T>(parts.block_values));
    const auto add = [&](uint32_t size) {
      if (size <= most) {
        sum += size;
      } else {
        *args.damaged = 1;
      }
    };
    // Eight sizes out of aligned words where those lie inside the stream.
    const unsigned char* const at = args.stream + parts.sizes_at + 2 * first;
    const uint32_t offset = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(at)) & 3u;
    if (parts.group_blocks == 8 && first + 8 <= parts.coded_blocks &&
        parts.coded_at + 4 <= args.size) {
      const uint32_t* const words = reinterpret_cast<const uint32_t*>(at - offset);
      uint32_t low = words[0];
#pragma unroll
      for (uint32_t w = 0; w < 4; ++w) {
        const uint32_t high = offset == 0 && w == 3 ? 0 : words[w + 1];
        const uint32_t two = __funnelshift_r(low, high, 8 * offset);
        add(two & 0xffffu);
        add(two >> 16);
        low = high;
      }
    } else {
      for (uint64_t b = 0; b < parts.group_blocks && first + b < parts.coded_blocks; ++b) {
        add(BlockSize(args.stream, parts, first + b));
      }
    }
  }
  uint32_t total = 0;
  const uint32_t before = WarpExclusiveSum(sum, total);
  if (lane == 0) warp_sum[warp] = total;
  __syncthreads();
  if (warp == 0) {
    uint32_t tile_total = 0;
    const uint32_t mine = lane < kPlaceThreads / 32 ? warp_sum[lane] : 0;
    const uint32_t warp_before = WarpExclusiveSum(mine, tile_total);
    __syncwarp();
    if (lane < kPlaceThreads / 32) warp_sum[lane] = warp_before;
    const ScanState scan = of_states ? args.state_scan : args.size_scan;
    PublishSum(scan, static_cast<uint32_t>(tile), tile_total);
    const unsigned long long base =
        ScanTile<true>(scan, static_cast<uint32_t>(tile), tile_total, [] {});
    if (lane == 0) {
      base_shared = base;
      const unsigned long long end = base + tile_total;
      if (of_states ? tile == state_tiles - 1 && end != parts.coded_blocks
                    : tile + 1 >= size_tiles && end != args.size - parts.coded_at) {
        *args.damaged = 1;
      }
    }
  }
  __syncthreads();
  const unsigned long long at = base_shared + warp_sum[warp] + before;
  if (of_states && group < parts.groups) args.coded_before[group] = at;
  if (!of_states && group < size_groups) args.size_before[group] = at;
}

// Second kernel, for random-access streams of the usual block size.
constexpr uint32_t kDecodeWarps = 4;
// Thread blocks of a multiprocessor. Few with all that they need in registers: what is spilled does
// not fit the first-level cache beside so much shared memory, and costs more than warps bring.
template <class T>
constexpr uint32_t kDecodeResident = sizeof(T) == 4 ? 4 : 5;
constexpr uint32_t kGroupBlocks = 8;  // group_blocks of such a stream

// What is known of a region before its bytes come; two steps of loads, each a region ahead. What is
// loaded is looked at a step later only: nothing waits for memory. Numbers of blocks fit 32 bits.
struct Counted {          // after the first
  uint32_t group_before;  // coded blocks before the eight blocks that it is of
  uint32_t states;        // their state byte
};
struct Placed {                  // after the second
  unsigned long long base;       // bytes before the group of coded blocks that the region's first
                                 // one is in
  uint32_t coded_before;         // of the region
  uint32_t size_low, size_high;  // lane k: of coded block k of that group and the next
  uint32_t states;               // bit b: block b is coded
};

template <class T>
__device__ __forceinline__ Counted Count(const DecompressArgs& args, const SzxParts& parts,
                                         uint32_t region) {
  Counted counted{};
  const uint32_t group = region / (kGroupBlocks / SzxTile<T>::kBlocks);
  if (group >= static_cast<uint32_t>(parts.groups)) return counted;
  counted.states = args.stream[parts.states_at + group];
  counted.group_before = static_cast<uint32_t>(args.coded_before[group]);
  return counted;
}

template <class T>
__device__ __forceinline__ Placed Place(const DecompressArgs& args, const SzxParts& parts,
                                        uint32_t region, const Counted& counted) {
  using S = SzxTile<T>;
  Placed placed{};
  const uint32_t block = region * S::kBlocks;
  const uint32_t blocks = static_cast<uint32_t>(parts.blocks);
  if (block >= blocks) return placed;
  const uint32_t left = min(blocks - block / kGroupBlocks * kGroupBlocks, kGroupBlocks);
  const uint32_t byte = __brev(counted.states) >> 24 & ((1u << left) - 1);
  placed.coded_before = counted.group_before;
  if constexpr (S::kBlocks == 8) {
    placed.states = byte;
  } else {
    placed.states = byte >> (block % 8) & 0xfu;
    placed.coded_before += __popc(byte & ((1u << (block % 8)) - 1));
  }
  // Counts that the header does not know of: nothing is read for them.
  const uint32_t coded_blocks = static_cast<uint32_t>(parts.coded_blocks);
  if (placed.coded_before > coded_blocks ||
      __popc(placed.states) > coded_blocks - placed.coded_before)
    placed.states = 0;
  if (placed.states != 0) {
    const uint32_t lane = threadIdx.x % 32;
    placed.base = args.size_before[placed.coded_before / kGroupBlocks];
    const uint32_t skip = placed.coded_before % kGroupBlocks;
    if (lane < skip + __popc(placed.states)) {
      const unsigned char* const at = args.stream + parts.sizes_at +
                                      2 * static_cast<uint64_t>(placed.coded_before - skip + lane);
      placed.size_low = at[0];
      placed.size_high = at[1];
    }
  }
  return placed;
}

// Starts copying `size` bytes to shared + LoadOffset(from), and what is beside them in their
// 16-byte pieces, where that is of the stream too. At most 32 pieces, or any number with kMany.
template <bool kMany>
__device__ __forceinline__ void LoadPieces(unsigned char* shared, const unsigned char* from,
                                           uint32_t size, const unsigned char* end) {
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t offset = LoadOffset(from);
  const unsigned char* at = from - offset;
  const uint32_t pieces = (offset + size + 15) / 16;
  if (at + 16 * pieces > end) {  // the same in all lanes
    for (uint32_t i = lane; i < size; i += 32) shared[offset + i] = from[i];
    return;
  }
  at += 16 * lane;
  unsigned char* to = shared + 16 * lane;
  if constexpr (!kMany) {
    if (lane < pieces) CopyAsync<16>(to, at);
  } else {
    for (uint32_t piece = lane; piece < pieces; piece += 128, at += 2048, to += 2048) {
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) {
        if (piece + 32 * k < pieces) CopyAsync<16>(to + 512 * k, at + 512 * k);
      }
    }
  }
}

// A region whose bytes are on their way to shared memory.
struct Sent {        // one register
  uint32_t at : 15;  // of the lane's block, or of its median where it is constant, in shared memory
  uint32_t damaged : 1;  // some block of the region does not lie where the tables say
  uint32_t size : 16;    // of the block; 0: constant
};

template <class T>
__device__ __forceinline__ Sent Send(const DecompressArgs& args, const SzxParts& parts,
                                     uint32_t region, const Placed& placed, unsigned char* area) {
  using S = SzxTile<T>;
  Sent sent{};
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t own = lane / S::kLanes;
  const uint32_t before_own = __popc(placed.states & ((1u << own) - 1));
  const unsigned char* const stream_end = args.stream + args.size;
  constexpr uint32_t kAllBlocks = (1u << S::kBlocks) - 1;
  if (placed.states != kAllBlocks) {  // the same in all lanes
    // The medians of the region's constant blocks lie one after another.
    const uint32_t block = region * S::kBlocks;
    const uint32_t first = block - placed.coded_before;
    const uint32_t constant_blocks = static_cast<uint32_t>(parts.blocks - parts.coded_blocks);
    const uint32_t there =
        block >= placed.coded_before && first < constant_blocks ? constant_blocks - first : 0;
    const uint32_t number = min(there, S::kBlocks - __popc(placed.states));
    if (number > 0) {
      const unsigned char* const from =
          args.stream + parts.medians_at + sizeof(T) * static_cast<uint64_t>(first);
      LoadPieces<false>(area + S::kMediansAt, from, sizeof(T) * number, stream_end);
      if (own - before_own < number)
        sent.at = S::kMediansAt + LoadOffset(from) + sizeof(T) * (own - before_own);
    }
  }
  if (placed.states != 0) {  // the same in all lanes
    const uint32_t block_size = placed.size_low | placed.size_high << 8;
    const uint32_t skip = placed.coded_before % kGroupBlocks;
    uint32_t sum = block_size;
#pragma unroll
    for (uint32_t step = 1; step < 2 * kGroupBlocks; step *= 2) {
      const uint32_t below = __shfl_up_sync(kAllLanes, sum, step);
      if (lane >= step) sum += below;
    }
    const uint32_t before = sum - block_size;
    const uint32_t total = __shfl_sync(kAllLanes, sum, 2 * kGroupBlocks - 1);
    const uint32_t skipped = __shfl_sync(kAllLanes, before, skip);
    const uint64_t begin = parts.coded_at + placed.base + skipped;
    const uint32_t bytes = total - skipped;
    const uint32_t from = skip + before_own;
    const uint32_t at = __shfl_sync(kAllLanes, before, from & 31u) - skipped;
    const uint32_t size = __shfl_sync(kAllLanes, block_size, from & 31u);
    if (bytes > S::kMostPayload || begin > args.size || bytes > args.size - begin) {
      sent.damaged = true;
      sent.at = 0;
    } else {
      if ((placed.states >> own & 1u) != 0) {
        sent.at = at + LoadOffset(args.stream + begin);
        sent.size = size;
        if (size == 0) sent.damaged = true;
      }
      LoadPieces<true>(area, args.stream + begin, bytes, stream_end);
    }
  }
  CommitCopies();
  return sent;
}

__device__ __forceinline__ uint32_t LoadShared(uint32_t at) {
  uint32_t word;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(at) : "memory");
  return word;
}
// Four bytes of shared memory at any place; up to three behind them are read too.
__device__ __forceinline__ uint32_t LoadSharedAnywhere(uint32_t at) {
  const uint32_t aligned = at & ~3u;
  return __funnelshift_r(LoadShared(aligned), LoadShared(aligned + 4), 8 * at);
}
__device__ __forceinline__ uint32_t SwapBytes(uint32_t word) {
  return __byte_perm(word, 0, 0x0123);
}

// Reads a stream of bits, up to 32 at a time; may read two words past the last one asked for.
struct StreamReader {
  uint32_t next_at;  // in shared memory
  uint32_t current, next, used;

  __device__ StreamReader(uint32_t at) : next_at((at & ~3u) + 8), used(8 * (at & 3u)) {
    current = LoadShared(next_at - 8);
    next = LoadShared(next_at - 4);
  }
  // The next 32 bits; `bits` of them are taken.
  __device__ __forceinline__ uint32_t Take(uint32_t bits) {
    const uint32_t value = __funnelshift_r(current, next, used);
    const uint32_t before = used;
    used += bits;
    // Written out, so that the compiler keeps one predicate and loads in place.
    asm volatile(
        "{ .reg .pred p; .reg .b32 t; xor.b32 t, %3, %4; and.b32 t, t, 32; setp.ne.u32 p, t, 0;"
        "  @p mov.b32 %0, %1; @p ld.shared.b32 %1, [%2]; @p add.u32 %2, %2, 4; }"
        : "+r"(current), "+r"(next), "+r"(next_at)
        : "r"(before), "r"(used)
        : "memory");
    return value;
  }
};

// Blocks of f32 that keep at most three bytes of a value: how many bytes each value of a row
// stores, in bits. Byte q of word 4 * w + i says it of value 16 * w + 4 * q + i.
struct NarrowLengths {
  uint32_t bits[8];
  uint32_t pairs[2];  // the same in bytes, a pair of bits each, the first value's on top
};

// `codes`: as they are in memory. Returns the sum in bytes.
template <bool kWhole>
__device__ __forceinline__ uint32_t FindNarrowLengths(const uint32_t* codes, bool coded,
                                                      uint32_t kept, uint32_t valid,
                                                      NarrowLengths& lengths) {
  constexpr uint32_t kEach = 0x01010101u;
  uint32_t* const x = lengths.bits;
  uint32_t less[2];  // what three kept bytes store, in pairs of bits
#pragma unroll
  for (uint32_t w = 0; w < 2; ++w) {
    less[w] = coded ? ~codes[w] : 0;
    if (!kWhole) less[w] &= SwapBytes(PairMask(valid, w));
  }
  if (__any_sync(kAllLanes, coded && kept < 3)) {
    // Less what fewer bytes store less, at least 0.
#pragma unroll
    for (uint32_t w = 0; w < 2; ++w) {
      const uint32_t high = less[w] >> 1;
      const uint32_t two = (less[w] & less[w] << 1 & 0xaaaaaaaau) | (high & ~less[w] & 0x55555555u);
      const uint32_t one = less[w] & high & 0x55555555u;
      if (kept < 3) less[w] = kept == 2 ? two : one;
    }
  }
#pragma unroll
  for (uint32_t w = 0; w < 2; ++w) {
    x[4 * w] = less[w] >> 3 & 0x18 * kEach;
    x[4 * w + 1] = less[w] >> 1 & 0x18 * kEach;
    x[4 * w + 2] = less[w] << 1 & 0x18 * kEach;
    x[4 * w + 3] = less[w] << 3 & 0x18 * kEach;
    lengths.pairs[w] = SwapBytes(less[w]);
  }
  uint32_t stored = 0;
#pragma unroll
  for (uint32_t k = 0; k < 8; ++k) stored = __dp4a(x[k], kEach, stored);
  return stored / 8;
}

constexpr uint32_t kAllMissing = 0x7654;

// The bytes of a value that a row's last values hand on to the next row: byte b comes from the last
// value that stores more than b bytes. `end`: where the row's bytes end in `area`. Byte b of
// `missing` has its bit 2 where there is none, in a nibble each, as a selector of bytes has it.
__device__ __forceinline__ uint32_t HandedOn(const unsigned char* area, uint32_t end,
                                             const NarrowLengths& lengths, uint32_t& missing) {
  constexpr uint32_t kEach = 0x55555555u;
  const uint32_t first = lengths.pairs[0];
  const uint32_t second = lengths.pairs[1];
  const uint32_t first_high = first >> 1 & kEach;
  const uint32_t second_high = second >> 1 & kEach;
  uint32_t bytes = 0;
  missing = kAllMissing;
#pragma unroll
  for (uint32_t b = 0; b < 3; ++b) {
    const auto having_of = [&](uint32_t pairs, uint32_t high) {
      return b == 0 ? (pairs | high) & kEach : b == 1 ? high : pairs & high;
    };
    const uint32_t in_second = having_of(second, second_high);
    const uint32_t having = in_second != 0 ? in_second : having_of(first, first_high);
    // Pairs of bits from the last value that has the byte on, in that value's word.
    const uint32_t from_it = (having & -having) * 4 - 1;
    const uint32_t of_second = in_second != 0 ? from_it : kAllLanes;
    const uint32_t of_first = in_second != 0 ? 0 : from_it;
    const uint32_t back = __popc(second & of_second) + __popc(second_high & of_second) +
                          __popc(first & of_first) + __popc(first_high & of_first);
    if (having != 0) {
      bytes |= static_cast<uint32_t>(area[end - back + b]) << (8 * b);
      missing -= 4u << (4 * b);
    }
  }
  return bytes;
}

// A row's values. `from`: place of its bytes in `area`, in bits; `word`: the value before the
// first, as far as it is needed; `drop`: low bits that no value keeps.
__device__ __forceinline__ void DecodeNarrow(uint32_t area, uint32_t from, uint32_t word,
                                             uint32_t drop, float median,
                                             const NarrowLengths& lengths, uint32_t* z) {
  // Values are kept, and read, at the place where they end up: so many bits further up.
  word <<= drop;
  uint32_t at = from - drop;
#pragma unroll
  for (uint32_t w = 0; w < 2; ++w) {
    const uint32_t* const x = lengths.bits + 4 * w;
    const uint32_t both[] = {x[0] + x[1], x[2] + x[3]};
#pragma unroll
    for (uint32_t pair = 0; pair < 8; ++pair) {
      // Two values, six bytes at most.
      const uint32_t q = pair / 2;
      const uint32_t i = pair % 2 * 2;
      const uint32_t place = area + (at >> 5) * 4;
      const uint32_t words[] = {LoadShared(place), LoadShared(place + 4), LoadShared(place + 8)};
      const uint32_t low = __funnelshift_r(words[0], words[1], at);
      const uint32_t high = __funnelshift_r(words[1], words[2], at);
      // Of a length only the lowest five bits count, so that it need not be cut out.
      const uint32_t n = x[i] >> (8 * q);
      uint32_t mask = ShiftedMask(drop, n);
      word = (word & ~mask) | (low & mask);
      z[16 * w + 4 * q + i] = BitsOf(Add(FromBits(word), median));
      mask = ShiftedMask(drop, x[i + 1] >> (8 * q));
      word = (word & ~mask) | (__funnelshift_r(low, high, n) & mask);
      z[16 * w + 4 * q + i + 1] = BitsOf(Add(FromBits(word), median));
      at = __dp4a(both[i / 2], 1u << (8 * q), at);
    }
  }
}

// Decodes the region in `area` in place. Returns whether the lane's block is what its size says.
template <class T, bool kWhole>
__device__ __forceinline__ bool DecodeRegion(unsigned char* area, const Sent& sent, uint64_t count,
                                             uint64_t first_value) {
  using S = SzxTile<T>;
  using Bits = typename S::Bits;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t sub = lane % S::kLanes;
  uint32_t valid = S::kRowValues;
  uint32_t block_valid = static_cast<uint32_t>(szx::kBlockValues);
  if constexpr (!kWhole) {
    const auto clamp = [&](uint64_t first, uint32_t most) {
      return first >= count
                 ? 0
                 : static_cast<uint32_t>(min(static_cast<unsigned long long>(count - first),
                                             static_cast<unsigned long long>(most)));
    };
    valid = clamp(first_value + lane * S::kRowValues, S::kRowValues);
    block_valid = clamp(first_value + lane / S::kLanes * szx::kBlockValues, szx::kBlockValues);
  }
  const uint32_t code_bytes =
      kWhole ? static_cast<uint32_t>(szx::kBlockValues / 4) : (block_valid + 3) / 4;
  const uint32_t head = S::kHeadBytes + code_bytes;
  bool coded = sent.size != 0;
  bool good = true;
  uint32_t required = S::kBits;
  T median = T(0);
  constexpr uint32_t kCodeWords = S::kRowValues / 16;
  uint32_t codes[kCodeWords] = {};  // as they are in memory
  uint32_t masks[kCodeWords];       // pairs of bits of the values there are
  if (coded && sent.size < head) good = coded = false;
  if (coded) {
    const uint32_t block = SharedAddress(area) + sent.at;
    const uint32_t front = LoadSharedAnywhere(block);
    required = front & 0xffu;
    if (required < szx::Type<T>::kHeadBits || required > szx::Type<T>::kBits) good = coded = false;
    // Big-endian, behind the required length.
    const uint32_t middle = LoadSharedAnywhere(block + 4);
    if constexpr (sizeof(T) == 4) {
      median = FromBits(SwapBytes(__funnelshift_r(front, middle, 8)));
    } else {
      const uint32_t high = SwapBytes(__funnelshift_r(front, middle, 8));
      const uint32_t low = SwapBytes(LoadSharedAnywhere(block + 5));
      median = FromBits(static_cast<Bits>(high) << 32 | low);
    }
    const uint32_t from = block + S::kHeadBytes + sub * (S::kRowValues / 4);
#pragma unroll
    for (uint32_t w = 0; w < kCodeWords; ++w) codes[w] = LoadSharedAnywhere(from + 4 * w);
  }
  if (sent.size == 0 && sent.at != 0 && !sent.damaged) {
    const uint32_t from = SharedAddress(area) + sent.at;
    if constexpr (sizeof(T) == 4) {
      median = FromBits(SwapBytes(LoadSharedAnywhere(from)));
    } else {
      median = FromBits(static_cast<Bits>(SwapBytes(LoadSharedAnywhere(from))) << 32 |
                        SwapBytes(LoadSharedAnywhere(from + 4)));
    }
  }
  if (!coded) required = S::kBits;
  const uint32_t kept = (required + 7) / 8;
  uint32_t stored = 0;
  uint32_t first_stored = 0;  // by the values of the first word
  NarrowLengths lengths;
  // The usual case: all bytes that a value stores are less than a word.
  const bool narrow = sizeof(T) == 4 && __all_sync(kAllLanes, !coded || kept <= 3) != 0;
  if constexpr (sizeof(T) == 4) {
    if (narrow) stored = FindNarrowLengths<kWhole>(codes, coded, kept, valid, lengths);
  }
#pragma unroll
  for (uint32_t w = 0; w < kCodeWords && !narrow; ++w) {
    codes[w] = SwapBytes(codes[w]);
    masks[w] = kWhole ? kAllLanes : PairMask(valid, w);
    if (coded) stored += StoredBytes(codes[w], masks[w], kept);
    if (w == 0) first_stored = stored;
  }
  // Where the lane's bytes start: behind those of the lanes before it in the block.
  uint32_t sum = stored;
#pragma unroll
  for (uint32_t step = 1; step < S::kLanes; step *= 2) {
    const uint32_t below = __shfl_up_sync(kAllLanes, sum, step);
    if (sub >= step) sum += below;
  }
  const uint32_t block_stored =
      __shfl_sync(kAllLanes, sum, lane / S::kLanes * S::kLanes + S::kLanes - 1);
  if (coded && head + block_stored != sent.size) good = coded = false;
  const uint32_t at = sent.at + head + sum - stored;

  Bits z[S::kRowValues];
  if constexpr (sizeof(T) == 4) {
    if (narrow) {
      uint32_t missing = kAllMissing;
      uint32_t before = 0;
      if (coded) before = HandedOn(area, at + stored, lengths, missing);
#pragma unroll
      for (uint32_t step = 1; step < S::kLanes; step *= 2) {
        const uint32_t below = __shfl_up_sync(kAllLanes, before, step);
        const uint32_t missing_below = __shfl_up_sync(kAllLanes, missing, step);
        if (sub >= step) {
          before = __byte_perm(before, below, missing);
          missing &= missing_below;
        }
      }
      before = __shfl_up_sync(kAllLanes, before, 1);
      if (sub == 0) before = 0;
      if (coded) {
        DecodeNarrow(SharedAddress(area), 8 * at, before, 32 - required, median, lengths, z);
      }
    }
  }
  if (!narrow) {
    // The leading bytes that the lane's first values share with values of lanes before: from each
    // lane the last value that stores leading byte j, then the nearest lane that has one. They are
    // the top bytes of a word.
    uint32_t shared_bytes = 0;
    uint32_t shared_mask = 0;
    if (coded) {
#pragma unroll
      for (uint32_t j = 0; j < 3; ++j) {
        // The values whose code is at most j, as single bits; the last word that has any.
        const auto having_of = [&](uint32_t w) {
          const uint32_t high = codes[w] >> 1;
          const uint32_t not_having = j == 0 ? high | codes[w] : j == 1 ? high : high & codes[w];
          return ~not_having & 0x55555555u & masks[w];
        };
        uint32_t word = codes[kCodeWords - 1];
        uint32_t mask = masks[kCodeWords - 1];
        uint32_t having = having_of(kCodeWords - 1);
        uint32_t place = 0;
        if constexpr (kCodeWords == 2) {
          place = first_stored;
          if (having == 0) {
            having = having_of(0);
            word = codes[0];
            mask = masks[0];
            place = 0;
          }
        }
        if (having != 0 && j < kept) {
          const uint32_t earlier = ~((having & -having) * 4 - 1);  // bit pairs above the lowest one
          place += StoredBytes(word, mask & earlier, kept);
          shared_bytes |= static_cast<uint32_t>(area[at + place + kept - 1 - j]) << (24 - 8 * j);
          shared_mask |= 0xff000000u >> (8 * j);
        }
      }
    }
#pragma unroll
    for (uint32_t step = 1; step < S::kLanes; step *= 2) {
      const uint32_t bytes = __shfl_up_sync(kAllLanes, shared_bytes, step);
      const uint32_t mask = __shfl_up_sync(kAllLanes, shared_mask, step);
      if (sub >= step) {
        shared_bytes |= bytes & ~shared_mask;
        shared_mask |= mask;
      }
    }
    shared_bytes = __shfl_up_sync(kAllLanes, shared_bytes, 1);
    if (sub == 0) shared_bytes = 0;
    if (coded) {
      const uint32_t drop = S::kBits - required;
      const bool exact = required == S::kBits && median == T(0);
      Bits word = static_cast<Bits>(shared_bytes) << (S::kBits - 32) >> (S::kBits - 8 * kept);
      const uint32_t by_code = StoredBits(kept);
      StreamReader reader(SharedAddress(area) + at);
#pragma unroll
      for (uint32_t i = 0; i < S::kRowValues; ++i) {
        uint32_t n = LengthOf(by_code, codes[i / 16], i % 16);
        if (!kWhole && i >= valid) n = 0;
        const Bits mask = LowMask(n, Bits(0));
        Bits bits;
        if constexpr (sizeof(T) == 4) {
          bits = reader.Take(n);
        } else {
          bits = reader.Take(min(n, 32u));
          if (n > 32) bits |= static_cast<Bits>(reader.Take(n - 32)) << 32;
        }
        word = (word & ~mask) | (bits & mask);
        const Bits restored = word << drop;
        z[i] = exact ? restored : BitsOf(Add(FromBits(restored), median));
      }
    }
  }
  if (!coded) {
    const T fill = sent.size == 0 ? median : T(0);
#pragma unroll
    for (uint32_t i = 0; i < S::kRowValues; ++i) z[i] = BitsOf(fill);
  }
  __syncwarp();  // all bytes are in registers
  unsigned char* row = area + lane * S::kRowStride;
#pragma unroll
  for (uint32_t piece = 0; piece < S::kPieces; ++piece) {
    *reinterpret_cast<uint4*>(row + piece * 16) = Pack(z + piece * (16 / sizeof(T)));
  }
  __syncwarp();
  return good && !sent.damaged;
}

// As StoreRows, with fewer instructions where the region is whole.
template <class T, bool kAligned>
__device__ __forceinline__ void StoreRegion(const unsigned char* area, const DecompressArgs& args,
                                            uint64_t first_value) {
  using S = SzxTile<T>;
  if (kAligned && first_value + S::kRegionValues <= args.count) {
    const uint32_t lane = threadIdx.x % 32;
    const unsigned char* const from =
        area + lane / S::kPieces * S::kRowStride + lane % S::kPieces * 16;
    unsigned char* const to = args.values + first_value * sizeof(T) + lane * 16;
#pragma unroll
    for (uint32_t j = 0; j < S::kPieces; ++j) {
      const uint4 bits =
          *reinterpret_cast<const uint4*>(from + j * (32 / S::kPieces) * S::kRowStride);
      __stcs(reinterpret_cast<uint4*>(to + j * 512), bits);
    }
  } else {
    StoreRows<T, S::kRowBytes, kAligned>(area, args.values, args.count, first_value);
  }
}

template <class T>
__device__ __noinline__ bool DecodeAnySize(const DecompressArgs& args, const SzxParts& parts) {
  bool good = true;
  const uint64_t warps = static_cast<uint64_t>(gridDim.x) * (blockDim.x / 32);
  T* const values = reinterpret_cast<T*>(args.values);
  for (uint64_t group = blockIdx.x * static_cast<uint64_t>(blockDim.x / 32) + threadIdx.x / 32;
       group < parts.groups; group += warps) {
    const uint64_t coded = args.coded_before[group];
    uint64_t at = parts.coded_at;
    if (parts.sequential) {
      at += args.size_before[group];
    } else if (coded < parts.coded_blocks) {
      at += args.size_before[coded / parts.group_blocks];
      for (uint64_t b = coded / parts.group_blocks * parts.group_blocks; b < coded; ++b)
        at += BlockSize(args.stream, parts, b);
    }
    good &= DecodeAnyGroup(args.stream, args.size, parts, group, coded, at, values, args.count);
  }
  return good;
}

template <class T, bool kAligned>
__global__ void __launch_bounds__(32 * kDecodeWarps, kDecodeResident<T>)
    DecodeKernel(const __grid_constant__ DecompressArgs args) {
  using S = SzxTile<T>;
  extern __shared__ __align__(16) unsigned char buffers[];
  __shared__ SzxParts parts;
  if (threadIdx.x < 32) {
    const SzxParts read = ReadParts<T>(args.stream, args.size, args.count);
    if (threadIdx.x == 0) parts = read;
  }
  __syncthreads();
  const uint32_t warps = blockDim.x / 32;
  const uint32_t warp = blockIdx.x * warps + threadIdx.x / 32;
  bool good = true;
  if (blockIdx.x == 0 && threadIdx.x == 0 && *args.damaged != 0)
    args.result->status = static_cast<DeviceStatus>(*args.damaged);
  if (!parts.ok) {
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t i = warp * 32ull + threadIdx.x % 32; i < args.count; i += step)
      reinterpret_cast<T*>(args.values)[i] = T(0);
    return;
  }
  if (parts.sequential || parts.block_values != szx::kBlockValues || parts.blocks >> 31 != 0) {
    good = DecodeAnySize<T>(args, parts);
  } else {
    const uint32_t stride = gridDim.x * warps;
    const uint32_t regions = static_cast<uint32_t>(CeilDiv(args.count, S::kRegionValues));
    unsigned char* area = buffers + threadIdx.x / 32 * S::kRegionBytes;
    unsigned char* other_area = area + warps * S::kRegionBytes;
    uint32_t region = warp;
    Placed placed = Place<T>(args, parts, region, Count<T>(args, parts, region));
    Counted counted = Count<T>(args, parts, region + stride);
    Sent sent = Send<T>(args, parts, region, placed, area);
    placed = Place<T>(args, parts, region + stride, counted);
    counted = Count<T>(args, parts, region + 2 * stride);
    for (; region < regions; region += stride) {
      const Sent next = Send<T>(args, parts, region + stride, placed, other_area);
      placed = Place<T>(args, parts, region + 2 * stride, counted);
      counted = Count<T>(args, parts, region + 3 * stride);
      WaitCopies<1>();
      __syncwarp();
      const uint64_t first_value = static_cast<uint64_t>(region) * S::kRegionValues;
      good &= first_value + S::kRegionValues <= args.count
                  ? DecodeRegion<T, true>(area, sent, args.count, first_value)
                  : DecodeRegion<T, false>(area, sent, args.count, first_value);
      StoreRegion<T, kAligned>(area, args, first_value);
      __syncwarp();
      unsigned char* swap = area;
      area = other_area;
      other_area = swap;
      sent = next;
    }
  }
  if (!good) args.result->status = DeviceStatus::kCorrupt;
}

struct Scratch {
  uint64_t groups, tiles, zeroed_bytes, coded_at, sizes_at, end;

  static Scratch For(uint64_t count) {
    Scratch s{};
    s.groups = CeilDiv(count, kLeastGroupValues) + 1;
    s.tiles = CeilDiv(s.groups, kPlaceThreads) + 1;
    s.zeroed_bytes = WorkspaceBytes(2 * s.tiles);
    s.coded_at = CeilDiv(s.zeroed_bytes, 256) * 256;
    s.sizes_at = s.coded_at + 8 * s.groups;
    s.end = s.sizes_at + 8 * s.groups;
    return s;
  }
};

template <class T>
LaunchStatus Launch(const DecompressArgs& args, cudaStream_t stream) {
  using S = SzxTile<T>;
  const LaunchStatus placed =
      StartKernel(PlaceKernel<T>, 2 * args.most_tiles, kPlaceThreads, 0, stream, args);
  if (placed != LaunchStatus::kOk) return placed;
  const auto kernel = reinterpret_cast<uintptr_t>(args.values) % 16 == 0 ? DecodeKernel<T, true>
                                                                         : DecodeKernel<T, false>;
  const uint32_t warps = WarpsThatFit(2 * S::kRegionBytes, kDecodeWarps, 1);
  if (warps == 0) return LaunchStatus::kLaunchFailed;
  const uint64_t wanted = CeilDiv(CeilDiv(args.count, S::kRegionValues), warps);
  return LaunchResident(kernel, args, wanted == 0 ? 1 : wanted, 32 * warps,
                        warps * 2 * S::kRegionBytes, stream);
}

}  // namespace

uint64_t SzxWorkspaceBytes(uint64_t count, DType dtype) {
  return std::max(SzxCompressWorkspaceBytes(count, dtype), Scratch::For(count).end);
}

LaunchStatus SzxDecompress(const void* payload, uint64_t payload_size, uint64_t count, DType dtype,
                           void* values, DeviceResult* result, void* workspace,
                           uint64_t workspace_bytes, CUstream_st* stream) {
  if (result == nullptr || workspace == nullptr || (payload_size > 0 && payload == nullptr) ||
      (count > 0 && values == nullptr))
    return LaunchStatus::kBadArgument;
  if (workspace_bytes < SzxWorkspaceBytes(count, dtype)) return LaunchStatus::kWorkspaceTooSmall;
  if (!IsAligned(values, SizeOf(dtype)) || !IsAligned(result, alignof(DeviceResult)) ||
      !IsAligned(workspace, kWorkspaceAlignment)) {
    return LaunchStatus::kMisaligned;
  }
  const Scratch scratch = Scratch::For(count);
  auto* const bytes = static_cast<unsigned char*>(workspace);
  const Workspace parts(workspace, 2 * scratch.tiles);
  DecompressArgs args{};
  args.stream = static_cast<const unsigned char*>(payload);
  args.size = payload_size;
  args.count = count;
  args.values = static_cast<unsigned char*>(values);
  args.result = result;
  args.most_groups = scratch.groups;
  args.most_tiles = scratch.tiles;
  args.state_scan = parts.scan;
  args.size_scan = {parts.scan.tiles + scratch.tiles, parts.second_ticket};
  args.coded_before = reinterpret_cast<unsigned long long*>(bytes + scratch.coded_at);
  args.size_before = reinterpret_cast<unsigned long long*>(bytes + scratch.sizes_at);
  args.damaged = parts.totals;
  if (cudaMemsetAsync(workspace, 0, scratch.zeroed_bytes, stream) != cudaSuccess)
    return LaunchStatus::kLaunchFailed;
  return dtype == DType::kF32 ? Launch<float>(args, stream) : Launch<double>(args, stream);
}

}  // namespace szarena::codec::cuda
