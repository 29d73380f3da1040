// SPDX-License-Identifier: Apache-2.0
// szarena mcp: sessions for whoever speaks the Model Context Protocol, over stdio or HTTP.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "app/commands.h"
#include "app/environment.h"
#include "app/judging.h"
#include "app/numbers.h"
#include "app/session_setup.h"
#include "app/stop_signals.h"
#include "mcp/arena/arena_surface.h"
#include "mcp/http.h"
#include "mcp/server.h"
#include "mcp/stdio.h"
#include "os/files.h"
#include "task/prompt.h"
#include "term/printable.h"

namespace szarena::app {
namespace {

using data::Json;

struct Options {
  SessionOptions session;
  std::string http;        // "[ADDRESS:]PORT"; empty: stdio
  std::string token_file;  // empty: $SZARENA_MCP_TOKEN, or a new one
  bool no_token = false;
  int idle_minutes = 60;
};

// One judgement at a time: two that measure would disturb each other.
class TurnJudge : public agent::JudgePort {
 public:
  TurnJudge(SessionJudge& judge, std::timed_mutex& turn) : judge_(judge), turn_(turn) {}
  Result<judge::Verdict> Evaluate(const std::string& candidate_dir, agent::Depth depth,
                                  const agent::JudgeHooks& hooks) override {
    SZARENA_TRY(const auto mine, Wait(hooks));
    return judge_.Evaluate(candidate_dir, depth, hooks);
  }
  Result<agent::Profile> Profile(const std::string& candidate_dir,
                                 const agent::JudgeHooks& hooks) override {
    SZARENA_TRY(const auto mine, Wait(hooks));
    return judge_.Profile(candidate_dir, hooks);
  }

 private:
  Result<std::unique_lock<std::timed_mutex>> Wait(const agent::JudgeHooks& hooks) {
    std::unique_lock lock(turn_, std::defer_lock);
    while (!lock.try_lock_for(std::chrono::milliseconds(100))) {
      if (hooks.stop.stop_requested()) return Fail(ErrorCode::kCancelled, "stopped on request");
    }
    return lock;
  }
  SessionJudge& judge_;
  std::timed_mutex& turn_;
};

// Opens sessions and stores them. Used by several threads.
class Host {
 public:
  Host(SessionSetup setup, std::chrono::seconds idle_limit, std::stop_token stop)
      : setup_(std::move(setup)), idle_limit_(idle_limit), stop_(std::move(stop)) {}

  Result<std::shared_ptr<mcp::ToolSession>> Open(const Json& client) {
    const Json* name = client.Find("name");
    const Json* version = client.Find("version");
    SessionSetup setup = setup_;
    if (name != nullptr && name->is_string()) setup.plan.key.agent = *name->string();
    SZARENA_TRY_VOID(CheckAgentName(setup.plan.key.agent));
    // Allots the trial.
    SZARENA_TRY([[maybe_unused]] const store::Store store, OpenResults(setup));
    Json identity = Json::Of({{"kind", "mcp-client"},
                              {"name", name == nullptr ? Json() : *name},
                              {"version", version == nullptr ? Json() : *version}});
    return std::make_shared<mcp::BackgroundSession>(
        std::move(identity), idle_limit_,
        [this, setup](agent::Agent& agent) { return Run(setup, agent); });
  }

 private:
  Result<void> Run(SessionSetup setup, agent::Agent& agent) {
    SZARENA_TRY(store::Store store, OpenResults(setup));
    if (setup.plan.resume) {
      SZARENA_TRY(const auto earlier, store.FindSession(setup.plan.key));
      if (earlier) setup.judging.hidden_seed = earlier->hidden_seed;
    }
    SessionJudge judge(setup.judging);
    TurnJudge in_turn(judge, turn_);
    setup.plan.hidden_seed = judge.hidden_seed();
    const std::string title =
        term::Printable(setup.plan.key.Title());  // the client's name is in it
    agent::SessionObserver observer;
    observer.on_attempt = [&](const store::Attempt& attempt) {
      fmt::print(stderr, "szarena: {}: attempt {} reached '{}'\n", title, attempt.number,
                 judge::StageName(attempt.verdict.Reached().value_or(judge::Stage::kReceived)));
    };
    const auto outcome = agent::RunSession(setup.plan, agent, in_turn, store, observer, stop_);
    if (!outcome) {
      fmt::print(stderr, "szarena: {}: {}\n", title, term::Printable(outcome.error().ToString()));
      return tl::unexpected(outcome.error());
    }
    fmt::print(stderr, "szarena: {}: {} attempts, stopped: {}\n", title, outcome->attempts,
               store::StopReasonName(outcome->stop));
    return {};
  }

  const SessionSetup setup_;
  const std::chrono::seconds idle_limit_;
  const std::stop_token stop_;
  std::timed_mutex turn_;
};

// A prompt for each tier, or only the one that the session is about.
Result<mcp::ArenaOffer> Offer(const SessionSetup& setup, const std::string& only_tier) {
  mcp::ArenaOffer offer{ProgramVersion(), setup.plan.description, setup.plan.references, {}};
  for (const task::Tier tier : task::kTiers) {
    const std::string name(task::TierName(tier));
    if (!only_tier.empty() && name != only_tier) continue;
    SZARENA_TRY(std::string text,
                task::ComposePrompt(setup.root, setup.task, setup.target, tier, setup.source));
    offer.prompts.push_back(
        {name,
         fmt::format("{} on {}, tier {}", setup.task.name, task::TargetName(setup.target), name),
         std::move(text)});
  }
  return offer;
}

Result<std::string> Token(const Options& options) {
  if (options.no_token) return std::string();
  if (!options.token_file.empty()) {
    SZARENA_TRY(std::string token, os::ReadRegularFile(options.token_file, 4096));
    token.erase(token.find_last_not_of(" \t\r\n") + 1);
    if (token.size() >= 16) return token;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the token in '{}' has fewer than 16 characters", options.token_file));
  }
  const char* variable = std::getenv("SZARENA_MCP_TOKEN");  // NOLINT(concurrency-mt-unsafe)
  if (variable != nullptr && std::string_view(variable).size() >= 16) return std::string(variable);
  std::string token = mcp::RandomToken();
  fmt::print(stderr, "szarena: token (Authorization: Bearer ...): {}\n", token);
  return token;
}

Result<net::Listener> Listen(const std::string& text, bool no_token) {
  const size_t colon = text.rfind(':');
  std::string address = colon == std::string::npos ? "127.0.0.1" : text.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != port.npos) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("--http '{}': expected [ADDRESS:]PORT, such as 127.0.0.1:8080", text));
  }
  if (no_token && address != "127.0.0.1" && address != "::1") {
    return Fail(ErrorCode::kInvalidArgument,
                "--no-token is for 127.0.0.1 and ::1 only: others could reach this address");
  }
  return net::ListenTcp(address, std::stoi(port));
}

Result<ExitCode> ServeHttp(const Options& options, Host& host, mcp::ArenaOffer offer,
                           const std::stop_token& stop) {
  SZARENA_TRY(net::Listener listener, Listen(options.http, options.no_token));
  SZARENA_TRY(std::string token, Token(options));
  const size_t colon = options.http.rfind(':');
  const std::string address =
      colon == std::string::npos ? "127.0.0.1" : options.http.substr(0, colon);
  mcp::ArenaSurface surface(std::move(offer), mcp::Sharing::kByClient,
                            [&](const Json& client) { return host.Open(client); });
  mcp::Server server(surface);
  const mcp::HttpEndpoint endpoint(server, std::move(listener),
                                   {.token = std::move(token), .hosts = {address}});
  fmt::print("http://{}:{}/mcp\n", address, endpoint.port());
  std::fflush(stdout);
  while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return ExitCode::kDone;
}

Result<ExitCode> RunMcp(const Options& options, bool tier_given) {
  SZARENA_TRY(SessionSetup setup, PrepareSession(options.session, "mcp", "mcp"));
  SZARENA_TRY(mcp::ArenaOffer offer, Offer(setup, tier_given ? options.session.tier : ""));
  if (!tier_given) {  // the client reads whichever it likes, or none
    setup.plan.key.tier = "none";
    setup.plan.prompt.clear();
  }
  const StopSignals signals;
  Host host(std::move(setup), std::chrono::minutes(options.idle_minutes), signals.token());
  if (!options.http.empty()) return ServeHttp(options, host, std::move(offer), signals.token());
  mcp::ArenaSurface surface(std::move(offer), mcp::Sharing::kOne,
                            [&](const Json& client) { return host.Open(client); });
  mcp::Server server(surface);
  SZARENA_TRY_VOID(mcp::ServeStdio(server, STDIN_FILENO, STDOUT_FILENO, signals.token()));
  return ExitCode::kDone;
}

}  // namespace

void AddMcp(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "mcp", "Serve sessions over the Model Context Protocol (stdio, or HTTP with --http)");
  auto options = std::make_shared<Options>();
  AddSessionOptions(*command, options->session);
  command->add_option("--http", options->http,
                      "Listen on [ADDRESS:]PORT instead (port 0: a free one)");
  command->add_option("--token-file", options->token_file,
                      "File with the token that clients must send (default: $SZARENA_MCP_TOKEN, or "
                      "a new one, printed)");
  command->add_flag("--no-token", options->no_token, "Ask for no token (loopback only)");
  command->add_option("--idle", options->idle_minutes, "Minutes without a call that end a session")
      ->check(Whole(1, 5'256'000))
      ->capture_default_str();
  command->callback([&action, options, command] {
    const bool tier_given = command->count("--tier") > 0;
    action = [options, tier_given] { return RunMcp(*options, tier_given); };
  });
}

}  // namespace szarena::app
