// SPDX-License-Identifier: Apache-2.0
// TaskSpec: what the judge takes from a task's file, in the terms of the contract.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "szarena_candidate.h"
#include "task/task.h"

namespace szarena::judge {

// Which definition in szarena_candidate.h or docs/formats/ a result is compared with.
enum class TaskKind : uint8_t {
  kSzp,
  kSzx,
  kQuantize,
  kLorenzo,
  kHistogram,
  kBitpack,
  kScan,
  kLeadingBytes
};

// A field that is shown, with one bound and one mode.
struct FieldCase {
  std::string name;   // "levitus-temp rel:1e-3 plain"
  std::string field;  // a field spec (field/spec.h)
  task::Bound bound;
  uint32_t mode = SZARENA_MODE_NONE;
};

struct TaskSpec {
  std::string name;
  TaskKind kind = TaskKind::kSzp;
  bool compressor = true;    // compress and decompress, else run
  bool has_backward = true;  // decompress, or inverse
  std::vector<uint32_t> modes = {
      SZARENA_MODE_NONE};  // the first is timed and ranked; hidden cases use all
  std::vector<uint32_t> dtypes = {SZARENA_F32};  // hidden cases use all
  task::Input input = task::Input::kField;
  uint32_t block_size = 0;
  uint32_t pad_blocks = 0;
  uint32_t bins = 0;
  task::RatioRule ratio_rule;

  std::vector<FieldCase> public_fields;  // for feedback and the reported ratio
  std::vector<FieldCase>
      timed_fields;  // what is timed, one after another in one array, all with one relative bound
  uint64_t timed_elements = 4u << 20;
  uint64_t timed_elements_on_device = 32u << 20;
};

// From this many elements on a field counts for the ratio rule.
inline constexpr uint64_t kRatioFromElements = 4096;

// kInvalidArgument where the task's name is none that the judge has a definition for.
Result<TaskSpec> SpecFromTask(const task::Task& task);

}  // namespace szarena::judge
