// SPDX-License-Identifier: Apache-2.0
// TaskSpec: what the judge must know of a task. The prose, prompts and sources are elsewhere (tasks/).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "szarena_candidate.h"

namespace szarena::judge {

enum class TaskKind : uint8_t { kSzp, kSzx, kQuantize, kLorenzo, kHistogram, kBitpack, kScan, kLeadingBytes };

// A field that is shown, with its bound relative to the range of its finite values.
struct FieldCase {
  std::string name;   // "levitus-temp 1e-3"
  std::string field;  // a field spec (field/spec.h)
  double relative_bound = 1e-3;
};

struct TaskSpec {
  std::string name;
  TaskKind kind = TaskKind::kSzp;
  bool compressor = true;    // compress and decompress, else run
  bool has_backward = true;  // decompress, or inverse
  uint32_t mode = SZARENA_MODE_NONE;
  uint32_t block_size = 0;
  uint32_t pad_blocks = 0;
  uint32_t bins = 0;
  std::vector<uint32_t> dtypes = {SZARENA_F32};  // every one occurs in hidden cases

  // Ratio rule: at least ratio_share x our encoder's ratio on every field of at least kRatioFromElements elements, and at most
  // (1 + raw_margin) x its number of raw blocks, plus one.
  double ratio_share = 0.98;
  double raw_margin = 0.02;

  std::vector<FieldCase> public_fields;  // for feedback and the reported ratio
  FieldCase timed;                       // what is timed: varied for every run
  uint64_t timed_elements = 4u << 20;    // the field is repeated, varied, or cut to so many
};
inline constexpr uint64_t kRatioFromElements = 4096;

// The names of all tasks, compressors first.
std::vector<std::string> TaskNames();

// The built-in specification; kNotFound names what exists.
Result<TaskSpec> FindTaskSpec(std::string_view name);

}  // namespace szarena::judge
