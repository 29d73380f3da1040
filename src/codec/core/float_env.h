// SPDX-License-Identifier: Apache-2.0
// The floating-point environment that the formats assume: round to nearest, no flush to zero, no
// traps.
#pragma once

#include <cfenv>

namespace szarena::codec {

// Sets the default environment of this thread for a scope and restores the caller's afterwards,
// flags included: a host program built with -ffast-math runs with subnormals flushed to zero.
// Threads started inside the scope inherit it.
class DefaultFloatEnv {
 public:
  DefaultFloatEnv() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnv() { std::fesetenv(&saved_); }
  DefaultFloatEnv(const DefaultFloatEnv&) = delete;
  DefaultFloatEnv& operator=(const DefaultFloatEnv&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace szarena::codec
