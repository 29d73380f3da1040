// SPDX-License-Identifier: Apache-2.0
#include "judge/task_spec.h"

#include <array>

namespace szarena::judge {
namespace {

struct Row {
  const char* name;
  TaskKind kind;
  bool compressor;
  bool has_backward;
  uint32_t mode;
  uint32_t block_size;
  uint32_t pad_blocks;
  uint32_t bins;
};

// One line a task; the definitions are in szarena_candidate.h and docs/formats/.
constexpr std::array<Row, 8> kRows = {{
    {"szp", TaskKind::kSzp, true, true, SZARENA_MODE_OUTLIER, 32, 1024, 0},
    {"szx", TaskKind::kSzx, true, true, SZARENA_MODE_RANDOM_ACCESS, 128, 0, 0},
    {"quantize", TaskKind::kQuantize, false, false, SZARENA_MODE_NONE, 0, 0, 0},
    {"lorenzo", TaskKind::kLorenzo, false, true, SZARENA_MODE_NONE, 0, 0, 0},
    {"histogram", TaskKind::kHistogram, false, false, SZARENA_MODE_NONE, 0, 0, 1024},
    {"bitpack", TaskKind::kBitpack, false, true, SZARENA_MODE_FIXED, 32, 1024, 0},
    {"scan", TaskKind::kScan, false, false, SZARENA_MODE_NONE, 0, 0, 0},
    {"leading-bytes", TaskKind::kLeadingBytes, false, false, SZARENA_MODE_NONE, 128, 0, 0},
}};

}  // namespace

std::vector<std::string> TaskNames() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

Result<TaskSpec> FindTaskSpec(std::string_view name) {
  for (const Row& row : kRows) {
    if (name != row.name) continue;
    TaskSpec spec;
    spec.name = row.name;
    spec.kind = row.kind;
    spec.compressor = row.compressor;
    spec.has_backward = row.has_backward;
    spec.mode = row.mode;
    spec.block_size = row.block_size;
    spec.pad_blocks = row.pad_blocks;
    spec.bins = row.bins;
    // Public fields that need no package; tasks/ names real ones.
    spec.public_fields = {{"smooth 64x64x64 at 1e-3", "gen:smooth:seed=1:dims=64x64x64", 1e-3},
                          {"turbulence 64x64x64 at 1e-2", "gen:turbulence:seed=2:dims=64x64x64", 1e-2},
                          {"particles 200000 at 1e-4", "gen:particles:seed=3:dims=200000", 1e-4}};
    spec.timed = {"turbulence 128x128x256 at 1e-3", "gen:turbulence:seed=4:dims=128x128x256", 1e-3};
    return spec;
  }
  std::string known;
  for (const Row& row : kRows) known += (known.empty() ? "" : ", ") + std::string(row.name);
  return Fail(ErrorCode::kNotFound, "task '" + std::string(name) + "' does not exist; there are " + known);
}

}  // namespace szarena::judge
