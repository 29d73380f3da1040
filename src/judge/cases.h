// SPDX-License-Identifier: Apache-2.0
// The data that a candidate is judged on: public fields, and hidden ones drawn from a secret seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "judge/reference.h"

namespace szarena::judge {

struct Case {
  std::string
      name;  // public: the field's name; hidden: only the kind ("hidden: NaN and infinities")
  bool hidden = false;
  bool counts_for_ratio = false;  // large enough for the ratio rule
  bool whole = false;             // its size is what it is for: not to be cut where there is room
  szarena_problem problem = {};
  Split split;
  Bytes input;
};

// Seeds that nobody can foresee: from the operating system.
uint64_t DrawSecretSeed();

// The public fields of a task.
Result<std::vector<Case>> PublicCases(const TaskSpec& task, int threads);

// Other shapes, seeds and kinds: odd lengths, around a block's border, 1 and 0 elements, constant,
// zero, NaN and infinities, denormals, huge range, values at a bound and beside it, integers of
// every width, a count beyond 16 bits. The same seed gives the same cases.
Result<std::vector<Case>> HiddenCases(const TaskSpec& task, uint64_t seed, int threads);

// The data that are timed, and varied copies of them: every element differs from every other
// variation's.
class TimedData {
 public:
  // The task's timed fields one after another, each scaled to a range of 1 so that one bound serves
  // all, repeated or cut to timed_elements elements.
  static Result<TimedData> Load(const TaskSpec& task, int threads);
  const szarena_problem& problem() const { return problem_; }
  const std::string& name() const { return name_; }
  // Writes the input of variation `seed` (InputBytes bytes).
  void Fill(uint64_t seed, std::span<std::byte> input) const;

 private:
  bool integers_ = false;
  szarena_problem problem_ = {};
  std::string name_;
  Bytes base_;  // elements of the task's input
};

}  // namespace szarena::judge
