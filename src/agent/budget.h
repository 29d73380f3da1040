// SPDX-License-Identifier: Apache-2.0
// What a session may use up, and the meter that counts it.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "store/session.h"

namespace szarena::agent {

// Absent: no limit. A limit is reached when as much as it says has been used.
struct Budget {
  std::optional<int64_t> attempts = std::nullopt;     // submissions
  std::optional<int64_t> model_calls = std::nullopt;  // answers of a model
  std::optional<int64_t> tokens = std::nullopt;       // in and out, reasoning included
  std::optional<double> cost_usd = std::nullopt;
  std::optional<double> wall_seconds = std::nullopt;
};

// What one answer of a model cost. Absent figures are unknown to us, not zero.
struct ModelCallCost {
  std::optional<int64_t> tokens_in = std::nullopt;         // cached ones included
  std::optional<int64_t> tokens_cached = std::nullopt;     // part of tokens_in
  std::optional<int64_t> tokens_out = std::nullopt;        // reasoning included
  std::optional<int64_t> tokens_reasoning = std::nullopt;  // part of tokens_out
  std::optional<double> cost_usd = std::nullopt;
};

// Counts from its creation on. May be used by several threads (a proxy counts what an external
// program's model uses).
class Meter {
 public:
  // `earlier`: what the same session had used before it was interrupted (its attempts are counted
  // as they are taken up).
  explicit Meter(Budget budget, const store::Usage& earlier = {});

  void AddAttempt();
  void AddModelCall(const ModelCallCost& cost);

  // The first limit that is reached, with its figure: "model calls (100)". Nothing: go on.
  std::optional<std::string> Reached() const;
  // The same of attempts and time alone: what an answer of the model asks for is still done where
  // that answer used up the calls, tokens or cost; only the next call is refused.
  std::optional<std::string> ReachedForWork() const;
  // wall_seconds up to now.
  store::Usage usage() const;
  double ElapsedSeconds() const;
  const Budget& budget() const { return budget_; }

 private:
  const Budget budget_;
  const std::chrono::steady_clock::time_point begin_;
  const double earlier_seconds_;
  mutable std::mutex mutex_;
  int64_t attempts_ = 0;
  store::Usage usage_;
};

}  // namespace szarena::agent
