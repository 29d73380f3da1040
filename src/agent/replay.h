// SPDX-License-Identifier: Apache-2.0
// The attempts of an old session, handed in again through the same tools.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/answer_files.h"

namespace szarena::agent {

struct ReplayAttempt {
  int64_t number = 0;
  std::string label;
  std::string idea;
  std::string stage;             // reached then
  std::string candidate_sha256;  // of the files then
  FileTexts files;
};

// What a transcript says of its session.
struct Replay {
  std::string path;
  store::SessionKey key;
  data::Json agent;                     // its identity
  std::optional<uint64_t> hidden_seed;  // absent: the session did not end
  std::vector<ReplayAttempt> attempts;
  std::vector<std::string> left_out;  // what of the transcript could not be read: its lines, named
};

// kCorrupt: no transcript, or one without the files of its attempts.
Result<Replay> LoadReplay(const std::string& path);

class ReplayAgent : public Agent {
 public:
  explicit ReplayAgent(Replay replay) : replay_(std::move(replay)) {}
  data::Json Identity() const override;
  Result<AgentEnd> Run(const std::string& prompt, Toolbox& toolbox) override;

 private:
  Replay replay_;
};

}  // namespace szarena::agent
