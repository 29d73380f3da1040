// SPDX-License-Identifier: Apache-2.0
// Asks, records, runs calls.
#include "agent/workflow/chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "agent/score.h"
#include "agent/session_runner.h"

namespace szarena::agent {
namespace {

using data::Json;
using model::Finish;

constexpr int kShortenings = 3;      // of one conversation before one answer
constexpr size_t kKeptMessages = 6;  // at the end, whole
constexpr size_t kShortened = 300;   // bytes that are left of an old text

std::vector<model::ToolSpec> ToolSpecs() {
  std::vector<model::ToolSpec> specs;
  for (const Tool& tool : AllTools()) {
    auto schema = data::ParseJson(tool.input_schema, tool.name);
    specs.push_back({std::string(tool.name), std::string(tool.description),
                     schema ? std::move(*schema) : Json::MakeObject()});
  }
  return specs;
}

// What the model is told about an answer of no use.
std::string FaultOf(const model::Reply& reply, bool with_tools) {
  switch (reply.finish) {
    case Finish::kLength:
      return "the answer was cut off at the limit on its length; nothing of it was executed";
    case Finish::kRefused:
      return "the answer was a refusal";
    case Finish::kMalformed:
      return "the tool call was malformed";
    case Finish::kOversized:
      return "the answer was too long to be read; nothing of it was executed";
    case Finish::kStop:
      return with_tools                   ? "the answer called no tool"
             : reply.message.text.empty() ? "the answer was empty"
                                          : "";
    case Finish::kCalls:
      return with_tools ? ""
                        : "the answer called a tool; there are none, an answer in text is wanted";
    case Finish::kContextFull:
    case Finish::kTooLate:
      break;
  }
  return "";
}

// Old texts cut, so that the conversation fits again; the first message says what is wanted and
// stays.
model::Message Shortened(model::Message message) {
  const auto cut = [](const std::string& text) {
    return fmt::format("{}\n[shortened: it had {} bytes]", text.substr(0, kShortened), text.size());
  };
  if (message.text.size() > 2 * kShortened) message.text = cut(message.text);
  message.raw = nullptr;
  for (model::ToolCall& call : message.calls) {
    Json arguments = Json::MakeObject();
    for (const data::JsonMember& member : call.arguments.members()) {
      const std::string* text = member.value.string();
      arguments.Set(member.key,
                    text && text->size() > 2 * kShortened ? Json(cut(*text)) : member.value);
    }
    if (call.fault.empty()) call.arguments = std::move(arguments);
  }
  return message;
}

ModelCallCost CostOf(const model::Reply& reply) {
  return {reply.usage.in, reply.usage.cached, reply.usage.out, reply.usage.reasoning,
          reply.cost_usd};
}

}  // namespace

Result<void> Note(Play& play, std::string_view what, const Json& body) {
  Json note = Json::Of({{"what", what}});
  for (const data::JsonMember& member : body.members()) note.Set(member.key, member.value);
  return play.toolbox.context().transcript.Add("note", note);
}

std::optional<AgentEnd> NoProgress(const Play& play) {
  const size_t idle = AttemptsWithoutProgress(play.toolbox.attempts());
  if (idle < static_cast<size_t>(play.settings.patience)) return std::nullopt;
  return AgentEnd{store::StopReason::kNoProgress,
                  fmt::format("{} attempts in a row brought nothing better", idle)};
}

AgentEnd EndOf(const Toolbox& toolbox, std::string detail) {
  const bool handed_in = !toolbox.attempts().empty();
  return {handed_in ? store::StopReason::kSubmitted : store::StopReason::kGaveUp,
          std::move(detail)};
}

Result<Chat> Chat::Begin(Play& play, std::string name, std::string system, Tools tools) {
  Chat chat(play, std::move(name));
  chat.request_.system = std::move(system);
  if (tools == Tools::kAll) chat.request_.tools = ToolSpecs();
  chat.Rebuild();
  if (chat.fresh()) {
    SZARENA_TRY_VOID(play.toolbox.context().transcript.Add(
        "message",
        Json::Of({{"chat", chat.name_}, {"role", "system"}, {"text", chat.request_.system}})));
  } else if (const model::Message& last = chat.request_.messages.back();
             last.role == model::Role::kAssistant || last.role == model::Role::kTool) {
    // Calls that the interruption left without an answer.
    std::vector<model::ToolCall> open;
    for (auto message = chat.request_.messages.rbegin(); message != chat.request_.messages.rend();
         ++message) {
      if (message->role == model::Role::kTool) continue;
      open = message->calls;
      break;
    }
    for (const model::ToolCall& call : open) {
      const bool answered = std::ranges::any_of(
          chat.request_.messages,
          [&](const model::Message& message) { return message.call_id == call.id; });
      if (answered) continue;
      SZARENA_TRY_VOID(chat.Add(model::ToolMessage(
          call, false, "the session was interrupted before this call ended; call again")));
    }
    if (open.empty() && tools == Tools::kAll) SZARENA_TRY_VOID(chat.Say(play.Piece("nudge")));
  }
  return chat;
}

void Chat::Rebuild() {
  for (const Json& record : play_->earlier.records) {
    const Json* kind = record.Find("kind");
    const Json* chat = record.Find("chat");
    if (!kind || *kind != Json("message") || !chat || *chat != Json(name_)) continue;
    if (auto message = model::MessageFromJson(record)) {
      request_.messages.push_back(std::move(*message));
    }
  }
}

std::string Chat::last_answer() const {
  const auto& messages = request_.messages;
  const bool answered = !messages.empty() && messages.back().role == model::Role::kAssistant;
  return answered ? messages.back().text : "";
}

Result<void> Chat::Add(model::Message message) {
  Json record = Json::Of({{"chat", name_}});
  const Json body = model::MessageToJson(message);
  for (const data::JsonMember& member : body.members()) record.Set(member.key, member.value);
  SZARENA_TRY_VOID(play_->toolbox.context().transcript.Add("message", record));
  request_.messages.push_back(std::move(message));
  return {};
}

Result<void> Chat::Say(std::string text) { return Add(model::UserMessage(std::move(text))); }

Result<void> Chat::RecordReply(const model::Reply& reply, double seconds) {
  Toolbox& toolbox = play_->toolbox;
  const bool answered = reply.finish != Finish::kContextFull && reply.finish != Finish::kTooLate;
  if (answered) toolbox.meter().AddModelCall(CostOf(reply));
  const Budget& budget = toolbox.meter().budget();
  if (answered && reply.finish != Finish::kOversized && (budget.tokens || budget.cost_usd) &&
      (!reply.usage.in || !reply.usage.out)) {
    return Fail(ErrorCode::kUnavailable,
                "the service tells no tokens, so a budget of tokens or cost cannot be kept; "
                "give one of model calls or time");
  }
  return toolbox.context().transcript.Add(
      "usage", Json::Of({{"chat", name_},
                         {"finish", model::FinishName(reply.finish)},
                         {"model_version", reply.model_version},
                         {"request_id", reply.request_id},
                         {"tokens_in", reply.usage.in},
                         {"tokens_cached", reply.usage.cached},
                         {"tokens_out", reply.usage.out},
                         {"tokens_reasoning", reply.usage.reasoning},
                         {"cost_usd", reply.cost_usd},
                         {"seconds", seconds},
                         {"total", UsageJson(toolbox.meter().usage())}}));
}

Result<model::Reply> Chat::Ask() {
  Toolbox& toolbox = play_->toolbox;
  Result<void> recorded;
  model::CallHooks hooks;
  hooks.stop = toolbox.context().stop;
  if (const auto limit = toolbox.meter().budget().wall_seconds) {
    const double left = std::max(0.0, *limit - toolbox.meter().ElapsedSeconds());
    hooks.deadline = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds(static_cast<int64_t>(left * 1000));
  }
  hooks.on_retry = [&](const model::Retry& retry) {
    const auto added = toolbox.context().transcript.Add(
        "retry", Json::Of({{"chat", name_},
                           {"attempt", retry.attempt},
                           {"reason", retry.reason},
                           {"wait_seconds", static_cast<double>(retry.wait.count()) / 1000}}));
    if (!added) recorded = added;
  };
  for (int shortenings = 0;; ++shortenings) {
    const double begin = toolbox.meter().ElapsedSeconds();
    SZARENA_TRY(model::Reply reply, play_->model.Complete(request_, hooks));
    SZARENA_TRY_VOID(recorded);
    SZARENA_TRY_VOID(RecordReply(reply, toolbox.meter().ElapsedSeconds() - begin));
    if (reply.finish != Finish::kContextFull) return reply;
    if (shortenings == kShortenings) {
      return Fail(ErrorCode::kCapacity, fmt::format("conversation '{}' does not fit the model: {}",
                                                    name_, reply.message.text));
    }
    SZARENA_TRY_VOID(Shorten());
  }
}

// First old texts; then, if that was done before, the older half of the turns.
Result<void> Chat::Shorten() {
  auto& messages = request_.messages;
  size_t bytes = 0;
  for (size_t i = 1; i + kKeptMessages < messages.size(); ++i) {
    const size_t before = model::MessageToJson(messages[i]).Dump().size();
    messages[i] = Shortened(std::move(messages[i]));
    const size_t after = model::MessageToJson(messages[i]).Dump().size();
    bytes += before > after ? before - after : 0;
  }
  size_t dropped = 0;
  if (bytes == 0 && messages.size() > 2) {
    // Up to an answer of the model, so that no result is left without its call.
    size_t end = 1 + (messages.size() - 1) / 2;
    while (end < messages.size() && messages[end].role != model::Role::kAssistant) ++end;
    dropped = end - 1;
    messages.erase(messages.begin() + 1, messages.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return Note(
      *play_, "conversation shortened",
      Json::Of({{"chat", name_}, {"bytes_left_out", bytes}, {"messages_left_out", dropped}}));
}

Result<std::string> Chat::RunCall(model::ToolCall call, Turn& turn) {
  if (!call.fault.empty()) {
    SZARENA_TRY_VOID(Add(model::ToolMessage(call, false, call.fault + "; call again")));
    return call.fault;
  }
  if (before_call) before_call(call);
  SZARENA_TRY(ToolResult result, play_->toolbox.Call(call.name, call.arguments));
  ++turn.calls;
  const std::string signature =
      fmt::format("{}\n{}\n{}", call.name, call.arguments.Dump(), result.text);
  same_calls_ = signature == last_call_ ? same_calls_ + 1 : 1;
  last_call_ = signature;
  SZARENA_TRY_VOID(Add(model::ToolMessage(call, result.ok, std::move(result.text))));
  return std::string();
}

Result<void> Chat::RunCalls(const std::vector<model::ToolCall>& calls, Turn& turn) {
  std::string fault;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i >= kCallsPerTurn) {
      SZARENA_TRY_VOID(Add(model::ToolMessage(
          calls[i], false,
          fmt::format("not executed: {} calls at once are the most", kCallsPerTurn))));
      continue;
    }
    SZARENA_TRY(const std::string call_fault, RunCall(calls[i], turn));
    if (!call_fault.empty()) fault = call_fault;
  }
  if (turn.calls == 0) {
    turn.fault = fault;  // the results say so to the model
    ++faults_;
  } else {
    faults_ = 0;
  }
  return {};
}

// Tells the model what was wrong, so that its next answer may be better.
Result<void> Chat::Reproach(std::string fault, Turn& turn) {
  ++faults_;
  turn.fault = fault;
  if (request_.tools.empty()) return {};  // the workflow decides
  return Say(fmt::format("[{}]\n{}", fault, play_->Piece("nudge")));
}

Result<Turn> Chat::Take() {
  Turn turn;
  Toolbox& toolbox = play_->toolbox;
  if (const auto limit = toolbox.meter().Reached()) {
    turn.end = AgentEnd{store::StopReason::kBudget, *limit};
    return turn;
  }
  SZARENA_TRY(model::Reply reply, Ask());
  if (reply.finish == Finish::kTooLate) {
    turn.end = AgentEnd{store::StopReason::kBudget,
                        fmt::format("wall time ({} s), waiting for the model: {}",
                                    *toolbox.meter().budget().wall_seconds, reply.message.text)};
    return turn;
  }
  turn.text = reply.message.text;
  const std::string fault = FaultOf(reply, !request_.tools.empty());
  if (fault.empty()) {
    const std::vector<model::ToolCall> calls = reply.message.calls;
    SZARENA_TRY_VOID(Add(std::move(reply.message)));
    if (request_.tools.empty()) {
      faults_ = 0;
    } else {
      SZARENA_TRY_VOID(RunCalls(calls, turn));
    }
  } else {
    if (reply.finish != Finish::kOversized) {
      // Calls that were not executed do not stay in the conversation.
      if (!reply.message.calls.empty()) reply.message.raw = nullptr;
      reply.message.calls.clear();
      if (reply.message.text.empty()) reply.message.text = "(no answer)";
      SZARENA_TRY_VOID(Add(std::move(reply.message)));
    }
    SZARENA_TRY_VOID(Reproach(fault, turn));
  }
  if (toolbox.final_submitted()) {
    turn.end = AgentEnd{store::StopReason::kSubmitted, "the last attempt was final"};
  } else if (same_calls_ >= kSameCallsInARow) {
    turn.end = AgentEnd{
        store::StopReason::kNoProgress,
        fmt::format("the same call with the same result {} times in a row", kSameCallsInARow)};
  } else if (faults_ >= kFaultsInARow && !request_.tools.empty()) {
    turn.end = EndOf(toolbox, fmt::format("{} answers in a row were of no use; the last: {}",
                                          faults_, turn.fault));
  } else if (!request_.tools.empty()) {
    turn.end = NoProgress(*play_);
  }
  return turn;
}

}  // namespace szarena::agent
