// SPDX-License-Identifier: Apache-2.0
// Builds the aggregates.
#include "report/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/utc.h"
#include "stats/proportion.h"
#include "stats/summary.h"

namespace szarena::report {
namespace {

const std::optional<judge::Figure>& AtLevel(const judge::Throughput& throughput, Level level) {
  switch (level) {
    case Level::kKernel:
      return throughput.kernel;
    case Level::kDevice:
      return throughput.device;
    case Level::kHost:
      return throughput.host;
  }
  return throughput.host;
}

// The level that all programs of a target have and that covers everything the call does:
// device where there is one, else host, else kernel. On the wafer kernel: its host link is a model,
// the same for all programs.
Level ChooseLevel(const std::vector<store::Attempt>& attempts) {
  for (const store::Attempt& attempt : attempts) {
    if (attempt.verdict.wafer) return Level::kKernel;
  }
  for (const Level level : {Level::kDevice, Level::kHost, Level::kKernel}) {
    for (const store::Attempt& attempt : attempts) {
      for (const auto& direction : attempt.verdict.directions) {
        if (direction.candidate && AtLevel(*direction.candidate, level)) return level;
      }
    }
  }
  return Level::kHost;
}

Step MakeStep(const store::Attempt& attempt, Level level) {
  const judge::Verdict& verdict = attempt.verdict;
  Step step;
  step.number = attempt.number;
  step.label = attempt.label;
  step.idea = attempt.idea;
  if (const auto reached = verdict.Reached()) step.stage = judge::StageName(*reached);
  if (const auto failed = verdict.Failed()) {
    step.failed_stage = judge::StageName(*failed);
    step.failed_detail = verdict.at(*failed).detail;
  }
  step.runnable = verdict.runnable();
  step.decodable = verdict.decodable();
  step.correct = verdict.correct();
  step.ranked = verdict.ranked();
  step.ratio = verdict.ratio;
  step.max_error_over_bound = verdict.max_error_over_bound;
  step.psnr = verdict.psnr;
  step.flags = verdict.flags;
  step.wafer = verdict.wafer;
  for (size_t d = 0; d < verdict.directions.size(); ++d) {
    const auto& direction = verdict.directions[d];
    if (direction.candidate) step.throughput[d] = AtLevel(*direction.candidate, level);
    step.speedup_over_baseline[d] = direction.speedup;
    step.floor_fraction[d] = direction.floor_fraction;
  }
  return step;
}

void CompareWithPrevious(std::vector<Step>& steps) {
  const Step* previous = nullptr;
  for (Step& step : steps) {
    if (!step.ranked) continue;
    for (size_t d = 0; previous && d < step.throughput.size(); ++d) {
      const auto& before = previous->throughput[d];
      const auto& now = step.throughput[d];
      if (before && now && before->median > 0) {
        step.speedup_over_previous[d] = now->median / before->median;
        step.slower[d] = now->q3 < before->q1;
      }
    }
    previous = &step;
  }
}

// Geometric mean of the step's speeds over its directions; nothing where it is not ranked.
std::optional<double> Speed(const Step& step) {
  if (!step.ranked) return std::nullopt;
  std::vector<double> speeds;
  for (const auto& figure : step.throughput) {
    if (figure) speeds.push_back(figure->median);
  }
  return stats::GeometricMean(speeds);
}

std::optional<double> SpeedOverBaseline(const Step& step) {
  std::vector<double> speedups;
  for (const auto& figure : step.speedup_over_baseline) {
    if (figure) speedups.push_back(figure->median);
  }
  return stats::GeometricMean(speedups);
}

// Relative speeds do not move with the machine's load; they decide where every ranked step has
// them.
std::optional<size_t> BestStep(const std::vector<Step>& steps) {
  const bool relative = std::all_of(steps.begin(), steps.end(), [](const Step& step) {
    return !step.ranked || SpeedOverBaseline(step).has_value();
  });
  std::optional<size_t> best;
  double best_speed = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].ranked) continue;
    const auto speed = relative ? SpeedOverBaseline(steps[i]) : Speed(steps[i]);
    if (speed && *speed > best_speed) {
      best = i;
      best_speed = *speed;
    }
  }
  return best;
}

// The baseline was measured beside every attempt: the median of those medians and quartiles.
std::optional<judge::Figure> SessionBaseline(const std::vector<store::Attempt>& attempts, size_t d,
                                             Level level) {
  std::vector<double> medians;
  std::vector<double> q1s;
  std::vector<double> q3s;
  int samples = 0;
  for (const store::Attempt& attempt : attempts) {
    const auto& baseline = attempt.verdict.directions[d].baseline;
    if (!baseline || !AtLevel(*baseline, level)) continue;
    const judge::Figure& figure = *AtLevel(*baseline, level);
    medians.push_back(figure.median);
    q1s.push_back(figure.q1);
    q3s.push_back(figure.q3);
    samples += figure.samples;
  }
  if (medians.empty()) return std::nullopt;
  return judge::Figure{*stats::Median(medians), *stats::Median(q1s), *stats::Median(q3s), samples};
}

// floor_fraction = copy time / own time, so a copy's speed is the own speed / floor_fraction.
std::optional<double> SessionFloor(const std::vector<Step>& steps, size_t d) {
  std::vector<double> speeds;
  for (const Step& step : steps) {
    const auto& fraction = step.floor_fraction[d];
    if (step.correct && step.throughput[d] && fraction && *fraction > 0) {
      speeds.push_back(step.throughput[d]->median / *fraction);
    }
  }
  return stats::Median(speeds);
}

std::string Title(const store::SessionKey& key, const std::string& variant) {
  std::string title = fmt::format("{} · {}", key.task, key.target);
  if (!variant.empty()) title += " · " + variant;
  title += " · " + key.agent;
  if (key.tier != "none") title += " · " + key.tier;
  if (key.source != "none") title += " · from " + key.source;
  return title + fmt::format(" · trial {}", key.trial);
}

// Attempts of one race.
struct Race {
  std::string variant;
  std::vector<store::Attempt> attempts;
};
// By the variant of the wafer's contract, in the order in which they begin; a session without any
// attempt has one as well.
std::vector<Race> RacesOf(std::vector<store::Attempt> attempts) {
  std::vector<Race> races;
  for (store::Attempt& attempt : attempts) {
    const std::string variant = attempt.verdict.wafer ? attempt.verdict.wafer->variant : "";
    auto race = std::find_if(races.begin(), races.end(),
                             [&](const Race& known) { return known.variant == variant; });
    if (race == races.end()) race = races.insert(races.end(), {variant, {}});
    race->attempts.push_back(std::move(attempt));
  }
  if (races.empty()) races.emplace_back();
  return races;
}

SessionView MakeView(store::Session session, const Race& race) {
  const std::vector<store::Attempt>& attempts = race.attempts;
  SessionView view;
  view.variant = race.variant;
  if (!race.variant.empty()) view.basis = judge::Basis::kEstimated;
  view.title = Title(session.key, race.variant);
  view.level = ChooseLevel(attempts);
  for (size_t d = 0; d < view.direction_names.size(); ++d) {
    view.direction_names[d] =
        judge::DirectionName(session.key.task, static_cast<judge::Direction>(d));
    view.baseline[d] = SessionBaseline(attempts, d, view.level);
  }
  for (const store::Attempt& attempt : attempts) {
    view.steps.push_back(MakeStep(attempt, view.level));
    const judge::Verdict& verdict = attempt.verdict;
    view.format = verdict.format;
    view.bound_policy = verdict.bound_policy;
    if (!verdict.measured_field.empty()) view.measured_field = verdict.measured_field;
    view.threads = std::max(view.threads, verdict.threads);
    for (size_t d = 0; d < verdict.directions.size(); ++d) {
      const auto& candidate = verdict.directions[d].candidate;
      if (candidate) view.basis = candidate->basis;
      const auto& figure = view.steps.back().throughput[d];
      if (!figure) continue;
      view.samples = view.samples == 0 ? figure->samples : std::min(view.samples, figure->samples);
    }
  }
  CompareWithPrevious(view.steps);
  for (size_t d = 0; d < view.floor_gbs.size(); ++d)
    view.floor_gbs[d] = SessionFloor(view.steps, d);
  view.best = BestStep(view.steps);
  view.session = std::move(session);
  return view;
}

bool SameCell(const CellView& cell, const SessionView& view) {
  store::SessionKey a = cell.key;
  store::SessionKey b = view.session.key;
  a.trial = b.trial = 1;
  return a == b && cell.variant == view.variant;
}

std::vector<CellView> MakeCells(const std::vector<SessionView>& sessions) {
  std::vector<CellView> cells;
  std::vector<std::vector<double>> speedups;
  for (const SessionView& view : sessions) {
    auto cell = std::find_if(cells.begin(), cells.end(),
                             [&](const CellView& known) { return SameCell(known, view); });
    if (cell == cells.end()) {
      CellView& added = cells.emplace_back();
      added.key = view.session.key;
      added.variant = view.variant;
      added.basis = view.basis;
      speedups.emplace_back();
      cell = cells.end() - 1;
    }
    const auto any = [&](bool Step::* column) {
      return std::any_of(view.steps.begin(), view.steps.end(),
                         [&](const Step& step) { return step.*column; });
    };
    ++cell->trials;
    cell->runnable += any(&Step::runnable);
    cell->decodable += any(&Step::decodable);
    cell->correct += any(&Step::correct);
    cell->ranked += any(&Step::ranked);
    if (const Step* best = view.best_step()) {
      if (const auto speedup = SpeedOverBaseline(*best)) {
        speedups[static_cast<size_t>(cell - cells.begin())].push_back(*speedup);
      }
    }
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    cells[i].ranked_interval = stats::Wilson(cells[i].ranked, cells[i].trials);
    cells[i].best_speedup = stats::Median(speedups[i]);
    cells[i].best_speedup_interval = stats::BootstrapMedian(speedups[i]);
  }
  return cells;
}

// Identical medians in different steps point to a measurement that does not see the program.
void WarnOfIdenticalTimes(const SessionView& view, std::vector<std::string>& warnings) {
  for (size_t d = 0; d < view.direction_names.size(); ++d) {
    std::map<double, std::vector<int64_t>> by_median;
    for (const Step& step : view.steps) {
      if (step.throughput[d]) by_median[step.throughput[d]->median].push_back(step.number);
    }
    for (const auto& [median, numbers] : by_median) {
      if (numbers.size() < 2) continue;
      warnings.push_back(fmt::format("{}: steps {} have the identical {} figure of {}", view.title,
                                     fmt::join(numbers, ", "), view.direction_names[d],
                                     judge::RateText(median, view.basis)));
    }
  }
}

// Launches that take the same number of cycles: not even different programs on the same data do.
void WarnOfWafers(const Model& model, std::vector<std::string>& warnings) {
  std::map<std::pair<size_t, uint64_t>, std::vector<std::string>> by_cycles;
  for (const SessionView& view : model.sessions) {
    for (const Step& step : view.steps) {
      if (!step.wafer) continue;
      for (size_t d = 0; d < step.wafer->directions.size(); ++d) {
        const auto& activity = step.wafer->directions[d];
        if (activity)
          by_cycles[{d, activity->launch_cycles}].push_back(
              fmt::format("{}, step {}", view.title, step.number));
      }
    }
  }
  for (const auto& [key, places] : by_cycles) {
    if (places.size() < 2) continue;
    warnings.push_back(fmt::format("identical number of cycles ({}) in different places: {}",
                                   key.second, fmt::join(places, "; ")));
  }
}

// The baseline is the same program at every step: where its speed moves, the machine was busy.
constexpr double kCalmBaseline = 1.25;

void WarnOfBusyMachine(const SessionView& view, const std::vector<store::Attempt>& attempts,
                       std::vector<std::string>& warnings) {
  if (view.basis == judge::Basis::kEstimated) return;  // cycles know nothing of the machine's load
  for (size_t d = 0; d < view.direction_names.size(); ++d) {
    std::vector<double> medians;
    for (const store::Attempt& attempt : attempts) {
      const auto& baseline = attempt.verdict.directions[d].baseline;
      if (baseline && AtLevel(*baseline, view.level)) {
        medians.push_back(AtLevel(*baseline, view.level)->median);
      }
    }
    if (medians.size() < 2) continue;
    const auto [low, high] = std::minmax_element(medians.begin(), medians.end());
    if (*high <= *low * kCalmBaseline) continue;
    warnings.push_back(fmt::format(
        "{}: the baseline's {} median moved between {:.3g} and {:.3g} GB/s from step to step: "
        "the machine was busy; compare steps by their ratio to the baseline",
        view.title, view.direction_names[d], *low, *high));
  }
}

void WarnOfFlags(const SessionView& view, std::vector<std::string>& warnings) {
  std::map<std::string, std::vector<int64_t>> steps_by_flag;
  std::map<std::string, std::string> first_detail;
  for (const Step& step : view.steps) {
    for (const judge::Flag& flag : step.flags) {
      steps_by_flag[flag.name].push_back(step.number);
      first_detail.try_emplace(flag.name, flag.detail);
    }
  }
  for (const auto& [flag, steps] : steps_by_flag) {
    warnings.push_back(fmt::format("{}: flag '{}' at step {}: {}", view.title, flag,
                                   fmt::join(steps, ", "), first_detail[flag]));
  }
}

std::vector<std::string> FindWarnings(const Model& model) {
  std::vector<std::string> warnings;
  if (!model.campaign.complete) {
    warnings.emplace_back("this campaign is not complete: sessions of its plan are missing");
  }
  for (const SessionView& view : model.sessions) {
    if (!view.session.stop) {
      warnings.push_back(view.title + ": the session has not ended, or was killed");
    } else if (*view.session.stop == store::StopReason::kError ||
               *view.session.stop == store::StopReason::kInterrupted) {
      warnings.push_back(fmt::format("{}: ended by '{}': {}", view.title,
                                     store::StopReasonName(*view.session.stop),
                                     view.session.stop_detail));
    }
    const data::Json* kind = view.session.agent.Find("kind");
    if (kind && *kind == data::Json("synthetic")) {
      warnings.push_back(view.title + ": SYNTHETIC: made up with known properties, not measured");
      continue;
    }
    WarnOfIdenticalTimes(view, warnings);
    WarnOfFlags(view, warnings);
  }
  WarnOfWafers(model, warnings);
  return warnings;
}

}  // namespace

std::string_view LevelName(Level level) {
  switch (level) {
    case Level::kKernel:
      return "kernel";
    case Level::kDevice:
      return "device";
    case Level::kHost:
      return "host";
  }
  return "host";
}

size_t SessionCount(const Model& model) {
  std::set<int64_t> ids;
  for (const SessionView& view : model.sessions) ids.insert(view.session.id);
  return ids.size();
}

Result<Model> BuildModel(store::Store& store, const std::string& name, const std::string& version) {
  SZARENA_TRY(const std::vector<store::Campaign> campaigns, store.Campaigns());
  const auto campaign = std::find_if(
      campaigns.rbegin(), campaigns.rend(),
      [&](const store::Campaign& candidate) { return name.empty() || candidate.name == name; });
  if (campaign == campaigns.rend()) {
    return Fail(ErrorCode::kNotFound,
                name.empty() ? fmt::format("'{}' holds no campaign", store.path())
                             : fmt::format("'{}' holds no campaign '{}'", store.path(), name));
  }
  Model model;
  model.campaign = *campaign;
  model.store_path = store.path();
  model.generated_at = UtcNow();
  model.version = version;
  SZARENA_TRY(const std::vector<store::Session> sessions, store.Sessions(campaign->name));
  std::vector<std::string> busy;
  for (const store::Session& session : sessions) {
    SZARENA_TRY(std::vector<store::Attempt> attempts, store.Attempts(session.id));
    for (const Race& race : RacesOf(std::move(attempts))) {
      model.sessions.push_back(MakeView(session, race));
      WarnOfBusyMachine(model.sessions.back(), race.attempts, busy);
    }
  }
  std::stable_sort(
      model.sessions.begin(), model.sessions.end(), [](const SessionView& a, const SessionView& b) {
        const auto& left = a.session.key;
        const auto& right = b.session.key;
        return std::tie(left.target, left.task, left.agent, left.tier, left.trial) <
               std::tie(right.target, right.task, right.agent, right.tier, right.trial);
      });
  model.cells = MakeCells(model.sessions);
  model.warnings = FindWarnings(model);
  model.warnings.insert(model.warnings.end(), busy.begin(), busy.end());
  return model;
}

}  // namespace szarena::report
