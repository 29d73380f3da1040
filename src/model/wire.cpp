// SPDX-License-Identifier: Apache-2.0
// The table of protocols and what they share.
#include "model/wire.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace szarena::model {
namespace {

using data::Json;

using Entry = std::pair<std::string_view, const Wire& (*)()>;
constexpr std::array<Entry, 4> kWires = {{{"openai-responses", OpenAiResponsesWire},
                                          {"openai-chat", OpenAiChatWire},
                                          {"google", GoogleWire},
                                          {"anthropic", AnthropicWire}}};

}  // namespace

const Wire* FindWire(std::string_view protocol) {
  for (const auto& [name, wire] : kWires) {
    if (name == protocol) return &wire();
  }
  return nullptr;
}

std::string WireNames() {
  std::string names;
  for (const auto& [name, wire] : kWires)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  return names;
}

std::string TextOf(const Json& object, std::string_view key) {
  const Json* value = object.Find(key);
  return value && value->string() ? *value->string() : "";
}

std::optional<int64_t> IntOf(const Json& object, std::string_view key) {
  const Json* value = object.Find(key);
  return value ? value->integer() : std::nullopt;
}

std::optional<int64_t> TokensOf(const Json& object, std::string_view key) {
  const auto count = IntOf(object, key);
  return count && *count >= 0 ? count : std::nullopt;
}

ToolCall ParsedCall(std::string id, std::string name, const std::string& arguments) {
  ToolCall call{std::move(id), std::move(name), nullptr, ""};
  if (arguments.empty()) {  // some services send no text for no arguments
    call.arguments = Json::MakeObject();
    return call;
  }
  auto parsed = data::ParseJson(arguments, "arguments");
  if (!parsed) {
    call.fault = fmt::format("the arguments are no JSON: {}", parsed.error().message);
  } else if (!parsed->is_object()) {
    call.fault = "the arguments are no JSON object";
  } else {
    call.arguments = std::move(*parsed);
  }
  return call;
}

}  // namespace szarena::model
