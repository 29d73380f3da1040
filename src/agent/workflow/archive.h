// SPDX-License-Identifier: Apache-2.0
// The population of the evolve workflow: islands, each a MAP-Elites grid over speed and ratio.
#pragma once

#include <compare>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "agent/answer_files.h"
#include "agent/score.h"

namespace szarena::agent {

struct Elite {
  FileTexts files;
  Score score;
  double ratio = 0;
  int64_t attempt = 0;
  std::string feedback;  // the judge's words
};

// A quarter of a doubling of speed, 5% of ratio.
struct GridCell {
  int speed = 0;
  int ratio = 0;
  std::strong_ordering operator<=>(const GridCell&) const = default;
};
GridCell CellOf(const Elite& elite);

class Archive {
 public:
  explicit Archive(size_t islands) : islands_(islands) {}

  // Keeps it where it is ranked and its cell is empty or held by a slower one. Whether it was kept.
  bool Insert(size_t island, Elite elite);
  // The best of each island becomes a member of the next one.
  void Migrate();

  bool empty(size_t island) const { return islands_[island].empty(); }
  size_t size(size_t island) const { return islands_[island].size(); }
  // Any member, each cell alike. The island must not be empty.
  const Elite& Pick(size_t island, std::mt19937_64& random) const;
  const Elite& BestOf(size_t island) const;
  // Of all islands; nullptr where all are empty.
  const Elite* Best() const;

 private:
  std::vector<std::map<GridCell, Elite>> islands_;
};

}  // namespace szarena::agent
