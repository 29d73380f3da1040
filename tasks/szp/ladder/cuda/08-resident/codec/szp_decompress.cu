// SPDX-License-Identifier: Apache-2.0
// SZp decompression in one pass: rate bytes give the places, each thread rebuilds its block in registers.
#include <cuda_runtime.h>

#include "../format.h"
#include "bit_planes.cuh"
#include "range.cuh"
#include "launch.cuh"
#include "rows.cuh"
#include "lookback.cuh"
#include "szp_tile.cuh"
#include "tile_io.cuh"
#include "workspace.h"

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
  uint64_t place_tiles;
  uint64_t regions;             // of 32 blocks
  unsigned int* corrupt;        // not 0 once the stream is seen to be
  unsigned long long* places;   // of every region's payload in the stream, and of the end
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

// Planes from words that begin at a byte of the first one; the word behind the last plane may be read.
template <int kBytes, bool kAnyPlace, uint32_t kOnTop>
__device__ __forceinline__ void ReadMagnitudes(const uint32_t* words, uint32_t shift, uint32_t rate, uint32_t (&magnitudes)[32]) {
  uint32_t planes[kBytes][8];
  uint32_t word = words[0];
#pragma unroll
  for (uint32_t plane = 0; plane < 8 * kBytes; ++plane) {
    uint32_t bits = 0;
    if (plane < rate) {
      if constexpr (kAnyPlace) {
        const uint32_t next = words[plane + 1];
        bits = __funnelshift_r(word, next, shift);
        word = next;
      } else {
        bits = words[plane];
      }
    }
    planes[plane / 8][plane % 8] = bits;
  }
  ValuesOf<kBytes, kOnTop>(planes, magnitudes);
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

// Writes a row from its magnitudes.
template <class T, szp::Mode mode>
__device__ __forceinline__ void WriteRow(unsigned char* row, const uint32_t (&magnitudes)[32], uint32_t signs, T ebq) {
  uint32_t q = 0;
#pragma unroll
  for (uint32_t piece = 0; piece < Tile<T>::kPieces; ++piece) {
    constexpr uint32_t kEach = 16 / sizeof(T);
    T y[kEach];
#pragma unroll
    for (uint32_t e = 0; e < kEach; ++e) {
      const uint32_t i = piece * kEach + e;
      const uint32_t negative = static_cast<uint32_t>(static_cast<int32_t>(signs << i) >> 31);
      const uint32_t d = (magnitudes[i] ^ negative) - negative;
      q = mode == szp::Mode::kFixed ? d : q + d;
      y[e] = Mul(Mul(FromInt<T>(static_cast<int32_t>(q)), ebq), T(2));
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

// The same from magnitudes below 2^22 with kOffset on top, whose sums stay below 2^23: floating-point units add them exactly.
template <szp::Mode mode>
__device__ __forceinline__ void WriteRowOfFloats(unsigned char* row, const uint32_t (&magnitudes)[32], uint32_t signs, float ebq) {
  float q = 0;
#pragma unroll
  for (uint32_t piece = 0; piece < 8; ++piece) {
    float y[4];
#pragma unroll
    for (uint32_t e = 0; e < 4; ++e) {
      const uint32_t i = piece * 4 + e;
      const float magnitude = Sub(__uint_as_float(magnitudes[i]), __uint_as_float(kOffset));
      const float d = __uint_as_float(((signs << i) & 0x80000000u) ^ __float_as_uint(magnitude));
      q = Add(mode == szp::Mode::kFixed ? 0.0f : q, d);  // a zero with a sign, which streams of others may hold, loses it
      const float half = Mul(q, ebq);
      y[e] = Add(half, half);
    }
    *reinterpret_cast<uint4*>(row + piece * 16) =
        make_uint4(__float_as_uint(y[0]), __float_as_uint(y[1]), __float_as_uint(y[2]), __float_as_uint(y[3]));
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
  const uint32_t* all_words = reinterpret_cast<const uint32_t*>(region);
  uint32_t at = start + offset;
  const bool apart = mode == szp::Mode::kOutlier && coded && (rate_byte & 0x80u) != 0;
  uint32_t first = 0;
  if (apart) {
    const uint32_t missing = 3 - ((rate_byte >> 5) & 3u);  // bytes of a word
    first = __funnelshift_r(all_words[at / 4], all_words[at / 4 + 1], 8 * (at & 3u)) & (0xffffffffu >> (8 * missing));
    at += 4 - missing;
  }
  const uint32_t* words = all_words + at / 4;
  const uint32_t shift = kAnyPlace ? 8 * (at & 3u) : 0;
  const uint32_t signs = coded ? __byte_perm(__funnelshift_r(words[0], words[1], shift), 0, 0x0123) : 0;
  ++words;
  const uint32_t region_rate = WarpMax(rate);
  unsigned char* row = region + lane * S::kRowStride;
  uint32_t magnitudes[32];
  bool small = false;
  if constexpr (sizeof(T) == 4) {
    small = region_rate <= 16;
    if (mode == szp::Mode::kOutlier) small = small && __all_sync(kAllLanes, first < 1u << 22);
  }
  if (small) {
    if (region_rate <= 8) {
      ReadMagnitudes<1, kAnyPlace, kOffset>(words, shift, rate, magnitudes);
    } else {
      ReadMagnitudes<2, kAnyPlace, kOffset>(words, shift, rate, magnitudes);
    }
    if (apart) magnitudes[0] = first | kOffset;
  } else {
    if (sizeof(T) == 8 && region_rate <= 8) {
      ReadMagnitudes<1, kAnyPlace, 0>(words, shift, rate, magnitudes);
    } else if (sizeof(T) == 8 && region_rate <= 16) {
      ReadMagnitudes<2, kAnyPlace, 0>(words, shift, rate, magnitudes);
    } else {
      ReadMagnitudes<4, kAnyPlace, 0>(words, shift, rate, magnitudes);
    }
    if (apart) magnitudes[0] = first;
  }
  __syncwarp();  // the payload is in registers, except raw blocks
  MoveRawBlocks<T>(region, raw_lanes, start + offset);
  if (!raw) {
    if constexpr (sizeof(T) == 4) {
      if (small) {
        WriteRowOfFloats<mode>(row, magnitudes, signs, ebq);
      } else {
        WriteRow<T, mode>(row, magnitudes, signs, ebq);
      }
    } else {
      WriteRow<T, mode>(row, magnitudes, signs, ebq);
    }
  }
  __syncwarp();
}

// First kernel: from the rate bytes to the place of every region's payload. Few and large tiles: their look-back is a chain
// of round trips to memory.
constexpr uint32_t kPlaceThreads = 1024;
constexpr uint32_t kBlocksPerPlaceTile = kPlaceThreads * kBlocksPerRegion;  // a region a thread

template <class T, szp::Mode mode>
__global__ void __launch_bounds__(kPlaceThreads) PlaceKernel(const DecompressArgs args) {
  __shared__ uint32_t tile_shared;
  __shared__ uint32_t warp_sum[kPlaceThreads / 32];
  __shared__ unsigned long long base_shared;
  if (threadIdx.x == 0) tile_shared = atomicAdd(args.scan.ticket, 1u);
  __syncthreads();
  const uint32_t tile = tile_shared;
  const uint32_t warp = threadIdx.x / 32;
  const uint64_t region = static_cast<uint64_t>(tile) * kPlaceThreads + threadIdx.x;
  const uint64_t first_block = region * kBlocksPerRegion;
  bool corrupt = false;
  uint32_t sum = 0;
  if (reinterpret_cast<uintptr_t>(args.payload) % 16 == 0 && first_block + kBlocksPerRegion <= args.blocks) {
    const uint4* rates = reinterpret_cast<const uint4*>(args.payload + first_block);
    const uint4 lower = __ldg(rates);
    const uint4 upper = __ldg(rates + 1);
    for (const uint32_t four : {lower.x, lower.y, lower.z, lower.w, upper.x, upper.y, upper.z, upper.w}) {
#pragma unroll
      for (uint32_t b = 0; b < 4; ++b) sum += PayloadBytes<T, mode>(four >> (8 * b) & 0xffu, corrupt);
    }
  } else {
    for (uint32_t i = 0; i < kBlocksPerRegion; ++i) {
      const uint64_t block = first_block + i;
      if (block < args.rate_bytes) {
        const uint32_t rate = args.payload[block];
        sum += PayloadBytes<T, mode>(rate, corrupt);
        if (block >= args.blocks && rate != 0) corrupt = true;  // padding
      }
    }
  }
  uint32_t total = 0;
  const uint32_t before = WarpExclusiveSum(sum, total);
  if (threadIdx.x % 32 == 0) warp_sum[warp] = total;
  __syncthreads();
  if (warp == 0) {
    static_assert(kPlaceThreads / 32 == 32);
    uint32_t tile_total = 0;
    const uint32_t warp_before = WarpExclusiveSum(warp_sum[threadIdx.x], tile_total);
    __syncwarp();
    warp_sum[threadIdx.x] = warp_before;
    PublishSum(args.scan, tile, tile_total);
    const unsigned long long base = args.rate_bytes + ScanTile(args.scan, tile, tile_total, [] {});
    if (threadIdx.x == 0) {
      base_shared = base;
      if (tile == args.place_tiles - 1) {
        args.places[args.regions] = base + tile_total;
        if (base + tile_total != args.size) corrupt = true;
      }
    }
  }
  __syncthreads();
  if (region < args.regions) args.places[region] = base_shared + warp_sum[warp] + before;
  if (corrupt) *args.corrupt = 1;
}

// Second kernel: a warp takes region after region; the next one's payload is on its way while one is decoded.
constexpr uint32_t kDecodeWarps = 4;

template <class T, szp::Mode mode, bool kAligned, bool kAnyPlace>
__global__ void __launch_bounds__(32 * kDecodeWarps, 6) DecodeKernel(const DecompressArgs args) {
  using S = Tile<T>;
  extern __shared__ __align__(16) unsigned char buffers[];
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t warps = blockDim.x / 32;
  unsigned char* area = buffers + threadIdx.x / 32 * S::kRegionBytes;
  unsigned char* other_area = area + warps * S::kRegionBytes;
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * warps;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    DeviceResult result;
    if (*args.corrupt != 0) result.status = DeviceStatus::kCorrupt;
    *args.result = result;
  }
  struct Sent {
    uint32_t start;
    uint32_t rate_byte;
  };
  struct Place {
    unsigned long long begin;
    unsigned long long end;
  };
  const auto place_of = [&](uint64_t region) {
    Place place{};
    if (region < args.regions) {
      place.begin = args.places[region];
      place.end = args.places[region + 1];
    }
    return place;
  };
  const auto send_for = [&](uint64_t region, Place place, unsigned char* to) {
    Sent sent{};
    if (region < args.regions) {
      const auto [begin, end] = place;
      const uint64_t block = region * kBlocksPerRegion + lane;
      // A region that does not lie in the stream is decoded as zeros: nothing outside of it is read.
      const bool inside = end <= args.size;
      sent.rate_byte = inside && block < args.blocks ? args.payload[block] : 0;
      sent.start = LoadOffset(args.payload + begin);
      if (inside) LoadPieces(to, args.payload + begin, static_cast<uint32_t>(end - begin), args.payload, args.payload + args.size);
    }
    CommitCopies();
    return sent;
  };
  uint64_t region = static_cast<uint64_t>(blockIdx.x) * warps + threadIdx.x / 32;
  Sent sent = send_for(region, place_of(region), area);
  Place next_place = place_of(region + stride);
  for (; region < args.regions; region += stride) {
    const Sent next = send_for(region + stride, next_place, other_area);
    next_place = place_of(region + 2 * stride);
    WaitCopies<1>();
    bool corrupt = false;
    uint32_t total = 0;
    const uint32_t size = PayloadBytes<T, mode>(sent.rate_byte, corrupt);
    if (corrupt) sent.rate_byte = 0;
    const uint32_t offset = WarpExclusiveSum(size, total);
    __syncwarp();
    DecodeRegion<T, mode, kAnyPlace>(area, sent.start, offset, sent.rate_byte, args.bound);
    StoreRows<T, S::kRowBytes, kAligned>(area, args.values, args.count, region * kBlocksPerRegion * kBlockValues);
    __syncwarp();
    unsigned char* swap = area;
    area = other_area;
    other_area = swap;
    sent = next;
  }
}

template <class T, szp::Mode mode>
LaunchStatus Launch(const DecompressArgs& args, cudaStream_t stream) {
  const LaunchStatus placed = StartKernel(PlaceKernel<T, mode>, args.place_tiles, kPlaceThreads, 0, stream, args);
  if (placed != LaunchStatus::kOk) return placed;
  const bool aligned = reinterpret_cast<uintptr_t>(args.values) % 16 == 0;
  const bool any_place = mode == szp::Mode::kOutlier || (reinterpret_cast<uintptr_t>(args.payload) + args.rate_bytes) % 4 != 0;
  void (*kernel)(DecompressArgs) = nullptr;
  if constexpr (mode == szp::Mode::kOutlier) {
    kernel = aligned ? DecodeKernel<T, mode, true, true> : DecodeKernel<T, mode, false, true>;
  } else if (any_place) {
    kernel = aligned ? DecodeKernel<T, mode, true, true> : DecodeKernel<T, mode, false, true>;
  } else {
    kernel = aligned ? DecodeKernel<T, mode, true, false> : DecodeKernel<T, mode, false, false>;
  }
  const uint32_t warps = WarpsThatFit(2 * Tile<T>::kRegionBytes, kDecodeWarps, 1);
  if (warps == 0) return LaunchStatus::kLaunchFailed;
  return LaunchResident(kernel, args, CeilDiv(args.regions, warps), 32 * warps, warps * 2 * Tile<T>::kRegionBytes, stream);
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

uint64_t SzpDecompressWorkspaceBytes(uint64_t count, const szp::Params& params) {
  const uint64_t blocks = szp::BlockCount(count);
  const uint64_t rate_bytes = szp::RateTableBytes(count, params).value_or(0);
  return WorkspaceBytes(CeilDiv(rate_bytes, kBlocksPerPlaceTile)) + 8 * (CeilDiv(blocks, kBlocksPerRegion) + 1);
}

LaunchStatus SzpDecompress(const void* payload, uint64_t payload_size, uint64_t count, DType dtype, const szp::Params& params,
                           void* values, DeviceResult* result, void* workspace, uint64_t workspace_bytes, CUstream_st* stream) {
  const auto rate_bytes = szp::RateTableBytes(count, params);
  if (!(params.eb >= 0) || !rate_bytes || result == nullptr || (count > 0 && (values == nullptr || payload == nullptr || workspace == nullptr))) {
    return LaunchStatus::kBadArgument;
  }
  if (workspace_bytes < SzpWorkspaceBytes(count, dtype, params)) return LaunchStatus::kWorkspaceTooSmall;
  if (!IsAligned(values, SizeOf(dtype)) || !IsAligned(result, alignof(DeviceResult)) || !IsAligned(workspace, kWorkspaceAlignment)) {
    return LaunchStatus::kMisaligned;
  }
  DecompressArgs args{};
  args.blocks = szp::BlockCount(count);
  args.rate_bytes = *rate_bytes;
  if (payload_size < args.rate_bytes || (count == 0 && payload_size != 0)) return LaunchStatus::kBadArgument;
  if (count == 0) {
    return cudaMemsetAsync(result, 0, sizeof *result, stream) == cudaSuccess ? LaunchStatus::kOk : LaunchStatus::kLaunchFailed;
  }
  args.payload = static_cast<const unsigned char*>(payload);
  args.size = payload_size;
  args.count = count;
  args.values = static_cast<unsigned char*>(values);
  args.result = result;
  args.bound = HostBound(params.eb, dtype);
  args.regions = CeilDiv(args.blocks, kBlocksPerRegion);
  args.place_tiles = CeilDiv(args.rate_bytes, kBlocksPerPlaceTile);
  const Workspace parts(workspace, args.place_tiles);
  args.scan = parts.scan;
  args.corrupt = reinterpret_cast<unsigned int*>(parts.totals);
  args.places = reinterpret_cast<unsigned long long*>(static_cast<unsigned char*>(workspace) + parts.zeroed_bytes);
  if (cudaMemsetAsync(workspace, 0, parts.zeroed_bytes, stream) != cudaSuccess) return LaunchStatus::kLaunchFailed;
  return dtype == DType::kF32 ? LaunchMode<float>(args, params.mode, stream) : LaunchMode<double>(args, params.mode, stream);
}

}  // namespace szarena::codec::cuda
