// SPDX-License-Identifier: Apache-2.0
// team: a planner says how, a coder with the tools does it, a critic reads what came out and sends
// it back or accepts it. Each has a conversation and words of its own; the budget is common.
#include <fmt/format.h>

#include "agent/answer_files.h"
#include "agent/feedback.h"
#include "agent/workflow/chat.h"

namespace szarena::agent {
namespace {

using data::Json;

// An answer in text; asked again where it is of no use.
Result<Turn> Text(Chat& chat) {
  Turn turn;
  for (size_t i = 0; i < Chat::kFaultsInARow; ++i) {
    SZARENA_TRY(turn, chat.Take());
    if (turn.end || turn.fault.empty()) break;
    SZARENA_TRY_VOID(chat.Say(fmt::format("[{}] Answer in text, please.", turn.fault)));
  }
  return turn;
}

// The coder works until it hands something in and says that it is ready.
Result<std::optional<AgentEnd>> Code(Play& play, Chat& coder, bool& ready) {
  const size_t before = play.toolbox.told_attempts().size();
  ready = false;
  while (true) {
    SZARENA_TRY(const Turn turn, coder.Take());
    if (turn.end) return turn.end;
    if (ready && play.toolbox.told_attempts().size() > before) return std::optional<AgentEnd>();
    ready = false;  // called without handing in anything
  }
}

// What the critic reads.
std::string WorkSoFar(Play& play, const std::string& plan) {
  const store::Attempt last = play.toolbox.told_attempts().back();
  return fmt::format("{}\n\n## The plan\n\n{}\n\n## The work\n\n{}\n## The judge's verdict\n\n{}\n",
                     play.prompt, plan, FilesAsText(FilesFromJson(play.toolbox.FilesOf(last))),
                     FeedbackText(last.verdict));
}

}  // namespace

Result<AgentEnd> RunTeam(Play& play) {
  SZARENA_TRY(Chat planner,
              Chat::Begin(play, "planner", play.Piece("team-planner"), Chat::Tools::kNone));
  SZARENA_TRY_VOID(planner.Say(play.prompt));
  SZARENA_TRY(const Turn plan, Text(planner));
  if (plan.end) return *plan.end;
  if (!plan.fault.empty()) return AgentEnd{store::StopReason::kGaveUp, "no plan: " + plan.fault};

  SZARENA_TRY(Chat coder, Chat::Begin(play, "coder", play.Piece("team-coder"), Chat::Tools::kAll));
  bool ready = false;
  coder.before_call = [&ready](model::ToolCall& call) {
    const Json* final = call.arguments.Find("final");
    if (call.name != "submit" || !final) return;
    ready |= final->boolean().value_or(false);
    call.arguments.Set("final", false);  // the critic decides
  };
  SZARENA_TRY_VOID(coder.Say(fmt::format("{}\n\n## The plan\n\n{}\n", play.prompt, plan.text)));

  for (int round = 1; round <= play.settings.rounds; ++round) {
    SZARENA_TRY(const auto end, Code(play, coder, ready));
    if (end) return *end;
    SZARENA_TRY(Chat critic, Chat::Begin(play, fmt::format("critic {}", round),
                                         play.Piece("team-critic"), Chat::Tools::kNone));
    SZARENA_TRY_VOID(critic.Say(WorkSoFar(play, plan.text)));
    SZARENA_TRY(const Turn opinion, Text(critic));
    if (opinion.end) return *opinion.end;
    const bool accepted = opinion.text.find("ACCEPT") != std::string::npos;
    const auto attempts = play.toolbox.told_attempts();
    const bool ranked = attempts.back().verdict.ranked();
    SZARENA_TRY_VOID(Note(play, accepted ? "accepted" : "sent back", Json::Of({{"round", round}})));
    if (accepted && ranked) {
      return AgentEnd{store::StopReason::kSubmitted, "the critic accepted it"};
    }
    SZARENA_TRY_VOID(coder.Say(
        accepted ? "The critic accepts it, but the judge does not rank it: see its verdict. Go on."
                 : fmt::format("The critic says:\n\n{}\n", opinion.text)));
  }
  return AgentEnd{store::StopReason::kBudget, fmt::format("rounds ({})", play.settings.rounds)};
}

}  // namespace szarena::agent
