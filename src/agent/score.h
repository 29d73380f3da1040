// SPDX-License-Identifier: Apache-2.0
// How good an attempt is, for workflows that compare attempts: first how far it came, then how
// fast.
#pragma once

#include <compare>
#include <optional>
#include <span>

#include "judge/verdict.h"
#include "store/store.h"

namespace szarena::agent {

struct Score {
  int stage = -1;    // the furthest stage reached; -1: none, or flagged as a cheat
  double speed = 0;  // where it is ranked: geometric mean over the directions, relative to the
                     // baseline where there is one, else GB/s

  // Whether it beats `other` by more than the noise of a measurement (2%).
  bool ClearlyBetterThan(const Score& other) const;
  std::partial_ordering operator<=>(const Score&) const = default;
};

Score ScoreOf(const judge::Verdict& verdict);

// Index of the best attempt; nothing where there is none.
std::optional<size_t> BestAttempt(std::span<const store::Attempt> attempts);
// How many attempts came after the last one that was clearly better than all before it.
size_t AttemptsWithoutProgress(std::span<const store::Attempt> attempts);

}  // namespace szarena::agent
