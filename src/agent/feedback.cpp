// SPDX-License-Identifier: Apache-2.0
// Verdict to feedback.
#include "agent/feedback.h"

#include <fmt/format.h>

namespace szarena::agent {
namespace {

using data::Json;

Json FigureJson(const std::optional<judge::Figure>& figure) {
  if (!figure) return nullptr;
  return Json::Of({{"median", figure->median},
                   {"q1", figure->q1},
                   {"q3", figure->q3},
                   {"samples", figure->samples}});
}

Json ThroughputJson(const std::optional<judge::Throughput>& throughput) {
  if (!throughput) return nullptr;
  return Json::Of({{"kernel", FigureJson(throughput->kernel)},
                   {"device", FigureJson(throughput->device)},
                   {"host", FigureJson(throughput->host)},
                   {"basis", judge::BasisName(throughput->basis)}});
}

std::string ReachedName(const judge::Verdict& verdict) {
  const auto reached = verdict.Reached();
  return reached ? std::string(judge::StageName(*reached)) : "none";
}

}  // namespace

Json FeedbackJson(const judge::Verdict& verdict) {
  Json failed;
  if (const auto stage = verdict.Failed()) {
    failed = Json::Of({{"stage", judge::StageName(*stage)}, {"detail", verdict.at(*stage).detail}});
  }
  Json throughput = Json::MakeObject();
  for (int i = 0; i < judge::kDirectionCount; ++i) {
    const auto& direction = verdict.directions.at(static_cast<size_t>(i));
    if (!direction.candidate) continue;
    throughput.Set(judge::DirectionName(verdict.task, static_cast<judge::Direction>(i)),
                   Json::Of({{"candidate", ThroughputJson(direction.candidate)},
                             {"baseline", ThroughputJson(direction.baseline)},
                             {"speedup_over_baseline", FigureJson(direction.speedup)},
                             {"floor_fraction", direction.floor_fraction}}));
  }
  Json flags = Json::MakeArray();
  for (const judge::Flag& flag : verdict.flags) {
    flags.Append(Json::Of({{"name", flag.name},
                           {"kind", flag.kind == judge::FlagKind::kCheat ? "cheat" : "warning"},
                           {"detail", flag.detail}}));
  }
  return Json::Of({{"stage", ReachedName(verdict)},
                   {"runnable", verdict.runnable()},
                   {"decodable", verdict.decodable()},
                   {"correct", verdict.correct()},
                   {"ranked", verdict.ranked()},
                   {"failed", std::move(failed)},
                   {"ratio", verdict.ratio},
                   {"reference_ratio", verdict.reference_ratio},
                   {"max_error_over_bound", verdict.max_error_over_bound},
                   {"throughput_gbs", std::move(throughput)},
                   {"flags", std::move(flags)},
                   {"message", verdict.feedback}});
}

std::string FeedbackText(const judge::Verdict& verdict) {
  std::string text = fmt::format("reached stage '{}'\n{}", ReachedName(verdict), verdict.feedback);
  if (!text.ends_with('\n')) text += '\n';
  if (verdict.ratio && verdict.reference_ratio) {
    text += fmt::format("ratio {:.4g}, the reference's {:.4g}\n", *verdict.ratio,
                        *verdict.reference_ratio);
  }
  for (const judge::Flag& flag : verdict.flags) {
    text += fmt::format("{} '{}': {}\n", flag.kind == judge::FlagKind::kCheat ? "cheat" : "warning",
                        flag.name, flag.detail);
  }
  return text;
}

Json SummaryJson(const store::Attempt& attempt) {
  const judge::Verdict& verdict = attempt.verdict;
  Json speedups = Json::MakeObject();
  judge::Basis basis = judge::Basis::kMeasured;
  for (int i = 0; i < judge::kDirectionCount; ++i) {
    const auto& [candidate, baseline, speedup, floor] =
        verdict.directions.at(static_cast<size_t>(i));
    if (!speedup) continue;
    if (candidate) basis = candidate->basis;
    speedups.Set(judge::DirectionName(verdict.task, static_cast<judge::Direction>(i)),
                 speedup->median);
  }
  const auto failed = verdict.Failed();
  return Json::Of({{"attempt", attempt.number},
                   {"label", attempt.label},
                   {"idea", attempt.idea},
                   {"stage", ReachedName(verdict)},
                   {"correct", verdict.correct()},
                   {"ranked", verdict.ranked()},
                   {"ratio", verdict.ratio},
                   {"failed", failed ? Json(fmt::format("{}: {}", judge::StageName(*failed),
                                                        verdict.at(*failed).detail))
                                     : Json()},
                   {"speedup_over_baseline", std::move(speedups)},
                   {"basis", judge::BasisName(basis)}});
}

std::string SummaryText(const store::Attempt& attempt) {
  const Json summary = SummaryJson(attempt);
  std::string text =
      fmt::format("attempt {} {}: {}", attempt.number, attempt.label, ReachedName(attempt.verdict));
  if (const std::string* failed = summary.Find("failed")->string()) text += "; failed " + *failed;
  for (const data::JsonMember& speedup : summary.Find("speedup_over_baseline")->members()) {
    const auto basis = judge::ParseBasis(*summary.Find("basis")->string());
    text += fmt::format("; {} {:.3g} of the baseline{}", speedup.key, *speedup.value.number(),
                        judge::BasisNote(basis.value_or(judge::Basis::kMeasured)));
  }
  return text;
}

}  // namespace szarena::agent
