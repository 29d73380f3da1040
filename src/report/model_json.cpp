// SPDX-License-Identifier: Apache-2.0
// The aggregates as JSON: what report.json holds and the page embeds.
#include "report/model.h"

namespace szarena::report {
namespace {

using data::Json;

Json FigureJson(const std::optional<judge::Figure>& figure) {
  if (!figure) return nullptr;
  return Json::Of({{"median", figure->median},
                   {"q1", figure->q1},
                   {"q3", figure->q3},
                   {"samples", figure->samples}});
}

Json IntervalJson(const std::optional<stats::Interval>& interval) {
  if (!interval) return nullptr;
  return Json().Append(interval->low).Append(interval->high);
}

Json DirectionsJson(const SessionView& view, const Step& step) {
  Json directions = Json::MakeObject();
  for (size_t d = 0; d < view.direction_names.size(); ++d) {
    if (!step.throughput[d]) continue;
    directions.Set(view.direction_names[d],
                   Json::Of({{"gbs", FigureJson(step.throughput[d])},
                             {"speedup_over_previous", step.speedup_over_previous[d]},
                             {"speedup_over_baseline", FigureJson(step.speedup_over_baseline[d])},
                             {"floor_fraction", step.floor_fraction[d]}}));
  }
  return directions;
}

Json StepJson(const SessionView& view, const Step& step) {
  Json flags = Json::MakeArray();
  for (const judge::Flag& flag : step.flags) {
    flags.Append(Json::Of({{"name", flag.name},
                           {"cheat", flag.kind == judge::FlagKind::kCheat},
                           {"detail", flag.detail}}));
  }
  Json failed;
  if (!step.failed_stage.empty()) {
    failed = Json::Of({{"stage", step.failed_stage}, {"detail", step.failed_detail}});
  }
  return Json::Of({{"step", step.number},
                   {"label", step.label},
                   {"idea", step.idea},
                   {"stage", step.stage.empty() ? Json() : Json(step.stage)},
                   {"failed", std::move(failed)},
                   {"runnable", step.runnable},
                   {"decodable", step.decodable},
                   {"correct", step.correct},
                   {"ranked", step.ranked},
                   {"ratio", step.ratio},
                   {"max_error_over_bound", step.max_error_over_bound},
                   {"psnr", step.psnr},
                   {"throughput", DirectionsJson(view, step)},
                   {"wafer", step.wafer ? judge::WaferRecordToJson(*step.wafer) : Json()},
                   {"flags", std::move(flags)}});
}

Json SessionJson(const SessionView& view) {
  const store::Session& session = view.session;
  Json steps = Json::MakeArray();
  for (const Step& step : view.steps) steps.Append(StepJson(view, step));
  Json baseline = Json::MakeObject();
  Json floor = Json::MakeObject();
  for (size_t d = 0; d < view.direction_names.size(); ++d) {
    baseline.Set(view.direction_names[d], FigureJson(view.baseline[d]));
    floor.Set(view.direction_names[d], view.floor_gbs[d]);
  }
  return Json::Of({{"title", view.title},
                   {"task", session.key.task},
                   {"target", session.key.target},
                   {"variant", view.variant.empty() ? Json() : Json(view.variant)},
                   {"source", session.key.source},
                   {"tier", session.key.tier},
                   {"agent", session.key.agent},
                   {"workflow", session.key.workflow},
                   {"trial", session.key.trial},
                   {"identity", session.agent},
                   {"prompt_sha256", session.prompt_sha256},
                   {"transcript", session.transcript},
                   {"started_at", session.started_at},
                   {"ended_at", session.ended_at.empty() ? Json() : Json(session.ended_at)},
                   {"stop", session.stop ? Json(store::StopReasonName(*session.stop)) : Json()},
                   {"stop_detail", session.stop_detail},
                   {"wall_seconds", session.usage.wall_seconds},
                   {"model_calls", session.usage.model_calls},
                   {"tokens_in", session.usage.tokens_in},
                   {"tokens_cached", session.usage.tokens_cached},
                   {"tokens_out", session.usage.tokens_out},
                   {"tokens_reasoning", session.usage.tokens_reasoning},
                   {"cost_usd", session.usage.cost_usd},
                   {"level", LevelName(view.level)},
                   {"basis", judge::BasisName(view.basis)},
                   {"format", view.format},
                   {"bound_policy", view.bound_policy},
                   {"measured_field", view.measured_field},
                   {"threads", view.threads},
                   {"baseline_gbs", std::move(baseline)},
                   {"floor_gbs", std::move(floor)},
                   {"best_step", view.best ? Json(view.steps[*view.best].number) : Json()},
                   {"steps", std::move(steps)}});
}

Json CellJson(const CellView& cell) {
  return Json::Of({{"task", cell.key.task},
                   {"target", cell.key.target},
                   {"variant", cell.variant.empty() ? Json() : Json(cell.variant)},
                   {"source", cell.key.source},
                   {"tier", cell.key.tier},
                   {"agent", cell.key.agent},
                   {"workflow", cell.key.workflow},
                   {"trials", cell.trials},
                   {"runnable", cell.runnable},
                   {"decodable", cell.decodable},
                   {"correct", cell.correct},
                   {"ranked", cell.ranked},
                   {"ranked_interval_95", IntervalJson(cell.ranked_interval)},
                   {"basis", judge::BasisName(cell.basis)},
                   {"best_speedup_over_baseline", cell.best_speedup},
                   {"best_speedup_interval_95", IntervalJson(cell.best_speedup_interval)}});
}

}  // namespace

Json ModelToJson(const Model& model) {
  Json sessions = Json::MakeArray();
  for (const SessionView& view : model.sessions) sessions.Append(SessionJson(view));
  Json cells = Json::MakeArray();
  for (const CellView& cell : model.cells) cells.Append(CellJson(cell));
  Json warnings = Json::MakeArray();
  for (const std::string& warning : model.warnings) warnings.Append(warning);
  return Json::Of({{"format", "szarena-report"},
                   {"version", 1},
                   {"szarena", model.version},
                   {"generated_at", model.generated_at},
                   {"campaign", Json::Of({{"name", model.campaign.name},
                                          {"created_at", model.campaign.created_at},
                                          {"complete", model.campaign.complete},
                                          {"environment", model.campaign.environment}})},
                   {"warnings", std::move(warnings)},
                   {"cells", std::move(cells)},
                   {"sessions", std::move(sessions)}});
}

}  // namespace szarena::report
