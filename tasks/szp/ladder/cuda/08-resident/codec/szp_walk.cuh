// SPDX-License-Identifier: Apache-2.0
// How a grid compresses an array in one pass. A thread block stays and takes tile after tile; each of its worker warps takes
// one region of a tile into registers and encodes it. Two more warps help: one takes tickets, the scanner finds places by
// decoupled look-back.
//
// Step i of a worker: take tile i's values into registers, tell the bytes that they will need, start loading tile i + 1 to where
// they were, store tile i - 1's payload, whose place the scanner has found meanwhile, and write tile i's to where that was. The
// ticket of tile i + 1 is taken once all workers have begun with tile i, and so they go on without waiting for each other.
#pragma once

#include <cstdint>

#include "handover.cuh"
#include "lookback.cuh"
#include "warp.cuh"

namespace szarena::codec::cuda {

constexpr uint32_t kMostWorkers = 24;
constexpr uint32_t kHelpers = 2;  // warps beside the workers

struct WalkShared {
  uint32_t tile[2];                       // by step: written by the warp that takes tickets
  uint32_t sized_tile[2];                 // by step: written by worker 0, with its size
  uint32_t region_size[2][kMostWorkers];  // by step: written by the workers
  unsigned long long
      region_at[2][kMostWorkers];  // by step: places in the payload, written by the scanner
  Handover tile_ready[2], begun[2], sizes_ready[2], places_ready[2];
};

// As ScanTile, 64 tiles at a look (128 are slower).
__device__ __forceinline__ unsigned long long FindPlace(ScanState state, uint32_t tile, uint32_t sum) {
  constexpr uint32_t kWords = 2;
  const uint32_t lane = threadIdx.x % 32;
  if (tile == 0) return 0;
  unsigned long long before = 0;
  for (uint32_t first = tile;; first -= 32 * kWords) {  // at the tiles before `first`
    const unsigned long long* at = state.tiles + static_cast<long long>(first) - 1 - lane;
    unsigned long long words[kWords];
#pragma unroll
    for (uint32_t k = 0; k < kWords; ++k) words[k] = 32 * k + lane < first ? LoadState(at - 32 * k) : kScanPrefix;
#pragma unroll
    for (uint32_t k = 0; k < kWords; ++k) {
      uint32_t with_prefix;
      uint32_t near;
      while (true) {
        const uint32_t status = static_cast<uint32_t>(words[k] >> 62);
        with_prefix = __ballot_sync(kAllLanes, status >= 2);
        near = with_prefix - 1 & ~with_prefix;
        const uint32_t missing = __ballot_sync(kAllLanes, status == 0) & near;
        if (missing == 0) break;
        __nanosleep(kBetweenLooks);
        if ((missing >> lane & 1u) != 0) words[k] = LoadState(at - 32 * k);
      }
      before += ReduceAdd((near >> lane & 1u) != 0 ? static_cast<uint32_t>(words[k]) : 0);
      if (with_prefix != 0) {
        before += __shfl_sync(kAllLanes, words[k], __ffs(with_prefix) - 1) & kScanValue;
        if (lane == 0) StoreState(state.tiles + tile, kScanPrefix | (before + sum));
        return before;
      }
    }
  }
}

// `load(tile, warp, values)` starts loading a region. `encode(tile, warp, values, bytes, begun, sized, loaded, free)` encodes it
// out of `values` into `bytes` and calls, all lanes and in this order but for loaded(): begun() once the values have
// arrived, sized(bytes of the payload), loaded() once `values` may be overwritten, and free() before it writes `bytes`.
// `store(at, bytes, size)` writes a payload. `finish(bytes)` gets the sum of all, from one lane. `buffers`: 2 * workers *
// region_bytes of shared memory. The thread block has 32 threads a worker and 32 * kHelpers more.
template <class Load, class Encode, class Store, class Finish>
__device__ __forceinline__ void WalkTiles(WalkShared& shared, unsigned char* buffers,
                                          uint32_t region_bytes, ScanState scan, uint32_t tiles,
                                          Load&& load, Encode&& encode, Store&& store, Finish&& finish) {
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t workers = blockDim.x / 32 - kHelpers;
  if (threadIdx.x == 0) {
    shared.tile[0] = atomicAdd(scan.ticket, 1u);
    for (uint32_t i = 0; i < 2; ++i) {
      shared.tile_ready[i].Init(1 + i, 1, workers + 1);
      shared.begun[i].Init(3 + i, workers, workers + 1);
      shared.sizes_ready[i].Init(5 + i, workers, workers + 1);
      shared.places_ready[i].Init(7 + i, workers, workers + 1);
    }
  }
  __syncthreads();
  uint32_t tile = shared.tile[0];
  __syncthreads();  // the entry is used again, and not every warp hands anything over before that
  // Waits for the tile of a step after the first.
  const auto tile_of = [&](uint32_t step) {
    shared.tile_ready[step % 2].Wait((step - 1) / 2);
    // Race checkers follow each lane's own arrivals: only the lane that arrives looks.
    return __shfl_sync(kAllLanes, lane == 0 ? shared.tile[step % 2] : 0, 0);
  };
  if (warp == workers + 1) {
    for (uint32_t step = 0; tile < tiles; ++step) {
      shared.begun[step % 2].Wait(step / 2);
      const uint32_t next_tile = lane == 0 ? atomicAdd(scan.ticket, 1u) : 0;
      if (lane == 0) shared.tile[(step + 1) % 2] = next_tile;
      shared.tile_ready[(step + 1) % 2].Arrive(lane == 0);
      tile = __shfl_sync(kAllLanes, next_tile, 0);
    }
    return;
  }
  if (warp == workers) {
    for (uint32_t step = 0;; ++step) {
      shared.sizes_ready[step % 2].Wait(step / 2);
      tile = __shfl_sync(kAllLanes, lane == 0 ? shared.sized_tile[step % 2] : 0, 0);
      if (tile >= tiles) return;
      const uint32_t size = lane < workers ? shared.region_size[step % 2][lane] : 0;
      const uint32_t total = ReduceAdd(size);
      PublishSum(scan, tile, total);
      uint32_t unused = 0;
      const uint32_t before = WarpExclusiveSum(size, unused);
      __nanosleep(kBeforeWalk);
      const unsigned long long base = FindPlace(scan, tile, total);
      if (lane < workers) shared.region_at[step % 2][lane] = base + before;
      if (lane == 0 && tile == tiles - 1) finish(base + total);
      shared.places_ready[step % 2].Arrive(lane < workers);
    }
  }
  unsigned char* const values = buffers + warp * region_bytes;
  unsigned char* const bytes = values + workers * region_bytes;
  uint32_t size = 0;  // of what lies in `bytes`
  const auto store_step = [&](uint32_t step) {
    shared.places_ready[step % 2].Wait(step / 2);
    store(__shfl_sync(kAllLanes, lane == 0 ? shared.region_at[step % 2][warp] : 0, 0), bytes, size);
    __syncwarp();
  };
  uint32_t step = 0;
  const auto tell_size = [&](uint32_t region_size) {
    if (lane == 0) shared.region_size[step % 2][warp] = region_size;
    if (threadIdx.x == 0) shared.sized_tile[step % 2] = tile;
    shared.sizes_ready[step % 2].Arrive(lane == 0);
  };
  if (tile < tiles) load(tile, warp, values);
  for (; tile < tiles; ++step) {
    uint32_t next_tile = 0;
    uint32_t new_size = 0;
    encode(
        tile, warp, values, bytes, [&] { shared.begun[step % 2].Arrive(lane == 0); },
        [&](uint32_t region_size) {
          new_size = region_size;
          tell_size(region_size);
        },
        [&] {
          next_tile = tile_of(step + 1);
          if (next_tile < tiles) load(next_tile, warp, values);
        },
        [&] {
          if (step > 0) store_step(step - 1);
          size = new_size;
        });
    tile = next_tile;
  }
  tell_size(0);  // of no tile: the scanner ends
  if (step > 0) store_step(step - 1);
}

}  // namespace szarena::codec::cuda
