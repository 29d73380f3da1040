// SPDX-License-Identifier: Apache-2.0
// Expected failures: Error, Result<T> and the macros that pass them up.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace szarena {

// What kind of failure it is, so that a front end can choose an exit status (see base/exit_code.h).
enum class ErrorCode : unsigned char {
  kInvalidArgument,  // the caller or the user asked for something that has no meaning
  kNotFound,         // a named thing (file, task, symbol) does not exist
  kCorrupt,          // data read from outside are not what their format promises
  kCapacity,         // a buffer, a disk or a limit is too small
  kUnavailable,      // the environment lacks a program, a library or a device
  kTimeout,          // a deadline passed
  kCancelled,        // somebody asked to stop
  kIo,               // the operating system refused a read, a write or a process
  kInternal,         // our own fault
};

// Stable lower-case name of a code, as printed in JSON ("invalid-argument").
std::string_view ErrorCodeName(ErrorCode code);

// An expected failure. `message` is one sentence in lower case with no final stop that names the
// thing in quotes and says what was expected. `context` grows outwards: "while reading task 'foo'".
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::vector<std::string> context;

  // "message (while A, while B)"
  std::string ToString() const;
};

template <typename T = void>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message), {}});
}

// The same error with one more line of context, for crossing a room's border.
tl::unexpected<Error> WithContext(Error error, std::string context);

}  // namespace szarena

#define SZARENA_CONCAT_(a, b) a##b
#define SZARENA_CONCAT(a, b) SZARENA_CONCAT_(a, b)

// SZARENA_TRY(auto v, F());  declares v from a Result or returns its error.
#define SZARENA_TRY(decl, expr) SZARENA_TRY_(SZARENA_CONCAT(try_result_, __COUNTER__), decl, expr)
#define SZARENA_TRY_(tmp, decl, expr)                      \
  auto tmp = (expr);                                       \
  if (!tmp) return tl::unexpected(std::move(tmp).error()); \
  decl = *std::move(tmp)

// SZARENA_TRY_VOID(F());  for Result<void>.
#define SZARENA_TRY_VOID(expr)                              \
  do {                                                      \
    if (auto try_status = (expr); !try_status) {            \
      return tl::unexpected(std::move(try_status).error()); \
    }                                                       \
  } while (false)
