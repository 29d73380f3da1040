// SPDX-License-Identifier: Apache-2.0
// Scores of verdicts.
#include "agent/score.h"

#include <cmath>

namespace szarena::agent {
namespace {

const judge::Figure* Level(const judge::Throughput& throughput) {
  for (const auto* figure : {&throughput.device, &throughput.host, &throughput.kernel}) {
    if (*figure) return &**figure;
  }
  return nullptr;
}

}  // namespace

bool Score::ClearlyBetterThan(const Score& other) const {
  return stage != other.stage ? stage > other.stage : speed > other.speed * 1.02;
}

Score ScoreOf(const judge::Verdict& verdict) {
  Score score;
  const auto reached = verdict.Reached();
  if (!reached || verdict.HasCheatFlag()) return score;
  score.stage = static_cast<int>(*reached);
  if (!verdict.ranked()) return score;
  double log_sum = 0;
  int count = 0;
  for (const judge::DirectionResult& direction : verdict.directions) {
    double value = 0;
    if (direction.speedup) {
      value = direction.speedup->median;
    } else if (direction.candidate) {
      const judge::Figure* figure = Level(*direction.candidate);
      value = figure ? figure->median : 0;
    }
    if (!(value > 0)) continue;
    log_sum += std::log(value);
    ++count;
  }
  if (count > 0) score.speed = std::exp(log_sum / count);
  return score;
}

std::optional<size_t> BestAttempt(std::span<const store::Attempt> attempts) {
  std::optional<size_t> best;
  Score score;
  for (size_t i = 0; i < attempts.size(); ++i) {
    const Score here = ScoreOf(attempts[i].verdict);
    if (best && !(here > score)) continue;
    best = i;
    score = here;
  }
  return best;
}

size_t AttemptsWithoutProgress(std::span<const store::Attempt> attempts) {
  Score best;
  size_t count = 0;
  for (const store::Attempt& attempt : attempts) {
    const Score score = ScoreOf(attempt.verdict);
    const bool better = score.ClearlyBetterThan(best);
    if (better) best = score;
    count = better ? 0 : count + 1;
  }
  return count;
}

}  // namespace szarena::agent
