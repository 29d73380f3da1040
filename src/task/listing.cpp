// SPDX-License-Identifier: Apache-2.0
#include "task/listing.h"

#include <fmt/format.h>

namespace szarena::task {
namespace {

using data::Json;

template <typename Items, typename F>
Json List(const Items& items, F&& name) {
  Json list = Json::MakeArray();
  for (const auto& item : items) list.Append(Json(name(item)));
  return list;
}

Json Same(const std::string& text) { return Json(text); }

Json TargetJson(const TargetInfo& info) {
  return Json::Of({{"contract", List(info.contract, Same)},
                   {"baseline", info.baseline.empty() ? Json() : Json(info.baseline)},
                   {"ladder", List(info.ladder, Same)},
                   {"sources", List(info.sources, SourceName)}});
}

Json FieldJson(const PublicField& field) {
  return Json::Of({{"name", field.name},
                   {"spec", field.spec},
                   {"bounds", List(field.bounds, [](const Bound& b) { return b.ToString(); })},
                   {"timed", field.timed}});
}

}  // namespace

Json TaskJson(const Task& task) {
  Json targets = Json::MakeObject();
  for (const auto& [target, info] : task.targets) targets.Set(TargetName(target), TargetJson(info));
  bool compressor = task.kind == Kind::kCompressor;
  Json rule = Json::Of({{"min_of_reference", task.ratio_rule.min_of_reference},
                        {"raw_block_margin", task.ratio_rule.raw_block_margin}});
  return Json::Of({{"name", task.name},
                   {"kind", compressor ? "compressor" : "primitive"},
                   {"summary", task.summary},
                   {"description", task.description},
                   {"format", task.format.empty() ? Json() : Json(task.format)},
                   {"modes", List(task.modes, ModeName)},
                   {"dtypes", List(task.dtypes, Same)},
                   {"input", InputName(task.input)},
                   {"inverse", task.has_inverse},
                   {"block_size", task.block_size},
                   {"pad_blocks", task.pad_blocks},
                   {"bins", task.bins},
                   {"targets", targets},
                   {"tiers", List(kTiers, TierName)},
                   {"fields", List(task.fields, FieldJson)},
                   {"ratio_rule", compressor ? rule : Json()}});
}

std::string TaskText(const Task& task) {
  std::string text = fmt::format("{}: {}\n\n{}\n", task.name, task.summary, task.description);
  text += "targets:\n";
  for (const auto& [target, info] : task.targets) {
    text += fmt::format("  {:9} baseline {}, {} ladder steps\n", TargetName(target),
                        info.baseline.empty() ? "-" : info.baseline, info.ladder.size());
  }
  text += "fields:\n";
  for (const PublicField& field : task.fields) {
    text += fmt::format("  {:20} {}{}\n", field.name, field.spec, field.timed ? " (timed)" : "");
  }
  return text;
}

}  // namespace szarena::task
