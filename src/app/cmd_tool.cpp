// SPDX-License-Identifier: Apache-2.0
// szarena tool: one tool of a session from a shell. The session lives in a folder and goes on with
// every call.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "app/commands.h"
#include "app/run_agent.h"
#include "app/session_setup.h"
#include "app/stop_signals.h"
#include "base/atomic_file.h"
#include "data/json_reader.h"
#include "term/printable.h"
#include "term/style.h"

namespace szarena::app {
namespace {

using data::Json;

struct Options {
  SessionOptions session;  // of a new one; an old one keeps its own
  std::string tool;
  std::string folder;
  std::string arguments;           // a JSON object, or "-": from standard input
  std::vector<std::string> pairs;  // key=value
  std::vector<std::string> named;  // options of the session that were given
  bool as_json = false;
};

// The options of the session in a folder, as its first call was given them.
Json ToJson(const SessionOptions& options) {
  return Json::Of({{"task", options.task},
                   {"target", options.target},
                   {"tier", options.tier},
                   {"source", options.source},
                   {"runs", options.timed_runs},
                   {"attempts", options.budget.attempts}});
}

Result<void> Read(const std::string& path, SessionOptions& options) {
  SZARENA_TRY(const Json json, data::ReadJsonFile(path));
  const data::JsonReader reader(json, path);
  SZARENA_TRY(options.task, reader.GetString("task"));
  SZARENA_TRY(options.target, reader.GetString("target"));
  SZARENA_TRY(options.tier, reader.GetString("tier"));
  SZARENA_TRY(options.source, reader.GetString("source"));
  SZARENA_TRY(const int64_t runs, reader.GetInt("runs"));
  options.timed_runs = static_cast<int>(runs);
  SZARENA_TRY(options.budget.attempts, reader.OptionalInt("attempts"));
  return {};
}

// What the caller said of the session must be what it is.
Result<void> MustAgree(const std::string& folder, const SessionOptions& given,
                       const SessionOptions& stored, const std::vector<std::string>& named) {
  const std::tuple<const char*, std::string, std::string> members[] = {
      {"--task", given.task, stored.task},
      {"--target", given.target, stored.target},
      {"--tier", given.tier, stored.tier},
      {"--source", given.source, stored.source}};
  for (const auto& [name, asked, is] : members) {
    if (asked == is || std::ranges::find(named, name) == named.end()) continue;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the session in '{}' has {} {}, not {}; leave the option out, or begin "
                            "another session in another folder",
                            folder, name, is, asked));
  }
  return {};
}

// A new session begins in a folder of its own.
Result<void> MustBeFree(const std::string& folder) {
  std::error_code fault;
  if (!std::filesystem::exists(folder, fault) && !fault) return {};
  const bool empty = std::filesystem::is_directory(folder, fault) &&
                     std::filesystem::is_empty(folder, fault) && !fault;
  if (empty) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' is no session and not empty; name a session's folder, or a new or "
                          "empty one",
                          folder));
}

// "final=true" as its tool's schema wants it: text where it says string, else JSON.
Result<Json> Arguments(const Options& options) {
  Json arguments = Json::MakeObject();
  if (!options.arguments.empty()) {
    std::string text = options.arguments;
    if (text == "-") text.assign(std::istreambuf_iterator<char>(std::cin), {});
    SZARENA_TRY(arguments, data::ParseJson(text, "--args"));
    if (!arguments.is_object()) {
      return Fail(ErrorCode::kInvalidArgument, "--args must be a JSON object");
    }
  }
  const agent::Tool* tool = agent::FindTool(options.tool);
  const Json schema = tool == nullptr ? Json() : *data::ParseJson(tool->input_schema, "schema");
  for (const std::string& pair : options.pairs) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos) {
      return Fail(ErrorCode::kInvalidArgument, fmt::format("'{}': expected NAME=VALUE", pair));
    }
    const std::string key = pair.substr(0, equals);
    const std::string value = pair.substr(equals + 1);
    const Json* type = schema.FindPath({"properties", key, "type"});
    const bool text = type == nullptr || *type == Json("string");
    auto parsed = text ? Result<Json>(Json(value)) : data::ParseJson(value, pair);
    if (!parsed) return tl::unexpected(parsed.error());
    arguments.Set(key, std::move(*parsed));
  }
  return arguments;
}

// Calls the tool and leaves: the session is interrupted until the next call, unless this was its
// last.
class OneCall : public agent::Agent {
 public:
  OneCall(std::string tool, Json arguments)
      : tool_(std::move(tool)), arguments_(std::move(arguments)) {}
  Json Identity() const override {
    return Json::Of({{"kind", "shell"}, {"name", "shell"}, {"note", "calls from a command line"}});
  }
  agent::Resuming resuming() const override { return agent::Resuming::kNext; }
  Result<agent::AgentEnd> Run(const std::string&, agent::Toolbox& toolbox) override {
    const bool closes = tool_ == "close_session";
    if (!closes) {
      SZARENA_TRY(result, toolbox.Call(tool_, arguments_));
    }
    if (closes || toolbox.final_submitted()) {
      const bool any = !toolbox.attempts().empty();
      return agent::AgentEnd{any ? store::StopReason::kSubmitted : store::StopReason::kGaveUp,
                             closes ? "closed" : "a final attempt was handed in"};
    }
    return Fail(ErrorCode::kCancelled, "until the next call");
  }
  std::optional<agent::ToolResult> result;

 private:
  std::string tool_;
  Json arguments_;
};

Result<ExitCode> RunTool(Options options) {
  const std::string file = (std::filesystem::path(options.folder) / "session.json").string();
  std::error_code ignored;
  const bool old = std::filesystem::exists(file, ignored);
  if (old) {
    const SessionOptions given = options.session;
    SZARENA_TRY_VOID(Read(file, options.session));
    SZARENA_TRY_VOID(MustAgree(options.folder, given, options.session, options.named));
  } else if (options.session.task.empty()) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("there is no session in '{}': its first call needs --task", options.folder));
  }
  if (!old) SZARENA_TRY_VOID(MustBeFree(options.folder));
  if (agent::FindTool(options.tool) == nullptr && options.tool != "close_session") {
    std::string names;
    for (const agent::Tool& tool : agent::AllTools()) names += std::string(tool.name) + ", ";
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("there is no tool '{}'; tools: {}close_session", options.tool, names));
  }
  SZARENA_TRY(Json arguments, Arguments(options));
  options.session.out = options.folder;
  options.session.campaign = "shell";
  options.session.trial = 1;
  options.session.resume = old;
  SZARENA_TRY(SessionSetup setup, PrepareSession(options.session, "shell", "shell"));
  if (!old) SZARENA_TRY_VOID(WriteFileAtomically(file, ToJson(options.session).Dump(2) + "\n"));
  const StopSignals signals;
  SZARENA_TRY(store::Store store, OpenResults(setup));
  term::Progress progress(stderr, false);
  OneCall agent(options.tool, std::move(arguments));
  const auto outcome = RunAgent(setup, agent, {}, store, progress, signals.token());
  if (!outcome && !agent.result) return tl::unexpected(outcome.error());
  if (!agent.result) return ExitCode::kDone;  // closed
  const agent::ToolResult& result = *agent.result;
  fmt::print("{}{}", options.as_json ? result.content.Dump(2) : term::Printable(result.text),
             !options.as_json && result.text.ends_with('\n') ? "" : "\n");
  return result.ok ? ExitCode::kDone : ExitCode::kCandidateFailed;
}

}  // namespace

void AddTool(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "tool", "Call one tool of a session that lives in a folder; the first call begins it");
  auto options = std::make_shared<Options>();
  command->add_option("NAME", options->tool, "The tool; close_session ends the session")
      ->required();
  command->add_option("ARGUMENT", options->pairs, "NAME=VALUE, for each argument of the tool");
  command->add_option("--session", options->folder, "The session's folder")->required();
  command->add_option("--args", options->arguments,
                      "All arguments as a JSON object; - reads it from standard input");
  AddSessionOptions(*command, options->session);
  for (const char* name : {"--out", "--campaign", "--trial", "--resume"}) {
    command->remove_option(command->get_option(name));
  }
  command->get_option("--task")->required(false);
  command->add_flag("--json", options->as_json, "Print the structured result");
  command->callback([&action, options, command] {
    for (const char* name : {"--task", "--target", "--tier", "--source"}) {
      if (command->count(name) > 0) options->named.emplace_back(name);
    }
    action = [options] { return RunTool(*options); };
  });
}

}  // namespace szarena::app
