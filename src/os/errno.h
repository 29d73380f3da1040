// SPDX-License-Identifier: Apache-2.0
// The operating system's reason as an Error.
#pragma once

#include <string>

#include "base/error.h"

namespace szarena::os {

// "<what>: <reason>" for an errno value; kNotFound, kCapacity (no space) or kIo.
Error ErrnoError(int error_number, const std::string& what);

// The same from errno, ready to be returned.
tl::unexpected<Error> FailErrno(const std::string& what);

}  // namespace szarena::os
