// SPDX-License-Identifier: Apache-2.0
// Dispatch, budget, jobs, recording.
#include "agent/toolbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "agent/tools.h"
#include "base/check.h"
#include "data/schema.h"

namespace szarena::agent {
namespace {

using data::Json;
using Clock = std::chrono::steady_clock;

constexpr size_t kKeptOutputs = 16;
constexpr size_t kKeptJobs = 16;

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

// Cuts every text in `value` that is longer than a page.
Json CutTexts(const Json& value, const std::string& handle) {
  if (value.is_array()) {
    Json out = Json::MakeArray();
    for (const Json& item : value.items()) out.Append(CutTexts(item, handle));
    return out;
  }
  if (value.is_object()) {
    Json out = Json::MakeObject();
    for (const data::JsonMember& member : value.members()) {
      out.Set(member.key, CutTexts(member.value, handle));
    }
    return out;
  }
  if (!value.is_string() || value.string()->size() <= kPageBytes) return value;
  Json page = Json::MakeObject();
  return Page(*value.string(), 0, page) + fmt::format("\n[cut; the whole: {}]", handle);
}

}  // namespace

// One run of a tool that takes long. The thread writes, guarded by the toolbox's state_.
struct Toolbox::Job {
  std::string id;
  const Tool* tool = nullptr;
  Clock::time_point begin = Clock::now();
  std::stop_source stop;
  std::optional<judge::Stage> stage;
  std::optional<Result<ToolResult>> result;
  std::thread thread;
};

std::span<const Tool> AllTools() {
  static const std::vector<Tool> kTools = [] {
    std::vector<Tool> tools;
    for (const std::span<const Tool> part :
         {ReferenceTools(), FileTools(), JudgeTools(), JobTools()}) {
      tools.insert(tools.end(), part.begin(), part.end());
    }
    return tools;
  }();
  return kTools;
}

const Tool* FindTool(std::string_view name) {
  const auto tools = AllTools();
  const auto tool = std::ranges::find(tools, name, &Tool::name);
  return tool == tools.end() ? nullptr : &*tool;
}

ToolResult Refused(std::string message) {
  return {false, Json::Of({{"error", message}}), std::move(message)};
}

Toolbox::Toolbox(ToolboxContext context, std::vector<store::Attempt> earlier_attempts,
                 const store::Usage& earlier)
    : context_(std::move(context)),
      meter_(context_.budget, static_cast<int64_t>(earlier_attempts.size()), earlier),
      attempts_(std::move(earlier_attempts)) {}

Toolbox::~Toolbox() {
  for (const std::shared_ptr<Job>& job : jobs_) {
    job->stop.request_stop();
    if (job->thread.joinable()) job->thread.join();
  }
}

bool Toolbox::final_submitted() const {
  const std::lock_guard lock(state_);
  return final_submitted_;
}

std::vector<store::Attempt> Toolbox::attempts() const {
  const std::lock_guard lock(state_);
  return attempts_;
}

Result<ToolResult> Toolbox::Call(std::string_view name, const Json& arguments,
                                 const JudgeHooks& hooks) {
  if (context_.stop.stop_requested()) return Fail(ErrorCode::kCancelled, "stopped on request");
  if (context_.on_call) context_.on_call(name);
  SZARENA_TRY_VOID(
      context_.transcript.Add("tool-call", Json::Of({{"tool", name}, {"arguments", arguments}})));
  const double begin = meter_.ElapsedSeconds();
  const Tool* tool = FindTool(name);
  ToolResult result;
  if (tool == nullptr) {
    std::vector<std::string_view> names;
    for (const Tool& known : AllTools()) names.push_back(known.name);
    result = Refused(fmt::format("there is no tool '{}'; tools: {}", name, fmt::join(names, ", ")));
  } else {
    SZARENA_TRY(result, Run(*tool, arguments.is_null() ? Json::MakeObject() : arguments, hooks));
    result = CutLong(std::move(result));
  }
  SZARENA_TRY_VOID(context_.transcript.Add(
      "tool-result", Json::Of({{"tool", name},
                               {"ok", result.ok},
                               {"content", result.content},
                               {"seconds", meter_.ElapsedSeconds() - begin}})));
  return result;
}

Result<ToolResult> Toolbox::Run(const Tool& tool, const Json& arguments, const JudgeHooks& hooks) {
  const auto schema = data::ParseJson(tool.input_schema, tool.name);
  SZARENA_CHECK(schema.has_value(), "a tool's schema is no JSON");
  if (const std::string fault = data::SchemaFault(*schema, arguments); !fault.empty()) {
    return Refused(fmt::format("arguments of '{}': {}", tool.name, fault));
  }
  if (tool.kind == ToolKind::kQuick) {
    const std::lock_guard lock(quick_);
    return tool.run(*this, arguments, hooks);
  }
  if (tool.kind == ToolKind::kWaits) return tool.run(*this, arguments, hooks);
  if (const auto limit = meter_.ReachedForWork()) {
    return Refused(fmt::format(
        "the session's budget is used up: {}; nothing is built or judged any more", *limit));
  }
  auto job = StartJob(tool, arguments);
  if (!job) return Refused(job.error().message);
  const Json* wait = arguments.Find("wait_seconds");
  return Await(*job, wait == nullptr ? std::nullopt : wait->number(), hooks);
}

Result<std::shared_ptr<Toolbox::Job>> Toolbox::StartJob(const Tool& tool, const Json& arguments) {
  const std::lock_guard quick(quick_);
  const std::lock_guard lock(state_);
  if (!jobs_.empty() && !jobs_.back()->result) {
    const Job& running = *jobs_.back();
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' ({}) is still running: poll or cancel it first", running.id,
                            running.tool->name));
  }
  if (jobs_.size() == kKeptJobs) {
    jobs_.front()->thread.join();  // has its result: about to end
    jobs_.erase(jobs_.begin());
  }
  static std::atomic<int64_t> next_id = 1;
  auto job = std::make_shared<Job>();
  job->id = fmt::format("job-{}", next_id++);
  job->tool = &tool;
  jobs_.push_back(job);
  job->thread = std::thread([this, job, arguments] {
    JudgeHooks hooks;
    hooks.stop = job->stop.get_token();
    hooks.on_stage = [&](judge::Stage stage) {
      const std::lock_guard guard(state_);
      job->stage = stage;
      changed_.notify_all();
    };
    auto result = job->tool->run(*this, arguments, hooks);
    const std::lock_guard guard(state_);
    job->result = std::move(result);
    changed_.notify_all();
  });
  return job;
}

std::shared_ptr<Toolbox::Job> Toolbox::FindJob(std::string_view id) const {
  const std::lock_guard lock(state_);
  for (const auto& job : jobs_) {
    if (job->id == id) return job;
  }
  return nullptr;
}

Result<ToolResult> Toolbox::Await(const std::shared_ptr<Job>& job,
                                  std::optional<double> wait_seconds, const JudgeHooks& hooks) {
  constexpr auto kSlice = std::chrono::milliseconds(50);  // how soon a stop is seen
  std::optional<Clock::time_point> until;
  if (wait_seconds) {
    until = Clock::now() + std::chrono::microseconds(static_cast<int64_t>(*wait_seconds * 1e6));
  } else if (context_.default_wait) {
    until = Clock::now() + *context_.default_wait;
  }
  std::optional<judge::Stage> told;
  std::unique_lock lock(state_);
  while (!job->result) {
    if (context_.stop.stop_requested()) job->stop.request_stop();
    if (hooks.stop.stop_requested()) {
      job->stop.request_stop();
      return Refused(fmt::format("cancelled; '{}' ends at its next stage", job->id));
    }
    if (until && Clock::now() >= *until) {
      const double seconds = Seconds(Clock::now() - job->begin);
      const Json stage = job->stage ? Json(judge::StageName(*job->stage)) : Json();
      return ToolResult{
          true,
          Json::Of(
              {{"status", "running"}, {"job", job->id}, {"stage", stage}, {"seconds", seconds}}),
          fmt::format("'{}' ({}) is still running after {:.1f} s: call poll with "
                      "{{\"job\": \"{}\"}}",
                      job->id, job->tool->name, seconds, job->id)};
    }
    changed_.wait_for(lock, kSlice);
    if (job->stage != told && hooks.on_stage && job->stage) {
      told = job->stage;
      lock.unlock();
      hooks.on_stage(*told);
      lock.lock();
    }
  }
  Result<ToolResult> result = *job->result;
  lock.unlock();
  if (context_.stop.stop_requested()) return Fail(ErrorCode::kCancelled, "stopped on request");
  if (!result && result.error().code == ErrorCode::kCancelled) {
    return Refused(fmt::format("'{}' was cancelled", job->id));
  }
  if (result && result->ok) result->content.Set("status", "done").Set("job", job->id);
  return result;
}

Result<ToolResult> Toolbox::Poll(const std::string& id, std::optional<double> wait_seconds,
                                 const JudgeHooks& hooks) {
  const std::shared_ptr<Job> job = FindJob(id);
  if (job == nullptr) return Refused(fmt::format("there is no job '{}'", id));
  return Await(job, wait_seconds, hooks);
}

Result<ToolResult> Toolbox::Cancel(const std::string& id) {
  const std::shared_ptr<Job> job = FindJob(id);
  if (job == nullptr) return Refused(fmt::format("there is no job '{}'", id));
  job->stop.request_stop();
  const std::lock_guard lock(state_);
  const bool ended = job->result.has_value();
  return ToolResult{true, Json::Of({{"job", id}, {"status", ended ? "done" : "cancelling"}}),
                    ended ? fmt::format("'{}' had ended already", id)
                          : fmt::format("'{}' ends at its next stage", id)};
}

ToolResult Toolbox::CutLong(ToolResult result) {
  if (result.text.size() <= kPageBytes) return result;
  const std::lock_guard lock(state_);
  const std::string handle = fmt::format("output-{}", next_output_++);
  Json page = Json::MakeObject();
  std::string head = Page(result.text, 0, page);
  head += fmt::format(
      "\n[cut at {} of {} bytes; go on with read_output {{\"handle\": \"{}\", "
      "\"offset\": {}}}]",
      page.Find("next_offset")->Dump(), result.text.size(), handle,
      page.Find("next_offset")->Dump());
  result.content = CutTexts(result.content, handle);
  result.content.Set("more", Json::Of({{"handle", handle},
                                       {"size_bytes", result.text.size()},
                                       {"next_offset", *page.Find("next_offset")}}));
  if (outputs_.size() == kKeptOutputs) outputs_.pop_front();
  outputs_.emplace_back(handle, std::exchange(result.text, std::move(head)));
  return result;
}

std::optional<std::string> Toolbox::Output(const std::string& handle) const {
  const std::lock_guard lock(state_);
  for (const auto& [name, text] : outputs_) {
    if (name == handle) return text;
  }
  return std::nullopt;
}

Result<Toolbox::Files> Toolbox::Snapshot() {
  SZARENA_TRY(os::TempDir folder, os::TempDir::Create("szarena-attempt-"));
  Files files{std::move(folder), Json::MakeArray()};
  const Workspace copy(files.folder.path());
  SZARENA_TRY(const auto listed, context_.workspace.List());
  for (const WorkspaceFile& file : listed) {
    SZARENA_TRY(const std::string text, context_.workspace.Read(file.path));
    SZARENA_TRY_VOID(copy.Write(file.path, text));
    files.list.Append(Json::Of({{"path", file.path}, {"text", text}}));
  }
  return files;
}

Result<store::Attempt> Toolbox::Submit(const Files& files, std::string_view label,
                                       std::string_view idea, bool final, const JudgeHooks& hooks) {
  store::Attempt attempt;
  attempt.number = static_cast<int64_t>(attempts().size()) + 1;
  attempt.label = label.empty() ? fmt::format("attempt {}", attempt.number) : std::string(label);
  attempt.idea = idea;
  SZARENA_TRY(attempt.verdict, context_.judge.Evaluate(files.folder.path(), Depth::kSubmit, hooks));
  // A stop may have killed the candidate's processes: such a verdict says nothing about it.
  if (context_.stop.stop_requested() || hooks.stop.stop_requested()) {
    return Fail(ErrorCode::kCancelled, "stopped on request");
  }
  const auto reached = attempt.verdict.Reached();
  SZARENA_TRY_VOID(context_.transcript.Add(
      "attempt", Json::Of({{"number", attempt.number},
                           {"label", attempt.label},
                           {"idea", attempt.idea},
                           {"final", final},
                           {"stage", reached ? Json(judge::StageName(*reached)) : Json()},
                           {"candidate_sha256", attempt.verdict.candidate_sha256},
                           {"files", files.list}})));
  SZARENA_TRY_VOID(context_.record(attempt));
  meter_.AddAttempt();
  const std::lock_guard lock(state_);
  attempts_.push_back(attempt);
  final_submitted_ |= final;
  return attempt;
}

}  // namespace szarena::agent
