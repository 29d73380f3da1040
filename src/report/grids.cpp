// SPDX-License-Identifier: Apache-2.0
// Fills the tables.
#include "report/grids.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text.h"

namespace szarena::report {
namespace {

std::string Capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::optional<double> MedianOf(const std::optional<judge::Figure>& figure) {
  return figure ? std::optional(figure->median) : std::nullopt;
}

Cell Number(const std::optional<double>& value) {
  return {Significant(value), value ? Tone::kPlain : Tone::kMuted};
}

Cell SpeedupCell(const std::optional<double>& value, bool slower) {
  if (!value) return {std::string(kNone), Tone::kMuted};
  return {Times(value), slower ? Tone::kBad : Tone::kPlain};
}

Cell ThroughputCell(const std::optional<judge::Figure>& figure) {
  if (!figure) return {std::string(kNone), Tone::kMuted};
  return {Significant(figure->median)};
}

// Directions that any step has a figure for; both where none has.
std::vector<size_t> ShownDirections(const SessionView& view) {
  std::vector<size_t> shown;
  for (size_t d = 0; d < view.direction_names.size(); ++d) {
    if (std::any_of(view.steps.begin(), view.steps.end(),
                    [&](const Step& step) { return step.throughput[d].has_value(); })) {
      shown.push_back(d);
    }
  }
  if (shown.empty()) {
    for (size_t d = 0; d < view.direction_names.size(); ++d) shown.push_back(d);
  }
  return shown;
}

std::string StepCaption(const SessionView& view) {
  std::string caption =
      fmt::format("{}: step-by-step {} throughput", view.title, LevelName(view.level));
  if (view.basis == judge::Basis::kEstimated)
    caption += " (estimated by the simulator's cost model)";
  if (view.basis == judge::Basis::kSynthetic) caption += " (synthetic: made up, not measured)";
  if (!view.measured_field.empty()) caption += fmt::format(". Field: {}", view.measured_field);
  // A simulator's threads are no part of a figure.
  if (view.threads > 0 && view.basis != judge::Basis::kEstimated)
    caption += fmt::format(", {} thread{}", view.threads, view.threads == 1 ? "" : "s");
  if (view.format == "free") caption += ". Own stream format: not comparable with strict results";
  if (view.bound_policy == "legacy") caption += ". Legacy bound policy";
  return caption + ".";
}

std::string PrintedInterval(const std::optional<stats::Interval>& interval) {
  if (!interval) return "";
  return fmt::format(" [{}, {}]", Significant(interval->low), Significant(interval->high));
}

}  // namespace

Grid SummaryGrid(const Model& model) {
  Grid grid;
  grid.id = "summary";
  grid.caption =
      "Trials of each cell that had at least one runnable, decodable, correct and ranked attempt, "
      "and "
      "the best ranked attempt's speed relative to the baseline (geometric mean of both "
      "directions, "
      "median over trials).";
  grid.columns = {{"Task"},
                  {"Target"},
                  {"Agent"},
                  {"Tier"},
                  {"Workflow"},
                  {"Trials", ColumnKind::kNumber},
                  {"Runnable", ColumnKind::kNumber},
                  {"Decodable", ColumnKind::kNumber},
                  {"Correct", ColumnKind::kNumber},
                  {"Ranked", ColumnKind::kNumber},
                  {"Best / baseline", ColumnKind::kNumber},
                  {"Basis"}};
  for (const CellView& cell : model.cells) {
    const auto count = [&](int64_t n) {
      return Cell{fmt::format("{}/{}", n, cell.trials),
                  n == cell.trials ? Tone::kGood : Tone::kPlain};
    };
    grid.rows.push_back(
        {{cell.key.task, Tone::kStrong},
         {cell.variant.empty() ? cell.key.target : cell.key.target + ", " + cell.variant},
         {cell.key.agent},
         {cell.key.tier == "none" ? std::string(kNone) : cell.key.tier},
         {cell.key.workflow},
         {std::to_string(cell.trials)},
         count(cell.runnable),
         count(cell.decodable),
         count(cell.correct),
         count(cell.ranked),
         {Times(cell.best_speedup) + PrintedInterval(cell.best_speedup_interval)},
         {cell.best_speedup ? std::string(judge::BasisName(cell.basis)) : std::string(kNone)}});
  }
  grid.footnote =
      "runnable: both calls returned; decodable: the bound held and both decoders read both "
      "streams; "
      "correct: and real compression happened; ranked: and measured without a cheat flag. "
      "Brackets: "
      "95% bootstrap interval over trials; there is none for a single trial.";
  if (std::any_of(model.cells.begin(), model.cells.end(),
                  [](const CellView& cell) { return !cell.variant.empty(); })) {
    grid.footnote +=
        " Cerebras: a row for each variant of the contract; a session that tried several is a "
        "trial of each.";
  }
  return grid;
}

Grid StepGrid(const SessionView& view) {
  Grid grid;
  grid.id = "steps-" + Slug(view.title);
  grid.caption = StepCaption(view);
  const std::vector<size_t> shown = ShownDirections(view);
  grid.columns = {{"Step", ColumnKind::kNumber}, {"Idea", ColumnKind::kLongText}};
  for (const size_t d : shown) {
    grid.columns.push_back(
        {Capitalised(view.direction_names[d]) + " GB/s" + judge::BasisNote(view.basis),
         ColumnKind::kNumber});
    grid.columns.push_back({"vs\u00a0prev.", ColumnKind::kNumber});
    grid.columns.push_back({"vs\u00a0base", ColumnKind::kNumber});
  }
  grid.columns.push_back({"Ratio", ColumnKind::kNumber});
  for (const char* title : {"Runnable", "Decodable", "Correct", "Ranked"})
    grid.columns.push_back({title, ColumnKind::kMark});
  for (const Step& step : view.steps) {
    std::string note;
    if (!step.failed_stage.empty()) {
      note = fmt::format("failed at '{}': {}", step.failed_stage, step.failed_detail);
    }
    std::vector<Cell> row = {{std::to_string(step.number), Tone::kStrong},
                             step.idea.empty() ? step.label : step.idea};
    row.back().note = std::move(note);
    for (const size_t d : shown) {
      row.push_back(ThroughputCell(step.throughput[d]));
      row.push_back(SpeedupCell(step.speedup_over_previous[d], step.slower[d]));
      const auto over_baseline = MedianOf(step.speedup_over_baseline[d]);
      row.push_back({Times(over_baseline), over_baseline ? Tone::kPlain : Tone::kMuted});
    }
    row.push_back(Number(step.ratio));
    for (const bool value : {step.runnable, step.decodable, step.correct, step.ranked}) {
      row.push_back(YesNo(value));
    }
    grid.rows.push_back(std::move(row));
  }
  const bool estimated = view.basis == judge::Basis::kEstimated;
  grid.footnote = "GB/s: 1e9 uncompressed bytes per second";
  grid.footnote += estimated ? " at the machine's clock by the cost model, median" : ", median";
  if (view.samples > 0) {
    grid.footnote += fmt::format(" of at least {} {} run{}", view.samples,
                                 estimated ? "simulated" : "timed", view.samples == 1 ? "" : "s");
  }
  grid.footnote += "; vs prev.: over the ranked step before; vs base: over our implementation, ";
  grid.footnote += estimated ? "on the same data; all of them estimated."
                             : "measured in turn with the candidate in the same run.";
  return grid;
}

Grid WaferGrid(const SessionView& view) {
  Grid grid;
  grid.id = "wafer-" + Slug(view.title);
  grid.caption = fmt::format("{}: what the programs did on the wafer", view.title);
  grid.columns = {{"Step", ColumnKind::kNumber},
                  {"Direction"},
                  {"Variant"},
                  {"Runnable", ColumnKind::kMark},
                  {"Correct", ColumnKind::kMark},
                  {"PEs active", ColumnKind::kNumber},
                  {"Busy", ColumnKind::kNumber},
                  {"Stalled", ColumnKind::kNumber},
                  {"Idle", ColumnKind::kNumber},
                  {"Vector ops / elem.", ColumnKind::kNumber},
                  {"Instr. / elem.", ColumnKind::kNumber},
                  {"Wavelets", ColumnKind::kNumber},
                  {"Bytes in", ColumnKind::kNumber},
                  {"Bytes out", ColumnKind::kNumber},
                  {"Cycles", ColumnKind::kNumber},
                  {"Load s", ColumnKind::kNumber},
                  {"Copy in ms", ColumnKind::kNumber},
                  {"Launch ms", ColumnKind::kNumber},
                  {"Copy out ms", ColumnKind::kNumber}};
  std::string error;
  for (const Step& step : view.steps) {
    if (!step.wafer) continue;
    const judge::WaferRecord& wafer = *step.wafer;
    error = wafer.model_error;
    for (size_t d = 0; d < wafer.directions.size(); ++d) {
      if (!wafer.directions[d]) continue;
      const judge::WaferActivity& did = *wafer.directions[d];
      const double all =
          static_cast<double>(did.busy_cycles + did.stalled_cycles + did.idle_cycles);
      const auto share = [&](uint64_t cycles) {
        return Cell(all > 0 ? fmt::format("{:.0f} %", 100 * static_cast<double>(cycles) / all)
                            : std::string(kNone));
      };
      const auto per_element = [&](uint64_t count) {
        return Cell(Significant(static_cast<double>(count) /
                                static_cast<double>(std::max<uint64_t>(did.elements, 1))));
      };
      grid.rows.push_back(
          {{std::to_string(step.number), Tone::kStrong},
           {view.direction_names[d]},
           {fmt::format("{}, {}, {} x {}", wafer.variant, wafer.arch, wafer.width, wafer.height)},
           YesNo(step.runnable),
           YesNo(step.correct),
           {std::to_string(did.pes_active)},
           share(did.busy_cycles),
           share(did.stalled_cycles),
           share(did.idle_cycles),
           per_element(did.vector_arithmetic),
           per_element(did.scalar_instructions),
           {std::to_string(did.wavelets)},
           {std::to_string(did.bytes_in)},
           {std::to_string(did.bytes_out)},
           {std::to_string(did.launch_cycles)},
           {Significant(did.load_seconds)},
           {Significant(did.copy_in_seconds * 1e3)},
           {Significant(did.launch_seconds * 1e3)},
           {Significant(did.copy_out_seconds * 1e3)}});
    }
  }
  grid.footnote =
      "Busy, stalled, idle: main threads of all PEs over the launch; PEs active: with at least a "
      "tenth of the work of the busiest. Load: wall time of "
      "the simulator. Cycles and the times from them are " +
      (error.empty() ? std::string("estimated") : error) + ".";
  return grid;
}

Grid EnvironmentGrid(const Model& model) {
  Grid grid;
  grid.id = "environment";
  grid.caption = "Environment of the measurements.";
  grid.columns = {{"What"}, {"Value"}};
  const auto add = [&](const std::string& name, const std::string& value) {
    grid.rows.push_back({Cell(name), Cell(value)});
  };
  for (const data::JsonMember& member : model.campaign.environment.members()) {
    const std::string* text = member.value.string();
    add(member.key, text ? *text : member.value.Dump());
  }
  add("campaign", fmt::format("{} ({})", model.campaign.name, model.campaign.created_at));
  add("report", fmt::format("szarena {}, {}", model.version, model.generated_at));
  return grid;
}

Grid LongGrid(const Model& model) {
  Grid grid;
  grid.id = "long";
  grid.columns = {{"task"},
                  {"target"},
                  {"source"},
                  {"tier"},
                  {"agent"},
                  {"workflow"},
                  {"trial"},
                  {"step"},
                  {"label"},
                  {"idea"},
                  {"stage"},
                  {"runnable"},
                  {"decodable"},
                  {"correct"},
                  {"ranked"},
                  {"ratio"},
                  {"max_error_over_bound"},
                  {"direction"},
                  {"level"},
                  {"basis"},
                  {"median_gbs"},
                  {"q1_gbs"},
                  {"q3_gbs"},
                  {"samples"},
                  {"speedup_over_previous"},
                  {"speedup_over_baseline"},
                  {"floor_fraction"},
                  {"variant"},
                  {"arch"},
                  {"grid"},
                  {"pes_active"},
                  {"launch_cycles"}};
  const auto number = [](const std::optional<double>& value) {
    return Cell{value ? fmt::format("{}", *value) : ""};
  };
  for (const SessionView& view : model.sessions) {
    const store::SessionKey& key = view.session.key;
    for (const Step& step : view.steps) {
      for (size_t d = 0; d < view.direction_names.size(); ++d) {
        std::vector<Cell> row;
        for (const std::string& text :
             {key.task, key.target, key.source, key.tier, key.agent, key.workflow,
              std::to_string(key.trial), std::to_string(step.number), step.label, step.idea,
              step.stage, std::to_string(step.runnable), std::to_string(step.decodable),
              std::to_string(step.correct), std::to_string(step.ranked)}) {
          row.emplace_back(text);
        }
        row.push_back(number(step.ratio));
        row.push_back(number(step.max_error_over_bound));
        row.emplace_back(view.direction_names[d]);
        row.push_back({std::string(LevelName(view.level))});
        row.push_back({std::string(judge::BasisName(view.basis))});
        const auto& figure = step.throughput[d];
        row.push_back(number(MedianOf(figure)));
        row.push_back(number(figure ? std::optional(figure->q1) : std::nullopt));
        row.push_back(number(figure ? std::optional(figure->q3) : std::nullopt));
        row.push_back({figure ? std::to_string(figure->samples) : ""});
        row.push_back(number(step.speedup_over_previous[d]));
        row.push_back(number(MedianOf(step.speedup_over_baseline[d])));
        row.push_back(number(step.floor_fraction[d]));
        const auto activity = step.wafer ? step.wafer->directions[d] : std::nullopt;
        row.push_back({step.wafer ? step.wafer->variant : ""});
        row.push_back({step.wafer ? step.wafer->arch : ""});
        row.push_back(
            {step.wafer ? fmt::format("{}x{}", step.wafer->width, step.wafer->height) : ""});
        row.push_back({activity ? std::to_string(activity->pes_active) : ""});
        row.push_back({activity ? std::to_string(activity->launch_cycles) : ""});
        grid.rows.push_back(std::move(row));
      }
    }
  }
  return grid;
}

}  // namespace szarena::report
