// SPDX-License-Identifier: Apache-2.0
// Reads scripts.
#include "model/testing/script.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "data/json_reader.h"

namespace szarena::model::standin {
namespace {

using data::Json;
using data::JsonReader;

Result<std::string> FileText(const std::string& folder, const std::string& name) {
  const std::string path = (std::filesystem::path(folder) / name).string();
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) return Fail(ErrorCode::kNotFound, fmt::format("cannot read '{}'", path));
  return text;
}

// The value with every {"$file": ...} replaced.
Result<Json> Resolve(const Json& value, const std::string& folder) {
  if (const Json* file = value.Find("$file"); file && file->string()) {
    SZARENA_TRY(std::string text, FileText(folder, *file->string()));
    return Json(std::move(text));
  }
  if (value.is_array()) {
    Json list = Json::MakeArray();
    for (const Json& item : value.items()) {
      SZARENA_TRY(Json resolved, Resolve(item, folder));
      list.Append(std::move(resolved));
    }
    return list;
  }
  if (value.is_object()) {
    Json object = Json::MakeObject();
    for (const data::JsonMember& member : value.members()) {
      SZARENA_TRY(Json resolved, Resolve(member.value, folder));
      object.Set(member.key, std::move(resolved));
    }
    return object;
  }
  return value;
}

Result<Fault> ParseFault(const JsonReader& reader) {
  SZARENA_TRY_VOID(reader.RefuseOtherKeys(
      {"status", "error_code", "retry_after", "cut_after", "delay_ms", "padding", "garbage"}));
  Fault fault;
  SZARENA_TRY(const auto status, reader.OptionalInt("status"));
  SZARENA_TRY(const auto code, reader.OptionalString("error_code"));
  SZARENA_TRY(const auto retry, reader.OptionalString("retry_after"));
  SZARENA_TRY(fault.cut_after, reader.OptionalInt("cut_after"));
  SZARENA_TRY(const auto delay, reader.OptionalInt("delay_ms"));
  SZARENA_TRY(const auto padding, reader.OptionalInt("padding"));
  SZARENA_TRY(const auto garbage, reader.OptionalBool("garbage"));
  fault.status = static_cast<int>(status.value_or(0));
  fault.error_code = code.value_or("");
  fault.retry_after = retry.value_or("");
  fault.delay_ms = static_cast<int>(delay.value_or(0));
  fault.padding = padding.value_or(0);
  fault.garbage = garbage.value_or(false);
  return fault;
}

Result<Turn> ParseTurn(const JsonReader& reader, const std::string& folder) {
  SZARENA_TRY_VOID(
      reader.RefuseOtherKeys({"text", "reasoning", "calls", "finish", "tokens_in", "tokens_out",
                              "tokens_cached", "tokens_reasoning", "faults"}));
  Turn turn;
  if (const Json* text = reader.json().Find("text")) {
    SZARENA_TRY(const Json resolved, Resolve(*text, folder));
    if (!resolved.string()) return tl::unexpected(reader.Fault("text", "is no text"));
    turn.text = *resolved.string();
  }
  SZARENA_TRY(const auto reasoning, reader.OptionalString("reasoning"));
  turn.reasoning = reasoning.value_or("");
  SZARENA_TRY(const auto finish, reader.OptionalString("finish"));
  turn.finish = finish.value_or("");
  if (turn.finish != "" && turn.finish != "length" && turn.finish != "refusal") {
    return tl::unexpected(reader.Fault("finish", "is neither 'length' nor 'refusal'"));
  }
  for (auto [key, figure] :
       {std::pair("tokens_in", &turn.tokens_in), std::pair("tokens_out", &turn.tokens_out),
        std::pair("tokens_cached", &turn.tokens_cached),
        std::pair("tokens_reasoning", &turn.tokens_reasoning)}) {
    SZARENA_TRY(const auto value, reader.OptionalInt(key));
    *figure = value.value_or(*figure);
  }
  if (reader.Has("calls")) {
    SZARENA_TRY(const auto calls, reader.GetObjects("calls"));
    for (const JsonReader& call : calls) {
      SZARENA_TRY_VOID(call.RefuseOtherKeys({"name", "arguments", "raw_arguments"}));
      ScriptedCall scripted;
      SZARENA_TRY(scripted.name, call.GetString("name"));
      SZARENA_TRY(const auto raw, call.OptionalString("raw_arguments"));
      scripted.raw_arguments = raw.value_or("");
      const Json* arguments = call.json().Find("arguments");
      SZARENA_TRY(scripted.arguments,
                  arguments ? Resolve(*arguments, folder) : Result<Json>(Json::MakeObject()));
      turn.calls.push_back(std::move(scripted));
    }
  }
  if (reader.Has("faults")) {
    SZARENA_TRY(const auto faults, reader.GetObjects("faults"));
    for (const JsonReader& fault : faults) {
      SZARENA_TRY(turn.faults.emplace_back(), ParseFault(fault));
    }
  }
  return turn;
}

Result<Chat> ParseChat(const JsonReader& reader, const std::string& folder) {
  SZARENA_TRY_VOID(reader.RefuseOtherKeys({"match", "advance", "turns", "repeat"}));
  Chat chat;
  SZARENA_TRY(const auto match, reader.OptionalString("match"));
  SZARENA_TRY(const auto advance, reader.OptionalString("advance"));
  SZARENA_TRY(const auto repeat, reader.OptionalBool("repeat"));
  chat.match = match.value_or("");
  chat.repeat = repeat.value_or(false);
  const std::string by = advance.value_or("calls");
  if (by != "calls" && by != "turns" && by != "requests") {
    return tl::unexpected(reader.Fault("advance", "is none of 'calls', 'turns', 'requests'"));
  }
  chat.advance = by == "calls"   ? Advance::kCalls
                 : by == "turns" ? Advance::kTurns
                                 : Advance::kRequests;
  SZARENA_TRY(const auto turns, reader.GetObjects("turns"));
  for (const JsonReader& turn : turns) {
    SZARENA_TRY(chat.turns.emplace_back(), ParseTurn(turn, folder));
  }
  return chat;
}

}  // namespace

Result<Script> ParseScript(const Json& json, const std::string& folder) {
  const JsonReader reader(json, "script");
  SZARENA_TRY_VOID(reader.RefuseOtherKeys({"chats", "key", "model_version"}));
  Script script;
  SZARENA_TRY(const auto key, reader.OptionalString("key"));
  script.key = key.value_or("");
  SZARENA_TRY(const auto version, reader.OptionalString("model_version"));
  script.model_version = version.value_or(script.model_version);
  SZARENA_TRY(const auto chats, reader.GetObjects("chats"));
  for (const JsonReader& chat : chats) {
    SZARENA_TRY(script.chats.emplace_back(), ParseChat(chat, folder));
  }
  return script;
}

Result<Script> ReadScript(const std::string& path) {
  SZARENA_TRY(const Json json, data::ReadJsonFile(path));
  return ParseScript(json, std::filesystem::path(path).parent_path().string());
}

}  // namespace szarena::model::standin
