// SPDX-License-Identifier: Apache-2.0
// Lines to events.
#include "net/sse.h"

namespace szarena::net {

void SseReader::Feed(std::string_view bytes) {
  for (const char c : bytes) {
    if (c == '\n' && after_cr_) {
      after_cr_ = false;
      continue;
    }
    after_cr_ = c == '\r';
    if (c == '\r' || c == '\n') {
      EndLine();
    } else {
      line_ += c;
    }
  }
}

void SseReader::EndLine() {
  const std::string line = std::move(line_);
  line_.clear();
  if (line.empty()) {
    if (has_data_) on_event_(event_);
    event_ = {};
    has_data_ = false;
    return;
  }
  if (line.front() == ':') return;  // a comment keeps the connection alive
  const size_t colon = line.find(':');
  const std::string field = line.substr(0, colon);
  std::string value = colon == std::string::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.erase(0, 1);
  if (field == "event") {
    event_.name = value;
  } else if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  }
}

}  // namespace szarena::net
