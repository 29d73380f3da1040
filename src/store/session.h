// SPDX-License-Identifier: Apache-2.0
// What a session is: one agent x workflow x task x source x target x tier x trial.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace szarena::store {

// Names a session within its campaign.
struct SessionKey {
  std::string campaign;
  std::string task;
  std::string target;
  std::string source;    // what the agent starts from: "none", "cpu", "cuda"
  std::string tier;      // "user", "knowledgeable", "expert"; "none" for agents that read no prompt
  std::string agent;     // "ladder", a model's name, an agent program
  std::string workflow;  // "scripted", "single-shot", "iterative", ...
  int64_t trial = 1;     // from 1
  bool operator==(const SessionKey&) const = default;

  // "ladder szp cpu trial 1", for people.
  std::string Title() const;
};

// Why a session ended: a closed list.
enum class StopReason : uint8_t {
  kSubmitted,    // the agent ended after handing in what it wanted judged
  kBudget,       // attempts, model calls, tokens, cost or wall time used up
  kNoProgress,   // the workflow saw no improvement for as long as it was told to wait
  kGaveUp,       // the agent ended without handing anything in
  kError,        // provider, program or judge failed
  kInterrupted,  // somebody stopped the program
};
std::string_view StopReasonName(StopReason reason);  // "no-progress"
std::optional<StopReason> ParseStopReason(std::string_view name);

// What a session used. Figures that have no meaning for the agent are absent.
struct Usage {
  double wall_seconds = 0;
  std::optional<int64_t> model_calls = std::nullopt;
  std::optional<int64_t> tokens_in = std::nullopt;
  std::optional<int64_t> tokens_cached = std::nullopt;  // part of tokens_in
  std::optional<int64_t> tokens_out = std::nullopt;
  std::optional<int64_t> tokens_reasoning = std::nullopt;
  std::optional<double> cost_usd = std::nullopt;
};

}  // namespace szarena::store
