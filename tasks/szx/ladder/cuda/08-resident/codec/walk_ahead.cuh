// SPDX-License-Identifier: Apache-2.0
// As szp_walk.cuh, for codecs that keep a region in registers while they encode it: the next
// tile's values are on their way meanwhile, and a tile's place may be found two steps late before
// anybody waits for it.
//
// Step i of a thread block: the workers take tile i into registers and start loading tile i + 1 to
// where it was; they say how many bytes they will write, store tile i - 2, and write tile i's bytes
// to where that was. Two more warps help: the publisher makes a tile's size known at once and takes
// the next ticket, the walker looks back for the tile's place. With one warp for both, a size would
// wait for the walk of the tile before, and that walk for sizes of other thread blocks.
#pragma once

#include <cstdint>

#include "handover.cuh"
#include "lookback.cuh"
#include "warp.cuh"

namespace szarena::codec::cuda {

constexpr uint32_t kMostAheadWorkers = 14;
constexpr uint32_t kAheadHelpers = 2;  // warps
constexpr uint32_t kAheadBuffers = 3;  // regions of shared memory a worker: values, bytes twice
// What encode says of a region: bytes below, a number above.
constexpr uint32_t kAheadSizeBits = 20;
constexpr uint32_t kAheadSizeMask = (1u << kAheadSizeBits) - 1;

// By step, in turn. A step's entries are written again three steps later; by then all workers have
// stored its tile.
struct AheadShared {
  static constexpr uint32_t kSlots = 3;
  unsigned long long tile_at[kSlots];  // a tile's place, written by the walker
  uint32_t tile[2];                    // written by the publisher, as what follows
  uint32_t walk_tile[kSlots], walk_size[kSlots];
  uint32_t walk_last[kSlots];                       // not 0: the thread block has no tile after it
  uint32_t region_at[kSlots][kMostAheadWorkers];    // places in the tile
  uint32_t region_size[kSlots][kMostAheadWorkers];  // written by the workers
  Handover sizes_ready[kSlots], walk_ready[kSlots], places_ready[kSlots];
  Handover tile_ready[2];  // entry k % 2 hands over the tile of step k, from 1 on
};

// Thread blocks that start together should each have a tile before one of them takes a second.
constexpr unsigned int kBeforeSecondTicket = 1000;  // nanoseconds

// `load(tile, warp, values)` starts loading a region. `encode(tile, warp, values, bytes, loaded,
// sized)` encodes it out of `values` into `bytes`: it calls loaded() once `values` may be
// overwritten, and sized(size) before it writes `bytes`, both with all lanes. A size's lower
// kAheadSizeBits are bytes, the others a number that is only summed up: `sum(summed)` gets both, in
// one lane; `finish(bytes)` gets the sum of all once. `store(at, bytes, size)` writes a region's
// payload. `buffers`: kAheadBuffers * workers * region_bytes of shared memory. The thread block has
// kAheadHelpers warps more than workers.
template <class Load, class Encode, class Store, class Sum, class Finish>
__device__ __forceinline__ void WalkAhead(AheadShared& shared, unsigned char* buffers,
                                          uint32_t region_bytes, ScanState scan, uint32_t tiles,
                                          Load&& load, Encode&& encode, Store&& store, Sum&& sum,
                                          Finish&& finish) {
  constexpr uint32_t kSlots = AheadShared::kSlots;
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t workers = blockDim.x / 32 - kAheadHelpers;
  if (threadIdx.x == 0) {
    shared.tile[0] = atomicAdd(scan.ticket, 1u);
    for (uint32_t i = 0; i < kSlots; ++i) {
      shared.sizes_ready[i].Init(1 + i, workers, workers + 1);
      shared.walk_ready[i].Init(4 + i, 1, 2);
      shared.places_ready[i].Init(7 + i, workers + 1, workers + 2);
      if (i < 2) shared.tile_ready[i].Init(10 + i, 1, workers + 1);
    }
  }
  __syncthreads();
  uint32_t tile = shared.tile[0];
  __syncthreads();  // the entry is used again, and not every warp hands anything over before that
  if (warp == workers) {  // the publisher
    const auto hand_over = [&](uint32_t step, uint32_t taken) {
      if (lane == 0) shared.tile[step % 2] = taken;
      shared.tile_ready[step % 2].Arrive(lane == 0);
      return __shfl_sync(kAllLanes, taken, 0);
    };
    __nanosleep(kBeforeSecondTicket);
    uint32_t next_tile = hand_over(1, lane == 0 ? atomicAdd(scan.ticket, 1u) : 0);
    for (uint32_t step = 0; tile < tiles; ++step) {
      const uint32_t slot = step % kSlots;
      shared.sizes_ready[slot].Wait(step / kSlots);
      const uint32_t size = lane < workers ? shared.region_size[slot][lane] : 0;
      const uint32_t summed = ReduceAdd(size);
      const uint32_t total = summed & kAheadSizeMask;
      PublishSum(scan, tile, total);
      const uint32_t taken = lane == 0 ? atomicAdd(scan.ticket, 1u) : 0;
      if (lane == 0) sum(summed);
      uint32_t unused = 0;
      const uint32_t before = WarpExclusiveSum(size & kAheadSizeMask, unused);
      if (step >= kSlots) shared.places_ready[slot].Observe(step / kSlots - 1);
      if (lane < workers) shared.region_at[slot][lane] = before;
      shared.places_ready[slot].Arrive(lane < workers);
      if (lane == 0) {
        shared.walk_tile[slot] = tile;
        shared.walk_size[slot] = total;
        shared.walk_last[slot] = next_tile >= tiles ? 1 : 0;
      }
      shared.walk_ready[slot].Arrive(lane == 0);
      tile = next_tile;
      next_tile = hand_over(step + 2, taken);
    }
    return;
  }
  if (warp == workers + 1) {  // the walker
    bool last = tile >= tiles;
    for (uint32_t step = 0; !last; ++step) {
      const uint32_t slot = step % kSlots;
      shared.walk_ready[slot].Wait(step / kSlots);
      shared.sizes_ready[slot].Observe(step / kSlots);
      const auto read = [&](const uint32_t& entry) {
        return __shfl_sync(kAllLanes, lane == 0 ? entry : 0, 0);
      };
      const uint32_t walked = read(shared.walk_tile[slot]);
      const uint32_t size = read(shared.walk_size[slot]);
      last = read(shared.walk_last[slot]) != 0;
      const unsigned long long at = ScanTile(scan, walked, size, [] { __nanosleep(kBeforeWalk); });
      if (lane == 0) {
        shared.tile_at[slot] = at;
        if (walked == tiles - 1) finish(at + size);
      }
      shared.places_ready[slot].Arrive(lane == 0);
    }
    return;
  }
  const uint32_t stride = workers * region_bytes;
  unsigned char* const values = buffers + warp * region_bytes;
  const auto bytes_of = [&](uint32_t step) { return values + (1 + step % 2) * stride; };
  const auto store_step = [&](uint32_t step, uint32_t size) {
    const uint32_t slot = step % kSlots;
    shared.places_ready[slot].Wait(step / kSlots);
    store(shared.tile_at[slot] + shared.region_at[slot][warp], bytes_of(step), size);
    __syncwarp();
  };
  uint32_t last_size = 0;
  uint32_t size_before = 0;  // of the step before the last
  uint32_t step = 0;
  if (tile < tiles) load(tile, warp, values);
  for (; tile < tiles; ++step) {
    uint32_t next_tile = 0;
    const auto loaded = [&] {
      shared.tile_ready[(step + 1) % 2].Wait(step / 2);
      next_tile = shared.tile[(step + 1) % 2];
      if (next_tile < tiles) load(next_tile, warp, values);
    };
    const auto sized = [&](uint32_t size) {
      if (lane == 0) shared.region_size[step % kSlots][warp] = size;
      shared.sizes_ready[step % kSlots].Arrive(lane == 0);
      if (step > 1) store_step(step - 2, size_before);
      size_before = last_size;
      last_size = size & kAheadSizeMask;
    };
    encode(tile, warp, values, bytes_of(step), loaded, sized);
    tile = next_tile;
  }
  if (step > 1) store_step(step - 2, size_before);
  if (step > 0) store_step(step - 1, last_size);
}

}  // namespace szarena::codec::cuda
