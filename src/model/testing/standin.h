// SPDX-License-Identifier: Apache-2.0
// A stand-in for model services on loopback: answers what a script says, in the wire format that it
// is asked in, and misbehaves where the script says so. For tests only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/json.h"
#include "model/testing/script.h"

namespace szarena::model::standin {

// A request as it came.
struct Seen {
  std::string method;
  std::string path;
  std::vector<std::pair<std::string, std::string>> headers;
  data::Json body;    // null where it was no JSON
  std::string chat;   // the match of the chat that answered; empty: none or any
  int64_t turn = -1;  // the turn that answered; -1: none ("Done.", an error)
  int status = 0;     // that it got
};

class StandIn {
 public:
  // Listens on 127.0.0.1; port 0 takes a free one. `on_request` may be empty; called from the
  // server's threads.
  static Result<std::unique_ptr<StandIn>> Start(Script script, int port = 0,
                                                std::function<void(const Seen&)> on_request = {});
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;
  ~StandIn();

  int port() const;
  std::string url() const;  // "http://127.0.0.1:PORT"
  std::vector<Seen> seen() const;

 private:
  struct Impl;
  explicit StandIn(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace szarena::model::standin
