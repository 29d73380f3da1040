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
#include "szp_walk.cuh"
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
  uint32_t sign;         // as a plane
  uint32_t first;        // outlier: the first magnitude, kept apart
  uint32_t first_bytes;  // 0: not kept apart
  uint32_t rate;         // planes
  uint32_t rate_byte;
  uint32_t size;  // bytes of payload
};

// A block's differences. The two upper bytes of magnitudes are meaningless where every one is below 2^16.
struct Differences {
  uint32_t magnitudes[32];
  uint32_t sign_bits;  // of the first in the top bit; meaningless where the magnitude is 0
  uint32_t first;      // magnitude
  uint32_t rest;       // all other magnitudes, or-ed
};

// A bound in the element type.
template <class T>
struct NarrowBound {
  T ebq;
  T scale;
};

template <class T>
constexpr int32_t kQuantLimit = sizeof(T) == 4 ? 1 << 24 : 1 << 30;

// The reference's quantiser with every check it makes; false where the value cannot be quantised.
template <class T>
__device__ __forceinline__ bool QuantiseExactly(T x, T ebq, T scale, int32_t& q) {
  const T t = Mul(x, scale);
  q = TruncToInt(Add(t, T(0.5))) - (t < T(-0.5) ? 1 : 0);
  const T y = Mul(Mul(FromInt<T>(q), ebq), T(2));
  // A bound so small that its reciprocal overflows: nothing can be quantised (0 * infinity is no number either).
  return q > -kQuantLimit<T> && q < kQuantLimit<T> && !isinf(scale) && WithinBound(x, y, ebq);
}

template <class T>
__device__ __forceinline__ void ValuesAt(const unsigned char* row, uint32_t piece, T (&x)[16 / sizeof(T)]) {
  const uint4 bits = *reinterpret_cast<const uint4*>(row + piece * 16);
  if constexpr (sizeof(T) == 4) {
    x[0] = __uint_as_float(bits.x), x[1] = __uint_as_float(bits.y);
    x[2] = __uint_as_float(bits.z), x[3] = __uint_as_float(bits.w);
  } else {
    x[0] = __hiloint2double(static_cast<int>(bits.y), static_cast<int>(bits.x));
    x[1] = __hiloint2double(static_cast<int>(bits.w), static_cast<int>(bits.z));
  }
}

// The larger one, or a NaN where there is one.
__device__ __forceinline__ float MaxOrNan(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
#else
  return !(a < b) && b == b ? a : b;
#endif
}

// Quantises a row of f32 on the floating-point units, since integer ones are the scarce ones; magnitudes have kOffset on
// top. Returns whether the block has to be done again exactly: where not, every error is clearly below the bound and
// every |q| small, so that q is the reference's.
// Values are rounded half away from zero; the reference does the same but for t = -0.5 and t = -0.49999997, which it
// rounds to 0: their error after rounding to -1 is hardly below the bound, so that such blocks are done again.
template <szp::Mode mode>
__device__ __forceinline__ bool Quantise(const unsigned char* row, NarrowBound<float> bound, Differences& block) {
  constexpr float kIntegers = 8388608.0f;  // 2^23: as kOffset
  const float ebq = bound.ebq;
  const float scale = bound.scale;
  const float twice = Add(ebq, ebq);
  float worst = 0;
  float previous = 0;
  uint32_t signs = 0;
  uint32_t rest = kOffset;
#pragma unroll
  for (uint32_t piece = 0; piece < 8; ++piece) {
    float x[4];
    ValuesAt(row, piece, x);
#pragma unroll
    for (uint32_t e = 0; e < 4; ++e) {
      const uint32_t i = piece * 4 + e;
      const float t = Mul(x[e], scale);
      const float half = __uint_as_float(Select(0x80000000u, __float_as_uint(x[e]), 0x3f000000u));
      const float q = truncf(Add(t, half));
      worst = MaxOrNan(worst, Abs(Sub(x[e], Mul(q, twice))));
      const float d = Sub(q, mode == szp::Mode::kFixed ? 0.0f : previous);
      previous = q;
      signs = __funnelshift_l(__float_as_uint(d), signs, 1);
      block.magnitudes[i] = __float_as_uint(Add(Abs(d), kIntegers));
      if (i == 1) rest |= block.magnitudes[1];
      if (i > 1 && i % 2 != 0) rest = Or(rest, block.magnitudes[i - 1], block.magnitudes[i]);
    }
  }
  block.sign_bits = signs;
  block.first = block.magnitudes[0] - kOffset;
  block.rest = rest - kOffset;
  // Differences below 2^16 keep every |q| of a block below 2^21, far from where the sums above are no longer exact.
  return !(worst < Mul(ebq, 1 - 0x1p-20f)) || (block.first | block.rest) >= 1u << 16;
}

template <szp::Mode mode>
__device__ __forceinline__ bool QuantiseDoubles(const unsigned char* row, NarrowBound<double> bound, Differences& block) {
  bool suspicious = isinf(bound.scale);
  int32_t previous = 0;
  uint32_t signs = 0;
  uint32_t rest = 0;
#pragma unroll
  for (uint32_t piece = 0; piece < 16; ++piece) {
    double x[2];
    ValuesAt(row, piece, x);
#pragma unroll
    for (uint32_t e = 0; e < 2; ++e) {
      const uint32_t i = piece * 2 + e;
      const double t = Mul(x[e], bound.scale);
      const int32_t q = TruncToInt(Add(t, 0.5)) - (t < -0.5 ? 1 : 0);
      const double half = Mul(FromInt<double>(q), bound.ebq);
      const double y = Add(half, half);
      suspicious |= !(Abs(Sub(x[e], y)) < bound.ebq);
      const int32_t d = q - previous;
      if constexpr (mode != szp::Mode::kFixed) previous = q;
      signs = __funnelshift_l(static_cast<uint32_t>(d), signs, 1);
      block.magnitudes[i] = static_cast<uint32_t>(abs(d));
      if (i > 0) rest |= block.magnitudes[i];
    }
  }
  block.sign_bits = signs;
  block.first = block.magnitudes[0];
  block.rest = rest;
  return suspicious || (block.first | rest) >= 1u << 16;
}

// Quantises a row exactly. Values past the end have the difference 0.
template <class T, szp::Mode mode>
__device__ __forceinline__ bool QuantiseRowExactly(const unsigned char* row, uint32_t valid, NarrowBound<T> bound, Differences& block) {
  const T ebq = bound.ebq;
  const T scale = bound.scale;
  bool raw = false;
  int32_t previous = 0;
  uint32_t signs = 0;
  uint32_t rest = 0;
#pragma unroll
  for (uint32_t piece = 0; piece < Tile<T>::kPieces; ++piece) {
    constexpr uint32_t kEach = 16 / sizeof(T);
    T x[kEach];
    ValuesAt(row, piece, x);
#pragma unroll
    for (uint32_t e = 0; e < kEach; ++e) {
      const uint32_t i = piece * kEach + e;
      int32_t q = 0;
      if (!QuantiseExactly(x[e], ebq, scale, q)) {
        if (i < valid) raw = true;
        q = 0;
      }
      if (i >= valid) q = mode == szp::Mode::kFixed ? 0 : previous;
      const int32_t d = q - previous;
      if constexpr (mode != szp::Mode::kFixed) previous = q;
      signs = __funnelshift_l(static_cast<uint32_t>(d), signs, 1);
      block.magnitudes[i] = static_cast<uint32_t>(abs(d));
      if (i > 0) rest |= block.magnitudes[i];
    }
  }
  block.sign_bits = signs;
  block.first = block.magnitudes[0];
  block.rest = rest;
  return raw;
}

// The same for the rows of some lanes of a whole region, one row after another by the whole warp. Returns whether the
// caller's row is raw.
template <class T, szp::Mode mode>
__device__ __forceinline__ bool QuantiseRowsExactly(unsigned char* region, uint32_t lanes, NarrowBound<T> bound, Differences& block) {
  using S = Tile<T>;
  const uint32_t lane = threadIdx.x % 32;
  const T ebq = bound.ebq;
  const T scale = bound.scale;
  bool raw = false;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint32_t row = __ffs(left) - 1;
    unsigned char* values = region + row * S::kRowStride;
    int32_t q = 0;
    const bool good = QuantiseExactly(reinterpret_cast<const T*>(values)[lane], ebq, scale, q);
    const bool row_raw = !__all_sync(kAllLanes, good);
    int32_t d = q;
    if constexpr (mode != szp::Mode::kFixed) {
      const int32_t before = __shfl_up_sync(kAllLanes, q, 1);
      if (lane > 0) d = q - before;
    }
    const uint32_t signs = __brev(__ballot_sync(kAllLanes, d < 0));
    __syncwarp();
    // Raw rows stay as they are.
    if (!row_raw) reinterpret_cast<uint32_t*>(values)[lane] = static_cast<uint32_t>(abs(d));
    if (lane == row) {
      raw = row_raw;
      block.sign_bits = signs;
    }
  }
  __syncwarp();
  if ((lanes >> lane & 1u) != 0 && !raw) {
    const uint4* row = reinterpret_cast<const uint4*>(region + lane * S::kRowStride);
    uint32_t rest = 0;
#pragma unroll
    for (uint32_t j = 0; j < 8; ++j) {
      const uint4 four = row[j];
      block.magnitudes[4 * j] = four.x, block.magnitudes[4 * j + 1] = four.y;
      block.magnitudes[4 * j + 2] = four.z, block.magnitudes[4 * j + 3] = four.w;
      if (j > 0) rest |= four.x;
      rest |= four.y | four.z | four.w;
    }
    block.first = block.magnitudes[0];
    block.rest = rest;
  }
  return raw;
}

__device__ __forceinline__ uint32_t BitLength(uint32_t value) { return 32 - __clz(value); }

template <szp::Mode mode>
__device__ __forceinline__ Coded Plan(Differences& block) {
  Coded coded{};
  coded.sign = __byte_perm(block.sign_bits, 0, 0x0123);
  coded.rate = BitLength(block.first | block.rest);
  coded.rate_byte = coded.rate;
  coded.size = coded.rate == 0 ? 0 : 4 + 4 * coded.rate;
  if constexpr (mode == szp::Mode::kOutlier) {
    const uint32_t rate = BitLength(block.rest);
    const uint32_t first_bytes = (BitLength(block.first) + 7) / 8;
    const uint32_t size = 4 + 4 * rate + first_bytes;
    if (coded.size > size) {
      coded.first = block.first;
      coded.first_bytes = first_bytes;
      coded.rate = rate;
      coded.rate_byte = 0x80u | (first_bytes - 1) << 5 | rate;
      coded.size = size;
      block.magnitudes[0] = 0;
    }
  }
  return coded;
}

// Writes a block's words but the one that it begins in, which is returned: the block before may end in it. All blocks of a region call it.
// `region_rate`: the most planes of any block.
template <int kBytes, szp::Mode mode>
__device__ __forceinline__ uint32_t WriteBlock(uint32_t* words, uint32_t offset, const Coded& coded, const uint32_t (&magnitudes)[32]) {
  uint32_t planes[kBytes][8];
  PlanesOfBytes<kBytes>(magnitudes, planes);
  const bool writes = coded.size > 0 && coded.rate_byte != kRawByte;
  uint32_t not_zero = coded.first_bytes > 0 ? 0x80u : 0;
#pragma unroll
  for (uint32_t k = 0; k < 8 * kBytes; k += 2) not_zero = Or(not_zero, planes[k / 8][k % 8], planes[k / 8][k % 8 + 1]);
  const uint32_t sign = coded.sign & not_zero;
  if constexpr (mode != szp::Mode::kOutlier) {
    uint32_t* at = words + offset / 4;
    const uint32_t end = writes ? coded.rate : 0;
#pragma unroll
    for (uint32_t k = 0; k < 8 * kBytes; ++k) {
      if (k < end) at[1 + k] = planes[k / 8][k % 8];
    }
    return sign;
  } else {
    // From the sign word on everything is a word, shifted by `shift`; a first magnitude lies in front of them.
    const uint32_t start = offset + coded.first_bytes;
    const uint32_t shift = 8 * (start & 3u);
    uint32_t* at = words + start / 4;
    const uint32_t in_front = coded.first << ((32 - 8 * coded.first_bytes) & 31u);
    const uint32_t with_sign = __funnelshift_l(in_front, sign, shift);
    const bool begins_before = offset / 4 != start / 4;
    if (writes && begins_before) at[0] = with_sign;
    // Planes past the last are zero: the word behind it holds what is left of it.
    const uint32_t end = writes ? coded.rate + (shift != 0 ? 1 : 0) : 0;
    uint32_t previous = sign;
#pragma unroll
    for (uint32_t k = 0; k < 8 * kBytes; ++k) {
      const uint32_t plane = planes[k / 8][k % 8];
      if (k < end) at[1 + k] = __funnelshift_l(previous, plane, shift);
      previous = plane;
    }
    if (8 * kBytes < end) at[1 + 8 * kBytes] = __funnelshift_l(previous, 0, shift);
    return begins_before ? in_front << shift : with_sign;
  }
}

// Moves the rows of raw blocks to their places in the payload, first row first: a place never reaches a later row. Like
// WriteBlock it leaves out the word that a block begins in and gives it to the block's lane.
template <class T>
__device__ __forceinline__ void MoveRawRows(const unsigned char* values, unsigned char* bytes, uint32_t raw_lanes, uint32_t offset,
                                            uint32_t valid, uint32_t& begin) {
  using S = Tile<T>;
  constexpr uint32_t kParts = S::kRowBytes / 128;
  const uint32_t lane = threadIdx.x % 32;
  for (; raw_lanes != 0; raw_lanes &= raw_lanes - 1) {
    const uint32_t row = __ffs(raw_lanes) - 1;
    const uint32_t* from = reinterpret_cast<const uint32_t*>(values + row * S::kRowStride);
    const uint32_t row_words = __shfl_sync(kAllLanes, valid, row) * kParts;
    const uint32_t to = __shfl_sync(kAllLanes, offset, row);
    const uint32_t shift = 8 * (to & 3u);
    uint32_t* at = reinterpret_cast<uint32_t*>(bytes) + to / 4;
    uint32_t words[kParts];
#pragma unroll
    for (uint32_t p = 0; p < kParts; ++p) {
      const uint32_t w = 32 * p + lane;
      words[p] = w < row_words ? from[w] : 0;
    }
    __syncwarp();
    uint32_t carried = 0;
#pragma unroll
    for (uint32_t p = 0; p < kParts; ++p) {
      const uint32_t before = __shfl_up_sync(kAllLanes, words[p], 1);
      const uint32_t word = __funnelshift_l(lane == 0 ? carried : before, words[p], shift);
      if (p > 0 || lane > 0) at[32 * p + lane] = word;
      if (p == 0) {
        const uint32_t first = __shfl_sync(kAllLanes, word, 0);
        if (lane == row) begin = first;
      }
      carried = __shfl_sync(kAllLanes, words[p], 31);
    }
    if (shift != 0 && lane == 0) at[32 * kParts] = __funnelshift_l(carried, 0, shift);
    __syncwarp();
  }
}

// So few rows are quantised again by the whole warp together.
constexpr int kMostByRows = 12;

// Encodes a loaded region from `values` to `bytes`, which may be the same. Calls sized(bytes of payload) before it writes any, and loaded() once
// `values` is needed no more.
template <class T, szp::Mode mode, class Begun, class Sized, class Loaded, class Free>
__device__ __forceinline__ void EncodeRegion(unsigned char* values, unsigned char* bytes, const CompressArgs& args, NarrowBound<T> bound, uint64_t first_block,
                                             Begun&& begun, Sized&& sized, Loaded&& loaded, Free&& free) {
  using S = Tile<T>;
  const uint32_t lane = threadIdx.x % 32;
  const uint64_t block_index = first_block + lane;
  const bool whole_region = (first_block + kBlocksPerRegion) * kBlockValues <= args.count;
  const auto valid = [&]() -> uint32_t {  // values of the block
    const uint64_t first = block_index * kBlockValues;
    return first >= args.count ? 0 : static_cast<uint32_t>(min(static_cast<unsigned long long>(args.count - first), 32ull));
  };
  const unsigned char* row = values + lane * S::kRowStride;
  begun();
  Differences block;
  bool again = false;
  if constexpr (sizeof(T) == 4) {
    again = Quantise<mode>(row, bound, block);
  } else {
    again = QuantiseDoubles<mode>(row, bound, block);
  }
  bool raw = false;
  const uint32_t lanes_again = __ballot_sync(kAllLanes, again || !whole_region);
  if (__popc(lanes_again) > kMostByRows) {
    raw = QuantiseRowExactly<T, mode>(row, valid(), bound, block);
  } else if (lanes_again != 0) {
    raw = QuantiseRowsExactly<T, mode>(values, lanes_again, bound, block);
  }
  Coded coded = Plan<mode>(block);
  if (raw) {
    coded.rate_byte = kRawByte;
    coded.rate = 0;
    coded.size = S::kRowBytes;
  }
  uint32_t region_size = 0;
  const uint32_t offset = WarpExclusiveSum(coded.size, region_size);
  const uint32_t region_rate = WarpMax(coded.rate);
  if (block_index < args.rate_bytes) args.payload[block_index] = static_cast<unsigned char>(coded.rate_byte);
  const uint32_t raw_lanes = __ballot_sync(kAllLanes, raw);  // from here on all rows are in registers, except raw ones
  sized(region_size);
  if (raw_lanes == 0) loaded();
  free();
  uint32_t raw_begin = 0;
  if (raw_lanes != 0) {
    MoveRawRows<T>(values, bytes, raw_lanes, offset, valid(), raw_begin);
    loaded();
  }
  uint32_t* words = reinterpret_cast<uint32_t*>(bytes);
  uint32_t begin;
  if (region_rate <= 8) {
    begin = WriteBlock<1, mode>(words, offset, coded, block.magnitudes);
  } else if (region_rate <= 16) {
    begin = WriteBlock<2, mode>(words, offset, coded, block.magnitudes);
  } else {
    const bool exact = __popc(lanes_again) > kMostByRows || (lanes_again >> lane & 1u) != 0;
    if (sizeof(T) == 4 && !exact) {
#pragma unroll
      for (uint32_t i = 0; i < 32; ++i) block.magnitudes[i] &= ~kOffset;
    }
    begin = WriteBlock<4, mode>(words, offset, coded, block.magnitudes);
  }
  if (raw) begin = raw_begin;
  __syncwarp();
  if (coded.size > 0) {
    if (mode == szp::Mode::kOutlier && (offset & 3u) != 0) begin |= words[offset / 4];
    words[offset / 4] = begin;
  }
  __syncwarp();
}

// Copies `size` bytes from 4-byte aligned shared memory to any place, 16 at a time; the word behind the last byte may be read.
__device__ __forceinline__ void StoreWide(unsigned char* to, const unsigned char* shared, uint32_t size) {
  const uint32_t lane = threadIdx.x % 32;
  if (size < 32) {
    if (lane < size) to[lane] = shared[lane];
    return;
  }
  const uint32_t head = (16 - static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to))) & 15u;
  const uint32_t whole = (size - head) / 16;
  const uint32_t done = head + 16 * whole;
  if (lane < head) to[lane] = shared[lane];
  if (lane < size - done) to[done + lane] = shared[done + lane];
  const uint32_t shift = 8 * (head & 3u);
  const uint32_t* words = reinterpret_cast<const uint32_t*>(shared) + head / 4;
  uint4* out = reinterpret_cast<uint4*>(to + head);
#pragma unroll 2
  for (uint32_t p = lane; p < whole; p += 32) {
    uint32_t w[5];
#pragma unroll
    for (uint32_t k = 0; k < 5; ++k) w[k] = words[4 * p + k];
    out[p] = make_uint4(__funnelshift_r(w[0], w[1], shift), __funnelshift_r(w[1], w[2], shift), __funnelshift_r(w[2], w[3], shift),
                        __funnelshift_r(w[3], w[4], shift));
  }
}

template <class T, szp::Mode mode, bool kAligned>
__global__ void __launch_bounds__(32 * (Tile<T>::kWorkers + kHelpers), Tile<T>::kResident) CompressKernel(const CompressArgs args) {
  using S = Tile<T>;
  extern __shared__ __align__(16) unsigned char buffers[];
  __shared__ WalkShared shared;
  const Bound wide = args.device_bound != nullptr ? *args.device_bound : args.bound;
  const NarrowBound<T> bound{static_cast<T>(wide.ebq), static_cast<T>(wide.scale)};
  const uint32_t workers = blockDim.x / 32 - kHelpers;
  const auto load = [&](uint32_t tile, uint32_t warp, unsigned char* values) {
    const uint64_t first_block = (static_cast<uint64_t>(tile) * workers + warp) * kBlocksPerRegion;
    LoadRows<T, S::kRowBytes, kAligned>(values, args.values, args.count, first_block * kBlockValues);
    CommitCopies();
  };
  const auto encode = [&](uint32_t tile, uint32_t warp, unsigned char* values, unsigned char* bytes, auto&& begun, auto&& sized, auto&& loaded, auto&& free) {
    WaitCopies<0>();
    __syncwarp();
    const uint64_t first_block = (static_cast<uint64_t>(tile) * workers + warp) * kBlocksPerRegion;
    EncodeRegion<T, mode>(values, bytes, args, bound, first_block, begun, sized, loaded, free);
    if (tile == args.tiles - 1) {
      const uint64_t end = (static_cast<uint64_t>(tile) + 1) * workers * kBlocksPerRegion;
      for (uint64_t b = end + threadIdx.x; b < args.rate_bytes; b += 32 * workers) args.payload[b] = 0;
    }
  };
  const auto store = [&](unsigned long long at, const unsigned char* region, uint32_t size) {
    StoreWide(args.payload + args.rate_bytes + at, region, size);
  };
  const auto finish = [&](unsigned long long bytes) {
    args.result->size = args.rate_bytes + bytes;
    args.result->offset = 0;
    args.result->status = DeviceStatus::kOk;
  };
  WalkTiles(shared, buffers, S::kRegionBytes, args.scan, args.tiles, load, encode, store, finish);
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
  return LaunchResident(kernel, args, args.tiles, 32 * (workers + kHelpers), workers * 2 * S::kRegionBytes, stream);
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
