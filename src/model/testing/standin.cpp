// SPDX-License-Identifier: Apache-2.0
// The server around script and dialects.
#include "model/testing/standin.h"

#include <fmt/format.h>
#include <httplib.h>

#include <map>
#include <mutex>
#include <thread>

#include "model/testing/dialect.h"

namespace szarena::model::standin {
namespace {

using data::Json;

const Dialect* FindDialect(std::string_view path) {
  for (const Dialect* dialect :
       {&OpenAiResponses(), &OpenAiChat(), &GoogleGenerate(), &AnthropicMessages()}) {
    if (dialect->Serves(path)) return dialect;
  }
  return nullptr;
}

// The request's own spelling of a tool: agent programs prefix the names of a server's tools
// ("mcp__szarena__write_file"), and may have one of their own that is called the same.
const OfferedTool* FindTool(const std::vector<OfferedTool>& offered, const std::string& name) {
  const OfferedTool* best = nullptr;
  int best_rank = 0;
  for (const OfferedTool& tool : offered) {
    const bool ours = tool.name.find("szarena") != std::string::npos ||
                      tool.name_space.find("szarena") != std::string::npos;
    const bool fits =
        tool.name == name || tool.name.ends_with("_" + name) || tool.name.ends_with("." + name);
    const int rank = !fits ? 0 : ours ? 3 : tool.name == name ? 2 : 1;
    if (rank > best_rank) {
      best = &tool;
      best_rank = rank;
    }
  }
  return best;
}

// The key in whichever header or parameter the dialects send it.
std::string KeyOf(const httplib::Request& request) {
  const std::string bearer = request.get_header_value("Authorization");
  if (bearer.starts_with("Bearer ")) return bearer.substr(7);
  for (const char* name : {"x-api-key", "x-goog-api-key"}) {
    if (request.has_header(name)) return request.get_header_value(name);
  }
  return request.get_param_value("key");
}

}  // namespace

struct StandIn::Impl {
  Script script;
  std::function<void(const Seen&)> on_request;
  httplib::Server server;
  std::thread thread;
  int port = 0;
  mutable std::mutex mutex;
  std::vector<Seen> seen;
  std::map<const Chat*, size_t> requests;                        // of each chat
  std::map<std::pair<const Chat*, size_t>, size_t> faults_used;  // of each chat's turn
  int64_t answers = 0;

  void Handle(const httplib::Request& request, httplib::Response& response);
  void Post(const httplib::Request& request, httplib::Response& response, Seen& seen_now);
  const Chat* FindChat(const Question& question) const;
  const Turn* FindTurn(const Question& question, Seen& seen_now, Fault& fault);
  Answer MakeAnswer(const Turn& turn, const Question& question, const Fault& fault);
  static void Send(httplib::Response& response, std::vector<std::string> pieces,
                   const std::string& type, const Fault& fault);
};

const Chat* StandIn::Impl::FindChat(const Question& question) const {
  for (const Chat& chat : script.chats) {
    if (question.opening.find(chat.match) != std::string::npos) return &chat;
  }
  return nullptr;
}

// The turn that answers and its fault, if one is left; nullptr after the last turn.
const Turn* StandIn::Impl::FindTurn(const Question& question, Seen& seen_now, Fault& fault) {
  const Chat* chat = FindChat(question);
  if (!chat || chat->turns.empty()) return nullptr;
  seen_now.chat = chat->match;
  const std::lock_guard lock(mutex);
  size_t& count = requests[chat];
  size_t index = chat->advance == Advance::kCalls   ? question.call_turns
                 : chat->advance == Advance::kTurns ? question.turns
                                                    : count;
  if (chat->repeat) index %= chat->turns.size();
  if (index >= chat->turns.size()) return nullptr;
  const Turn& turn = chat->turns[index];
  // An auxiliary request (a title, a summary) offers no such tool: it is no turn of the script.
  const bool auxiliary = !turn.calls.empty() && question.tools.empty();
  if (auxiliary && chat->advance == Advance::kCalls) return nullptr;
  seen_now.turn = static_cast<int64_t>(index);
  size_t& used = faults_used[{chat, chat->repeat ? count : index}];
  if (used < turn.faults.size()) fault = turn.faults[used++];
  // A request that fails will come again.
  if (fault.status == 0 && !fault.cut_after && !fault.garbage) ++count;
  return &turn;
}

Answer StandIn::Impl::MakeAnswer(const Turn& turn, const Question& question, const Fault& fault) {
  Answer answer;
  {
    const std::lock_guard lock(mutex);
    answer.id = fmt::format("{:08}", ++answers);
  }
  answer.model = script.model_version;
  answer.text = turn.text;
  if (fault.padding > 0) answer.text += std::string(static_cast<size_t>(fault.padding), 'x');
  answer.reasoning = turn.reasoning;
  answer.finish = turn.finish;
  answer.tokens_in = turn.tokens_in;
  answer.tokens_out = turn.tokens_out;
  answer.tokens_cached = turn.tokens_cached;
  answer.tokens_reasoning = turn.tokens_reasoning;
  for (const ScriptedCall& scripted : turn.calls) {
    AnswerCall call;
    const OfferedTool* tool = FindTool(question.tools, scripted.name);
    call.tool = tool ? *tool : OfferedTool{scripted.name, ""};
    call.id = fmt::format("call_{}_{}", answer.id, answer.calls.size());
    call.arguments = scripted.arguments;
    call.malformed = !scripted.raw_arguments.empty();
    call.raw = call.malformed ? scripted.raw_arguments : scripted.arguments.Dump();
    answer.calls.push_back(std::move(call));
  }
  return answer;
}

void StandIn::Impl::Send(httplib::Response& response, std::vector<std::string> pieces,
                         const std::string& type, const Fault& fault) {
  if (!fault.cut_after && fault.delay_ms == 0) {
    std::string body;
    for (const std::string& piece : pieces) body += piece;
    response.set_content(body, type);
    return;
  }
  auto left = std::make_shared<int64_t>(fault.cut_after.value_or(INT64_MAX));
  auto next = std::make_shared<size_t>(0);
  response.set_chunked_content_provider(
      type, [pieces = std::move(pieces), left, next, fault](size_t, httplib::DataSink& sink) {
        if (*next == pieces.size()) {
          sink.done();
          return true;
        }
        if (fault.delay_ms > 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(fault.delay_ms));
        }
        const std::string& piece = pieces[(*next)++];
        const auto size =
            static_cast<size_t>(std::min<int64_t>(*left, static_cast<int64_t>(piece.size())));
        *left -= static_cast<int64_t>(size);
        if (size > 0 && !sink.write(piece.data(), size)) return false;
        return *left > 0;  // false: the connection is closed at once
      });
}

void StandIn::Impl::Post(const httplib::Request& request, httplib::Response& response,
                         Seen& seen_now) {
  if (request.path.ends_with("/count_tokens") || request.path.ends_with(":countTokens")) {
    response.set_content(R"({"input_tokens": 100, "totalTokens": 100})", "application/json");
    return;
  }
  const Dialect* dialect = FindDialect(request.path);
  if (!dialect) {
    response.status = 404;
    response.set_content(R"({"error": {"message": "no such path"}})", "application/json");
    return;
  }
  const auto refuse = [&](int status, const std::string& code, const std::string& message) {
    response.status = status;
    response.set_content(dialect->ErrorBody(status, code, message).Dump(), "application/json");
  };
  if (!script.key.empty() && KeyOf(request) != script.key) {
    return refuse(401, "", fmt::format("incorrect API key provided: {}", KeyOf(request)));
  }
  auto body = data::ParseJson(request.body, "request");
  if (!body) return refuse(400, "", body.error().ToString());
  seen_now.body = *body;
  const Question question = dialect->Read(request.path, *body);
  Fault fault;
  const Turn* turn = FindTurn(question, seen_now, fault);
  if (fault.status != 0) {
    if (!fault.retry_after.empty()) response.set_header("Retry-After", fault.retry_after);
    return refuse(fault.status, fault.error_code, "scripted failure");
  }
  Turn done;
  done.text = "Done.";
  Answer answer = MakeAnswer(turn ? *turn : done, question, fault);
  const Json* usage = body->FindPath({"stream_options", "include_usage"});
  answer.with_usage = usage && usage->boolean().value_or(false);
  std::vector<std::string> pieces;
  if (fault.garbage) {
    pieces = {"<html>\x01\xFF 502 bad gateway"};
  } else if (question.stream) {
    pieces = dialect->Stream(answer);
  } else {
    pieces = {dialect->Whole(answer).Dump()};
  }
  Send(response, std::move(pieces), question.stream ? "text/event-stream" : "application/json",
       fault);
}

void StandIn::Impl::Handle(const httplib::Request& request, httplib::Response& response) {
  Seen seen_now;
  seen_now.method = request.method;
  seen_now.path = request.path;
  for (const auto& [name, value] : request.headers) seen_now.headers.emplace_back(name, value);
  response.status = 200;
  response.set_header("x-request-id", "stand-in");
  if (request.method == "POST") {
    Post(request, response, seen_now);
  } else {  // lists of models, health checks
    const Json model = Json::Of({{"id", script.model_version}, {"object", "model"}});
    response.set_content(
        Json::Of({{"object", "list"}, {"data", Json::MakeArray().Append(model)}}).Dump(),
        "application/json");
  }
  seen_now.status = response.status;
  if (on_request) on_request(seen_now);
  const std::lock_guard lock(mutex);
  seen.push_back(std::move(seen_now));
}

StandIn::StandIn(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

StandIn::~StandIn() {
  impl_->server.stop();
  impl_->thread.join();
}

Result<std::unique_ptr<StandIn>> StandIn::Start(Script script, int port,
                                                std::function<void(const Seen&)> on_request) {
  auto impl = std::make_unique<Impl>();
  impl->script = std::move(script);
  impl->on_request = std::move(on_request);
  Impl& it = *impl;
  it.server.set_payload_max_length(256 << 20);
  it.server.set_keep_alive_timeout(1);  // so that the end does not wait long for idle clients
  it.server.set_tcp_nodelay(true);
  const auto handle = [&it](const httplib::Request& request, httplib::Response& response) {
    it.Handle(request, response);
  };
  it.server.Get(".*", handle);
  it.server.Post(".*", handle);
  it.port = port == 0 ? it.server.bind_to_any_port("127.0.0.1")
                      : (it.server.bind_to_port("127.0.0.1", port) ? port : -1);
  if (it.port < 0) return Fail(ErrorCode::kIo, fmt::format("cannot listen on port {}", port));
  it.thread = std::thread([&it] { it.server.listen_after_bind(); });
  while (!it.server.is_running()) std::this_thread::yield();
  return std::unique_ptr<StandIn>(new StandIn(std::move(impl)));
}

int StandIn::port() const { return impl_->port; }
std::string StandIn::url() const { return fmt::format("http://127.0.0.1:{}", impl_->port); }
std::vector<Seen> StandIn::seen() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->seen;
}

}  // namespace szarena::model::standin
