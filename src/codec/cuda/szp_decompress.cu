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

template <class T, szp::Mode mode, bool kAligned, bool kAnyPlace>
__global__ void __launch_bounds__(Tile<T>::kThreads, Tile<T>::kResident) DecompressKernel(const DecompressArgs args) {
  using S = Tile<T>;
  extern __shared__ __align__(16) unsigned char buffers[];
  __shared__ TileShared shared;
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  // A tile goes through two steps: its place is found and its payload sent for, then, a turn later, it is decoded.
  struct Sent {
    uint64_t first_block;
    uint32_t start;
    uint32_t offset;
    uint32_t rate_byte;
  };
  const auto send_for = [&](uint32_t tile, unsigned char* region) {
    Sent sent;
    sent.first_block = static_cast<uint64_t>(tile) * S::kBlocks + warp * kBlocksPerRegion;
    bool corrupt = false;
    const uint64_t block = sent.first_block + lane;
    sent.rate_byte = block < args.blocks ? args.payload[block] : 0;
    uint32_t region_size = 0;
    sent.offset = WarpExclusiveSum(PayloadBytes<T, mode>(sent.rate_byte, corrupt), region_size);
    if (lane == 0) shared.region_offset[1 + warp] = region_size;
    PlaceTile<T>(shared, args.scan, tile);
    const uint64_t tile_end = args.rate_bytes + shared.base + shared.region_offset[S::kWarps];
    // A tile that does not lie in the stream is decoded as zeros: nothing outside of it is read.
    corrupt = corrupt || tile_end > args.size;
    if (tile == args.tiles - 1) {
      if (tile_end != args.size) corrupt = true;
      for (uint64_t b = args.blocks + threadIdx.x; b < args.rate_bytes; b += S::kThreads) corrupt = corrupt || args.payload[b] != 0;
    }
    const unsigned char* from = args.payload + args.rate_bytes + shared.base + shared.region_offset[warp];
    corrupt = __syncthreads_or(corrupt);
    if (corrupt && threadIdx.x == 0) args.result->status = DeviceStatus::kCorrupt;
    sent.start = LoadOffset(from);
    if (corrupt) {
      sent.rate_byte = 0;
    } else {
      LoadBytes(region, from, region_size);
    }
    return sent;
  };
  unsigned char* region = buffers + warp * S::kRegionBytes;
  unsigned char* other_region = region + S::kTileBytes;
  uint32_t tile = TakeTile(shared, args.scan);
  Sent sent{};
  if (tile < args.tiles) sent = send_for(tile, region);
  CommitCopies();
  while (tile < args.tiles) {
    __syncthreads();
    const uint32_t next_tile = TakeTile(shared, args.scan);
    Sent next{};
    if (next_tile < args.tiles) next = send_for(next_tile, other_region);
    CommitCopies();
    WaitCopies<1>();
    __syncwarp();
    DecodeRegion<T, mode, kAnyPlace>(region, sent.start, sent.offset, sent.rate_byte, args.bound);
    StoreRegion<T, kAligned>(region, args, sent.first_block);
    __syncwarp();
    unsigned char* swap = region;
    region = other_region;
    other_region = swap;
    tile = next_tile;
    sent = next;
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
  return LaunchTiles<T>(kernel, args, stream);
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
