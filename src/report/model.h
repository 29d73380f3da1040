// SPDX-License-Identifier: Apache-2.0
// The aggregates of one campaign, from which every page, table and figure is made.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/json.h"
#include "judge/verdict.h"
#include "stats/bootstrap.h"
#include "store/store.h"

namespace szarena::report {

// kernel, device and host figures are never mixed: a session shows one level, the same in every
// step.
enum class Level : uint8_t { kKernel, kDevice, kHost };
std::string_view LevelName(Level level);

template <typename T>
using PerDirection = std::array<T, judge::kDirectionCount>;

// One attempt as a step of its session.
struct Step {
  int64_t number = 0;
  std::string label;
  std::string idea;
  std::string stage;         // furthest reached; empty where none
  std::string failed_stage;  // empty where none failed
  std::string failed_detail;
  bool runnable = false;
  bool decodable = false;
  bool correct = false;
  bool ranked = false;
  std::optional<double> ratio;
  std::optional<double> max_error_over_bound;
  std::optional<double> psnr;
  PerDirection<std::optional<judge::Figure>> throughput;      // GB/s at the session's level
  PerDirection<std::optional<double>> speedup_over_previous;  // over the ranked step before
  PerDirection<bool> slower{};  // than that step, with quartile ranges that do not touch
  PerDirection<std::optional<judge::Figure>> speedup_over_baseline;
  PerDirection<std::optional<double>> floor_fraction;
  std::vector<judge::Flag> flags;
  std::optional<judge::WaferRecord> wafer;  // Cerebras: what the program did
};

// A session, or what of it is one race: attempts at different variants of the wafer's contract are
// never in one figure or table, so each variant has a view of its own.
struct SessionView {
  store::Session session;
  std::string variant;                        // Cerebras: "resident"; else empty
  std::string title;                          // "szp · cpu · ladder · trial 1"
  PerDirection<std::string> direction_names;  // "compress", "decompress"
  Level level = Level::kHost;
  judge::Basis basis = judge::Basis::kMeasured;
  std::string format;
  std::string bound_policy;
  std::string measured_field;
  int threads = 0;
  int samples = 0;  // least number of timed runs behind a figure
  PerDirection<std::optional<judge::Figure>>
      baseline;  // median over the steps of its median and quartiles
  PerDirection<std::optional<double>>
      floor_gbs;  // speed of a plain copy of the bytes that must move
  std::vector<Step> steps;
  std::optional<size_t> best;  // index of the fastest ranked step: relative to the baseline where
                               // every ranked step has that, geometric mean over directions

  const Step* best_step() const { return best ? &steps[*best] : nullptr; }
};

// Views that differ in their trial only.
struct CellView {
  store::SessionKey key;  // trial: number of trials
  std::string variant;    // as in SessionView
  judge::Basis basis = judge::Basis::kMeasured;
  int64_t trials = 0;
  int64_t runnable = 0;  // trials with at least one such attempt
  int64_t decodable = 0;
  int64_t correct = 0;
  int64_t ranked = 0;
  std::optional<stats::Interval> ranked_interval;  // Wilson, 95%
  std::optional<double>
      best_speedup;  // median over trials: geometric mean over directions, over the baseline
  std::optional<stats::Interval> best_speedup_interval;  // bootstrap, 95%; from 2 trials on
};

struct Model {
  store::Campaign campaign;
  std::string store_path;
  std::string generated_at;
  std::string version;  // of szarena
  std::vector<SessionView> sessions;
  std::vector<CellView> cells;
  std::vector<std::string> warnings;  // what a reader must know before quoting a figure
};

// Sessions behind the views.
size_t SessionCount(const Model& model);

// Reads a campaign (the latest one where `name` is empty).
Result<Model> BuildModel(store::Store& store, const std::string& name, const std::string& version);

// Documented in docs/report.md.
data::Json ModelToJson(const Model& model);

}  // namespace szarena::report
