// SPDX-License-Identifier: Apache-2.0
// What the dialects share.
#include "model/testing/dialect.h"

#include <fmt/format.h>

namespace szarena::model::standin {

std::string ServerSentEvent(std::string_view name, const data::Json& data) {
  const std::string event = name.empty() ? "" : fmt::format("event: {}\n", name);
  return fmt::format("{}data: {}\n\n", event, data.Dump());
}

std::vector<std::string> Pieces(const std::string& text) {
  constexpr size_t kPieces = 3;
  std::vector<std::string> pieces;
  const size_t step = text.size() / kPieces + 1;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(begin + step, text.size());
    // Not in the middle of a character.
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    pieces.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

std::string ContentText(const data::Json* content) {
  if (!content) return "";
  if (content->string()) return *content->string();
  std::string text;
  for (const data::Json& part : content->items()) {
    if (const data::Json* piece = part.Find("text"); piece && piece->string()) {
      text += *piece->string();
    }
  }
  return text;
}

void TurnCounter::Model(bool has_call) {
  if (!in_turn_) {
    ++question_.turns;
    counted_call_ = false;
  }
  in_turn_ = true;
  if (has_call && !counted_call_) {
    ++question_.call_turns;
    counted_call_ = true;
  }
}

}  // namespace szarena::model::standin
