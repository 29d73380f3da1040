// SPDX-License-Identifier: Apache-2.0
// The tools of one session. Defined once; every kind of agent calls them through here.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "agent/budget.h"
#include "agent/judge_port.h"
#include "agent/transcript.h"
#include "agent/workspace.h"
#include "base/error.h"
#include "data/json.h"
#include "os/temp_dir.h"
#include "store/store.h"

namespace szarena::agent {

// What a call gives back: structured content and the same as short text. `ok` false: the caller
// made a mistake (or the budget is used up) and can read why; the session goes on.
struct ToolResult {
  bool ok = true;
  data::Json content;
  std::string text;
};

// A refusal that the agent reads.
ToolResult Refused(std::string message);

class Toolbox;

// How a call is served.
enum class ToolKind : uint8_t {
  kQuick,  // at once, one after the other
  kJob,    // in a thread of its own: the caller waits for a while and then gets a handle to poll
  kWaits,  // waits for a job or cancels it
};

// One table of tools for every kind of agent. Arguments are checked against the input schema before
// `run` is called.
struct Tool {
  std::string_view name;
  std::string_view title;
  std::string_view description;    // as a model reads it
  std::string_view input_schema;   // JSON Schema (draft-07) of the arguments
  std::string_view output_schema;  // of `content`, where the result is ok
  ToolKind kind;
  bool read_only;  // changes neither files nor attempts
  Result<ToolResult> (*run)(Toolbox& toolbox, const data::Json& arguments, const JudgeHooks& hooks);
};

// Every tool, in the order in which agents see them.
std::span<const Tool> AllTools();
const Tool* FindTool(std::string_view name);  // nullptr: there is none

// Something to read: a contract, a specification, a page of documentation.
struct Reference {
  std::string name;  // "contract/szarena_candidate.h"
  std::string title;
  std::string text;
};

// What the tools work with. References must outlive the toolbox.
struct ToolboxContext {
  data::Json description;  // result of describe_task
  Workspace workspace;
  JudgePort& judge;
  Transcript& transcript;
  Budget budget;
  std::stop_token stop;
  // Stores an attempt; called once for each submit.
  std::function<Result<void>(const store::Attempt&)> record;
  // Told before each call; for progress.
  std::function<void(std::string_view tool)> on_call;
  std::vector<Reference> references = {};
  // How long a job is waited for where the arguments have no "wait_seconds"; absent: until it ends.
  std::optional<std::chrono::milliseconds> default_wait = std::nullopt;
};

// May be used by several threads: calls are served one after the other, except that waiting for a
// job keeps no one out.
class Toolbox {
 public:
  explicit Toolbox(ToolboxContext context, std::vector<store::Attempt> earlier_attempts = {},
                   const store::Usage& earlier = {});
  Toolbox(const Toolbox&) = delete;
  Toolbox& operator=(const Toolbox&) = delete;
  ~Toolbox();  // stops a running job and waits for its end

  // Runs a tool; call and result go to the transcript. An Error ends the session: the environment
  // lacks something, the disk is full, or somebody asked to stop (kCancelled). The hooks: told of
  // stages in the caller's thread while it waits; a stop ends the call and the job it waits for.
  // Where an interrupted session goes on, a call that it made before is answered as it was then;
  // what was not answered is done: files are written again, a judgement is made again unless its
  // attempt is stored.
  Result<ToolResult> Call(std::string_view name, const data::Json& arguments,
                          const JudgeHooks& hooks = {});

  // Once a limit is reached, builds, tests, benchmarks and submissions are refused.
  bool BudgetUsed() const { return meter_.Reached().has_value(); }
  Meter& meter() { return meter_; }
  const Meter& meter() const { return meter_; }
  // True once the agent handed in with "final": true.
  bool final_submitted() const;
  // A copy of the attempts so far.
  std::vector<store::Attempt> attempts() const;
  // Those whose verdict a call has given back. What a workflow decides must rest on these alone:
  // they are the same when an interrupted session goes on.
  std::vector<store::Attempt> told_attempts() const;
  // The files that an attempt handed in, [{path, text}].
  data::Json FilesOf(const store::Attempt& attempt) const;
  // The limit that is reached, if one is and the earlier run did not go on from here.
  std::optional<std::string> LimitReached() const;

  // For the tools themselves.
  ToolboxContext& context() { return context_; }
  // The workspace's files in a folder that nobody else writes to: what is judged is what is
  // recorded, whatever an agent program does meanwhile. kInvalidArgument: more than is allowed.
  struct Files {
    os::TempDir folder;
    data::Json list;  // [{path, text}]
  };
  Result<Files> Snapshot();
  // For a kJob tool: the files as they were when its job began.
  const Files& JobFiles() const;
  // Judges the running job's files and stores them as the next attempt.
  Result<store::Attempt> Submit(std::string_view label, std::string_view idea, bool final,
                                const JudgeHooks& hooks);
  Result<ToolResult> Poll(const std::string& job, std::optional<double> wait_seconds,
                          const JudgeHooks& hooks);
  Result<ToolResult> Cancel(const std::string& job);
  // The text behind a handle; nothing where there is none (any more).
  std::optional<std::string> Output(const std::string& handle) const;

 private:
  struct Job;
  struct Earlier {  // an attempt of the interrupted run
    store::Attempt attempt;
    data::Json files;
    bool final = false;
  };
  Result<ToolResult> Run(const Tool& tool, const data::Json& arguments, const JudgeHooks& hooks);
  Result<ToolResult> RunAgain(std::string_view name, const data::Json& arguments,
                              const data::Json& recorded);
  Result<void> NoteJob(const Tool& tool, const data::Json& arguments, const ToolResult& result);
  Result<void> Settle(const Job& interrupted);
  Result<void> TakeEarlier(int64_t number);
  void Push(const store::Attempt& attempt, data::Json files, bool final);
  Result<std::shared_ptr<Job>> StartJob(const Tool& tool, const data::Json& arguments);
  std::shared_ptr<Job> Launch(std::string id, const Tool& tool, data::Json arguments, Files files);
  Result<ToolResult> Await(const std::shared_ptr<Job>& job, std::optional<double> wait_seconds,
                           const JudgeHooks& hooks);
  std::shared_ptr<Job> FindJob(std::string_view id) const;
  ToolResult CutLong(ToolResult result);

  ToolboxContext context_;
  Meter meter_;
  std::mutex quick_;          // held by quick calls and while a job is started
  mutable std::mutex state_;  // guards what follows
  std::condition_variable changed_;
  std::vector<store::Attempt> attempts_;
  std::vector<data::Json> attempt_files_;
  size_t told_ = 0;
  bool final_submitted_ = false;
  std::deque<std::pair<std::string, std::string>> outputs_;  // handle, text
  int64_t next_output_ = 1;
  std::vector<std::shared_ptr<Job>> jobs_;  // the last one may be running
  std::map<int64_t, Earlier> earlier_;      // stored by the interrupted run, not taken up yet
  std::shared_ptr<Job> interrupted_;        // began in the interrupted run; its end was not told
};

}  // namespace szarena::agent
