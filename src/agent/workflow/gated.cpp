// SPDX-License-Identifier: Apache-2.0
// gated: first the structure, until the agent calls it done or nothing better comes; then single
// changes, each only behind a profile that says where time goes, and each taken back where it is
// not clearly better.
#include <fmt/format.h>

#include "agent/answer_files.h"
#include "agent/feedback.h"
#include "agent/score.h"
#include "agent/workflow/chat.h"

namespace szarena::agent {
namespace {

using data::Json;

constexpr int kRollBacksInARow = 3;  // then there is no progress
constexpr int kTurnsPerChange = 12;  // from a profile to the attempt it leads to
constexpr double kAtTheFloor = 0.9;  // of the speed of a plain copy: nothing is left to gain

struct Best {
  Score score;
  FileTexts files;
};

// "final" of a submission means the end of a phase here, not of the session.
void CatchFinal(Chat& chat, bool& wants_end) {
  chat.before_call = [&wants_end](model::ToolCall& call) {
    const Json* final = call.arguments.Find("final");
    if (call.name != "submit" || !final) return;
    wants_end |= final->boolean().value_or(false);
    call.arguments.Set("final", false);
  };
}

// The files of each attempt after the first `seen` ones that is better than what was best.
void KeepIfBetter(Play& play, size_t seen, Best& best) {
  const auto attempts = play.toolbox.told_attempts();
  for (size_t i = seen; i < attempts.size(); ++i) {
    const Score score = ScoreOf(attempts[i].verdict);
    if (!best.files.empty() && !score.ClearlyBetterThan(best.score)) continue;
    best = {score, FilesFromJson(play.toolbox.FilesOf(attempts[i]))};
  }
}

// The best files again, whatever the workspace holds. They were taken from it, so no tool refuses
// them.
Result<void> PutBack(Play& play, const Best& best) {
  SZARENA_TRY(const ToolResult placed, PlaceFiles(best.files, play.toolbox));
  if (placed.ok) return {};
  return Fail(ErrorCode::kInternal, "the best files cannot be put back: " + placed.text);
}

// Phase 1. Nothing: it is done and something correct was handed in.
Result<std::optional<AgentEnd>> Restructure(Play& play, Best& best) {
  bool done = false;
  SZARENA_TRY(Chat chat,
              Chat::Begin(play, "structure", play.Piece("gated-structure"), Chat::Tools::kAll));
  CatchFinal(chat, done);
  SZARENA_TRY_VOID(chat.Say(play.prompt));
  size_t seen = 0;
  while (true) {
    SZARENA_TRY(Turn turn, chat.Take());
    KeepIfBetter(play, seen, best);
    seen = play.toolbox.told_attempts().size();
    const bool stuck = turn.end && (turn.end->reason == store::StopReason::kNoProgress ||
                                    turn.end->reason == store::StopReason::kSubmitted);
    const bool ranked = best.score.speed > 0;
    if (ranked && (done || stuck)) return std::optional<AgentEnd>();
    if (turn.end) return turn.end;
    if (done) {  // what is not correct cannot be tuned
      done = false;
      SZARENA_TRY_VOID(chat.Say("The best attempt is not ranked yet: go on until it is correct."));
    }
  }
}

// Whether every measured direction is as fast as memory allows.
bool AtTheFloor(const judge::Verdict& verdict) {
  bool any = false;
  for (const judge::DirectionResult& direction : verdict.directions) {
    if (!direction.candidate) continue;
    any = true;
    if (direction.floor_fraction.value_or(0) < kAtTheFloor) return false;
  }
  return any;
}

// One change: from the profile to an attempt. Nothing: the attempt was made or the model had none.
Result<std::optional<AgentEnd>> Change(Play& play, int number, const std::string& profile,
                                       bool& wants_end) {
  SZARENA_TRY(Chat chat, Chat::Begin(play, fmt::format("change {}", number),
                                     play.Piece("gated-change"), Chat::Tools::kAll));
  CatchFinal(chat, wants_end);
  SZARENA_TRY(const Toolbox::Files files, play.toolbox.Snapshot());
  const auto attempts = play.toolbox.told_attempts();
  SZARENA_TRY_VOID(
      chat.Say(fmt::format("{}\n\n## The best attempt so far\n\n{}\n\n{}\n## Its profile\n\n{}\n",
                           play.prompt, FeedbackText(attempts[*BestAttempt(attempts)].verdict),
                           FilesAsText(FilesFromJson(files.list)), profile)));
  for (int i = 0; i < kTurnsPerChange; ++i) {
    SZARENA_TRY(const Turn turn, chat.Take());
    if (turn.end && turn.end->reason == store::StopReason::kBudget) return turn.end;
    if (turn.end || wants_end || play.toolbox.told_attempts().size() > attempts.size()) break;
  }
  return std::optional<AgentEnd>();
}

}  // namespace

Result<AgentEnd> RunGated(Play& play) {
  Best best;
  SZARENA_TRY(const auto early_end, Restructure(play, best));
  if (early_end) return *early_end;
  SZARENA_TRY_VOID(Note(play, "structure done", Json::Of({{"speed", best.score.speed}})));

  SZARENA_TRY_VOID(PutBack(play, best));
  int roll_backs = 0;
  for (int number = 1; roll_backs < kRollBacksInARow; ++number) {
    const auto attempts = play.toolbox.told_attempts();
    if (AtTheFloor(attempts[*BestAttempt(attempts)].verdict)) {
      return AgentEnd{store::StopReason::kSubmitted, "every direction is at the speed of a copy"};
    }
    SZARENA_TRY(const ToolResult profile, play.toolbox.Call("profile", Json::MakeObject()));
    if (!profile.ok) {
      if (const auto limit = play.toolbox.LimitReached()) {
        return AgentEnd{store::StopReason::kBudget, *limit};
      }
      return AgentEnd{store::StopReason::kSubmitted,
                      "no profile, so nothing to act on: " + profile.text};
    }
    bool wants_end = false;
    SZARENA_TRY(const auto end, Change(play, number, profile.text, wants_end));
    const Score before = best.score;
    KeepIfBetter(play, attempts.size(), best);
    const bool kept = best.score.ClearlyBetterThan(before);
    roll_backs = kept ? 0 : roll_backs + 1;
    if (!kept) SZARENA_TRY_VOID(PutBack(play, best));
    SZARENA_TRY_VOID(Note(play, kept ? "change kept" : "change rolled back",
                          Json::Of({{"change", number}, {"speed", best.score.speed}})));
    if (end) return *end;
    if (wants_end) return EndOf(play.toolbox, "the agent saw nothing more to change");
  }
  return AgentEnd{store::StopReason::kNoProgress,
                  fmt::format("{} changes in a row were rolled back", kRollBacksInARow)};
}

}  // namespace szarena::agent
