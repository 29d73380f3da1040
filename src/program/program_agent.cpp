// SPDX-License-Identifier: Apache-2.0
#include "program/program_agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/atomic_file.h"
#include "mcp/arena/arena_surface.h"
#include "mcp/http.h"
#include "os/errno.h"
#include "os/files.h"
#include "os/temp_dir.h"
#include "program/model_proxy.h"
#include "program/relay.h"

namespace szarena::program {
namespace {

namespace fs = std::filesystem;
using data::Json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Inside the sandbox.
constexpr const char* kHome = "/home/agent";
constexpr const char* kWorkspace = "/workspace";
constexpr const char* kRelay = "/run/relay";
constexpr const char* kMcpSocket = "/run/szarena/mcp";
constexpr const char* kModelSocket = "/run/szarena/model";
constexpr int kMcpPort = 7001;
constexpr int kModelPort = 7002;
constexpr const char* kKey = "szarena-sandbox";  // opens nothing: the real key is put in outside

constexpr std::chrono::seconds kSizeCheck{2};
constexpr uint64_t kMaxFolderBytes = 1ull << 30;  // of workspace and home each
constexpr size_t kMaxEventBytes = 64 << 10;       // of one line in the transcript
constexpr size_t kMaxLineBytes = 16 << 20;
constexpr size_t kMaxEventsBytes = 64 << 20;  // of all records in the transcript

// The toolbox, with the error that ended the session kept for Run.
class WatchedSession : public mcp::ToolboxSession {
 public:
  using ToolboxSession::ToolboxSession;
  Result<agent::ToolResult> Call(std::string_view tool, const Json& arguments,
                                 const agent::JudgeHooks& hooks) override {
    auto result = ToolboxSession::Call(tool, arguments, hooks);
    if (!result) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = result.error();
    }
    return result;
  }
  std::optional<Error> error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

// Cuts a stream into lines; a line that is too long is told in pieces.
class Lines {
 public:
  template <typename F>
  void Feed(std::string_view bytes, F on_line) {
    waiting_.append(bytes);
    for (size_t end = waiting_.find('\n');
         end != std::string::npos || waiting_.size() > kMaxLineBytes; end = waiting_.find('\n')) {
      const size_t length = std::min(end, kMaxLineBytes);
      on_line(waiting_.substr(0, length));
      waiting_.erase(0, end == std::string::npos ? length : length + 1);
    }
  }
  template <typename F>
  void Finish(F on_line) {
    if (!waiting_.empty()) on_line(std::exchange(waiting_, {}));
  }

 private:
  std::string waiting_;
};

// A program's output in the transcript: events one by one, other text in larger pieces.
class EventLog {
 public:
  EventLog(agent::Transcript& transcript, const Program* program, Account& account)
      : transcript_(transcript), program_(program), account_(account) {}

  void Take(const std::string& line) {
    if (line.empty()) return;
    const auto event =
        line.front() == '{' ? data::ParseJson(line, "event") : Fail(ErrorCode::kCorrupt, "no JSON");
    if (event && program_ != nullptr) program_->read(*event, account_);
    if (event && line.size() <= kMaxEventBytes) {
      Flush();
      Add(Json::Of({{"event", *event}}), line.size());
      return;
    }
    text_.append(line, 0, kMaxEventBytes);
    text_ += line.size() > kMaxEventBytes ? " [cut]\n" : "\n";
    if (text_.size() > kMaxEventBytes / 4) Flush();
  }
  void Flush() {
    if (text_.empty()) return;
    const size_t size = text_.size();
    Add(Json::Of({{"text", std::exchange(text_, {})}}), size);
  }
  // The transcript cannot be written.
  const std::optional<Error>& fault() const { return fault_; }

 private:
  void Add(const Json& record, size_t size) {
    constexpr size_t kOverheadBytes = 100;
    if (fault_ || recorded_ > kMaxEventsBytes) return;
    recorded_ += size + kOverheadBytes;
    auto added = transcript_.Add("program", record);
    if (added && recorded_ > kMaxEventsBytes) {
      added =
          transcript_.Add("note", Json::Of({{"text", "the program's further output is left out"}}));
    }
    if (!added) fault_ = added.error();
  }

  agent::Transcript& transcript_;
  const Program* program_;
  Account& account_;
  std::string text_;
  size_t recorded_ = 0;
  std::optional<Error> fault_;
};

uint64_t FolderBytes(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(
           folder, fs::directory_options::skip_permission_denied, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_symlink(ignored) || !it->is_regular_file(ignored)) continue;
    const uint64_t size = it->file_size(ignored);
    if (!ignored) bytes += size;
  }
  return bytes;
}

std::string LastLine(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  const size_t at = text.rfind('\n');
  return text.substr(at == std::string::npos ? 0 : at + 1, 400);
}

// Files of the program's home, in folders of their own.
Result<void> WriteHome(const Launch& launch, const std::string& home, uint32_t user) {
  for (const auto& [name, text] : launch.files) {
    const fs::path path = fs::path(home) / name;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    SZARENA_TRY_VOID(WriteFileAtomically(path.string(), text));
  }
  agent::Workspace folder(home);
  return folder.SetOwner(user);
}

// A socket that the program's user may connect to; its folder is ours alone.
Result<net::Listener> Socket(const std::string& path) {
  SZARENA_TRY(net::Listener listener, net::ListenUnix(path));
  if (chmod(path.c_str(), 0666) < 0) return os::FailErrno("cannot open socket '" + path + "'");
  return listener;
}

}  // namespace

std::string Briefing(const std::string& prompt) {
  return prompt +
         "\n## How to work\n\n"
         "Your working directory is the workspace: the files in it are your program. The MCP "
         "server "
         "`szarena` has the tools `describe_task`, `read_reference`, `list_files`, `read_file`, "
         "`write_file`, `edit_file`, `build`, `test`, `benchmark`, `profile`, `submit`, `history` "
         "and "
         "`poll`; only it can build and judge. Files that you write by other means count as well. "
         "There is no network. Hand in with `submit`; the best attempt counts. When you have "
         "nothing better to hand in, call `submit` with \"final\": true, or just end.\n";
}

Result<std::unique_ptr<ProgramAgent>> ProgramAgent::Make(ProgramSpec spec) {
  Installed installed;
  if (spec.program != nullptr) {
    SZARENA_TRY(installed, FindInstalled(std::string(spec.program->executable),
                                         fmt::format("install it with: npm install -g {}",
                                                     spec.program->package)));
  } else {
    const std::string first = spec.command.substr(0, spec.command.find(' '));
    SZARENA_TRY(installed, FindInstalled(first, "the command's first word must be a program"));
  }
  auto sandbox = sandbox::Sandbox::Probe(sandbox::Sandbox::Paths::kPrivate);
  if (!sandbox) return WithContext(sandbox.error(), "while making the agent program's sandbox");
  if (!spec.hidden_root.empty()) sandbox->Hide(spec.hidden_root);
  std::unique_ptr<ProgramAgent> agent(
      new ProgramAgent(std::move(spec), std::move(installed), std::move(*sandbox)));
  if (agent->spec_.program != nullptr) {
    SZARENA_TRY(agent->version_, agent->AskVersion());
  }
  return agent;
}

// The sandbox without folders of a session.
sandbox::Command ProgramAgent::BaseCommand() const {
  sandbox::Command command;
  std::string path;
  for (const std::string& folder : installed_.path_folders) path += folder + ":";
  const std::string own = fs::path(installed_.path).parent_path().string();
  command.env = {{"PATH", path + own + ":/usr/local/bin:/usr/bin:/bin"},
                 {"TERM", "dumb"},
                 {"NO_COLOR", "1"},
                 {"CI", "1"}};
  for (const std::string& shown : installed_.shown) command.binds.push_back({shown, shown, false});
  for (const char* certificates : {"/etc/ssl/certs", "/usr/share/ca-certificates"}) {
    std::error_code error;
    if (fs::is_directory(certificates, error)) {
      command.binds.push_back({certificates, certificates, false});
    }
  }
  command.sockets = sandbox::Sockets::kAll;
  command.limits.cpu_seconds = 7 * 24 * 3600;
  command.limits.file_bytes = 1ull << 30;
  command.limits.processes = 2048;
  command.limits.open_files = 4096;
  command.limits.stack_bytes = 8ull << 20;
  command.limits.tmp_bytes = 1ull << 30;
  return command;
}

Result<std::string> ProgramAgent::AskVersion() const {
  sandbox::Command command = BaseCommand();
  command.argv = {installed_.path, "--version"};
  SZARENA_TRY(const os::ProcessResult result, sandbox_.Run(command, std::chrono::seconds(60)));
  if (result.status.ok()) return LastLine(result.out);
  return Fail(ErrorCode::kUnavailable,
              fmt::format("program '{}' does not run: {} {}", installed_.path,
                          result.status.ToString(), LastLine(result.err)));
}

Json ProgramAgent::Identity() const {
  Json service;
  if (spec_.service) {
    service = Json::Of({{"provider", spec_.service->provider},
                        {"protocol", spec_.service->protocol},
                        {"base_url", spec_.service->wire.base_url}});
  }
  return Json::Of(
      {{"kind", "program"},
       {"name", spec_.program != nullptr ? Json(spec_.program->name) : Json(spec_.command)},
       {"version", version_.empty() ? Json() : Json(version_)},
       {"model", spec_.model.empty() ? Json() : Json(spec_.model)},
       {"service", std::move(service)},
       {"sandbox", sandbox_.description()}});
}

Result<agent::AgentEnd> ProgramAgent::Run(const std::string& prompt, agent::Toolbox& toolbox) {
  agent::ToolboxContext& context = toolbox.context();
  const uint32_t user = sandbox::Sandbox::FreshUser();
  const std::string briefing = Briefing(prompt);
  SZARENA_TRY_VOID(
      context.transcript.Add("note", Json::Of({{"text", "the program's instructions"},
                                               {"added", briefing.substr(prompt.size())}})));

  // Our ends of the two sockets.
  SZARENA_TRY(const os::TempDir sockets, os::TempDir::Create("szarena-agent-"));
  SZARENA_TRY(const os::TempDir home, os::TempDir::Create("szarena-home-"));
  const auto session = std::make_shared<WatchedSession>(toolbox);
  mcp::ArenaSurface surface(
      {"", context.description, context.references, {}}, mcp::Sharing::kOne,
      [&](const Json&) -> Result<std::shared_ptr<mcp::ToolSession>> { return session; });
  mcp::Server server(surface);
  const std::string mcp_socket = sockets.path() + "/mcp";
  const std::string model_socket = sockets.path() + "/model";
  SZARENA_TRY(net::Listener mcp_listener, Socket(mcp_socket));
  const mcp::HttpEndpoint endpoint(server, std::move(mcp_listener), {});
  std::optional<ModelProxy> proxy;
  if (spec_.service) {
    SZARENA_TRY(net::Listener model_listener, Socket(model_socket));
    proxy.emplace(std::move(model_listener), *spec_.service, toolbox.meter(), context.transcript);
  }

  Surroundings surroundings;
  surroundings.mcp_url = fmt::format("http://127.0.0.1:{}/mcp", kMcpPort);
  if (proxy) surroundings.model_url = fmt::format("http://127.0.0.1:{}", kModelPort);
  surroundings.key = kKey;
  surroundings.model = spec_.model;
  surroundings.home = kHome;
  surroundings.workspace = kWorkspace;
  surroundings.prompt = briefing;
  const Launch launch = spec_.program != nullptr ? spec_.program->prepare(surroundings)
                                                 : PrepareCommand(spec_.command, surroundings);
  SZARENA_TRY_VOID(WriteHome(launch, home.path(), user));
  SZARENA_TRY_VOID(context.workspace.SetOwner(user));

  SZARENA_TRY(const os::UniqueFd relay, os::MemoryFile("relay", RelayProgram()));
  SZARENA_TRY(
      const os::UniqueFd users,
      os::MemoryFile("passwd", fmt::format("agent:x:{}:{}:agent:{}:/bin/sh\n", user, user, kHome)));
  SZARENA_TRY(const os::UniqueFd input, os::MemoryFile("prompt", briefing));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return os::FailErrno("cannot make a pipe");
  const os::UniqueFd events(ends[0]);
  os::UniqueFd events_in(ends[1]);

  sandbox::Command command = BaseCommand();
  command.argv = {kRelay, fmt::format("{}={}", kMcpPort, kMcpSocket)};
  if (proxy) command.argv.push_back(fmt::format("{}={}", kModelPort, kModelSocket));
  command.argv.push_back("--");
  command.argv.push_back(spec_.program != nullptr ? installed_.path : "/bin/sh");
  command.argv.insert(command.argv.end(), launch.arguments.begin(), launch.arguments.end());
  command.env.insert(command.env.end(), launch.env.begin(), launch.env.end());
  command.env.emplace_back("HOME", kHome);
  command.env.emplace_back("USER", "agent");
  command.binds.push_back({context.workspace.folder(), kWorkspace, true});
  command.binds.push_back({home.path(), kHome, true});
  command.binds.push_back({mcp_socket, kMcpSocket, true});
  if (proxy) command.binds.push_back({model_socket, kModelSocket, true});
  command.files = {{relay.get(), kRelay, 0555}, {users.get(), "/etc/passwd", 0444}};
  command.fds = {{input.get(), 0}, {events_in.get(), 1}};
  command.cwd = kWorkspace;
  command.uid = user;
  SZARENA_TRY(os::Process process, sandbox_.Start(command));
  events_in.Reset();

  Account account;
  EventLog log(context.transcript, spec_.program, account);
  Lines lines;
  const auto take = [&](const std::string& line) { log.Take(line); };
  // Until it ends, or has to.
  std::optional<Error> fault;
  std::string over;  // why it has to
  store::StopReason reason = store::StopReason::kSubmitted;
  steady_clock::time_point deadline{};
  steady_clock::time_point next_check = steady_clock::now();
  bool open = true;
  bool ended = false;
  bool killed = false;
  while (!ended) {
    pollfd entries[2] = {{events.get(), POLLIN, 0}, {process.pidfd(), POLLIN, 0}};
    poll(open ? entries : entries + 1, open ? 2 : 1, 100);
    process.Drain();
    char buffer[65536];
    if (open && (entries[0].revents & (POLLIN | POLLHUP)) != 0) {
      const ssize_t got = read(events.get(), buffer, sizeof buffer);
      open = got > 0;
      if (got > 0) lines.Feed({buffer, static_cast<size_t>(got)}, take);
    }
    const auto now = steady_clock::now();
    fault = log.fault();
    if (proxy && !fault) fault = proxy->fault();
    if (context.stop.stop_requested() || fault || session->error()) break;
    if (over.empty()) {
      if (toolbox.final_submitted()) {
        over = "a final attempt was handed in";
      } else if (const auto limit = toolbox.meter().Reached()) {
        over = *limit;
        reason = store::StopReason::kBudget;
      }
      deadline = now + spec_.grace;
    }
    if (now >= next_check) {
      next_check = now + kSizeCheck;
      if (FolderBytes(context.workspace.folder()) > kMaxFolderBytes ||
          FolderBytes(home.path()) > kMaxFolderBytes) {
        fault = Error{ErrorCode::kCapacity,
                      fmt::format("the program wrote more than {} bytes into its workspace or home",
                                  kMaxFolderBytes),
                      {}};
        break;
      }
    }
    killed = !over.empty() && now >= deadline;
    if (killed) break;
    SZARENA_TRY(ended, process.Wait(now));
  }
  if (!ended) process.Kill();
  for (char buffer[65536]; open;) {  // what was still on its way
    pollfd entry = {events.get(), POLLIN, 0};
    const ssize_t got = poll(&entry, 1, 0) > 0 ? read(events.get(), buffer, sizeof buffer) : 0;
    open = got > 0;
    if (got > 0) lines.Feed({buffer, static_cast<size_t>(got)}, take);
  }
  lines.Finish(take);
  log.Flush();
  if (!fault) fault = log.fault();
  SZARENA_TRY_VOID(context.workspace.SetOwner(std::nullopt));

  const os::ProcessResult& result = process.result();
  SZARENA_TRY_VOID(context.transcript.Add(
      "note", Json::Of({{"text", killed ? "the program was ended" : "the program ended"},
                        {"status", result.status.ToString()},
                        {"stop", account.stop},
                        {"error", account.error},
                        {"stderr", result.err.substr(0, 16 << 10)}})));
  if (context.stop.stop_requested()) return Fail(ErrorCode::kCancelled, "stopped on request");
  if (session->error()) return tl::unexpected(*session->error());
  if (fault) return tl::unexpected(*fault);
  if (!over.empty()) return agent::AgentEnd{reason, over};
  const bool any = !toolbox.attempts().empty();
  if (!result.status.ok()) {
    return agent::AgentEnd{
        store::StopReason::kError,
        fmt::format("the program ended with {}: {}", result.status.ToString(),
                    account.error.empty() ? LastLine(result.err) : account.error)};
  }
  return agent::AgentEnd{any ? store::StopReason::kSubmitted : store::StopReason::kGaveUp,
                         account.stop.empty() ? "the program ended" : account.stop};
}

}  // namespace szarena::program
