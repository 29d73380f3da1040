// SPDX-License-Identifier: Apache-2.0
// Sessions as an MCP server: the toolbox's tools, the reference material, the prompts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/toolbox.h"
#include "mcp/arena/tool_session.h"
#include "mcp/surface.h"

namespace szarena::mcp {

struct ArenaPrompt {
  std::string name;  // "user", "knowledgeable", "expert"
  std::string title;
  std::string text;
};

struct ArenaOffer {
  std::string version;     // of the program
  data::Json description;  // of the task
  std::vector<agent::Reference> references;
  std::vector<ArenaPrompt> prompts;
};

// Begins a session for a client; null client_info: it does not say who it is.
using OpenSession =
    std::function<Result<std::shared_ptr<ToolSession>>(const data::Json& client_info)>;

// How clients find their session.
enum class Sharing : uint8_t {
  kOne,       // every request belongs to one session (a process of its own for each client)
  kByClient,  // a session for each connection; stateless requests name theirs in the arguments
};

// A session begins with the first call of a tool that belongs to it, and ends with its connection,
// by close_session, or by its own rules.
class ArenaSurface : public Surface {
 public:
  ArenaSurface(ArenaOffer offer, Sharing sharing, OpenSession open);

  data::Json Info() const override;
  std::string Instructions() const override;
  data::Json Tools(bool stateless) const override;
  data::Json Resources() const override;
  data::Json Prompts() const override;
  data::Json Complete(const data::Json& ref, const data::Json& argument) const override;
  Reply CallTool(const std::string& name, const data::Json& arguments, Caller& caller) override;
  std::optional<Reply> ReadResource(const std::string& uri, Caller& caller) override;
  Reply GetPrompt(const std::string& name, const data::Json& arguments, Caller& caller) override;
  void Disconnected(const std::string& peer) override;

 private:
  using Lookup = Result<std::shared_ptr<ToolSession>>;
  Lookup SessionOf(const std::string& key, const Caller& caller);
  Reply OpenOrClose(const std::string& name, const data::Json& arguments, Caller& caller);

  const ArenaOffer offer_;
  const Sharing sharing_;
  const OpenSession open_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<ToolSession>> sessions_;  // by peer or handle
};

}  // namespace szarena::mcp
