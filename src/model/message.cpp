// SPDX-License-Identifier: Apache-2.0
// Names and JSON forms.
#include "model/message.h"

#include <algorithm>
#include <array>

namespace szarena::model {
namespace {

using data::Json;

constexpr std::array<std::string_view, 3> kRoles = {"user", "assistant", "tool"};
constexpr std::array<std::string_view, 8> kFinishes = {
    "stop", "calls", "length", "refused", "malformed", "context-full", "oversized", "too-late"};

}  // namespace

std::string_view RoleName(Role role) { return kRoles.at(static_cast<size_t>(role)); }
std::string_view FinishName(Finish finish) { return kFinishes.at(static_cast<size_t>(finish)); }

std::optional<Finish> ParseFinish(std::string_view name) {
  const auto* found = std::ranges::find(kFinishes, name);
  if (found == kFinishes.end()) return std::nullopt;
  return static_cast<Finish>(found - kFinishes.begin());
}

Message UserMessage(std::string text) {
  Message message;
  message.text = std::move(text);
  return message;
}

Message ToolMessage(const ToolCall& call, bool ok, std::string text) {
  Message message;
  message.role = Role::kTool;
  message.text = std::move(text);
  message.call_id = call.id;
  message.tool = call.name;
  message.ok = ok;
  return message;
}

Json MessageToJson(const Message& message) {
  Json json = Json::Of({{"role", RoleName(message.role)}, {"text", message.text}});
  if (message.role == Role::kTool) {
    json.Set("call_id", message.call_id).Set("tool", message.tool).Set("ok", message.ok);
  }
  if (!message.calls.empty()) {
    Json calls = Json::MakeArray();
    for (const ToolCall& call : message.calls) {
      Json item = Json::Of({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
      if (!call.fault.empty()) item.Set("fault", call.fault);
      calls.Append(std::move(item));
    }
    json.Set("calls", std::move(calls));
  }
  if (!message.raw.is_null()) json.Set("raw", message.raw);
  return json;
}

std::optional<Message> MessageFromJson(const Json& json) {
  const auto text = [&json](std::string_view key) {
    const Json* value = json.Find(key);
    return value && value->string() ? *value->string() : std::string();
  };
  const auto* role = std::ranges::find(kRoles, text("role"));
  if (role == kRoles.end()) return std::nullopt;
  Message message;
  message.role = static_cast<Role>(role - kRoles.begin());
  message.text = text("text");
  message.call_id = text("call_id");
  message.tool = text("tool");
  if (const Json* ok = json.Find("ok")) message.ok = ok->boolean().value_or(true);
  if (const Json* raw = json.Find("raw")) message.raw = *raw;
  if (const Json* calls = json.Find("calls")) {
    for (const Json& call : calls->items()) {
      const auto member = [&call](std::string_view key) {
        const Json* value = call.Find(key);
        return value ? *value : Json();
      };
      const auto word = [&member](std::string_view key) {
        const Json value = member(key);
        return value.string() ? *value.string() : std::string();
      };
      message.calls.push_back({word("id"), word("name"), member("arguments"), word("fault")});
    }
  }
  return message;
}

}  // namespace szarena::model
