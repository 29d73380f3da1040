// SPDX-License-Identifier: Apache-2.0
// Wherever a session is interrupted, it goes on and ends as it would have ended: the same attempts,
// files and conversation. Cut at every line of its transcript, killed before every write; with
// SZARENA_EXHAUSTIVE set at all of them, else at each line and at some of the rest, always the
// same.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "agent/ladder.h"
#include "agent/session_runner.h"
#include "agent/testing/fake_judge.h"
#include "agent/workflow/workflow.h"

// Every change of a file goes through one of these; in a child that counts, the process is killed
// before the one with the number that it was given.
namespace {
std::atomic<long> effects_left = -1;
void BeforeEffect() {
  if (effects_left >= 0 && effects_left-- == 0) kill(getpid(), SIGKILL);
}
}  // namespace
extern "C" {
ssize_t write(int fd, const void* data, size_t size) {
  if (fd > 2) BeforeEffect();
  return syscall(SYS_write, fd, data, size);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) {
  BeforeEffect();
  return syscall(SYS_pwrite64, fd, data, size, at);
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
  return pwrite64(fd, data, size, at);
}
int renameat(int from, const char* old_name, int to, const char* new_name) noexcept {
  BeforeEffect();
  return static_cast<int>(syscall(SYS_renameat2, from, old_name, to, new_name, 0));
}
int unlinkat(int folder, const char* name, int flags) noexcept {
  BeforeEffect();
  return static_cast<int>(syscall(SYS_unlinkat, folder, name, flags));
}
int mkdirat(int folder, const char* name, mode_t mode) noexcept {
  BeforeEffect();
  return static_cast<int>(syscall(SYS_mkdirat, folder, name, mode));
}
int ftruncate64(int fd, off64_t size) noexcept {
  BeforeEffect();
  return static_cast<int>(syscall(SYS_ftruncate, fd, size));
}
int ftruncate(int fd, off_t size) noexcept { return ftruncate64(fd, size); }
int fdatasync(int fd) {
  BeforeEffect();
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}
}

namespace szarena::agent {
namespace {

using data::Json;
namespace fs = std::filesystem;

const Pieces kPieces = {
    {"single-shot", "SINGLE"},  {"iterative", "ITERATIVE"}, {"gated-structure", "STRUCT"},
    {"gated-change", "CHANGE"}, {"evolve", "EVOLVE"},       {"team-planner", "PLANNER"},
    {"team-coder", "CODER"},    {"team-critic", "CRITIC"},  {"nudge", "use the tools"}};

// A model whose answer depends on the conversation alone, so that how a session ends does not
// depend on how often it was asked.
class PureModel : public model::Model {
 public:
  // `background`: hands in without waiting, and polls.
  explicit PureModel(bool background) : background_(background) {}
  Json Identity() const override { return Json::Of({{"kind", "model"}, {"name", "pure"}}); }

  Result<model::Reply> Complete(const model::Request& request, const model::CallHooks&) override {
    turn_ = static_cast<size_t>(
        std::ranges::count(request.messages, model::Role::kAssistant, &model::Message::role));
    reply_ = {};
    reply_.usage = {.in = 100, .out = 20};
    Answer(request);
    reply_.message.role = model::Role::kAssistant;
    reply_.finish = reply_.message.calls.empty() ? model::Finish::kStop : model::Finish::kCalls;
    return reply_;
  }

 private:
  void Call(const char* tool, std::initializer_list<data::JsonMember> arguments = {}) {
    reply_.message.calls.push_back({fmt::format("call-{}-{}", turn_, reply_.message.calls.size()),
                                    tool, Json::Of(arguments), ""});
  }
  void Write(const std::string& text) {
    Call("write_file", {{"path", "candidate.cpp"}, {"text", text}});
  }
  void Submit(bool final) { Call("submit", {{"final", final}}); }
  void Say(const std::string& text) { reply_.message.text = text; }

  // The last speed that a text names.
  static int Speed(const std::string& text) {
    const size_t at = text.rfind("speed=");
    return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + 6);
  }

  void Background(const model::Request& request) {
    const model::Message& last = request.messages.back();
    int begun = 0;
    bool tested = false;
    for (const model::Message& message : request.messages) {
      begun += !message.calls.empty() && message.calls.front().name == "write_file" ? 1 : 0;
      tested |= message.tool == "test" && message.ok;
    }
    if (begun == 2 && !tested) {  // does not poll; what it calls next is refused until the job ends
      if (last.tool != "test") return Call("test");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return Call("list_files");
    }
    const size_t job = last.text.find("job-");
    if (job != std::string::npos && last.text.find("running") != std::string::npos) {
      return Call("poll", {{"job", last.text.substr(job, last.text.find('\'', job) - job)}});
    }
    if (begun == 5) return Submit(true);
    Write(fmt::format("speed={}", begun + 1));
    if (begun == 2) return Call("benchmark", {{"wait_seconds", 0}});
    Call("submit", {{"wait_seconds", 0}, {"label", fmt::format("in the background {}", begun)}});
  }

  void Iterate(const model::Request& request) {
    if (background_) return Background(request);
    switch (turn_) {
      case 0:
        Write("speed=1");
        Call("write_file", {{"path", "notes"}, {"text", "a"}});
        return;
      case 1:
        return Submit(false);
      case 2:
        return Call("edit_file",
                    {{"path", "candidate.cpp"}, {"old_text", "speed=1"}, {"new_text", "speed=12"}});
      case 3:
        Call("test");
        Submit(false);
        Call("edit_file", {{"path", "notes"}, {"old_text", "a"}, {"new_text", "aab"}});
        return;
      case 4:
        return Say("Let me think.");
      case 5:
        Call("edit_file",
             {{"path", "candidate.cpp"}, {"old_text", "speed=1"}, {"new_text", "speed=11"}});
        Call("delete_file", {{"path", "notes"}});
        Call("delete_file", {{"path", "none"}});
        return;
      case 6:
        Submit(false);
        Write("bad");
        return;
      case 7:
        return Call("history");
      case 8:
        Call("read_file", {{"path", "candidate.cpp"}});
        Submit(false);
        return;
      default:
        Write("speed=200");
        return Submit(true);
    }
  }

  void Answer(const model::Request& request) {
    const std::string& first = request.messages.front().text;
    const int speed = Speed(first);
    const auto file = [](const std::string& text) {
      return fmt::format("I change it.\n\n### candidate.cpp\n\n```cpp\n{}\n```\n", text);
    };
    if (request.system == "SINGLE") return Say(file("speed=3"));
    if (request.system == "ITERATIVE") return Iterate(request);
    if (request.system == "STRUCT") {
      if (turn_ % 2 == 1) return Submit(turn_ == 3);
      return Write(turn_ == 0 ? "wrong" : "speed=2");
    }
    if (request.system == "CHANGE") {
      if (speed >= 4) return Submit(true);
      if (turn_ % 2 == 1) return Submit(false);
      const bool again = first.find("attempt 4") != std::string::npos;
      return Write(fmt::format("speed={}", again ? 1 : speed + 1));
    }
    if (request.system == "EVOLVE") {
      const bool failed = first.find("expected ';'") != std::string::npos;
      return Say(file(speed == 3 && !failed ? "bad" : fmt::format("speed={}", speed + 1)));
    }
    if (request.system == "PLANNER") return Say("THE PLAN");
    if (request.system == "CODER") {
      if (turn_ % 2 == 1) return Submit(true);
      return Write(turn_ == 0 ? "speed=1" : "speed=3");
    }
    Say(speed >= 3 ? "ACCEPT" : "Use wider loads.");
  }

  const bool background_;
  size_t turn_ = 0;
  model::Reply reply_;
};

// How a session ended, without what differs from run to run.
struct Ending {
  std::string stop;
  std::vector<std::string> attempts;
  std::map<std::string, std::string> files;
  std::vector<std::string> steps;
  bool operator==(const Ending&) const = default;
};
void PrintTo(const Ending& ending, std::ostream* out) {
  *out << ending.stop << ", " << ending.attempts.size() << " attempts:";
  for (const auto& attempt : ending.attempts) *out << "\n  " << attempt;
  for (const auto& [path, text] : ending.files) *out << "\nfile " << path << ": " << text;
  for (const auto& step : ending.steps) *out << "\n  " << step;
}

// One in so many of the places; all where time does not matter.
long Stride(long usual) { return std::getenv("SZARENA_EXHAUSTIVE") ? 1 : usual; }

Json Without(const Json& value, const std::vector<std::string>& keys) {
  if (value.is_array()) {
    Json out = Json::MakeArray();
    for (const Json& item : value.items()) out.Append(Without(item, keys));
    return out;
  }
  if (!value.is_object()) return value;
  Json out = Json::MakeObject();
  for (const auto& [key, member] : value.members()) {
    if (std::ranges::find(keys, key) == keys.end()) out.Set(key, Without(member, keys));
  }
  return out;
}

class ResumeTest : public testing::TestWithParam<const char*> {
 protected:
  // In memory where there is a place for it: thousands of sessions are flushed to it.
  ResumeTest()
      : folder_((fs::is_directory("/dev/shm") ? "/dev/shm" : testing::TempDir()) +
                "/szarena_resume_" + std::to_string(getpid())) {
    fs::remove_all(folder_);
    for (const char* step : {"slow", "bad", "fast"}) {
      fs::create_directories(folder_ + "/ladder/" + step);
      std::ofstream(folder_ + "/ladder/" + step + "/candidate.cpp") << step;
      std::ofstream(folder_ + "/ladder/" + step + "/" + step + ".h") << "// only here";
    }
  }
  ~ResumeTest() override { fs::remove_all(folder_); }

  std::string Out() const { return folder_ + "/out"; }
  std::string StorePath() const { return Out() + "/results.sqlite"; }
  bool background() const { return GetParam() == std::string("background"); }
  std::string WorkflowName() const { return background() ? "iterative" : GetParam(); }
  std::string Stem() const { return fmt::format("c-szp-cpu-none-user-pure-{}-1", WorkflowName()); }
  std::string TranscriptPath() const { return Out() + "/transcripts/" + Stem() + ".jsonl"; }

  // An empty folder with an empty store.
  void Clear() {
    fs::remove_all(Out());
    fs::create_directories(Out());
    auto store = store::Store::Open(StorePath());
    ASSERT_TRUE(store) << store.error().ToString();
    ASSERT_TRUE(store->AddCampaign({"c", "2026-04-22T00:00:00.000Z", false, Json::MakeObject()}));
  }
  std::unique_ptr<Agent> MakeAgent() const {
    if (GetParam() == std::string("scripted")) {
      std::vector<LadderStep> steps;
      for (const char* step : {"slow", "bad", "fast"}) {
        steps.push_back({step, std::string("idea ") + step, folder_ + "/ladder/" + step});
      }
      return std::make_unique<LadderAgent>(std::move(steps));
    }
    WorkflowSettings settings;
    settings.islands = 2;
    settings.patience = 6;
    return std::make_unique<ModelAgent>(std::make_unique<PureModel>(background()),
                                        *FindWorkflow(WorkflowName()), kPieces, settings,
                                        "candidate.cpp");
  }
  SessionPlan Plan(bool resume) const {
    SessionPlan plan;
    plan.key = {.campaign = "c",
                .task = "szp",
                .target = "cpu",
                .source = "none",
                .tier = "user",
                .agent = "pure",
                .workflow = WorkflowName(),
                .trial = 1};
    plan.prompt = "write a compressor";
    plan.description = Json::Of({{"task", "szp"}});
    plan.out_dir = Out();
    plan.budget = {.attempts = 6, .model_calls = 500};
    plan.resume = resume;
    return plan;
  }
  Result<SessionOutcome> Run(bool resume) {
    SZARENA_TRY(store::Store store, store::Store::Open(StorePath()));
    FakeJudge judge;
    const auto agent = MakeAgent();
    return RunSession(Plan(resume), *agent, judge, store, {}, {});
  }
  // Run in a child that is killed before its `effects`-th change of a file; whether it was.
  bool RunAndKill(bool resume, long effects) {
    const pid_t child = fork();
    if (child == 0) {
      effects_left = effects;
      const auto outcome = Run(resume);
      effects_left = -1;
      _exit(outcome ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << status;
    return WIFSIGNALED(status);
  }

  // Killed after its end was stored.
  bool Ended() { return store::Store::Open(StorePath())->Sessions("c")->back().stop.has_value(); }

  Ending TheEnding() {
    Ending ending;
    auto store = store::Store::Open(StorePath());
    const auto sessions = store->Sessions("c");
    EXPECT_EQ(sessions->size(), 1U);
    const store::Session& session = sessions->back();
    ending.stop = session.stop ? std::string(store::StopReasonName(*session.stop)) : "running";
    ending.stop += ": " + session.stop_detail;
    const auto attempts = store->Attempts(session.id);
    for (const store::Attempt& attempt : *attempts) {
      ending.attempts.push_back(fmt::format("{} {} {} {}", attempt.number, attempt.label,
                                            attempt.idea, attempt.verdict.candidate_sha256));
    }
    const Workspace workspace(Out() + "/workspaces/" + Stem());
    const auto listed = workspace.List();
    for (const WorkspaceFile& file : *listed) {
      ending.files[file.path] = *workspace.Read(file.path);
    }
    const auto transcript = ReadTranscript(TranscriptPath());
    EXPECT_TRUE(transcript);
    EXPECT_TRUE(transcript->faults.empty());
    EXPECT_FALSE(transcript->torn_tail);
    for (size_t i = 0; i < transcript->records.size(); ++i) {
      const Json& record = transcript->records[i];
      EXPECT_EQ(record.Find("seq")->integer(), static_cast<int64_t>(i));
      const std::string& kind = *record.Find("kind")->string();
      // A paid answer may be lost, a verdict stored late: "usage" and "attempt" may come twice.
      if (background()) continue;  // when a job ends is told in other steps
      if (kind != "message" && kind != "note" && kind != "tool-call" && kind != "tool-result") {
        continue;
      }
      ending.steps.push_back(Without(record, {"seq", "at", "seconds", "job"}).Dump());
    }
    EXPECT_EQ(*transcript->records.back().Find("kind")->string(), "stop");
    return ending;
  }

  std::string folder_;
};

// The transcript is cut anywhere: at the end of each line and within each. The store has all
// attempts (the end of the transcript was lost), those that the transcript has, or one less (killed
// before it was stored).
TEST_P(ResumeTest, WhereverItsTranscriptEndsASessionGoesOn) {
  Clear();
  ASSERT_TRUE(Run(false));
  const Ending expected = TheEnding();
  ASSERT_GE(expected.attempts.size(), GetParam() == std::string("single-shot") ? 1U : 2U);
  std::ifstream file(TranscriptPath(), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  std::vector<store::Attempt> attempts;
  store::Session session;
  {
    auto store = store::Store::Open(StorePath());
    session = store->Sessions("c")->back();
    attempts = *store->Attempts(session.id);
  }
  Clear();
  {
    auto store = store::Store::Open(StorePath());
    ASSERT_TRUE(store->BeginSession(session));
  }
  fs::copy_file(StorePath(), folder_ + "/begun.sqlite");

  size_t line = 0;
  size_t runs = 0;
  for (size_t begin = 0; begin < whole.size(); ++line) {
    const size_t end = whole.find('\n', begin) + 1;
    size_t recorded = 0;  // attempts before the end
    for (size_t at = whole.find("\"kind\": \"attempt\""); at < end;
         at = whole.find("\"kind\": \"attempt\"", at + 1)) {
      ++recorded;
    }
    const std::vector<std::pair<size_t, size_t>> cases = {
        {end, attempts.size()},
        {end, recorded},
        {end, recorded > 0 ? recorded - 1 : 0},
        {end - 1, attempts.size()},
        {begin + 1 + line * 7919 % (end - begin - 1), recorded}};
    for (size_t i = 0; i < cases.size(); ++i) {
      const auto [cut, stored] = cases[i];
      // One less only where the attempt was not told yet.
      const bool at_attempt =
          whole.substr(begin, end - begin).find("\"kind\": \"attempt\"") != std::string::npos;
      if (at_attempt ? i == 4 : i == 2) continue;
      if (cut <= whole.find('\n') && stored > 0) continue;  // refused: see workflow_test.cpp
      if (!at_attempt && i != 1 && (line + i) % Stride(8) != 0) continue;
      SCOPED_TRACE(fmt::format("line {}, cut at byte {} of {}, {} attempts stored: {:.60}",
                               line + 1, cut, whole.size(), stored,
                               whole.substr(begin, end - begin)));
      fs::remove_all(Out());
      fs::create_directories(Out() + "/transcripts");
      fs::copy_file(folder_ + "/begun.sqlite", StorePath());
      std::ofstream(TranscriptPath(), std::ios::binary) << whole.substr(0, cut);
      {
        auto store = store::Store::Open(StorePath());
        for (size_t n = 0; n < stored; ++n) ASSERT_TRUE(store->AddAttempt(session.id, attempts[n]));
      }
      const auto outcome = Run(true);
      ASSERT_TRUE(outcome) << outcome.error().ToString();
      ASSERT_EQ(TheEnding(), expected);
      ++runs;
    }
    begin = end;
  }
  EXPECT_GE(runs, line);
}

// Killed before each write, rename, removal or flush in turn, and once more while it goes on.
TEST_P(ResumeTest, WheneverItIsKilledASessionGoesOn) {
  Clear();
  ASSERT_TRUE(Run(false));
  const Ending expected = TheEnding();
  bool killed = true;
  long kills = 0;
  for (long effects = 0; killed; effects += Stride(11)) {
    SCOPED_TRACE(fmt::format("killed before effect {}", effects));
    Clear();
    killed = RunAndKill(false, effects);
    if (killed) {
      ++kills;
      const bool begun = !store::Store::Open(StorePath())->Sessions("c")->empty();
      if (!begun || !Ended()) {
        const bool again = begun && RunAndKill(true, effects * 31 % 67);
        if (!begun || (again && !Ended())) {
          const auto outcome = Run(begun);
          ASSERT_TRUE(outcome) << outcome.error().ToString();
        }
      }
    }
    ASSERT_EQ(TheEnding(), expected);
  }
  EXPECT_GE(kills, 4);
}

INSTANTIATE_TEST_SUITE_P(All, ResumeTest,
                         testing::Values("single-shot", "iterative", "background", "gated",
                                         "evolve", "team", "scripted"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace szarena::agent
