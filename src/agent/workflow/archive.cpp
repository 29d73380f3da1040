// SPDX-License-Identifier: Apache-2.0
// Cells and islands.
#include "agent/workflow/archive.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/check.h"

namespace szarena::agent {
namespace {

bool Slower(const Elite& a, const Elite& b) { return a.score < b.score; }

}  // namespace

GridCell CellOf(const Elite& elite) {
  const auto bin = [](double value, double width) {
    return value > 0 ? static_cast<int>(std::floor(std::log(value) / std::log(width))) : 0;
  };
  return {bin(elite.score.speed, std::exp2(0.25)), bin(elite.ratio, 1.05)};
}

bool Archive::Insert(size_t island, Elite elite) {
  if (!(elite.score.speed > 0)) return false;
  auto& cells = islands_.at(island);
  const GridCell cell = CellOf(elite);
  const auto holder = cells.find(cell);
  if (holder != cells.end() && !Slower(holder->second, elite)) return false;
  cells.insert_or_assign(cell, std::move(elite));
  return true;
}

void Archive::Migrate() {
  std::vector<const Elite*> best;
  best.reserve(islands_.size());
  for (size_t i = 0; i < islands_.size(); ++i) best.push_back(empty(i) ? nullptr : &BestOf(i));
  std::vector<std::pair<size_t, Elite>> moves;
  for (size_t i = 0; i < best.size(); ++i) {
    if (best[i]) moves.emplace_back((i + 1) % islands_.size(), *best[i]);
  }
  for (auto& [island, elite] : moves) Insert(island, std::move(elite));
}

const Elite& Archive::Pick(size_t island, std::mt19937_64& random) const {
  const auto& cells = islands_.at(island);
  SZARENA_CHECK(!cells.empty(), "an island with members");
  // The same choice with every standard library: no std::uniform_int_distribution.
  return std::next(cells.begin(), static_cast<std::ptrdiff_t>(random() % cells.size()))->second;
}

const Elite& Archive::BestOf(size_t island) const {
  const auto& cells = islands_.at(island);
  SZARENA_CHECK(!cells.empty(), "an island with members");
  return std::max_element(cells.begin(), cells.end(),
                          [](const auto& a, const auto& b) { return Slower(a.second, b.second); })
      ->second;
}

const Elite* Archive::Best() const {
  const Elite* best = nullptr;
  for (size_t i = 0; i < islands_.size(); ++i) {
    if (empty(i)) continue;
    const Elite& here = BestOf(i);
    if (!best || Slower(*best, here)) best = &here;
  }
  return best;
}

}  // namespace szarena::agent
