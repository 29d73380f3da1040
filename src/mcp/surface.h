// SPDX-License-Identifier: Apache-2.0
// What a server offers, in the wire's own words. The protocol around it is in server.h.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "data/json.h"
#include "mcp/rpc.h"

namespace szarena::mcp {

// Who asks, and how to tell them something before the answer.
struct Caller {
  std::string peer;        // one connection of the handshake era; empty: a stateless request
  data::Json client_info;  // {"name", "version"}, or null
  data::Json params;       // of the request, whole
  // Both may be called from any thread until the request is answered. Progress must grow; it goes
  // nowhere where the client asked for none. A message below the client's level goes nowhere.
  std::function<void(double progress, std::optional<double> total, std::string message)> progress;
  std::function<void(std::string_view level, data::Json data)> log;
  std::stop_token stop;  // the client no longer wants the answer
};

// Used by several threads at once. Lists are arrays in the form of the "…/list" results; they do
// not change while a server lives.
class Surface {
 public:
  Surface() = default;
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;
  virtual ~Surface() = default;

  virtual data::Json Info() const = 0;  // {"name", "title", "version"}
  virtual std::string Instructions() const { return ""; }
  // `stateless`: for a request that belongs to no connection.
  virtual data::Json Tools(bool stateless) const = 0;
  virtual data::Json Resources() const { return data::Json::MakeArray(); }
  virtual data::Json ResourceTemplates() const { return data::Json::MakeArray(); }
  virtual data::Json Prompts() const { return data::Json::MakeArray(); }

  // {"content", "structuredContent", "isError"}. `arguments` is an object; the tool exists.
  virtual Reply CallTool(const std::string& name, const data::Json& arguments, Caller& caller) = 0;
  // {"contents"}; nothing: there is no such resource.
  virtual std::optional<Reply> ReadResource(const std::string& /*uri*/, Caller& /*caller*/) {
    return std::nullopt;
  }
  // {"description", "messages"}. The prompt exists.
  virtual Reply GetPrompt(const std::string& name, const data::Json& /*arguments*/,
                          Caller& /*caller*/) {
    return Refuse(kInvalidParams, "there is no prompt '" + name + "'");
  }
  // Possible values of an argument of a prompt or a resource template: an array of strings.
  virtual data::Json Complete(const data::Json& /*ref*/, const data::Json& /*argument*/) const {
    return data::Json::MakeArray();
  }
  // A connection of the handshake era begins or ends. An error refuses it.
  virtual std::optional<RpcError> Connected(const std::string& /*peer*/,
                                            const data::Json& /*client_info*/) {
    return std::nullopt;
  }
  virtual void Disconnected(const std::string& /*peer*/) {}
};

}  // namespace szarena::mcp
