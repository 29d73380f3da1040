// SPDX-License-Identifier: Apache-2.0
// What a failure of a service means, and how long to wait before asking again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <stop_token>
#include <string>

#include "base/error.h"
#include "model/wire.h"

namespace szarena::model {

enum class FaultClass : uint8_t {
  kAgain,        // limits, overload, a broken connection: ask again
  kContextFull,  // the conversation is too long
  kForGood,      // asking again would not help
};

struct Fault {
  FaultClass kind = FaultClass::kForGood;
  Error error;  // what to report if it stays so
  std::optional<std::chrono::milliseconds> retry_after = std::nullopt;
};

// `who` names the service in texts.
Fault ClassifyServiceError(const ServiceError& error, const std::string& who);
Fault ClassifyTransportError(const Error& error);

// The wait that headers ask for: Retry-After (seconds or an HTTP date) or retry-after-ms.
std::optional<std::chrono::milliseconds> RetryAfter(const net::HttpResponse& response,
                                                    std::chrono::system_clock::time_point now);

struct RetryPolicy {
  int attempts = 6;                                  // in all
  std::chrono::milliseconds first{1'000};            // doubled each time
  std::chrono::milliseconds longest{60'000};         // of our own waits
  std::chrono::milliseconds longest_asked{600'000};  // a service that asks for more has failed
};

// How long to wait after try `attempt` (from 1) failed; nothing: give up. What the service asks for
// is the least, with a random part on top, so that many sessions do not come back at once.
std::optional<std::chrono::milliseconds> WaitBefore(const RetryPolicy& policy, int attempt,
                                                    std::optional<std::chrono::milliseconds> asked,
                                                    std::mt19937_64& random);

// Waiting as an effect, so that tests need not wait.
class Waiter {
 public:
  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  virtual ~Waiter() = default;
  // False: somebody asked to stop.
  virtual bool Wait(std::chrono::milliseconds time, const std::stop_token& stop);
};

}  // namespace szarena::model
