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
    args.result->status = DeviceStatus::kCorrupt;
}

template <class T>
__global__ void __launch_bounds__(kPlaceThreads) PlaceKernel(const DecompressArgs args) {
  __shared__ uint32_t tile_shared;
  __shared__ SzxParts parts_shared;
  __shared__ uint32_t warp_sum[kPlaceThreads / 32];
  __shared__ unsigned long long base_shared;
  if (threadIdx.x == 0) {
    tile_shared = atomicAdd(args.state_scan.ticket, 1u);
    parts_shared = ReadParts<T>(args.stream, args.size, args.count);
  }
  __syncthreads();
  const SzxParts parts = parts_shared;
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  if (!parts.ok || parts.sequential) {
    if (tile_shared == 0 && warp == 0) {
      if (parts.ok) {
        WalkSequential<T>(args, parts);
      } else if (lane == 0) {
        args.result->status = DeviceStatus::kCorrupt;
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
        args.result->status = DeviceStatus::kCorrupt;
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
        args.result->status = DeviceStatus::kCorrupt;
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
constexpr uint32_t kGroupBlocks = 8;  // group_blocks of such a stream

// What is known of a region before its bytes come; two steps of loads, each some regions ahead.
struct Counted {                    // after the first
  unsigned long long coded_before;  // of the region
  uint32_t states;                  // bit b: block b is coded
};
template <class T>
struct Placed {  // after the second
  unsigned long long
      base;       // bytes before the group of coded blocks that the region's first one is in
  uint32_t size;  // lane k: of coded block k of that group and the next
  uint32_t skip;  // place of the region's first coded block in that group
  uint32_t states;
  T median;  // of the lane's block where it is constant
};

template <class T>
__device__ __forceinline__ Counted Count(const DecompressArgs& args, const SzxParts& parts,
                                         uint64_t region) {
  using S = SzxTile<T>;
  Counted counted{};
  const uint64_t block = region * S::kBlocks;
  if (block >= parts.blocks) return counted;
  const uint32_t byte = __brev(StateByte(args.stream, parts, block / 8 * 8)) >> 24;
  counted.coded_before = args.coded_before[block / kGroupBlocks];
  if constexpr (S::kBlocks == 8) {
    counted.states = byte;
  } else {
    counted.states = byte >> (block % 8) & 0xfu;
    counted.coded_before += __popc(byte & ((1u << (block % 8)) - 1));
  }
  return counted;
}

template <class T>
__device__ __forceinline__ Placed<T> Place(const DecompressArgs& args, const SzxParts& parts,
                                           uint64_t region, const Counted& counted) {
  using S = SzxTile<T>;
  Placed<T> placed{};
  const uint32_t lane = threadIdx.x % 32;
  const uint64_t block = region * S::kBlocks + lane / S::kLanes;
  placed.states = counted.states;
  // Counts that the header does not know of: nothing is read for them.
  if (counted.coded_before + __popc(counted.states) > parts.coded_blocks) placed.states = 0;
  const uint64_t group = counted.coded_before / kGroupBlocks;
  placed.skip = static_cast<uint32_t>(counted.coded_before % kGroupBlocks);
  if (placed.states != 0) {
    placed.base = args.size_before[group];
    const uint64_t index = group * kGroupBlocks + lane;
    if (lane < placed.skip + __popc(placed.states))
      placed.size = BlockSize(args.stream, parts, index);
  }
  const uint32_t own = lane / S::kLanes;
  if ((placed.states >> own & 1u) == 0 && block < parts.blocks) {
    const uint64_t constant =
        block - counted.coded_before - __popc(placed.states & ((1u << own) - 1));
    if (constant < parts.blocks - parts.coded_blocks)
      placed.median = LoadBe<T>(args.stream + parts.medians_at + sizeof(T) * constant);
  }
  return placed;
}

// A region whose bytes are on their way to shared memory.
template <class T>
struct Sent {
  uint32_t at;    // of the lane's block in shared memory
  uint32_t size;  // of it; 0: constant
  bool damaged;   // some block of the region does not lie where the tables say
  T median;
};

template <class T>
__device__ __forceinline__ Sent<T> Send(const DecompressArgs& args, const SzxParts& parts,
                                        const Placed<T>& placed, unsigned char* area) {
  using S = SzxTile<T>;
  Sent<T> sent{};
  sent.median = placed.median;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t coded = __popc(placed.states);
  if (coded != 0) {  // the same in all lanes
    uint32_t total = 0;
    const uint32_t before = WarpExclusiveSum(placed.size, total);
    const uint32_t skipped = __shfl_sync(kAllLanes, before, placed.skip);
    const uint64_t begin = parts.coded_at + placed.base + skipped;
    const uint32_t bytes = total - skipped;
    const uint32_t own = lane / S::kLanes;
    const uint32_t from = placed.skip + __popc(placed.states & ((1u << own) - 1));
    const uint32_t at = __shfl_sync(kAllLanes, before, from & 31u) - skipped;
    const uint32_t size = __shfl_sync(kAllLanes, placed.size, from & 31u);
    if (bytes > S::kMostPayload || begin > args.size || bytes > args.size - begin) {
      sent.damaged = true;
    } else {
      if ((placed.states >> own & 1u) != 0) {
        sent.at = at + LoadOffset(args.stream + begin);
        sent.size = size;
        if (size == 0) sent.damaged = true;
      }
      LoadBytes(area, args.stream + begin, bytes);
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

// Decodes the region in `area` in place. Returns whether the lane's block is what its size says.
template <class T, bool kWhole>
__device__ __forceinline__ bool DecodeRegion(unsigned char* area, const Sent<T>& sent,
                                             uint64_t count, uint64_t first_value) {
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
  T median = sent.median;
  constexpr uint32_t kCodeWords = S::kRowValues / 16;
  uint32_t codes[kCodeWords] = {};
  uint32_t masks[kCodeWords];  // pairs of bits of the values there are
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
    for (uint32_t w = 0; w < kCodeWords; ++w)
      codes[w] = SwapBytes(LoadSharedAnywhere(from + 4 * w));
  }
  if (!coded) required = S::kBits;
  const uint32_t kept = (required + 7) / 8;
  uint32_t stored = 0;
  uint32_t first_stored = 0;  // by the values of the first word
#pragma unroll
  for (uint32_t w = 0; w < kCodeWords; ++w) {
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

  Bits z[S::kRowValues];
  if (coded) {
    const uint32_t drop = S::kBits - required;
    const bool exact = required == S::kBits && median == T(0);
    Bits word = static_cast<Bits>(shared_bytes) << (S::kBits - 32) >> (S::kBits - 8 * kept);
    const uint32_t lengths = StoredBits(kept);
    StreamReader reader(SharedAddress(area) + at);
#pragma unroll
    for (uint32_t i = 0; i < S::kRowValues; ++i) {
      uint32_t n = LengthOf(lengths, codes[i / 16], i % 16);
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
  } else {
    const T fill = sent.size == 0 && !sent.damaged ? median : T(0);
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
__global__ void __launch_bounds__(32 * kDecodeWarps, 5) DecodeKernel(const DecompressArgs args) {
  using S = SzxTile<T>;
  extern __shared__ __align__(16) unsigned char buffers[];
  __shared__ SzxParts parts;
  if (threadIdx.x == 0) parts = ReadParts<T>(args.stream, args.size, args.count);
  __syncthreads();
  const uint32_t warps = blockDim.x / 32;
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * warps;
  uint64_t region = static_cast<uint64_t>(blockIdx.x) * warps + threadIdx.x / 32;
  bool good = true;
  if (!parts.ok) {
    for (uint64_t i = region * 32 + threadIdx.x % 32; i < args.count; i += stride * 32)
      reinterpret_cast<T*>(args.values)[i] = T(0);
    return;
  }
  if (parts.sequential || parts.block_values != szx::kBlockValues) {
    good = DecodeAnySize<T>(args, parts);
  } else {
    unsigned char* area = buffers + threadIdx.x / 32 * S::kRegionBytes;
    unsigned char* other_area = area + warps * S::kRegionBytes;
    const uint64_t regions = CeilDiv(args.count, S::kRegionValues);
    Placed<T> placed = Place<T>(args, parts, region, Count<T>(args, parts, region));
    Counted counted = Count<T>(args, parts, region + stride);
    Sent<T> sent = Send(args, parts, placed, area);
    placed = Place<T>(args, parts, region + stride, counted);
    counted = Count<T>(args, parts, region + 2 * stride);
    for (; region < regions; region += stride) {
      const Sent<T> next = Send(args, parts, placed, other_area);
      placed = Place<T>(args, parts, region + 2 * stride, counted);
      counted = Count<T>(args, parts, region + 3 * stride);
      WaitCopies<1>();
      __syncwarp();
      const uint64_t first_value = region * S::kRegionValues;
      good &= first_value + S::kRegionValues <= args.count
                  ? DecodeRegion<T, true>(area, sent, args.count, first_value)
                  : DecodeRegion<T, false>(area, sent, args.count, first_value);
      StoreRows<T, S::kRowBytes, kAligned>(area, args.values, args.count, first_value);
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
  PlaceKernel<T>
      <<<static_cast<unsigned int>(2 * args.most_tiles), kPlaceThreads, 0, stream>>>(args);
  if (args.count == 0)
    return cudaPeekAtLastError() == cudaSuccess ? LaunchStatus::kOk : LaunchStatus::kLaunchFailed;
  const auto kernel = reinterpret_cast<uintptr_t>(args.values) % 16 == 0 ? DecodeKernel<T, true>
                                                                         : DecodeKernel<T, false>;
  const uint32_t warps = WarpsThatFit(2 * S::kRegionBytes, kDecodeWarps, 1);
  if (warps == 0) return LaunchStatus::kLaunchFailed;
  return LaunchResident(kernel, args, CeilDiv(CeilDiv(args.count, S::kRegionValues), warps),
                        32 * warps, warps * 2 * S::kRegionBytes, stream);
}

}  // namespace

uint64_t SzxWorkspaceBytes(uint64_t count, DType dtype) {
  return std::max(SzxCompressWorkspaceBytes(count, dtype), Scratch::For(count).end);
}

LaunchStatus SzxDecompress(const void* payload, uint64_t payload_size, uint64_t count, DType dtype,
                           void* values, DeviceResult* result, void* workspace,
                           uint64_t workspace_bytes, CUstream_st* stream) {
  if (result == nullptr || (payload_size > 0 && payload == nullptr) ||
      (count > 0 && values == nullptr))
    return LaunchStatus::kBadArgument;
  if (workspace_bytes < SzxWorkspaceBytes(count, dtype)) return LaunchStatus::kWorkspaceTooSmall;
  if (reinterpret_cast<uintptr_t>(values) % SizeOf(dtype) != 0) return LaunchStatus::kBadArgument;
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
  if (cudaMemsetAsync(result, 0, sizeof *result, stream) != cudaSuccess ||
      cudaMemsetAsync(workspace, 0, scratch.zeroed_bytes, stream) != cudaSuccess) {
    return LaunchStatus::kLaunchFailed;
  }
  return dtype == DType::kF32 ? Launch<float>(args, stream) : Launch<double>(args, stream);
}

}  // namespace szarena::codec::cuda
