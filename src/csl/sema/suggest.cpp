// SPDX-License-Identifier: Apache-2.0
// Edit distance for misspelt names.
#include "csl/sema/suggest.h"

#include <algorithm>
#include <numeric>

namespace szarena::csl {
namespace {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 64;  // longer names are not compared
  if (name.size() > kLongest) return "";
  const std::string* best = nullptr;
  size_t best_distance = name.size() < 4 ? 2 : name.size() / 3 + 2;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest || candidate == name) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  return best == nullptr ? "" : ", did you mean '" + *best + "'?";
}

}  // namespace szarena::csl
