// SPDX-License-Identifier: Apache-2.0
// Names of sessions and stop reasons.
#include "store/session.h"

#include <fmt/format.h>

#include <array>

namespace szarena::store {
namespace {

constexpr std::array<std::string_view, 6> kStopReasons = {"submitted", "budget", "no-progress",
                                                          "gave-up",   "error",  "interrupted"};

}  // namespace

std::string SessionKey::Title() const {
  std::string title = fmt::format("{} {} {}", agent, task, target);
  if (tier != "none") title += " " + tier;
  return title + fmt::format(" trial {}", trial);
}

std::string_view StopReasonName(StopReason reason) {
  return kStopReasons.at(static_cast<size_t>(reason));
}

std::optional<StopReason> ParseStopReason(std::string_view name) {
  for (size_t i = 0; i < kStopReasons.size(); ++i) {
    if (kStopReasons[i] == name) return static_cast<StopReason>(i);
  }
  return std::nullopt;
}

}  // namespace szarena::store
