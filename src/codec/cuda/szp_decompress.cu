// SPDX-License-Identifier: Apache-2.0
// SZp decompression in one pass: rate bytes give the places, each thread rebuilds its block in registers.
#include <cuda_runtime.h>

#include "codec/core/bound.h"
#include "codec/core/size.h"
#include "codec/cuda/bit_planes.cuh"
#include "codec/cuda/range.cuh"
#include "codec/cuda/launch.cuh"
#include "codec/cuda/szp_tile.cuh"
#include "codec/cuda/tile_io.cuh"
#include "codec/cuda/workspace.h"

namespace szarena::codec::cuda {
namespace {

struct DecompressArgs {
  const unsigned char* payload;  // the whole stream
  uint64_t size;
  uint64_t rate_bytes;
  uint64_t count;
  uint64_t blocks;
  unsigned char* values;
  DeviceResult* result;
  Bound bound;
  ScanState scan;
  uint32_t tiles;
};

// Bytes of a block's payload; a rate byte that no stream may hold has none and is reported.
template <class T, szp::Mode mode>
__device__ __forceinline__ uint32_t PayloadBytes(uint32_t rate_byte, bool& corrupt) {
  const uint32_t rate = rate_byte & 0x1fu;
  if (rate_byte == 0) return 0;
  if (rate_byte <= 31) return 4 + 4 * rate;
  if (rate_byte == kRawByte) return Tile<T>::kRowBytes;
  if (mode == szp::Mode::kOutlier && (rate_byte & 0x80u) != 0) return ((rate_byte >> 5) & 3u) + 1 + 4 + 4 * rate;
  corrupt = true;
  return 0;
}

// A 32-bit word at any place in shared memory; `base` is 4-byte aligned. Reads no word that the bytes are not in.
template <bool kAnyPlace>
__device__ __forceinline__ uint32_t WordAt(const unsigned char* base, uint32_t offset) {
  const uint32_t* words = reinterpret_cast<const uint32_t*>(base) + offset / 4;
  if constexpr (!kAnyPlace) return words[0];
  const uint32_t shift = 8 * (offset & 3u);
  return shift == 0 ? words[0] : __funnelshift_r(words[0], words[1], shift);
}

template <int kBytes, bool kAnyPlace>
__device__ __forceinline__ void ReadMagnitudes(const unsigned char* base, uint32_t offset, uint32_t rate, uint32_t (&magnitudes)[32]) {
  uint32_t planes[kBytes][8];
#pragma unroll
  for (int b = 0; b < kBytes; ++b) {
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const uint32_t plane = 8 * b + k;
      planes[b][k] = plane < rate ? WordAt<kAnyPlace>(base, offset + 4 * plane) : 0;
    }
  }
  ValuesOf<kBytes>(planes, magnitudes);
}

// Copies raw blocks from their place in the payload to their rows, last row first: a row never reaches an earlier payload.
template <class T>
__device__ __forceinline__ void MoveRawBlocks(unsigned char* region, uint32_t raw_lanes, uint32_t offset) {
  using S = Tile<T>;
  const uint32_t lane = threadIdx.x % 32;
  while (raw_lanes != 0) {
    const uint32_t row = 31 - __clz(raw_lanes);
    raw_lanes &= ~(1u << row);
    const unsigned char* from = region + __shfl_sync(0xffffffffu, offset, row) + lane * sizeof(T);
    unsigned char bytes[sizeof(T)];
#pragma unroll
    for (uint32_t b = 0; b < sizeof(T); ++b) bytes[b] = from[b];
    __syncwarp();
#pragma unroll
    for (uint32_t b = 0; b < sizeof(T); ++b) region[row * S::kRowStride + lane * sizeof(T) + b] = bytes[b];
    __syncwarp();
  }
}

template <class T, szp::Mode mode, bool kAnyPlace>
__device__ __forceinline__ void DecodeRegion(unsigned char* region, uint32_t start, uint32_t offset, uint32_t rate_byte, Bound bound) {
  using S = Tile<T>;
  const uint32_t lane = threadIdx.x % 32;
  const T ebq = static_cast<T>(bound.ebq);
  const bool raw = rate_byte == kRawByte;
  const uint32_t raw_lanes = __ballot_sync(0xffffffffu, raw);
  const bool coded = rate_byte != 0 && !raw;
  const uint32_t rate = coded ? rate_byte & 0x1fu : 0;
  uint32_t at = start + offset;
  uint32_t first = 0;
  uint32_t first_bytes = 0;
  if (mode == szp::Mode::kOutlier && coded && (rate_byte & 0x80u) != 0) {
    first_bytes = ((rate_byte >> 5) & 3u) + 1;
    for (uint32_t b = 0; b < first_bytes; ++b) first |= static_cast<uint32_t>(region[at + b]) << (8 * b);
    at += first_bytes;
  }
  const uint32_t signs = coded ? __byte_perm(WordAt<kAnyPlace>(region, at), 0, 0x0123) : 0;
  at += 4;
  uint32_t magnitudes[32];
  const uint32_t region_rate = WarpMax(rate);
  if (region_rate <= 8) {
    ReadMagnitudes<1, kAnyPlace>(region, at, rate, magnitudes);
  } else if (region_rate <= 16) {
    ReadMagnitudes<2, kAnyPlace>(region, at, rate, magnitudes);
  } else {
    ReadMagnitudes<4, kAnyPlace>(region, at, rate, magnitudes);
  }
  if (mode == szp::Mode::kOutlier && first_bytes > 0) magnitudes[0] = first;
  __syncwarp();  // the payload is in registers, except raw blocks
  MoveRawBlocks<T>(region, raw_lanes, start + offset);
  if (!raw) {
    unsigned char* row = region + lane * S::kRowStride;
    uint32_t q = 0;
#pragma unroll
    for (uint32_t piece = 0; piece < S::kPieces; ++piece) {
      constexpr uint32_t kEach = 16 / sizeof(T);
      T y[kEach];
#pragma unroll
      for (uint32_t e = 0; e < kEach; ++e) {
        const uint32_t i = piece * kEach + e;
        const uint32_t negative = static_cast<uint32_t>(static_cast<int32_t>(signs << i) >> 31);
        const uint32_t d = (magnitudes[i] ^ negative) - negative;
        q = mode == szp::Mode::kFixed ? d : q + d;
        const T half = Mul(FromInt<T>(static_cast<int32_t>(q)), ebq);
        y[e] = Mul(half, T(2));
      }
      uint4 bits;
      if constexpr (sizeof(T) == 4) {
        bits = make_uint4(__float_as_uint(y[0]), __float_as_uint(y[1]), __float_as_uint(y[2]), __float_as_uint(y[3]));
      } else {
        bits = make_uint4(static_cast<uint32_t>(__double2loint(y[0])), static_cast<uint32_t>(__double2hiint(y[0])),
                          static_cast<uint32_t>(__double2loint(y[1])), static_cast<uint32_t>(__double2hiint(y[1])));
      }
      *reinterpret_cast<uint4*>(row + piece * 16) = bits;
    }
  }
  __syncwarp();
}

template <class T, bool kAligned>
__device__ __forceinline__ void StoreRegion(const unsigned char* region, const DecompressArgs& args, uint64_t first_block) {
  using S = Tile<T>;
  const uint32_t lane = threadIdx.x % 32;
  unsigned char* to = args.values + first_block * S::kRowBytes;
  if ((first_block + kBlocksPerRegion) * kBlockValues <= args.count) {
    if constexpr (kAligned) {
#pragma unroll
      for (uint32_t j = 0; j < S::kPieces; ++j) {
        const uint32_t piece = j * 32 + lane;
        const uint4 bits = *reinterpret_cast<const uint4*>(region + piece / S::kPieces * S::kRowStride + piece % S::kPieces * 16);
        __stcs(reinterpret_cast<uint4*>(to + piece * 16), bits);
      }
    } else {
      for (uint32_t j = 0; j < kBlockValues; ++j) {
        *reinterpret_cast<T*>(to + (j * 32 + lane) * sizeof(T)) = *reinterpret_cast<const T*>(region + j * S::kRowStride + lane * sizeof(T));
      }
    }
    return;
  }
  for (uint32_t j = 0; j < kBlockValues; ++j) {
    const uint64_t index = (first_block + j) * kBlockValues + lane;
    if (index < args.count) {
      *reinterpret_cast<T*>(args.values + index * sizeof(T)) = *reinterpret_cast<const T*>(region + j * S::kRowStride + lane * sizeof(T));
    }
  }
}

// The scanner reads the rate bytes of one tile after another, finds where the payloads lie, and hands this to the workers,
// up to kAhead tiles before they need it. The workers send for a tile's payload one step before they decode it.
constexpr uint32_t kAhead = 3;
template <class T>
struct DecompressShared {
  uint32_t tile[kAhead];
  bool corrupt[kAhead];
  unsigned long long base[kAhead];                     // in the payload, of the tile
  uint32_t offset[kAhead][Tile<T>::kBlocks + 1];       // of every block in the tile's payload, and of its end
  unsigned char rate[kAhead][Tile<T>::kBlocks];
};
constexpr uint32_t kFull = 1;             // kAhead barriers each
constexpr uint32_t kEmpty = 1 + kAhead;

template <class T, szp::Mode mode>
__device__ __forceinline__ void ScanTiles(DecompressShared<T>& shared, const DecompressArgs& args) {
  using S = Tile<T>;
  constexpr uint32_t kEach = S::kBlocks / 32;
  const uint32_t lane = threadIdx.x % 32;
  uint32_t tile = TakeTile(args.scan);
  for (uint32_t step = 0;; ++step) {
    const uint32_t slot = step % kAhead;
    if (step >= kAhead) Wait(kEmpty + slot, S::kThreads);
    if (tile >= args.tiles) {
      if (lane == 0) shared.tile[slot] = tile;
      __syncwarp();
      Arrive(kFull + slot, S::kThreads);
      return;
    }
    const uint64_t first_block = static_cast<uint64_t>(tile) * S::kBlocks + lane * kEach;
    bool corrupt = false;
    uint32_t sizes[kEach];
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) {
      const uint32_t rate = first_block + i < args.blocks ? args.payload[first_block + i] : 0;
      shared.rate[slot][lane * kEach + i] = static_cast<unsigned char>(rate);
      sizes[i] = PayloadBytes<T, mode>(rate, corrupt);
      sum += sizes[i];
    }
    uint32_t total = 0;
    uint32_t offset = WarpExclusiveSum(sum, total);
    const uint32_t next_tile = TakeTile(args.scan);
#pragma unroll
    for (uint32_t i = 0; i < kEach; ++i) {
      shared.offset[slot][lane * kEach + i] = offset;
      offset += sizes[i];
    }
    const unsigned long long base = args.rate_bytes + ScanTile(args.scan, tile, total);
    // A tile that does not lie in the stream is decoded as zeros: nothing outside of it is read.
    corrupt = corrupt || base + total > args.size;
    if (tile == args.tiles - 1) {
      if (base + total != args.size) corrupt = true;
      for (uint64_t b = args.blocks + lane; b < args.rate_bytes; b += 32) corrupt = corrupt || args.payload[b] != 0;
    }
    corrupt = __any_sync(0xffffffffu, corrupt);
    if (lane == 0) {
      shared.tile[slot] = tile;
      shared.corrupt[slot] = corrupt;
      shared.base[slot] = base;
      shared.offset[slot][S::kBlocks] = total;
      if (corrupt) args.result->status = DeviceStatus::kCorrupt;
    }
    __syncwarp();
    Arrive(kFull + slot, S::kThreads);
    tile = next_tile;
  }
}

template <class T, szp::Mode mode, bool kAligned, bool kAnyPlace>
__global__ void __launch_bounds__(Tile<T>::kThreads, sizeof(T) == 4 ? 3 : 2) DecompressKernel(const DecompressArgs args) {
  using S = Tile<T>;
  extern __shared__ __align__(16) unsigned char buffers[];
  __shared__ DecompressShared<T> shared;
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  if (warp == S::kWarps) {
    ScanTiles<T, mode>(shared, args);
    return;
  }
  unsigned char* region = buffers + warp * S::kRegionBytes;
  unsigned char* other_region = region + S::kTileBytes;
  const auto place_of = [&](uint32_t slot) { return args.payload + shared.base[slot] + shared.offset[slot][warp * kBlocksPerRegion]; };
  const auto send_for = [&](uint32_t slot, unsigned char* to) {
    if (shared.tile[slot] < args.tiles && !shared.corrupt[slot]) {
      LoadBytes(to, place_of(slot), shared.offset[slot][(warp + 1) * kBlocksPerRegion] - shared.offset[slot][warp * kBlocksPerRegion]);
    }
    CommitCopies();
  };
  uint32_t slot = 0;
  Wait(kFull + slot, S::kThreads);
  send_for(slot, region);
  while (shared.tile[slot] < args.tiles) {
    const uint32_t next_slot = slot + 1 == kAhead ? 0 : slot + 1;
    Wait(kFull + next_slot, S::kThreads);
    send_for(next_slot, other_region);
    WaitCopies<1>();
    __syncwarp();
    const uint32_t block = warp * kBlocksPerRegion + lane;
    const uint32_t rate_byte = shared.corrupt[slot] ? 0 : shared.rate[slot][block];
    const uint32_t offset = shared.offset[slot][block] - shared.offset[slot][warp * kBlocksPerRegion];
    const uint64_t first_block = static_cast<uint64_t>(shared.tile[slot]) * S::kBlocks + warp * kBlocksPerRegion;
    const uint32_t start = LoadOffset(place_of(slot));
    __syncwarp();
    Arrive(kEmpty + slot, S::kThreads);
    DecodeRegion<T, mode, kAnyPlace>(region, start, offset, rate_byte, args.bound);
    StoreRegion<T, kAligned>(region, args, first_block);
    __syncwarp();
    unsigned char* swap = region;
    region = other_region;
    other_region = swap;
    slot = next_slot;
  }
}

template <class T, szp::Mode mode>
LaunchStatus Launch(const DecompressArgs& args, cudaStream_t stream) {
  const bool aligned = reinterpret_cast<uintptr_t>(args.values) % 16 == 0;
  const bool any_place = mode == szp::Mode::kOutlier || (reinterpret_cast<uintptr_t>(args.payload) + args.rate_bytes) % 4 != 0;
  void (*kernel)(DecompressArgs) = nullptr;
  if constexpr (mode == szp::Mode::kOutlier) {
    kernel = aligned ? DecompressKernel<T, mode, true, true> : DecompressKernel<T, mode, false, true>;
  } else if (any_place) {
    kernel = aligned ? DecompressKernel<T, mode, true, true> : DecompressKernel<T, mode, false, true>;
  } else {
    kernel = aligned ? DecompressKernel<T, mode, true, false> : DecompressKernel<T, mode, false, false>;
  }
  return LaunchTiles<T, 2>(kernel, args, stream);
}

template <class T>
LaunchStatus LaunchMode(const DecompressArgs& args, szp::Mode mode, cudaStream_t stream) {
  switch (mode) {
    case szp::Mode::kFixed: return Launch<T, szp::Mode::kFixed>(args, stream);
    case szp::Mode::kPlain: return Launch<T, szp::Mode::kPlain>(args, stream);
    case szp::Mode::kOutlier: return Launch<T, szp::Mode::kOutlier>(args, stream);
  }
  return LaunchStatus::kBadArgument;
}

}  // namespace

LaunchStatus SzpDecompress(const void* payload, uint64_t payload_size, uint64_t count, DType dtype, const szp::Params& params,
                           void* values, DeviceResult* result, void* workspace, uint64_t workspace_bytes, CUstream_st* stream) {
  if (!(params.eb >= 0) || params.padding_blocks == 0 || result == nullptr || (count > 0 && (values == nullptr || payload == nullptr))) {
    return LaunchStatus::kBadArgument;
  }
  if (workspace_bytes < SzpWorkspaceBytes(count, dtype, params)) return LaunchStatus::kWorkspaceTooSmall;
  if (reinterpret_cast<uintptr_t>(values) % SizeOf(dtype) != 0) return LaunchStatus::kBadArgument;
  DecompressArgs args{};
  args.blocks = szp::BlockCount(count);
  args.rate_bytes = CeilDiv(args.blocks, params.padding_blocks) * params.padding_blocks;
  if (payload_size < args.rate_bytes || (count == 0 && payload_size != 0)) return LaunchStatus::kBadArgument;
  if (cudaMemsetAsync(result, 0, sizeof *result, stream) != cudaSuccess) return LaunchStatus::kLaunchFailed;
  if (count == 0) return LaunchStatus::kOk;
  args.payload = static_cast<const unsigned char*>(payload);
  args.size = payload_size;
  args.count = count;
  args.values = static_cast<unsigned char*>(values);
  args.result = result;
  args.bound = HostBound(params.eb, dtype);
  args.tiles = static_cast<uint32_t>(dtype == DType::kF32 ? TileCount<float>(count) : TileCount<double>(count));
  const Workspace parts(workspace, args.tiles);
  args.scan = parts.scan;
  if (cudaMemsetAsync(workspace, 0, parts.zeroed_bytes, stream) != cudaSuccess) return LaunchStatus::kLaunchFailed;
  return dtype == DType::kF32 ? LaunchMode<float>(args, params.mode, stream) : LaunchMode<double>(args, params.mode, stream);
}

}  // namespace szarena::codec::cuda
