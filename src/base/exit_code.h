// SPDX-License-Identifier: Apache-2.0
// What the exit status of our programs means. The one table.
#pragma once

#include "base/error.h"

namespace szarena {

enum class ExitCode : int {
  kDone = 0,
  kCandidateFailed = 1,  // evaluate: the candidate is not correct
  kBadUsage = 2,         // arguments or input files have no meaning
  kEnvironment = 3,      // this machine lacks something: a program, a device, disk space
  kInternal = 4,         // our own fault
  kInterrupted = 130,    // stopped by SIGINT, as a shell reports it
};

// The status a program ends with after this kind of failure.
ExitCode ExitCodeFor(ErrorCode code);

}  // namespace szarena
