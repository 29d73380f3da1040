// SPDX-License-Identifier: Apache-2.0
// What the CUDA driver of the tests tells the CUPTI of the tests.
#pragma once

#include <cstdint>

struct szarena_host_activity {
  uint32_t kind;    // CUPTI's
  uint32_t detail;  // of a copy its kind, of a clearing the value
  uint64_t bytes;
  uint64_t nanoseconds;
  const char* name;  // of a kernel
};
using szarena_host_observer = void (*)(const szarena_host_activity&);
