// SPDX-License-Identifier: Apache-2.0
// Sums and limits.
#include "agent/budget.h"

#include <fmt/format.h>

#include "base/saturate.h"

namespace szarena::agent {
namespace {

// An unknown part leaves the sum of what is known.
void Add(std::optional<int64_t>& sum, const std::optional<int64_t>& part) {
  if (part) sum = AddCounts(sum.value_or(0), *part);
}
void Add(std::optional<double>& sum, const std::optional<double>& part) {
  if (part) sum = sum.value_or(0) + *part;
}

}  // namespace

Meter::Meter(Budget budget, const store::Usage& earlier)
    : budget_(budget),
      begin_(std::chrono::steady_clock::now()),
      earlier_seconds_(earlier.wall_seconds),
      usage_(earlier) {}

void Meter::AddAttempt() {
  const std::lock_guard lock(mutex_);
  ++attempts_;
}

void Meter::AddModelCall(const ModelCallCost& cost) {
  const std::lock_guard lock(mutex_);
  usage_.model_calls = usage_.model_calls.value_or(0) + 1;
  Add(usage_.tokens_in, cost.tokens_in);
  Add(usage_.tokens_cached, cost.tokens_cached);
  Add(usage_.tokens_out, cost.tokens_out);
  Add(usage_.tokens_reasoning, cost.tokens_reasoning);
  Add(usage_.cost_usd, cost.cost_usd);
}

double Meter::ElapsedSeconds() const {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now() - begin_;
  return earlier_seconds_ + now.count();
}

std::optional<std::string> Meter::ReachedForWork() const {
  const std::lock_guard lock(mutex_);
  if (budget_.attempts && attempts_ >= *budget_.attempts) {
    return fmt::format("attempts ({})", *budget_.attempts);
  }
  if (budget_.wall_seconds && ElapsedSeconds() >= *budget_.wall_seconds) {
    return fmt::format("wall time ({} s)", *budget_.wall_seconds);
  }
  return std::nullopt;
}

std::optional<std::string> Meter::Reached() const {
  if (auto limit = ReachedForWork()) return limit;
  const std::lock_guard lock(mutex_);
  const int64_t tokens = AddCounts(usage_.tokens_in.value_or(0), usage_.tokens_out.value_or(0));
  if (budget_.model_calls && usage_.model_calls.value_or(0) >= *budget_.model_calls) {
    return fmt::format("model calls ({})", *budget_.model_calls);
  }
  if (budget_.tokens && tokens >= *budget_.tokens) {
    return fmt::format("tokens ({} of {})", tokens, *budget_.tokens);
  }
  if (budget_.cost_usd && usage_.cost_usd.value_or(0) >= *budget_.cost_usd) {
    return fmt::format("cost ({:.4f} of {:.4f} USD)", *usage_.cost_usd, *budget_.cost_usd);
  }
  return std::nullopt;
}

store::Usage Meter::usage() const {
  const std::lock_guard lock(mutex_);
  store::Usage usage = usage_;
  usage.wall_seconds = ElapsedSeconds();
  return usage;
}

}  // namespace szarena::agent
