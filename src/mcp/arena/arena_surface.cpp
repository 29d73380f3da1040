// SPDX-License-Identifier: Apache-2.0
#include "mcp/arena/arena_surface.h"

#include <fmt/format.h>

#include <algorithm>

#include "mcp/http.h"

namespace szarena::mcp {
namespace {

using agent::Tool;
using data::Json;

constexpr size_t kMaxSessions = 64;
constexpr std::string_view kTaskUri = "szarena://task";
constexpr std::string_view kReferencePrefix = "szarena://reference/";
// Handles of stateless clients live beside the ids of connections.
constexpr std::string_view kHandlePrefix = "handle:";
constexpr std::string_view kOne = "one";

Json Parse(std::string_view text) { return *data::ParseJson(text, "schema"); }

Json Annotations(bool read_only) {
  return Json::Of({{"readOnlyHint", read_only},
                   {"destructiveHint", false},
                   {"idempotentHint", read_only},
                   {"openWorldHint", false}});
}

// The tool in the wire's form; `with_session`: its arguments name the session.
Json ToolJson(const Tool& tool, bool with_session) {
  Json input = Parse(tool.input_schema);
  if (with_session) {
    Json properties = *input.Find("properties");
    properties.Set("session", Parse(R"({"type": "string", "description": "from open_session"})"));
    Json required = input.Find("required") == nullptr ? Json::MakeArray() : *input.Find("required");
    input.Set("properties", std::move(properties)).Set("required", required.Append("session"));
  }
  return Json::Of({{"name", tool.name},
                   {"title", tool.title},
                   {"description", tool.description},
                   {"inputSchema", std::move(input)},
                   {"outputSchema", Parse(tool.output_schema)},
                   {"annotations", Annotations(tool.read_only)}});
}

constexpr std::string_view kSessionSchema =
    R"({"type": "object", "properties": {"session": {"type": "string"}}, "required": ["session"]})";

Json SessionTools() {
  Json tools = Json::MakeArray();
  tools.Append(Json::Of(
      {{"name", "open_session"},
       {"title", "Open a session"},
       {"description",
        "Begins a session with a workspace of its own; every other tool is given its handle as "
        "'session'."},
       {"inputSchema", Parse(agent::FindTool("list_files")->input_schema)},
       {"outputSchema", Parse(kSessionSchema)},
       {"annotations", Annotations(false)}}));
  Json input = Parse(kSessionSchema);
  tools.Append(Json::Of({{"name", "close_session"},
                         {"title", "Close a session"},
                         {"description", "Ends a session; what it handed in stays."},
                         {"inputSchema", input.Set("additionalProperties", false)},
                         {"outputSchema", Parse(kSessionSchema)},
                         {"annotations", Annotations(false)}}));
  return tools;
}

Json TextContent(const std::string& text) {
  Json content = Json::MakeArray();
  content.Append(Json::Of({{"type", "text"}, {"text", text}}));
  return content;
}

// A mistake that the caller can read and mend.
Json ErrorResult(const std::string& text) {
  return Json::Of({{"content", TextContent(text)}, {"isError", true}});
}

Json OkResult(const std::string& text, Json structured) {
  return Json::Of({{"content", TextContent(text)},
                   {"structuredContent", std::move(structured)},
                   {"isError", false}});
}

std::string_view MimeOf(std::string_view name) {
  return name.ends_with(".md") ? "text/markdown" : "text/plain";
}

}  // namespace

ArenaSurface::ArenaSurface(ArenaOffer offer, Sharing sharing, OpenSession open)
    : offer_(std::move(offer)), sharing_(sharing), open_(std::move(open)) {}

Json ArenaSurface::Info() const {
  return Json::Of({{"name", "szarena"}, {"title", "SZ Arena"}, {"version", offer_.version}});
}

std::string ArenaSurface::Instructions() const {
  return "Write the program that describe_task asks for with write_file and edit_file, check it "
         "with build and test, measure it with benchmark, and hand it in with submit. Work that "
         "takes longer than a call may answers with a job: go on with poll.";
}

Json ArenaSurface::Tools(bool stateless) const {
  const bool with_session = stateless && sharing_ == Sharing::kByClient;
  Json tools = with_session ? SessionTools() : Json::MakeArray();
  for (const Tool& tool : agent::AllTools()) tools.Append(ToolJson(tool, with_session));
  return tools;
}

Json ArenaSurface::Resources() const {
  Json list = Json::MakeArray();
  list.Append(Json::Of({{"uri", kTaskUri},
                        {"name", "task"},
                        {"title", "The task"},
                        {"description", "What is to be produced, as describe_task says it"},
                        {"mimeType", "application/json"}}));
  for (const agent::Reference& reference : offer_.references) {
    list.Append(Json::Of({{"uri", std::string(kReferencePrefix) + reference.name},
                          {"name", reference.name},
                          {"title", reference.title},
                          {"description", reference.title},
                          {"mimeType", MimeOf(reference.name)},
                          {"size", reference.text.size()}}));
  }
  return list;
}

std::optional<Reply> ArenaSurface::ReadResource(const std::string& uri, Caller& /*caller*/) {
  const auto contents = [&](std::string_view mime, std::string text) {
    Json list = Json::MakeArray();
    list.Append(Json::Of({{"uri", uri}, {"mimeType", mime}, {"text", std::move(text)}}));
    return Reply(Json::Of({{"contents", std::move(list)}}));
  };
  if (uri == kTaskUri) return contents("application/json", offer_.description.Dump(2));
  for (const agent::Reference& reference : offer_.references) {
    if (uri == std::string(kReferencePrefix) + reference.name) {
      return contents(MimeOf(reference.name), reference.text);
    }
  }
  return std::nullopt;
}

Json ArenaSurface::Prompts() const {
  Json list = Json::MakeArray();
  for (const ArenaPrompt& prompt : offer_.prompts) {
    list.Append(Json::Of({{"name", prompt.name},
                          {"title", prompt.title},
                          {"description", prompt.title},
                          {"arguments", Json::MakeArray()}}));
  }
  return list;
}

Reply ArenaSurface::GetPrompt(const std::string& name, const Json& /*arguments*/,
                              Caller& /*caller*/) {
  const auto prompt = std::ranges::find(offer_.prompts, name, &ArenaPrompt::name);
  Json messages = Json::MakeArray();
  messages.Append(Json::Of(
      {{"role", "user"}, {"content", Json::Of({{"type", "text"}, {"text", prompt->text}})}}));
  return Json::Of({{"description", prompt->title}, {"messages", std::move(messages)}});
}

Json ArenaSurface::Complete(const Json& /*ref*/, const Json& /*argument*/) const {
  return Json::MakeArray();  // neither prompts nor resources have arguments
}

ArenaSurface::Lookup ArenaSurface::SessionOf(const std::string& key, const Caller& caller) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(key);
  if (found != sessions_.end()) return found->second;
  if (key.starts_with(kHandlePrefix)) {
    return Fail(ErrorCode::kInvalidArgument, "there is no such session; call open_session");
  }
  if (sessions_.size() >= kMaxSessions) {
    return Fail(ErrorCode::kInvalidArgument, "too many sessions at a time; close one first");
  }
  SZARENA_TRY(auto session, open_(caller.client_info));
  sessions_[key] = session;
  return session;
}

Reply ArenaSurface::OpenOrClose(const std::string& name, const Json& arguments, Caller& caller) {
  if (name == "open_session") {
    const std::string handle = RandomToken();
    {
      const std::lock_guard lock(mutex_);
      if (sessions_.size() >= kMaxSessions) {
        return ErrorResult("too many sessions at a time; close one first");
      }
      auto session = open_(caller.client_info);
      if (!session) return ErrorResult(session.error().ToString());
      sessions_[std::string(kHandlePrefix) + handle] = *session;
    }
    return OkResult(fmt::format("session {}", handle), Json::Of({{"session", handle}}));
  }
  const Json* handle = arguments.Find("session");
  if (handle == nullptr || !handle->is_string()) return ErrorResult("'session' is missing");
  std::shared_ptr<ToolSession> ended;  // goes without the lock: its end takes a while
  {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(std::string(kHandlePrefix) + *handle->string());
    if (found == sessions_.end()) return ErrorResult("there is no such session");
    ended = std::move(found->second);
    sessions_.erase(found);
  }
  ended.reset();
  return OkResult("closed", Json::Of({{"session", *handle}}));
}

Reply ArenaSurface::CallTool(const std::string& name, const Json& arguments, Caller& caller) {
  std::string key(kOne);
  Json rest = arguments;
  if (sharing_ == Sharing::kByClient && !caller.peer.empty()) {
    key = "peer:" + caller.peer;
  } else if (sharing_ == Sharing::kByClient) {
    if (name == "open_session" || name == "close_session") {
      return OpenOrClose(name, arguments, caller);
    }
    const Json* handle = arguments.Find("session");
    if (handle == nullptr || !handle->is_string()) {
      return ErrorResult(
          "'session' is missing: call open_session and give its handle to every "
          "other tool");
    }
    key = std::string(kHandlePrefix) + *handle->string();
    rest = Json::MakeObject();
    for (const data::JsonMember& member : arguments.members()) {
      if (member.key != "session") rest.Set(member.key, member.value);
    }
  }
  const Lookup session = SessionOf(key, caller);
  if (!session) return ErrorResult(session.error().ToString());
  agent::JudgeHooks hooks;
  hooks.stop = caller.stop;
  hooks.on_stage = [&](judge::Stage stage) {
    const auto done = static_cast<double>(stage);
    caller.progress(done, judge::kStageCount, std::string(judge::StageName(stage)));
    caller.log("info", Json::Of({{"tool", name}, {"stage", judge::StageName(stage)}}));
  };
  caller.log("debug", Json::Of({{"tool", name}, {"arguments", rest}}));
  const Result<agent::ToolResult> result = (*session)->Call(name, rest, hooks);
  if (!result) return ErrorResult(result.error().ToString());
  if (!result->ok) return ErrorResult(result->text);
  return OkResult(result->text, result->content);
}

void ArenaSurface::Disconnected(const std::string& peer) {
  std::shared_ptr<ToolSession> ended;  // goes last, without the lock
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find("peer:" + peer);
  if (found == sessions_.end()) return;
  ended = std::move(found->second);
  sessions_.erase(found);
}

}  // namespace szarena::mcp
