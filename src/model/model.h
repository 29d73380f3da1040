// SPDX-License-Identifier: Apache-2.0
// A model that answers. What a workflow needs of a provider.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/error.h"
#include "data/json.h"
#include "model/message.h"

namespace szarena::model {

// A try that failed and will be repeated.
struct Retry {
  int attempt = 0;  // the one that failed, from 1
  std::chrono::milliseconds wait{0};
  std::string reason;
};

struct CallHooks {
  std::function<void(const Retry&)> on_retry = nullptr;
  std::stop_token stop = {};
  // Later than this nobody waits for the answer: Finish::kTooLate.
  std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;
};

class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  // Provider, model, protocol, address, settings, price; no secret. Stored with every session.
  virtual data::Json Identity() const = 0;
  // One answer. Waits as long as the service asks it to, within its limits. Errors: kUnavailable
  // (no key, refused key, no quota, no connection), kTimeout, kIo, kCorrupt (answers that are
  // none), kInvalidArgument (the service calls the request wrong), kCancelled. No error text holds
  // a key.
  virtual Result<Reply> Complete(const Request& request, const CallHooks& hooks) = 0;
};

}  // namespace szarena::model
