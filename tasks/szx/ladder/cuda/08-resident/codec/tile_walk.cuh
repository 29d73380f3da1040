// SPDX-License-Identifier: Apache-2.0
// How a grid compresses an array in one pass. A thread block stays and takes tile after tile; each
// of its worker warps encodes one region of a tile in shared memory, and one more warp, the
// scanner, finds the tile's place in the payload by decoupled look-back while the workers are at
// the next tile, so that neither loads nor the look-back are waited for.
//
// Step i of a thread block: the workers load and encode tile i, then store tile i - 1, whose place
// the scanner has found meanwhile. A tile's ticket is taken only when its loads can start: every
// later tile waits for it to be encoded.
#pragma once

#include <cstdint>

#include "handover.cuh"
#include "lookback.cuh"
#include "warp.cuh"

namespace szarena::codec::cuda {

constexpr uint32_t kMostWorkers = 12;

struct WalkShared {
  uint32_t tile[2];                       // by step
  uint32_t region_size[2][kMostWorkers];  // by step: written by the workers
  unsigned long long
      region_at[2][kMostWorkers];  // by step: places in the payload, written by the scanner
  Handover sizes_ready[2], tile_ready[2], places_ready[2];
};

// What Encode returns: bytes of a region's payload in the low half, and a number that is only
// summed up in the other.
constexpr uint32_t kSizeMask = 0xffffu;

// `encode(tile, warp, region)` loads a region, encodes it in place and returns its
// size; `store(at, region, size)` writes it. `sum(tile, total)` is called by the scanner's lane 0
// with a tile's summed sizes, `finish(bytes)` by the same with the sum of all once. A tile's sizes
// sum up to less than 64 KiB. `buffers`: 2 * workers * region_bytes of shared memory. The thread
// block has 32 threads a worker and 32 more.
template <class Encode, class Store, class Sum, class Finish>
__device__ __forceinline__ void WalkTiles(WalkShared& shared, unsigned char* buffers,
                                          uint32_t region_bytes, ScanState scan, uint32_t tiles,
                                          Encode&& encode, Store&& store, Sum&& sum,
                                          Finish&& finish) {
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t workers = blockDim.x / 32 - 1;
  if (threadIdx.x == 0) {
    shared.tile[0] = atomicAdd(scan.ticket, 1u);
    for (uint32_t i = 0; i < 2; ++i) {
      shared.sizes_ready[i].Init(1 + i, workers, workers + 1);
      shared.tile_ready[i].Init(3 + i, 1, workers + 1);
      shared.places_ready[i].Init(5 + i, workers, workers + 1);
    }
  }
  __syncthreads();
  uint32_t tile = shared.tile[0];
  if (warp == workers) {
    for (uint32_t step = 0; tile < tiles; ++step) {
      shared.sizes_ready[step % 2].Wait(step / 2);
      const uint32_t size = lane < workers ? shared.region_size[step % 2][lane] : 0;
      const uint32_t summed = ReduceAdd(size);
      const uint32_t total = summed & kSizeMask;
      PublishSum(scan, tile, total);
      uint32_t next_tile = lane == 0 ? atomicAdd(scan.ticket, 1u) : 0;
      if (lane == 0) sum(tile, summed);
      uint32_t unused = 0;
      const uint32_t before = WarpExclusiveSum(size & kSizeMask, unused);
      const unsigned long long base = ScanTile(scan, tile, total, [&] {
        if (lane == 0) shared.tile[(step + 1) % 2] = next_tile;
        shared.tile_ready[step % 2].Arrive(lane == 0);
        next_tile = __shfl_sync(kAllLanes, next_tile, 0);
        __nanosleep(kBeforeWalk);
      });
      if (lane < workers) shared.region_at[step % 2][lane] = base + before;
      if (lane == 0 && tile == tiles - 1) finish(base + total);
      shared.places_ready[step % 2].Arrive(lane < workers);
      tile = next_tile;
    }
    return;
  }
  unsigned char* region = buffers + warp * region_bytes;
  unsigned char* other_region = region + workers * region_bytes;
  uint32_t stored_size = 0;
  const auto store_step = [&](uint32_t step, const unsigned char* from) {
    shared.places_ready[step % 2].Wait(step / 2);
    store(shared.region_at[step % 2][warp], from, stored_size);
    __syncwarp();
  };
  uint32_t step = 0;
  for (; tile < tiles; ++step) {
    const uint32_t size = encode(tile, warp, region);
    if (lane == 0) shared.region_size[step % 2][warp] = size;
    shared.sizes_ready[step % 2].Arrive(lane == 0);
    if (step > 0) store_step(step - 1, other_region);
    stored_size = size & kSizeMask;
    unsigned char* swap = region;
    region = other_region;
    other_region = swap;
    shared.tile_ready[step % 2].Wait(step / 2);
    tile = shared.tile[(step + 1) % 2];
  }
  if (step > 0) store_step(step - 1, other_region);
}

}  // namespace szarena::codec::cuda
