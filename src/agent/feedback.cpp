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
  return fmt::format("reached stage '{}'\n{}", ReachedName(verdict), verdict.feedback);
}

}  // namespace szarena::agent
