// SPDX-License-Identifier: Apache-2.0
// Dispatch, budget, jobs, recording.
#include "agent/toolbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
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

std::atomic<int64_t> next_job = 1;  // of all sessions: the ids of one tell nothing to another

// The numbers of jobs and outputs go on where they were.
void RaiseAbove(const Json* id, std::string_view prefix, auto& next) {
  if (!id || !id->string() || !id->string()->starts_with(prefix)) return;
  int64_t number = 0;
  const std::string& text = *id->string();
  std::from_chars(text.data() + prefix.size(), text.data() + text.size(), number);
  if (number >= next) next = number + 1;
}

}  // namespace

// One run of a tool that takes long. The thread writes, guarded by the toolbox's state_.
struct Toolbox::Job {
  std::string id;
  const Tool* tool = nullptr;
  Json arguments;
  std::optional<Files> files;  // until it has ended
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
    : context_(std::move(context)), meter_(context_.budget, earlier) {
  const auto& records = context_.transcript.earlier_attempts();
  for (store::Attempt& attempt : earlier_attempts) {
    const auto record = records.find(attempt.number);
    if (record == records.end()) continue;
    const Json* files = record->second.Find("files");
    const Json* final = record->second.Find("final");
    earlier_.emplace(attempt.number, Earlier{std::move(attempt), files ? *files : Json(),
                                             final && final->boolean().value_or(false)});
  }
  if (context_.transcript.Replaying()) return;
  while (!earlier_.empty() && TakeEarlier(static_cast<int64_t>(attempts_.size()) + 1)) {
  }
  told_ = attempts_.size();
}

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

std::vector<store::Attempt> Toolbox::told_attempts() const {
  const std::lock_guard lock(state_);
  return {attempts_.begin(), attempts_.begin() + static_cast<std::ptrdiff_t>(told_)};
}

Json Toolbox::FilesOf(const store::Attempt& attempt) const {
  const std::lock_guard lock(state_);
  return attempt_files_.at(static_cast<size_t>(attempt.number) - 1);
}

std::optional<std::string> Toolbox::LimitReached() const {
  return context_.transcript.Replaying() ? std::nullopt : meter_.Reached();
}

Result<ToolResult> Toolbox::Call(std::string_view name, const Json& arguments,
                                 const JudgeHooks& hooks) {
  if (context_.stop.stop_requested()) return Fail(ErrorCode::kCancelled, "stopped on request");
  Transcript& transcript = context_.transcript;
  const Json call = Json::Of({{"tool", name}, {"arguments", arguments}});
  SZARENA_TRY(const auto called, transcript.Again("tool-call", call));
  if (called) {
    SZARENA_TRY(const auto recorded, transcript.Again("tool-result", Json::Of({{"tool", name}})));
    if (recorded) return RunAgain(name, arguments, *recorded);
  } else {
    SZARENA_TRY_VOID(transcript.Add("tool-call", call));
  }
  if (interrupted_) {  // goes on where nothing is told from the record any more
    const auto job = std::exchange(interrupted_, nullptr);
    if (job->stop.stop_requested()) {
      SZARENA_TRY_VOID(Settle(*job));
    } else {
      const std::lock_guard lock(state_);
      Launch(job->id, *job->tool, job->arguments, std::move(*job->files));
    }
  }
  if (context_.on_call) context_.on_call(name);
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
  SZARENA_TRY_VOID(
      transcript.Add("tool-result", Json::Of({{"tool", name},
                                              {"ok", result.ok},
                                              {"content", result.content},
                                              {"text", result.text},
                                              {"seconds", meter_.ElapsedSeconds() - begin}})));
  return result;
}

// What the recorded call did, done again: files are changed, attempts taken up from the store,
// nothing is judged.
Result<ToolResult> Toolbox::RunAgain(std::string_view name, const Json& arguments,
                                     const Json& recorded) {
  const Json* ok = recorded.Find("ok");
  const Json* content = recorded.Find("content");
  const Json* text = recorded.Find("text");
  ToolResult result{ok && ok->boolean().value_or(false), content ? *content : Json(),
                    text && text->string() ? *text->string() : ""};
  const Tool* tool = FindTool(name);
  if (tool == nullptr) return result;
  if (tool->kind != ToolKind::kQuick) {
    SZARENA_TRY_VOID(NoteJob(*tool, arguments, result));
  } else if (result.ok && !tool->read_only) {
    SZARENA_TRY(const ToolResult again, tool->run(*this, arguments, {}));
    if (!again.ok) {
      return Fail(
          ErrorCode::kCorrupt,
          fmt::format("cannot go on: '{}' does not do again what it did: {}", name, again.text));
    }
  }
  if (const Json* more = result.content.Find("more")) {
    RaiseAbove(more->Find("handle"), "output-", next_output_);
  }
  return result;
}

// Keeps track of the interrupted run's job and of the attempts it told.
Result<void> Toolbox::NoteJob(const Tool& tool, const Json& arguments, const ToolResult& result) {
  const Json* id = result.content.Find("job");
  RaiseAbove(id, "job-", next_job);
  const Json* status = result.content.Find("status");
  const bool running = status && *status == Json("running");
  if (tool.kind == ToolKind::kJob) {
    if (!id) return {};  // refused, or told why it failed
    if (interrupted_) SZARENA_TRY_VOID(Settle(*std::exchange(interrupted_, nullptr)));
    if (running) {
      SZARENA_TRY(Files files, Snapshot());
      interrupted_ = std::make_shared<Job>();
      interrupted_->id = *id->string();
      interrupted_->tool = &tool;
      interrupted_->arguments = arguments;
      interrupted_->files = std::move(files);
    }
  } else if (const Json* named = arguments.Find("job");
             interrupted_ && named && *named == Json(interrupted_->id) && !running) {
    if (tool.name == "cancel") {
      interrupted_->stop.request_stop();
    } else {
      interrupted_.reset();  // polled to its end
    }
  }
  const Json* number = result.content.Find("attempt");
  if (!number || !number->integer()) return {};
  while (static_cast<int64_t>(attempts_.size()) < *number->integer()) {
    SZARENA_TRY_VOID(TakeEarlier(static_cast<int64_t>(attempts_.size()) + 1));
  }
  told_ = attempts_.size();
  return {};
}

// A job that had ended before the interruption although nobody was told: its attempt counts.
Result<void> Toolbox::Settle(const Job& interrupted) {
  const auto next = earlier_.find(static_cast<int64_t>(attempts_.size()) + 1);
  if (next == earlier_.end()) return {};
  const Json* job = context_.transcript.earlier_attempts().at(next->first).Find("job");
  return job && *job == Json(interrupted.id) ? TakeEarlier(next->first) : Result<void>();
}

Result<void> Toolbox::TakeEarlier(int64_t number) {
  auto node = earlier_.extract(number);
  if (node.empty()) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("cannot go on: transcript '{}' tells of attempt {}, which the results "
                            "file lacks; run the session again without --resume",
                            context_.transcript.path(), number));
  }
  const Earlier& earlier = node.mapped();
  Push(earlier.attempt, earlier.files, earlier.final);
  return {};
}

void Toolbox::Push(const store::Attempt& attempt, Json files, bool final) {
  meter_.AddAttempt();
  const std::lock_guard lock(state_);
  attempts_.push_back(attempt);
  attempt_files_.push_back(std::move(files));
  final_submitted_ |= final;
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
  if (!job && job.error().code == ErrorCode::kInvalidArgument) return Refused(job.error().message);
  if (!job) return tl::unexpected(job.error());
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
  SZARENA_TRY(Files files, Snapshot());
  return Launch(fmt::format("job-{}", next_job++), tool, arguments, std::move(files));
}

// With state_ held.
std::shared_ptr<Toolbox::Job> Toolbox::Launch(std::string id, const Tool& tool, Json arguments,
                                              Files files) {
  auto job = std::make_shared<Job>();
  job->id = std::move(id);
  job->tool = &tool;
  job->arguments = std::move(arguments);
  job->files = std::move(files);
  jobs_.push_back(job);
  job->thread = std::thread([this, job] {
    JudgeHooks hooks;
    hooks.stop = job->stop.get_token();
    hooks.on_stage = [&](judge::Stage stage) {
      const std::lock_guard guard(state_);
      job->stage = stage;
      changed_.notify_all();
    };
    auto result = job->tool->run(*this, job->arguments, hooks);
    const std::lock_guard guard(state_);
    job->files.reset();
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
  if (const Json* number = result ? result->content.Find("attempt") : nullptr) {
    told_ = std::max(told_, static_cast<size_t>(number->integer().value_or(0)));
  }
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

// One job runs at a time, and it is the one that asks.
const Toolbox::Files& Toolbox::JobFiles() const {
  const std::lock_guard lock(state_);
  return *jobs_.back()->files;
}

Result<store::Attempt> Toolbox::Submit(std::string_view label, std::string_view idea, bool final,
                                       const JudgeHooks& hooks) {
  std::shared_ptr<Job> job;
  {
    const std::lock_guard lock(state_);
    job = jobs_.back();
  }
  const Files& files = *job->files;
  store::Attempt attempt;
  attempt.number = static_cast<int64_t>(attempts().size()) + 1;
  // Judged and stored by the interrupted run, which did not come to tell it.
  if (const auto earlier = earlier_.find(attempt.number);
      earlier != earlier_.end() && earlier->second.files == files.list) {
    attempt = earlier->second.attempt;
    SZARENA_TRY_VOID(TakeEarlier(attempt.number));
    return attempt;
  }
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
                           {"job", job->id},
                           {"final", final},
                           {"stage", reached ? Json(judge::StageName(*reached)) : Json()},
                           {"candidate_sha256", attempt.verdict.candidate_sha256},
                           {"files", files.list}})));
  SZARENA_TRY_VOID(context_.transcript.Sync());  // the store never holds what the transcript lacks
  SZARENA_TRY_VOID(context_.record(attempt));
  Push(attempt, files.list, final);
  return attempt;
}

}  // namespace szarena::agent
