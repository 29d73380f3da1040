// SPDX-License-Identifier: Apache-2.0
// What is raced on a device: our codecs and any library with the ABI of
// tasks/contract/szarena_candidate_cuda.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tasks/contract/szarena_candidate_cuda.h"

namespace szarena::bench::gpu {

struct Contender {
  std::string name;     // "szp plain", "NAME plain"
  std::string version;  // of the code behind it
  uint32_t mode;        // SZARENA_MODE_
  bool own;
  decltype(&szarena_cuda_workspace_bytes) workspace_bytes;
  decltype(&szarena_cuda_compress) compress;
  decltype(&szarena_cuda_decompress) decompress;
  // Ours alone: the bound is `relative` times the range, found on the device, and written to
  // `bound` in device memory.
  int (*compress_relative)(const szarena_problem*, double relative, const void* input, void* output,
                           uint64_t capacity, void* workspace, uint64_t workspace_bytes,
                           szarena_payload*, double* bound, szarena_stream) = nullptr;
};

// SZp plain and outlier, SZx.
std::vector<Contender> OwnContenders(std::string_view version);

// `text`: NAME=LIBRARY.so[:MODE[,MODE]] with modes of SZp or SZx ("plain" and "outlier" where none is
// named). The library runs in this process: load only what you trust.
Result<std::vector<Contender>> LoadPeers(std::string_view text);

// Bytes that no payload of ours or of a peer's exceeds.
uint64_t RoomFor(uint64_t count, uint32_t dtype);

}  // namespace szarena::bench::gpu
