// SPDX-License-Identifier: Apache-2.0
// Mann and Whitney 1947.
#include "stats/rank_test.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace szarena::stats {
namespace {

struct Ranks {
  double first_sum = 0;  // mid-ranks of the first sample
  double tie_term = 0;   // sum of t^3 - t over groups of equal values
};

Ranks RankTogether(std::span<const double> first, std::span<const double> second) {
  std::vector<std::pair<double, bool>> all;
  for (const double value : first) all.emplace_back(value, true);
  for (const double value : second) all.emplace_back(value, false);
  std::sort(all.begin(), all.end());
  Ranks ranks;
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin;
    while (end < all.size() && all[end].first == all[begin].first) ++end;
    const double mid_rank = (static_cast<double>(begin) + 1 + static_cast<double>(end)) / 2;
    for (size_t i = begin; i < end; ++i) {
      if (all[i].second) ranks.first_sum += mid_rank;
    }
    const auto ties = static_cast<double>(end - begin);
    ranks.tie_term += ties * ties * ties - ties;
    begin = end;
  }
  return ranks;
}

// P(U >= u) without ties: the number of ways to place n1 among n2 with u inversions, by dynamic
// programming over the Gaussian binomial coefficient.
double ExactUpperTail(size_t n1, size_t n2, size_t u) {
  std::vector<double> ways(n1 * n2 + 1, 0.0);
  ways[0] = 1;
  for (size_t i = 1; i <= n1; ++i) {  // multiply by (1 - q^(n2+i)) / (1 - q^i)
    for (size_t k = ways.size(); k-- > n2 + i;) ways[k] -= ways[k - n2 - i];
    for (size_t k = i; k < ways.size(); ++k) ways[k] += ways[k - i];
  }
  double total = 0;
  double tail = 0;
  for (size_t k = 0; k < ways.size(); ++k) {
    total += ways[k];
    if (k >= u) tail += ways[k];
  }
  return tail / total;
}

}  // namespace

std::optional<MannWhitneyResult> MannWhitney(std::span<const double> first,
                                             std::span<const double> second) {
  if (first.empty() || second.empty()) return std::nullopt;
  const Ranks ranks = RankTogether(first, second);
  const auto n1 = static_cast<double>(first.size());
  const auto n2 = static_cast<double>(second.size());
  MannWhitneyResult result;
  result.u = ranks.first_sum - n1 * (n1 + 1) / 2;
  const double larger_u = std::max(result.u, n1 * n2 - result.u);
  result.exact = ranks.tie_term == 0 && std::min(first.size(), second.size()) <= 8 &&
                 std::max(first.size(), second.size()) <= 200;
  if (result.exact) {
    const double tail = ExactUpperTail(first.size(), second.size(), static_cast<size_t>(larger_u));
    result.p_value = std::min(1.0, 2 * tail);
    return result;
  }
  const double n = n1 + n2;
  const double variance = n1 * n2 / 12 * ((n + 1) - ranks.tie_term / (n * (n - 1)));
  if (variance > 0) {
    const double z = (larger_u - n1 * n2 / 2 - 0.5) / std::sqrt(variance);
    result.p_value = std::min(1.0, std::erfc(z / std::sqrt(2.0)));
  }
  return result;
}

}  // namespace szarena::stats
