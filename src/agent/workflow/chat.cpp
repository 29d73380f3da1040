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

// What a service sends back is no input of the user's: answers that cannot be read, and requests
// that it calls wrong, are its failures like any other.
Error OfService(Error error) {
  if (error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kInvalidArgument) {
    error.code = ErrorCode::kUnavailable;
  }
  return error;
}

ModelCallCost CostOf(const model::Reply& reply) {
  return {reply.usage.in, reply.usage.cached, reply.usage.out, reply.usage.reasoning,
          reply.cost_usd};
}

// A step of the workflow: recorded with these members and the rest, or the one that the transcript
// has, which must have the same members.
Result<std::optional<Json>> Step(Play& play, std::string_view kind, const Json& members,
                                 const Json& rest) {
  Transcript& transcript = play.toolbox.context().transcript;
  SZARENA_TRY(auto earlier, transcript.Again(kind, members));
  if (earlier) return earlier;
  Json record = members;
  for (const data::JsonMember& member : rest.members()) record.Set(member.key, member.value);
  SZARENA_TRY_VOID(transcript.Add(kind, record));
  return earlier;
}

}  // namespace

Result<void> Note(Play& play, std::string_view what, const Json& body) {
  SZARENA_TRY_VOID(Step(play, "note", Json::Of({{"what", what}}), body));
  return {};
}

std::optional<AgentEnd> NoProgress(const Play& play) {
  const size_t idle = AttemptsWithoutProgress(play.toolbox.told_attempts());
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
  SZARENA_TRY_VOID(Step(play, "message", Json::Of({{"chat", chat.name_}, {"role", "system"}}),
                        Json::Of({{"text", chat.request_.system}})));
  return chat;
}

// Adds what is new; of an earlier message it is the recorded text that stays.
Result<void> Chat::Add(model::Message message) {
  const Json body = model::MessageToJson(message);
  Json rest = Json::MakeObject();
  for (const data::JsonMember& member : body.members()) {
    if (member.key != "role") rest.Set(member.key, member.value);
  }
  SZARENA_TRY(const auto earlier,
              Step(*play_, "message",
                   Json::Of({{"chat", name_}, {"role", model::RoleName(message.role)}}), rest));
  if (earlier) {
    if (auto recorded = model::MessageFromJson(*earlier)) message = std::move(*recorded);
  }
  request_.messages.push_back(std::move(message));
  return {};
}

Result<void> Chat::Say(std::string text) { return Add(model::UserMessage(std::move(text))); }

Result<void> Chat::Record(const Answer& answer, double seconds) {
  const model::Reply& reply = answer.reply;
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
                         {"fault", answer.fault.empty() ? Json() : Json(answer.fault)},
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

// The answer that the transcript has next. Nothing: there is none, or it was lost after it was paid
// for, or came too late.
Result<std::optional<Chat::Answer>> Chat::EarlierAnswer() {
  Transcript& transcript = play_->toolbox.context().transcript;
  while (transcript.Replaying()) {
    SZARENA_TRY(const auto usage, transcript.Again("usage", Json::Of({{"chat", name_}})));
    const Json* finish = usage->Find("finish");
    const Json* fault = usage->Find("fault");
    Answer answer;
    const auto known = model::ParseFinish(finish && finish->string() ? *finish->string() : "");
    if (!known) return Fail(ErrorCode::kCorrupt, "a 'usage' record has no 'finish' that is known");
    answer.reply.finish = *known;
    if (fault && fault->string()) answer.fault = *fault->string();
    if (*known == Finish::kTooLate) continue;
    if (*known == Finish::kContextFull || *known == Finish::kOversized)
      return std::optional(answer);
    if (!transcript.NextIs("message", Json::Of({{"chat", name_}, {"role", "assistant"}}))) continue;
    auto message = model::MessageFromJson(*transcript.Next());
    if (message) answer.reply.message = std::move(*message);
    return std::optional(std::move(answer));
  }
  return std::optional<Answer>();
}

Result<Chat::Answer> Chat::NewAnswer() {
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
  const double begin = toolbox.meter().ElapsedSeconds();
  Answer answer;
  auto reply = play_->model.Complete(request_, hooks);
  if (!reply) return tl::unexpected(OfService(std::move(reply.error())));
  answer.reply = std::move(*reply);
  SZARENA_TRY_VOID(recorded);
  answer.fault = FaultOf(answer.reply, !request_.tools.empty());
  SZARENA_TRY_VOID(Record(answer, toolbox.meter().ElapsedSeconds() - begin));
  return answer;
}

Result<Chat::Answer> Chat::Ask() {
  for (int shortenings = 0;; ++shortenings) {
    SZARENA_TRY(std::optional<Answer> answer, EarlierAnswer());
    if (!answer) {
      SZARENA_TRY(answer, NewAnswer());
    }
    if (answer->reply.finish != Finish::kContextFull) return std::move(*answer);
    if (shortenings == kShortenings) {
      return Fail(ErrorCode::kCapacity, fmt::format("conversation '{}' does not fit the model: {}",
                                                    name_, answer->reply.message.text));
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
  if (const auto limit = toolbox.LimitReached()) {
    turn.end = AgentEnd{store::StopReason::kBudget, *limit};
    return turn;
  }
  SZARENA_TRY(Answer answer, Ask());
  model::Reply& reply = answer.reply;
  const std::string& fault = answer.fault;
  if (reply.finish == Finish::kTooLate) {
    turn.end = AgentEnd{store::StopReason::kBudget,
                        fmt::format("wall time ({} s), waiting for the model: {}",
                                    *toolbox.meter().budget().wall_seconds, reply.message.text)};
    return turn;
  }
  turn.text = reply.message.text;
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
  const Budget& budget = toolbox.meter().budget();
  if (reply.finish == Finish::kOversized && (budget.tokens || budget.cost_usd)) {
    turn.end =
        AgentEnd{store::StopReason::kBudget,
                 fmt::format("an answer was too long to be read, so what it cost is not known "
                             "and the budget of {} cannot be kept",
                             budget.tokens ? "tokens" : "cost")};
  } else if (toolbox.final_submitted()) {
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
