// SPDX-License-Identifier: Apache-2.0
// The file that the driver program reads with `--check`: calls to make one after another under a
// tool that watches them. C-compatible types only, as in protocol.h.
#pragma once

#include <cstdint>

#include "szarena_candidate.h"

namespace szarena::target::cuda {

inline constexpr char kJobsPath[] = "/run/jobs";
// What the driver prints at the end, before how many calls returned SZARENA_OK.
inline constexpr char kCheckedWord[] = "checked";

// At the front of the file.
struct JobsHeader {
  uint32_t compressor;  // as Control's
  uint32_t need_backward;
  uint64_t count;
};

// Of each call; `input_size` bytes of input follow.
struct JobHeader {
  uint64_t kind;  // CallKind
  uint64_t input_size;
  uint64_t output_size;
  szarena_problem problem;
};

}  // namespace szarena::target::cuda
