// SPDX-License-Identifier: Apache-2.0
// Classes of failures, waits.
#include "model/retry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <string_view>

namespace szarena::model {
namespace {

using std::chrono::milliseconds;

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

template <size_t N>
bool HoldsAny(const std::string& text, const std::array<std::string_view, N>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

// Services have no common code for it. OpenAI's code; Anthropic's, Google's, llama.cpp's and vLLM's
// wording.
constexpr std::array<std::string_view, 7> kContextWords = {
    "context_length_exceeded", "prompt is too long",  "exceeds the maximum number of tokens",
    "maximum context length",  "exceed_context_size", "exceeds the available context size",
    "context window"};
constexpr std::array<std::string_view, 4> kQuotaWords = {"insufficient_quota", "billing",
                                                         "credit balance", "quota exceeded for"};
constexpr std::array<std::string_view, 7> kAgainWords = {
    "rate_limit",  "overloaded",         "server_error", "api_error",
    "unavailable", "resource_exhausted", "internal"};

std::optional<double> Number(std::string_view text) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || !(value >= 0))
    return std::nullopt;
  return value;
}

// Longer than any wait that is followed, and far from overflow.
milliseconds Milliseconds(double value) {
  constexpr double kMost = 1e12;
  return milliseconds(static_cast<int64_t>(std::min(value, kMost)));
}

}  // namespace

Fault ClassifyServiceError(const ServiceError& error, const std::string& who) {
  const std::string words = Lower(error.code + " " + error.message);
  const std::string status = error.status ? fmt::format("status {}", error.status) : "a failure";
  std::string text = fmt::format("'{}' answered with {}", who, status);
  if (!error.code.empty()) text += fmt::format(" ({})", error.code);
  if (!error.message.empty()) text += ": " + error.message.substr(0, 500);
  const auto make = [&](FaultClass kind, ErrorCode code) {
    return Fault{kind, {code, text, {}}, error.retry_after};
  };
  const bool client_fault = error.status == 400 || error.status == 413 || error.status == 0;
  if (client_fault && HoldsAny(words, kContextWords)) {
    return make(FaultClass::kContextFull, ErrorCode::kCapacity);
  }
  // A used-up quota comes as 429 or 403 and does not go away by waiting.
  if (HoldsAny(words, kQuotaWords) && !error.retry_after) {
    return make(FaultClass::kForGood, ErrorCode::kUnavailable);
  }
  switch (error.status) {
    case 408:
    case 409:
    case 425:
    case 429:
      return make(FaultClass::kAgain, ErrorCode::kUnavailable);
    case 401:
    case 402:
    case 403:
      return make(FaultClass::kForGood, ErrorCode::kUnavailable);
    case 0:
      return make(HoldsAny(words, kAgainWords) ? FaultClass::kAgain : FaultClass::kForGood,
                  ErrorCode::kIo);
    default:
      return error.status >= 500 ? make(FaultClass::kAgain, ErrorCode::kUnavailable)
                                 : make(FaultClass::kForGood, ErrorCode::kInvalidArgument);
  }
}

Fault ClassifyTransportError(const Error& error) {
  const bool again = error.code == ErrorCode::kIo || error.code == ErrorCode::kTimeout ||
                     error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kCorrupt;
  return {again ? FaultClass::kAgain : FaultClass::kForGood, error, std::nullopt};
}

std::optional<milliseconds> RetryAfter(const net::HttpResponse& response,
                                       std::chrono::system_clock::time_point now) {
  if (const std::string* text = response.Find("retry-after-ms")) {
    if (const auto value = Number(*text)) return Milliseconds(*value);
  }
  const std::string* text = response.Find("retry-after");
  if (!text) return std::nullopt;
  if (const auto value = Number(*text)) return Milliseconds(*value * 1000);
  const auto date = net::ParseHttpDate(*text);
  if (!date) return std::nullopt;
  const auto wait = *date - now;
  return std::max(std::chrono::duration_cast<milliseconds>(wait), milliseconds(0));
}

std::optional<milliseconds> WaitBefore(const RetryPolicy& policy, int attempt,
                                       std::optional<milliseconds> asked, std::mt19937_64& random) {
  if (attempt >= policy.attempts) return std::nullopt;
  if (asked && *asked > policy.longest_asked) return std::nullopt;
  const int doublings = std::min(attempt - 1, 20);
  const auto own = std::min(policy.first * (int64_t{1} << doublings), policy.longest);
  // Half of it fixed, half of it random.
  std::uniform_int_distribution<int64_t> part(0, own.count() / 2);
  const milliseconds jitter(part(random));
  return asked ? *asked + jitter : own / 2 + jitter;
}

bool Waiter::Wait(milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace szarena::model
