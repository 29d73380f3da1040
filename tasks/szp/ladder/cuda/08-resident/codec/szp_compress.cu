// SPDX-License-Identifier: Apache-2.0
// SZp compression in one pass: values are read once, the payload is written once.
#include <cuda_runtime.h>

#include <algorithm>
#include <limits>

#include "../format.h"
#include "bit_planes.cuh"
#include "range.cuh"
#include "launch.cuh"
#include "rows.cuh"
#include "szp_tile.cuh"
#include "tile_io.cuh"
#include "tile_walk.cuh"
#include "workspace.h"

namespace szarena::codec::cuda {
namespace {

struct CompressArgs {
  const unsigned char* values;
  uint64_t count;
  uint64_t rate_bytes;  // of the padded table
  unsigned char* payload;
  DeviceResult* result;
  Bound bound;
  const Bound* device_bound;  // where not null, instead of `bound`
  ScanState scan;
  uint32_t tiles;
};

// What a thread knows of its block before it is written.
struct Coded {
  uint32_t sign;        // as a plane
  uint32_t first;       // outlier: the first magnitude, kept apart
  uint32_t first_bytes; // 0: not kept apart
  uint32_t rate;        // planes
  uint32_t rate_byte;
  uint32_t size;        // bytes of payload
};

// Quantises a row. `exact` makes every check of the reference; otherwise the bound is only checked where it is clearly
// held, the size of q not at all, and the result says whether the row has to be done again.
template <class T, szp::Mode mode, bool exact>
__device__ __forceinline__ bool Quantise(const unsigned char* row, uint32_t valid, Bound bound, uint32_t (&magnitudes)[32],
                                         uint32_t& sign_bits, bool& raw) {
  const T ebq = static_cast<T>(bound.ebq);
  const T scale = static_cast<T>(bound.scale);
  constexpr int32_t kLimit = sizeof(T) == 4 ? 1 << 24 : 1 << 30;
  // A bound so small that its reciprocal overflows: nothing can be quantised (0 * infinity is no number either).
  const bool no_scale = isinf(scale);
  bool suspicious = no_scale;
  if (exact) raw = no_scale && valid > 0;
  int32_t previous = 0;
  uint32_t signs = 0;
#pragma unroll
  for (uint32_t piece = 0; piece < Tile<T>::kPieces; ++piece) {
    constexpr uint32_t kEach = 16 / sizeof(T);
    const uint4 bits = *reinterpret_cast<const uint4*>(row + piece * 16);
    T x[kEach];
    if constexpr (sizeof(T) == 4) {
      x[0] = __uint_as_float(bits.x), x[1] = __uint_as_float(bits.y);
      x[2] = __uint_as_float(bits.z), x[3] = __uint_as_float(bits.w);
    } else {
      x[0] = __hiloint2double(static_cast<int>(bits.y), static_cast<int>(bits.x));
      x[1] = __hiloint2double(static_cast<int>(bits.w), static_cast<int>(bits.z));
    }
#pragma unroll
    for (uint32_t e = 0; e < kEach; ++e) {
      const uint32_t i = piece * kEach + e;
      const T t = Mul(x[e], scale);
      int32_t q = TruncToInt(Add(t, T(0.5))) - (t < T(-0.5) ? 1 : 0);
      if constexpr (exact) {
        const T y = Mul(Mul(FromInt<T>(q), ebq), T(2));
        if (!(q > -kLimit && q < kLimit) || !WithinBound(x[e], y, ebq)) {
          if (i < valid) raw = true;
          q = 0;
        }
        if (i >= valid) q = mode == szp::Mode::kFixed ? 0 : previous;  // past the end: difference 0
      } else {
        const T half = Mul(FromInt<T>(q), ebq);
        const T y = Add(half, half);
        suspicious |= !(Abs(Sub(x[e], y)) < ebq);
      }
      const int32_t d = q - previous;
      if constexpr (mode != szp::Mode::kFixed) previous = q;
      signs = __funnelshift_l(static_cast<uint32_t>(d), signs, 1);
      magnitudes[i] = static_cast<uint32_t>(abs(d));
    }
  }
  sign_bits = signs;
  return suspicious;
}

__device__ __forceinline__ uint32_t BitLength(uint32_t value) { return 32 - __clz(value); }

template <szp::Mode mode>
__device__ __forceinline__ Coded Plan(uint32_t (&magnitudes)[32], uint32_t sign_bits, uint32_t& all) {
  uint32_t rest = 0;
#pragma unroll
  for (int i = 1; i < 32; ++i) rest |= magnitudes[i];
  all = rest | magnitudes[0];
  Coded coded{};
  coded.sign = __byte_perm(sign_bits, 0, 0x0123);
  coded.rate = BitLength(all);
  coded.rate_byte = coded.rate;
  coded.size = coded.rate == 0 ? 0 : 4 + 4 * coded.rate;
  if constexpr (mode == szp::Mode::kOutlier) {
    const uint32_t rate = BitLength(rest);
    const uint32_t first_bytes = (BitLength(magnitudes[0]) + 7) / 8;
    const uint32_t size = 4 + 4 * rate + first_bytes;
    if (coded.size > size) {
      coded.first = magnitudes[0];
      coded.first_bytes = first_bytes;
      coded.rate = rate;
      coded.rate_byte = 0x80u | (first_bytes - 1) << 5 | rate;
      coded.size = size;
      magnitudes[0] = 0;
    }
  }
  return coded;
}

// Writes 32-bit words one after another at a byte offset that need not be aligned. The words at either end may be
// shared with a neighbour: they must hold 0 before, and are or-ed.
struct PackedWriter {
  uint32_t* at;
  uint64_t pending = 0;
  uint32_t pending_bits;
  bool shared_word;

  __device__ PackedWriter(unsigned char* base, uint32_t offset)
      : at(reinterpret_cast<uint32_t*>(base) + offset / 4), pending_bits(8 * (offset & 3u)), shared_word((offset & 3u) != 0) {}
  __device__ void Put(uint32_t value, uint32_t bits) {
    pending |= static_cast<uint64_t>(value) << pending_bits;
    pending_bits += bits;
    if (pending_bits >= 32) {
      const uint32_t word = static_cast<uint32_t>(pending);
      if (shared_word) atomicOr(at, word); else *at = word;
      shared_word = false;
      ++at;
      pending >>= 32;
      pending_bits -= 32;
    }
  }
  __device__ void Finish() {
    if (pending_bits > 0) atomicOr(at, static_cast<uint32_t>(pending));
  }
};

struct ByteWriter {
  unsigned char* at;
  __device__ ByteWriter(unsigned char* base, uint32_t offset) : at(base + offset) {}
  __device__ void Put(uint32_t value, uint32_t bits) {
    for (; bits > 0; bits -= 8, value >>= 8) *at++ = static_cast<unsigned char>(value);
  }
  __device__ void Finish() {}
};

struct WordWriter {
  uint32_t* at;
  __device__ WordWriter(unsigned char* base, uint32_t offset) : at(reinterpret_cast<uint32_t*>(base + offset)) {}
  __device__ void Put(uint32_t value, uint32_t) { *at++ = value; }
  __device__ void Finish() {}
};

template <class Writer>
__device__ __forceinline__ void WriteBlock(unsigned char* region, uint32_t offset, const Coded& coded,
                                           const uint32_t (&magnitudes)[32], uint32_t region_rate) {
  const bool writes = coded.size > 0 && coded.rate_byte != kRawByte;
  Writer writer(region, offset);
  if (writes) {
    if (coded.first_bytes > 0) writer.Put(coded.first, 8 * coded.first_bytes);
    writer.Put(coded.sign, 32);
  }
  for (uint32_t byte = 0; 8 * byte < region_rate; ++byte) {
    uint32_t planes[8];
    PlanesOf(magnitudes, byte, planes);
#pragma unroll
    for (uint32_t k = 0; k < 8; ++k) {
      if (writes && 8 * byte + k < coded.rate) writer.Put(planes[k], 32);
    }
  }
  if (writes) writer.Finish();
}

// Moves the rows of raw blocks to their places in the payload, first row first: a place never reaches a later row.
template <class T>
__device__ __forceinline__ void MoveRawRows(unsigned char* region, uint32_t raw_lanes, uint32_t offset, uint32_t valid) {
  using S = Tile<T>;
  const uint32_t lane = threadIdx.x % 32;
  while (raw_lanes != 0) {
    const uint32_t row = __ffs(raw_lanes) - 1;
    raw_lanes &= raw_lanes - 1;
    unsigned char* to = region + __shfl_sync(kAllLanes, offset, row);
    const uint32_t row_valid = __shfl_sync(kAllLanes, valid, row);
    unsigned char bytes[sizeof(T)];
#pragma unroll
    for (uint32_t b = 0; b < sizeof(T); ++b) {
      bytes[b] = lane < row_valid ? region[row * S::kRowStride + lane * sizeof(T) + b] : 0;
    }
    __syncwarp();
#pragma unroll
    for (uint32_t b = 0; b < sizeof(T); ++b) to[lane * sizeof(T) + b] = bytes[b];
    __syncwarp();
  }
}

// Encodes a loaded region in place: afterwards its payload lies at the region's start. Returns its size.
template <class T, szp::Mode mode>
__device__ __forceinline__ uint32_t EncodeRegion(unsigned char* region, const CompressArgs& args, Bound bound, uint64_t first_block) {
  using S = Tile<T>;
  const uint32_t lane = threadIdx.x % 32;
  const uint64_t block = first_block + lane;
  const bool whole_region = (first_block + kBlocksPerRegion) * kBlockValues <= args.count;
  uint32_t valid = kBlockValues;
  if (!whole_region) {
    const uint64_t first = block * kBlockValues;
    valid = first >= args.count ? 0 : static_cast<uint32_t>(min(static_cast<unsigned long long>(args.count - first), 32ull));
  }
  const unsigned char* row = region + lane * S::kRowStride;
  uint32_t magnitudes[32];
  uint32_t sign_bits = 0;
  uint32_t all = 0;
  bool raw = false;
  bool redo = !whole_region;
  Coded coded;
  if (whole_region) {
    // Differences below 2^16 keep every |q| of a block below 2^21, far from the limit.
    redo = Quantise<T, mode, false>(row, valid, bound, magnitudes, sign_bits, raw);
    coded = Plan<mode>(magnitudes, sign_bits, all);
    redo = redo || all >= 1u << 16;
  }
  if (__any_sync(kAllLanes, redo)) {
    Quantise<T, mode, true>(row, valid, bound, magnitudes, sign_bits, raw);
    coded = Plan<mode>(magnitudes, sign_bits, all);
    if (raw) {
      coded.rate_byte = kRawByte;
      coded.rate = 0;
      coded.size = S::kRowBytes;
    }
  }
  const uint32_t raw_lanes = __ballot_sync(kAllLanes, raw);
  uint32_t region_size = 0;
  const uint32_t offset = WarpExclusiveSum(coded.size, region_size);
  const uint32_t region_rate = WarpMax(coded.rate);
  if (block < args.rate_bytes) args.payload[block] = static_cast<unsigned char>(coded.rate_byte);
  __syncwarp();  // from here on all rows are in registers, except raw ones
  MoveRawRows<T>(region, raw_lanes, offset, valid);
  if constexpr (mode == szp::Mode::kOutlier) {
    if (raw_lanes != 0) {
      WriteBlock<ByteWriter>(region, offset, coded, magnitudes, region_rate);
    } else {
      uint32_t* words = reinterpret_cast<uint32_t*>(region);
      if (coded.size > 0) {
        const uint32_t end = offset + coded.size;
        if ((offset & 3u) != 0) words[offset / 4] = 0;
        if ((end & 3u) != 0) words[end / 4] = 0;
      }
      __syncwarp();
      WriteBlock<PackedWriter>(region, offset, coded, magnitudes, region_rate);
    }
  } else {
    WriteBlock<WordWriter>(region, offset, coded, magnitudes, region_rate);
  }
  __syncwarp();
  return region_size;
}

template <class T, szp::Mode mode, bool kAligned>
__global__ void __launch_bounds__(32 * (Tile<T>::kWorkers + 1), Tile<T>::kResident) CompressKernel(const CompressArgs args) {
  using S = Tile<T>;
  extern __shared__ __align__(16) unsigned char buffers[];
  __shared__ WalkShared shared;
  const Bound bound = args.device_bound != nullptr ? *args.device_bound : args.bound;
  const uint32_t workers = blockDim.x / 32 - 1;
  const auto encode = [&](uint32_t tile, uint32_t warp, unsigned char* region) {
    const uint64_t first_block = (static_cast<uint64_t>(tile) * workers + warp) * kBlocksPerRegion;
    LoadRows<T, S::kRowBytes, kAligned>(region, args.values, args.count, first_block * kBlockValues);
    CommitCopies();
    WaitCopies<0>();
    __syncwarp();
    const uint32_t size = EncodeRegion<T, mode>(region, args, bound, first_block);
    if (tile == args.tiles - 1) {
      const uint64_t end = (static_cast<uint64_t>(tile) + 1) * workers * kBlocksPerRegion;
      for (uint64_t b = end + threadIdx.x; b < args.rate_bytes; b += 32 * workers) args.payload[b] = 0;
    }
    return size;
  };
  const auto store = [&](unsigned long long at, const unsigned char* region, uint32_t size) {
    StoreBytes(args.payload + args.rate_bytes + at, region, size);
  };
  const auto finish = [&](unsigned long long bytes) {
    args.result->size = args.rate_bytes + bytes;
    args.result->offset = 0;
    args.result->status = DeviceStatus::kOk;
  };
  WalkTiles(shared, buffers, S::kRegionBytes, args.scan, args.tiles, encode, store, [](uint32_t, uint32_t) {}, finish);
}

// Worker warps of a thread block on this device; 0: none fits.
template <class T>
uint32_t Workers() {
  return WarpsThatFit(2 * Tile<T>::kRegionBytes, Tile<T>::kWorkers, Tile<T>::kResident);
}

template <class T, szp::Mode mode>
LaunchStatus Launch(const CompressArgs& args, cudaStream_t stream) {
  using S = Tile<T>;
  const bool aligned = reinterpret_cast<uintptr_t>(args.values) % 16 == 0;
  const auto kernel = aligned ? CompressKernel<T, mode, true> : CompressKernel<T, mode, false>;
  const uint32_t workers = Workers<T>();
  return LaunchResident(kernel, args, args.tiles, 32 * (workers + 1), workers * 2 * S::kRegionBytes, stream);
}

template <class T>
LaunchStatus LaunchMode(const CompressArgs& args, szp::Mode mode, cudaStream_t stream) {
  switch (mode) {
    case szp::Mode::kFixed: return Launch<T, szp::Mode::kFixed>(args, stream);
    case szp::Mode::kPlain: return Launch<T, szp::Mode::kPlain>(args, stream);
    case szp::Mode::kOutlier: return Launch<T, szp::Mode::kOutlier>(args, stream);
  }
  return LaunchStatus::kBadArgument;
}

}  // namespace

uint64_t SzpWorkspaceBytes(uint64_t count, DType, const szp::Params& params) {
  // Room for tiles of one region each, the least that any device takes.
  return std::max(WorkspaceBytes(RegionCount<float>(count)), SzpDecompressWorkspaceBytes(count, params));
}

LaunchStatus SzpCompress(const void* values, uint64_t count, DType dtype, const szp::Params& params, double relative,
                         void* payload, uint64_t capacity, DeviceResult* result, double* bound_out, void* workspace,
                         uint64_t workspace_bytes, CUstream_st* stream) {
  const bool is_relative = relative != 0;
  if (is_relative ? !(relative > 0) || relative > std::numeric_limits<double>::max() : !(params.eb >= 0)) return LaunchStatus::kBadArgument;
  const auto max_size = szp::MaxPayloadSize(count, dtype, params);
  if (!max_size || result == nullptr || (count > 0 && (values == nullptr || payload == nullptr || workspace == nullptr))) return LaunchStatus::kBadArgument;
  if (capacity < *max_size) return LaunchStatus::kCapacityTooSmall;
  if (workspace_bytes < SzpWorkspaceBytes(count, dtype, params)) return LaunchStatus::kWorkspaceTooSmall;
  if (!IsAligned(values, SizeOf(dtype)) || !IsAligned(result, alignof(DeviceResult)) || !IsAligned(bound_out, alignof(double)) ||
      !IsAligned(workspace, kWorkspaceAlignment)) {
    return LaunchStatus::kMisaligned;
  }
  if (!is_relative || count == 0) {
    const LaunchStatus status = PutBound(is_relative ? 0 : params.eb, bound_out, stream);
    if (status != LaunchStatus::kOk) return status;
  }
  if (count == 0) {
    return cudaMemsetAsync(result, 0, sizeof *result, stream) == cudaSuccess ? LaunchStatus::kOk : LaunchStatus::kLaunchFailed;
  }
  CompressArgs args{};
  args.values = static_cast<const unsigned char*>(values);
  args.count = count;
  args.rate_bytes = szp::RateTableBytes(count, params).value();  // fits: the largest payload does
  args.payload = static_cast<unsigned char*>(payload);
  args.result = result;
  const uint64_t workers = dtype == DType::kF32 ? Workers<float>() : Workers<double>();
  if (workers == 0) return LaunchStatus::kLaunchFailed;
  args.tiles = static_cast<uint32_t>(CeilDiv(dtype == DType::kF32 ? RegionCount<float>(count) : RegionCount<double>(count), workers));
  Workspace parts(workspace, args.tiles);
  args.scan = parts.scan;
  if (cudaMemsetAsync(workspace, 0, parts.zeroed_bytes, stream) != cudaSuccess) return LaunchStatus::kLaunchFailed;
  if (is_relative) {
    const LaunchStatus status = FindBound(values, count, dtype, relative, parts.range, parts.bound, bound_out, stream);
    if (status != LaunchStatus::kOk) return status;
    args.device_bound = parts.bound;
  } else {
    args.bound = HostBound(params.eb, dtype);
  }
  return dtype == DType::kF32 ? LaunchMode<float>(args, params.mode, stream) : LaunchMode<double>(args, params.mode, stream);
}

}  // namespace szarena::codec::cuda
