// SPDX-License-Identifier: Apache-2.0
// single-shot: the prompt, one answer with all files, one attempt. No tools, no feedback.
#include "agent/answer_files.h"
#include "agent/workflow/chat.h"

namespace szarena::agent {

Result<AgentEnd> RunSingleShot(Play& play) {
  SZARENA_TRY(Chat chat, Chat::Begin(play, "agent", play.Piece("single-shot"), Chat::Tools::kNone));
  SZARENA_TRY_VOID(chat.Say(play.prompt));
  SZARENA_TRY(const Turn turn, chat.Take());
  if (turn.end) return *turn.end;
  if (!turn.fault.empty()) return AgentEnd{store::StopReason::kGaveUp, turn.fault};
  const FileTexts files = FilesInAnswer(turn.text, play.default_file);
  if (files.empty()) {
    return AgentEnd{store::StopReason::kGaveUp, "the answer holds no file"};
  }
  SZARENA_TRY(const ToolResult placed, PlaceFiles(files, play.toolbox));
  if (!placed.ok) return AgentEnd{store::StopReason::kGaveUp, placed.text};
  SZARENA_TRY(
      const ToolResult result,
      play.toolbox.Call("submit", data::Json::Of({{"label", "single shot"}, {"final", true}})));
  if (!result.ok) return AgentEnd{store::StopReason::kBudget, result.text};
  return AgentEnd{store::StopReason::kSubmitted, "the one answer was handed in"};
}

}  // namespace szarena::agent
