// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

namespace szarena {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid-argument";
    case ErrorCode::kNotFound:
      return "not-found";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kCapacity:
      return "capacity";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

std::string Error::ToString() const {
  std::string text = message;
  for (size_t i = 0; i < context.size(); ++i) {
    text += (i == 0 ? " (" : ", ") + context[i];
  }
  if (!context.empty()) text += ")";
  return text;
}

tl::unexpected<Error> WithContext(Error error, std::string context) {
  error.context.push_back(std::move(context));
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace szarena
