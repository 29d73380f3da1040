// SPDX-License-Identifier: Apache-2.0
// What surrounds the coded blocks: tables written and read on the device, offsets by prefix sums.
#pragma once

#include "scan.cuh"
#include "szx.cuh"

// The workspace, one array after another. `coded` is 1 for a block that is not constant, `size` its bytes.
struct Work {
  Work(const szarena_problem& p, uint8_t* base) {
    const uint64_t blocks = Blocks(p);
    const auto add = [&](uint64_t size) {
      uint8_t* at = base + bytes;
      bytes += (size + 255) / 256 * 256;
      return at;
    };
    coded = reinterpret_cast<uint32_t*>(add(blocks * 4));
    size = reinterpret_cast<uint32_t*>(add(blocks * 4));
    index = reinterpret_cast<uint64_t*>(add(blocks * 8));
    offset = reinterpret_cast<uint64_t*>(add(blocks * 8));
    chunks = reinterpret_cast<uint64_t*>(add(ScanChunks(blocks) * 8));
    coded_total = reinterpret_cast<uint64_t*>(add(8));
    byte_total = reinterpret_cast<uint64_t*>(add(8));
    plans = add(blocks * sizeof(Plan<double>));
  }
  uint64_t bytes = 0;
  uint32_t* coded;
  uint32_t* size;
  uint64_t* index;   // coded blocks before this one
  uint64_t* offset;  // bytes of coded blocks before this one
  uint64_t* chunks;
  uint64_t* coded_total;
  uint64_t* byte_total;
  uint8_t* plans;
};

__device__ inline uint64_t Thread() { return blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; }

constexpr uint32_t kTableThreads = 256;
inline uint32_t TableGrid(uint64_t n) { return static_cast<uint32_t>((n + kTableThreads - 1) / kTableThreads); }

// Header, sizes, states and medians; thread b does block b.
template <typename T>
__global__ void WriteTablesKernel(const Work work, const Plan<T>* plan, uint64_t blocks, bool random, uint8_t* out, szarena_payload* payload) {
  const uint64_t b = Thread();
  const uint64_t constant = blocks - *work.coded_total;
  const Tables tables(random, sizeof(T), blocks, constant);
  if (b == 0) {
    WriteHeader(random, Type<T>::kVersion, constant, out);
    *payload = {0, tables.coded + *work.byte_total};
  }
  if (b >= blocks) return;
  if (work.coded[b] == 0) {
    StoreBig(out + tables.medians + (b - work.index[b]) * sizeof(T), BitsOf(plan[b].median));
  } else if (random) {
    uint8_t* size = out + tables.sizes + work.index[b] * 2;
    size[0] = static_cast<uint8_t>(work.size[b]);
    size[1] = static_cast<uint8_t>(work.size[b] >> 8);
  }
  if (b % 8 == 0) {
    uint32_t states = 0;
    for (uint32_t k = 0; k < 8 && b + k < blocks; ++k) states |= work.coded[b + k] << (7 - k);
    out[tables.states + b / 8] = static_cast<uint8_t>(states);
  }
}

static __global__ void EmptyKernel(bool random, uint8_t version, uint8_t* out, szarena_payload* payload) {
  WriteHeader(random, version, 0, out);
  *payload = {0, random ? 20ull : 13ull};
}

// The number of constant blocks that a payload claims, or kDamaged.
constexpr uint64_t kDamaged = ~0ull;
template <typename T>
__device__ inline uint64_t ConstantBlocks(const uint8_t* in, uint64_t size, bool random, uint64_t blocks) {
  if (!HeaderFits(in, random, Type<T>::kVersion)) return kDamaged;
  const uint64_t constant = LoadBig<uint64_t>(in + (random ? 12 : 5));
  return constant <= blocks && Tables(random, sizeof(T), blocks, constant).coded <= size ? constant : kDamaged;
}

template <typename T>
__global__ void ReadStatesKernel(const uint8_t* in, uint64_t in_size, uint64_t blocks, bool random, Work work) {
  const uint64_t b = Thread();
  if (b >= blocks) return;
  const uint64_t constant = ConstantBlocks<T>(in, in_size, random, blocks);
  const Tables tables(random, sizeof(T), blocks, constant);
  work.coded[b] = constant == kDamaged ? 0 : in[tables.states + b / 8] >> (7 - b % 8) & 1;
}

template <typename T>
__global__ void ReadSizesKernel(const uint8_t* in, uint64_t in_size, uint64_t blocks, Work work) {
  const uint64_t b = Thread();
  if (b >= blocks) return;
  const uint64_t constant = ConstantBlocks<T>(in, in_size, true, blocks);
  work.size[b] = 0;
  if (constant == kDamaged || work.coded[b] == 0 || work.index[b] >= blocks - constant) return;
  const uint8_t* size = in + Tables(true, sizeof(T), blocks, constant).sizes + work.index[b] * 2;
  work.size[b] = size[0] | static_cast<uint32_t>(size[1]) << 8;
}

// The sequential stream has no sizes: one thread goes from block to block.
template <typename T>
__global__ void FindSizesKernel(const uint8_t* in, uint64_t in_size, uint64_t n, uint64_t blocks, Work work) {
  const uint64_t constant = ConstantBlocks<T>(in, in_size, false, blocks);
  uint64_t at = constant == kDamaged ? in_size : Tables(false, sizeof(T), blocks, constant).coded;
  for (uint64_t b = 0; b < blocks; ++b) {
    work.size[b] = 0;
    if (work.coded[b] == 0 || at >= in_size) continue;
    work.size[b] = static_cast<uint32_t>(MeasureBlock<T>(in + at, in_size - at, BlockLength(n, b)));
    at += work.size[b];
  }
}

// Offsets and indices from `coded` and `size`.
inline void ScanIndex(const szarena_problem& p, const Work& work, cudaStream_t stream) {
  Scan(work.coded, Blocks(p), 0, work.chunks, work.index, work.coded_total, stream);
}
inline void ScanOffset(const szarena_problem& p, const Work& work, cudaStream_t stream) {
  Scan(work.size, Blocks(p), 0, work.chunks, work.offset, work.byte_total, stream);
}

// Everything that is known of a payload's blocks before they are read.
template <typename T>
inline void ReadTables(const szarena_problem& p, const uint8_t* in, uint64_t in_size, const Work& work, cudaStream_t stream) {
  const uint64_t blocks = Blocks(p);
  const bool random = p.mode == SZARENA_MODE_RANDOM_ACCESS;
  ReadStatesKernel<T><<<TableGrid(blocks), kTableThreads, 0, stream>>>(in, in_size, blocks, random, work);
  ScanIndex(p, work, stream);
  if (random) {
    ReadSizesKernel<T><<<TableGrid(blocks), kTableThreads, 0, stream>>>(in, in_size, blocks, work);
  } else {
    FindSizesKernel<T><<<1, 1, 0, stream>>>(in, in_size, p.n, blocks, work);
  }
  ScanOffset(p, work, stream);
}

// A block as its reader sees it.
template <typename T>
struct Found {
  const uint8_t* at = nullptr;  // null: nothing can be read
  uint32_t size = 0;
  bool constant = false;
};
template <typename T>
__device__ inline Found<T> FindBlock(const uint8_t* in, uint64_t in_size, uint64_t blocks, bool random, const Work& work, uint64_t b) {
  Found<T> found;
  const uint64_t constant = ConstantBlocks<T>(in, in_size, random, blocks);
  if (constant == kDamaged) return found;
  const Tables tables(random, sizeof(T), blocks, constant);
  found.constant = work.coded[b] == 0;
  if (found.constant) {
    if (b - work.index[b] < constant) found.at = in + tables.medians + (b - work.index[b]) * sizeof(T);
    return found;
  }
  found.size = work.size[b];
  const uint64_t begin = tables.coded + work.offset[b];
  if (begin + found.size <= in_size) found.at = in + begin;
  return found;
}
