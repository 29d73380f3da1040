// SPDX-License-Identifier: Apache-2.0
// iterative: one agent with all tools, in one conversation, until it hands in its last attempt, a
// budget is used up, or nothing better comes. The loop of the seed paper.
#include "agent/workflow/chat.h"

namespace szarena::agent {

Result<AgentEnd> RunIterative(Play& play) {
  SZARENA_TRY(Chat chat, Chat::Begin(play, "agent", play.Piece("iterative"), Chat::Tools::kAll));
  SZARENA_TRY_VOID(chat.Say(play.prompt));
  while (true) {
    SZARENA_TRY(const Turn turn, chat.Take());
    if (turn.end) return *turn.end;
  }
}

}  // namespace szarena::agent
