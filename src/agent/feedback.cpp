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

// The level that compares a target's programs: the innermost that was taken end to end.
const judge::Figure* Shown(const std::optional<judge::Throughput>& throughput) {
  if (!throughput) return nullptr;
  if (throughput->device) return &*throughput->device;
  if (throughput->host) return &*throughput->host;
  return throughput->kernel ? &*throughput->kernel : nullptr;
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
  std::string text = fmt::format("reached stage '{}'\n", ReachedName(verdict));
  if (const auto stage = verdict.Failed()) {
    text +=
        fmt::format("failed at '{}': {}\n", judge::StageName(*stage), verdict.at(*stage).detail);
  }
  if (verdict.ratio) text += fmt::format("ratio {:.2f}\n", *verdict.ratio);
  for (int i = 0; i < judge::kDirectionCount; ++i) {
    const auto& direction = verdict.directions.at(static_cast<size_t>(i));
    const judge::Figure* candidate = Shown(direction.candidate);
    if (!candidate) continue;
    text += fmt::format("{} {:.3f} GB/s",
                        judge::DirectionName(verdict.task, static_cast<judge::Direction>(i)),
                        candidate->median);
    if (const judge::Figure* baseline = Shown(direction.baseline)) {
      text += fmt::format(", baseline {:.3f} GB/s", baseline->median);
    }
    if (direction.floor_fraction)
      text += fmt::format(", floor fraction {:.2f}", *direction.floor_fraction);
    text += '\n';
  }
  for (const judge::Flag& flag : verdict.flags) {
    text += fmt::format("flag '{}': {}\n", flag.name, flag.detail);
  }
  if (!verdict.feedback.empty()) text += verdict.feedback + "\n";
  return text;
}

}  // namespace szarena::agent
