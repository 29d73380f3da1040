// SPDX-License-Identifier: Apache-2.0
// Server-sent events out of a byte stream (WHATWG HTML, section "Server-sent events").
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace szarena::net {

struct SseEvent {
  std::string name;  // empty where the stream names none
  std::string data;  // its lines joined by '\n'
};

class SseReader {
 public:
  explicit SseReader(std::function<void(const SseEvent&)> on_event)
      : on_event_(std::move(on_event)) {}
  // Bytes in any pieces; line ends may be LF, CR LF or CR. An event that the stream does not finish
  // with an empty line is never told.
  void Feed(std::string_view bytes);

 private:
  void EndLine();
  std::function<void(const SseEvent&)> on_event_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool after_cr_ = false;
};

}  // namespace szarena::net
