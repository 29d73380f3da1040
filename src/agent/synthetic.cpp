// SPDX-License-Identifier: Apache-2.0
// Draws outcomes, writes and reads descriptions of verdicts.
#include "agent/synthetic.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <numbers>

#include "agent/workspace.h"
#include "base/utc.h"
#include "data/sha256.h"
#include "judge/random.h"

namespace szarena::agent {
namespace {

using data::Json;
using judge::Stage;
using judge::StageStatus;

constexpr const char* kFile = "synthetic.json";

std::optional<double> Number(std::string_view text) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

// Random numbers of this trial, and of no other.
judge::Random TrialRandom(const SyntheticSettings& settings, const store::SessionKey& key) {
  const std::string hash = data::Sha256Hex(fmt::format(
      "{}|{}|{}|{}|{}|{}", settings.seed, key.task, key.target, key.source, key.tier, key.trial));
  uint64_t seed = 0;
  std::from_chars(hash.data(), hash.data() + 16, seed, 16);
  return judge::Random(seed);
}

// Box and Muller.
double Normal(judge::Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.Unit()));
  return radius * std::cos(2 * std::numbers::pi * random.Unit());
}

Result<void> Apply(std::string_view word, SyntheticSettings& settings) {
  const auto fault = [&] {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is no setting of the synthetic agent; expected seed=N, "
                            "sigma=S, attempts=N, or TIER=PROBABILITY/SPEED",
                            word));
  };
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return fault();
  const std::string key(word.substr(0, equals));
  const std::string_view text = word.substr(equals + 1);
  const size_t slash = text.find('/');
  const auto first = Number(text.substr(0, slash));
  if (!first || *first < 0) return fault();
  if (slash != std::string_view::npos) {
    const auto speed = Number(text.substr(slash + 1));
    if (!settings.tiers.contains(key) || *first > 1 || !speed || !(*speed > 0)) return fault();
    settings.tiers[key] = {*first, *speed};
  } else if (key == "seed") {
    settings.seed = static_cast<uint64_t>(*first);
  } else if (key == "sigma") {
    settings.sigma = *first;
  } else if (key == "attempts" && *first >= 1 && *first <= 1000) {
    settings.attempts = static_cast<int>(*first);
  } else {
    return fault();
  }
  return {};
}

// The session's key, as its transcript has it.
Result<store::SessionKey> KeyOf(const Toolbox& toolbox) {
  SZARENA_TRY(const TranscriptRecords records,
              ReadTranscript(const_cast<Toolbox&>(toolbox).context().transcript.path()));
  const Json* key = records.records.front().Find("key");
  const auto text = [key](std::string_view name) {
    const Json* value = key ? key->Find(name) : nullptr;
    return value && value->string() ? *value->string() : std::string();
  };
  const Json* trial = key ? key->Find("trial") : nullptr;
  return store::SessionKey{.campaign = text("campaign"),
                           .task = text("task"),
                           .target = text("target"),
                           .source = text("source"),
                           .tier = text("tier"),
                           .agent = text("agent"),
                           .workflow = text("workflow"),
                           .trial = trial ? trial->integer().value_or(1) : 1};
}

}  // namespace

Result<SyntheticSettings> SyntheticSettings::Parse(const std::string& name) {
  SyntheticSettings settings;
  const size_t colon = name.find(':');
  if (colon == std::string::npos) return settings;
  for (size_t begin = colon + 1; begin <= name.size();) {
    const size_t end = std::min(name.find(',', begin), name.size());
    SZARENA_TRY_VOID(Apply(std::string_view(name).substr(begin, end - begin), settings));
    begin = end + 1;
  }
  return settings;
}

std::optional<double> SyntheticOutcome(const SyntheticSettings& settings,
                                       const store::SessionKey& key) {
  const auto tier = settings.tiers.find(key.tier);
  if (tier == settings.tiers.end()) return std::nullopt;
  judge::Random random = TrialRandom(settings, key);
  const bool success = random.Unit() < tier->second.success;
  const double speed = tier->second.speed * std::exp(settings.sigma * Normal(random));
  return success ? std::optional(speed) : std::nullopt;
}

Json SyntheticAgent::Identity() const {
  Json tiers = Json::MakeObject();
  for (const auto& [name, tier] : settings_.tiers) {
    tiers.Set(name, Json::Of({{"success", tier.success}, {"speed", tier.speed}}));
  }
  return Json::Of({{"kind", "synthetic"},
                   {"name", "synthetic"},
                   {"note", "made up with known properties; nothing was built or measured"},
                   {"tiers", std::move(tiers)},
                   {"sigma", settings_.sigma},
                   {"attempts", settings_.attempts},
                   {"seed", settings_.seed}});
}

Result<AgentEnd> SyntheticAgent::Run(const std::string& /*prompt*/, Toolbox& toolbox) {
  SZARENA_TRY(const store::SessionKey key, KeyOf(toolbox));
  if (!settings_.tiers.contains(key.tier)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the synthetic agent knows no tier '{}'", key.tier));
  }
  const std::optional<double> outcome = SyntheticOutcome(settings_, key);
  judge::Random random = TrialRandom(settings_, key);
  random.Next();  // another part of the sequence than the outcome's
  const auto first_success =
      static_cast<int>(random.Below(static_cast<uint64_t>(settings_.attempts)));
  for (int i = 0; i < settings_.attempts; ++i) {
    const bool ranked = outcome && i >= first_success;
    // Each attempt a step faster, up to the outcome.
    const double share = std::pow(0.8, settings_.attempts - 1 - i);
    const auto stage =
        ranked ? Stage::kMeasured : static_cast<Stage>(random.Below(judge::kStageCount - 1) + 1);
    Json description = Json::Of({{"synthetic", true}, {"stage", judge::StageName(stage)}});
    description.Set("failed", !ranked);
    if (ranked) description.Set("speed", *outcome * share);
    SZARENA_TRY(
        [[maybe_unused]] const ToolResult written,
        toolbox.Call("write_file", Json::Of({{"path", kFile}, {"text", description.Dump()}})));
    SZARENA_TRY(const ToolResult result,
                toolbox.Call("submit", Json::Of({{"label", fmt::format("synthetic {}", i + 1)},
                                                 {"final", i + 1 == settings_.attempts}})));
    if (!result.ok) return AgentEnd{store::StopReason::kBudget, result.text};
  }
  return AgentEnd{store::StopReason::kSubmitted, "every synthetic attempt was handed in"};
}

Result<judge::Verdict> SyntheticJudge::Evaluate(const std::string& candidate_dir, Depth depth,
                                                const JudgeHooks& /*hooks*/) {
  judge::Verdict verdict;
  verdict.task = task_;
  verdict.target = target_;
  verdict.sandbox = "none: synthetic";
  verdict.machine = "none: synthetic";
  verdict.measured_field = "none: synthetic";
  verdict.started_at = UtcNow();
  verdict.flags.push_back({"synthetic", judge::FlagKind::kWarning,
                           "made up with known properties; nothing was built or measured"});
  const auto text = Workspace(candidate_dir).Read(kFile);
  verdict.candidate_sha256 = data::Sha256Hex(text ? *text : "");
  const auto json = text ? data::ParseJson(*text, kFile) : Result<Json>(Json());
  const Json* stage_name = json ? json->Find("stage") : nullptr;
  const auto stage =
      stage_name && stage_name->string() ? judge::ParseStage(*stage_name->string()) : std::nullopt;
  if (!stage) {
    verdict.at(Stage::kReceived) = {StageStatus::kFailed, 0, "synthetic: no description"};
    verdict.feedback = "synthetic: no description";
    return verdict;
  }
  const Json* speed = json->Find("speed");
  const bool failed = json->Find("failed") && json->Find("failed")->boolean().value_or(false);
  const Stage until = depth == Depth::kBuild  ? Stage::kBuilt
                      : depth == Depth::kTest ? Stage::kRatioOk
                                              : Stage::kMeasured;
  for (int i = 0; i < judge::kStageCount && i <= static_cast<int>(until); ++i) {
    const bool here = failed && static_cast<Stage>(i) == *stage;
    verdict.stages[static_cast<size_t>(i)] = {here ? StageStatus::kFailed : StageStatus::kOk, 0,
                                              "synthetic"};
    if (here) break;
  }
  verdict.feedback = "synthetic";
  if (until != Stage::kMeasured || failed || !speed || !speed->number()) return verdict;
  verdict.ratio = verdict.reference_ratio = 1;
  const auto figure = [](double value) { return judge::Figure{value, value, value, 1}; };
  for (judge::DirectionResult& direction : verdict.directions) {
    direction.candidate = judge::Throughput{.kernel = {},
                                            .device = {},
                                            .host = figure(*speed->number()),
                                            .basis = judge::Basis::kSynthetic};
    direction.baseline = judge::Throughput{
        .kernel = {}, .device = {}, .host = figure(1), .basis = judge::Basis::kSynthetic};
    direction.speedup = figure(*speed->number());
  }
  return verdict;
}

Result<agent::Profile> SyntheticJudge::Profile(const std::string& /*candidate_dir*/,
                                               const JudgeHooks& /*hooks*/) {
  return agent::Profile{false, {}, "synthetic: there is nothing to profile"};
}

}  // namespace szarena::agent
