// SPDX-License-Identifier: Apache-2.0
// From kinds of failure to exit statuses.
#include "base/exit_code.h"

namespace szarena {

ExitCode ExitCodeFor(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kCorrupt:
      return ExitCode::kBadUsage;
    case ErrorCode::kCapacity:
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kIo:
      return ExitCode::kEnvironment;
    case ErrorCode::kCancelled:
      return ExitCode::kInterrupted;
    case ErrorCode::kInternal:
      return ExitCode::kInternal;
  }
  return ExitCode::kInternal;
}

}  // namespace szarena
