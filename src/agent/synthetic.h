// SPDX-License-Identifier: Apache-2.0
// An agent of paper with known properties, to prove the statistics that sessions go through: each
// trial succeeds with a known probability and a known speed, both by tier, drawn from a seed. Its
// candidates are descriptions of verdicts, its judge reads them; nothing is built or measured, and
// everything that comes of it is labelled "synthetic".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "agent/agent.h"

namespace szarena::agent {

struct SyntheticTier {
  double success = 0;  // probability that a trial is ranked in the end
  double speed = 0;    // median over the successful trials, relative to the baseline
};

struct SyntheticSettings {
  std::map<std::string, SyntheticTier> tiers = {
      {"user", {0.3, 0.4}}, {"knowledgeable", {0.6, 0.7}}, {"expert", {0.9, 1.0}}};
  double sigma = 0.2;  // standard deviation of the logarithm of the speed
  int attempts = 4;    // in each session
  uint64_t seed = 1;

  // "synthetic" or "synthetic:seed=7,sigma=0.1,attempts=3,user=0.2/0.5": success/speed of tiers.
  static Result<SyntheticSettings> Parse(const std::string& name);
};

// What the trial comes to: its speed, or nothing where it fails. Depends on the settings and the
// key's task, target, source, tier and trial alone.
std::optional<double> SyntheticOutcome(const SyntheticSettings& settings,
                                       const store::SessionKey& key);

class SyntheticAgent : public Agent {
 public:
  explicit SyntheticAgent(SyntheticSettings settings) : settings_(std::move(settings)) {}
  data::Json Identity() const override;
  Result<AgentEnd> Run(const std::string& prompt, Toolbox& toolbox) override;

 private:
  SyntheticSettings settings_;
};

// Reads the agent's candidates. Refuses any other (failed at "received").
class SyntheticJudge : public JudgePort {
 public:
  SyntheticJudge(std::string task, std::string target)
      : task_(std::move(task)), target_(std::move(target)) {}
  Result<judge::Verdict> Evaluate(const std::string& candidate_dir, Depth depth,
                                  const JudgeHooks& hooks) override;
  Result<agent::Profile> Profile(const std::string& candidate_dir,
                                 const JudgeHooks& hooks) override;

 private:
  std::string task_;
  std::string target_;
};

}  // namespace szarena::agent
