// SPDX-License-Identifier: Apache-2.0
#include "os/errno.h"

#include <cerrno>
#include <system_error>

namespace szarena::os {

Error ErrnoError(int error_number, const std::string& what) {
  ErrorCode code = ErrorCode::kIo;
  if (error_number == ENOENT) code = ErrorCode::kNotFound;
  if (error_number == ENOSPC || error_number == EDQUOT || error_number == ENOMEM) {
    code = ErrorCode::kCapacity;
  }
  return Error{code, what + ": " + std::generic_category().message(error_number), {}};
}

tl::unexpected<Error> FailErrno(const std::string& what) {
  return tl::unexpected(ErrnoError(errno, what));
}

}  // namespace szarena::os
