// SPDX-License-Identifier: Apache-2.0
// From a random-access stream to the sequential one of the same values: the table of sizes is left
// out, so the shorter header stands right in front of the state bits.
#pragma once

#include "format.h"

namespace szarena::codec::szx {

// Writes the sequential header over what is left out of the random-access stream that starts at
// `stream`; returns where the sequential stream starts in it. `block_count`: of the stream.
__host__ __device__ inline uint64_t MakeSequential(unsigned char* stream, uint64_t block_count) {
  uint64_t constant_blocks = 0;
  for (int b = 0; b < 8; ++b) constant_blocks = constant_blocks << 8 | stream[12 + b];
  const unsigned char version = stream[2];
  const uint64_t tables = HeaderBytes(Mode::kRandomAccess) + 2 * (block_count - constant_blocks);
  const uint64_t start = tables - HeaderBytes(Mode::kSequential);
  unsigned char* header = stream + start;
  header[0] = 1, header[1] = 1, header[2] = version, header[3] = 0;
  header[4] = static_cast<unsigned char>(kBlockValues);
  for (int b = 0; b < 8; ++b)
    header[5 + b] = static_cast<unsigned char>(constant_blocks >> (56 - 8 * b));
  return start;
}

}  // namespace szarena::codec::szx
