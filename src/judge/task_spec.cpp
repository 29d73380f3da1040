// SPDX-License-Identifier: Apache-2.0
#include "judge/task_spec.h"

#include <array>

namespace szarena::judge {
namespace {

struct Row {
  const char* name;
  TaskKind kind;
};
constexpr std::array<Row, 8> kRows = {{{"szp", TaskKind::kSzp},
                                       {"szx", TaskKind::kSzx},
                                       {"quantize", TaskKind::kQuantize},
                                       {"lorenzo", TaskKind::kLorenzo},
                                       {"histogram", TaskKind::kHistogram},
                                       {"bitpack", TaskKind::kBitpack},
                                       {"scan", TaskKind::kScan},
                                       {"leading-bytes", TaskKind::kLeadingBytes}}};

// The bound of timed data: 1e-3 of the range where the field has it, else its first relative one.
FieldCase TimedCase(const task::PublicField& field, uint32_t mode) {
  FieldCase timed{field.name, field.spec, field.bounds.front(), mode};
  for (const task::Bound& bound : field.bounds) {
    if (bound.relative && bound.value == 1e-3) timed.bound = bound;
  }
  return timed;
}

}  // namespace

Result<TaskSpec> SpecFromTask(const task::Task& task) {
  TaskSpec spec;
  bool known = false;
  for (const Row& row : kRows) {
    if (task.name != row.name) continue;
    spec.kind = row.kind;
    known = true;
  }
  if (!known) {
    return Fail(ErrorCode::kInvalidArgument,
                "task '" + task.name + "': the judge has no definition of a right result for it");
  }
  spec.name = task.name;
  spec.compressor = task.kind == task::Kind::kCompressor;
  spec.has_backward = spec.compressor || task.has_inverse;
  if (!task.modes.empty()) {
    spec.modes.clear();
    for (const task::Mode mode : task.modes) spec.modes.push_back(static_cast<uint32_t>(mode));
  }
  if (!task.dtypes.empty()) {
    spec.dtypes.clear();
    for (const std::string& dtype : task.dtypes)
      spec.dtypes.push_back(dtype == "f64" ? SZARENA_F64 : SZARENA_F32);
  }
  spec.input = task.input;
  spec.block_size = task.block_size;
  spec.pad_blocks = task.pad_blocks;
  spec.bins = task.bins;
  spec.ratio_rule = task.ratio_rule;
  for (const task::PublicField& field : task.fields) {
    if (field.bounds.empty()) continue;
    // Every bound in the ranked mode, the other modes at the first bound.
    for (size_t b = 0; b < field.bounds.size(); ++b) {
      for (size_t m = 0; m < spec.modes.size(); ++m) {
        if (b > 0 && m > 0) continue;
        std::string name = field.name + " " + field.bounds[b].ToString();
        if (spec.modes.size() > 1) name += " " + std::string(task::ModeName(task.modes[m]));
        spec.public_fields.push_back({std::move(name), field.spec, field.bounds[b], spec.modes[m]});
      }
    }
    if (field.timed) spec.timed_fields.push_back(TimedCase(field, spec.modes.front()));
  }
  return spec;
}

}  // namespace szarena::judge
