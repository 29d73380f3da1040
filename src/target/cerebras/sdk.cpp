// SPDX-License-Identifier: Apache-2.0
#include "target/cerebras/sdk.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/atomic_file.h"
#include "data/json.h"
#include "os/files.h"
#include "os/process.h"
#include "target/cerebras/embedded.h"
#include "target/cerebras/poison.h"

namespace szarena::target::cerebras {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kCompileTimeout{300000};

std::string LastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
}

Result<os::ProcessResult> RunTool(const std::string& folder, std::vector<std::string> argv,
                                  milliseconds timeout) {
  os::ProcessSpec spec;
  spec.argv = std::move(argv);
  spec.inherit_env = true;  // the SDK's scripts find their container by it
  spec.cwd = folder;
  return os::RunProcess(spec, timeout);
}

std::string_view AsBytes(std::span<const uint32_t> words) {
  return {reinterpret_cast<const char*>(words.data()), words.size_bytes()};
}

// Symbols of one launch: files in the job's folder, and what the host program is told of them.
class Exchange {
 public:
  Exchange(std::string folder, size_t pes) : folder_(std::move(folder)), pes_(pes) {}
  Result<void> In(const std::string& name, std::span<const uint32_t> words) {
    in_.Append(
        data::Json::Of({{"name", name}, {"count", static_cast<int64_t>(words.size() / pes_)}}));
    return WriteFileAtomically(folder_ + "/" + name + ".in", AsBytes(words));
  }
  void Out(const std::string& name, uint32_t count) {
    out_.Append(data::Json::Of({{"name", name}, {"count", static_cast<int64_t>(count)}}));
  }
  Result<void> Write(const Geometry& geometry, const std::string& function) const {
    const data::Json job = data::Json::Of({{"width", geometry.width},
                                           {"height", geometry.height},
                                           {"function", function},
                                           {"in", in_},
                                           {"out", out_}});
    return WriteFileAtomically(folder_ + "/job.json", job.Dump(2));
  }
  Result<std::vector<uint32_t>> Read(const std::string& name, uint32_t count) const {
    const size_t bytes = pes_ * count * 4;
    SZARENA_TRY(const std::string text, os::ReadRegularFile(folder_ + "/" + name + ".out", bytes));
    if (text.size() != bytes) {
      return Fail(ErrorCode::kInternal,
                  fmt::format("the host program gave {} bytes of '{}', {} are right", text.size(),
                              name, bytes));
    }
    std::vector<uint32_t> words(pes_ * count);
    if (bytes > 0) std::memcpy(words.data(), text.data(), bytes);
    return words;
  }

 private:
  std::string folder_;
  size_t pes_;
  data::Json in_ = data::Json::MakeArray();
  data::Json out_ = data::Json::MakeArray();
};

}  // namespace

Result<SdkTools> FindSdk() {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path here(folder);
    if (folder.empty() || !fs::exists(here / "cslc", error) ||
        !fs::exists(here / "cs_python", error))
      continue;
    if (fs::weakly_canonical(here, error) == fs::weakly_canonical(own, error)) continue;
    return SdkTools{(here / "cslc").string(), (here / "cs_python").string()};
  }
  return Fail(ErrorCode::kUnavailable,
              "--toolchain sdk: there is no folder with the Cerebras SDK's cslc and cs_python in "
              "PATH; without the SDK use --toolchain ours");
}

Result<SdkProgram> CompileWithSdk(const SdkTools& tools, const Candidate& candidate,
                                  const Geometry& geometry, const Params& params) {
  SdkProgram program;
  SZARENA_TRY(program.folder, os::TempDir::Create("szarena-sdk-"));
  const std::string source = program.folder->path() + "/src";
  std::error_code error;
  if (!fs::create_directory(source, error))
    return Fail(ErrorCode::kIo, "cannot make folder '" + source + "'");
  SZARENA_TRY_VOID(WriteCandidate(candidate, source));
  std::string list = fmt::format("--params=width:{},height:{}", geometry.width, geometry.height);
  for (const auto& [name, value] : params) list += fmt::format(",{}:{}", name, value);
  SZARENA_TRY(const os::ProcessResult run,
              RunTool(source,
                      {tools.cslc, "layout.csl",
                       geometry.arch == bytecode::Arch::kWse2 ? "--arch=wse2" : "--arch=wse3",
                       fmt::format("--fabric-dims={},{}", geometry.width + 7, geometry.height + 2),
                       "--fabric-offsets=4,1", "--memcpy", "--channels=1", list, "-o",
                       program.folder->path() + "/compiled"},
                      kCompileTimeout));
  program.log = run.err + run.out;
  program.ok = run.status.ok() && !run.timed_out;
  if (run.timed_out) {
    program.reason = "compiling took more than 300 s";
  } else if (!program.ok) {
    program.reason = "cslc ended with " + run.status.ToString() + ": " +
                     LastLine(run.err.empty() ? run.out : run.err);
  }
  return program;
}

Result<LaunchResult> LaunchWithSdk(const SdkTools& tools, const SdkProgram& program,
                                   const Geometry& geometry, const Launch& launch,
                                   milliseconds timeout) {
  const auto pes = static_cast<size_t>(geometry.width) * static_cast<size_t>(geometry.height);
  SZARENA_TRY(const os::TempDir folder, os::TempDir::Create("szarena-sdk-run-"));
  const Poison poison{launch.poison_seed, launch.poison_inverted};
  Exchange job(folder.path(), pes);
  std::vector<uint32_t> words(pes * launch.out_capacity);
  for (size_t i = 0; i < words.size(); ++i) words[i] = poison.Word(~i);
  // Output first: a program may let it share memory with the input.
  const std::string out = launch.forward ? "output_words" : "output";
  SZARENA_TRY_VOID(job.In(out, words));
  words.assign(pes * launch.in_capacity, 0);
  size_t at = 0;
  for (size_t pe = 0; pe < pes; ++pe) {
    for (size_t k = 0; k < launch.in_capacity; ++k) {
      const size_t place = pe * launch.in_capacity + k;
      words[place] = k < launch.counts[pe] ? launch.data[at + k] : poison.Word(place);
    }
    at += launch.counts[pe];
  }
  SZARENA_TRY_VOID(job.In(launch.forward ? "input" : "in_words", words));
  const std::string count_name = launch.forward ? "output_word_count" : "in_word_count";
  if (launch.forward) {
    words.assign(pes, 0);
    for (size_t pe = 0; pe < pes; ++pe) words[pe] = poison.Count(pe);
    SZARENA_TRY_VOID(job.In(count_name, words));
    job.Out(count_name, 1);
  } else {
    SZARENA_TRY_VOID(job.In(count_name, launch.counts));
  }
  SZARENA_TRY_VOID(job.In("n_local", launch.n));
  SZARENA_TRY_VOID(
      job.In("eb_f32", std::vector<uint32_t>(pes, std::bit_cast<uint32_t>(launch.eb))));
  SZARENA_TRY_VOID(
      job.In("eb_exponent", std::vector<uint32_t>(pes, static_cast<uint32_t>(launch.eb_exponent))));
  job.Out(out, launch.out_capacity);
  job.Out("n_local", 1);
  SZARENA_TRY_VOID(job.Write(geometry, launch.function));
  SZARENA_TRY_VOID(WriteFileAtomically(folder.path() + "/sdk_host.py", SdkHostProgram()));
  SZARENA_TRY(const os::ProcessResult run,
              RunTool(folder.path(),
                      {tools.cs_python, "sdk_host.py", "--name",
                       program.folder->path() + "/compiled", "--job", folder.path()},
                      timeout));
  LaunchResult result;
  result.answer.pes = static_cast<uint32_t>(pes);
  if (!run.status.ok() || run.timed_out) {
    result.answer.state = CallState::kFailed;
    result.answer.limit_exceeded = 1;
    const std::string why = run.timed_out ? fmt::format("the SDK's simulator took more than {} s",
                                                        timeout.count() / 1000)
                                          : "the SDK's host program ended with " +
                                                run.status.ToString() + ": " + LastLine(run.err);
    const size_t size = std::min<size_t>(why.size(), kMessageBytes - 1);
    why.copy(result.answer.message, size);
    result.answer.message[size] = 0;
    return result;
  }
  result.answer.state = CallState::kDone;
  SZARENA_TRY(const std::vector<uint32_t> n, job.Read("n_local", 1));
  for (size_t pe = 0; pe < pes && result.answer.changed_symbol == 0; ++pe) {
    if (n[pe] != launch.n[pe]) result.answer.changed_symbol = static_cast<uint32_t>(pe + 1);
  }
  result.counts = launch.n;
  if (launch.forward) {
    SZARENA_TRY(result.counts, job.Read(count_name, 1));
  }
  SZARENA_TRY(const std::vector<uint32_t> got, job.Read(out, launch.out_capacity));
  for (size_t pe = 0; pe < pes; ++pe) {
    if (result.counts[pe] > launch.out_capacity) {
      result.answer.count_fault = static_cast<uint32_t>(pe + 1);
      const std::string why = fmt::format("{} is {} on PE number {}, {} words are the room there",
                                          count_name, result.counts[pe], pe, launch.out_capacity);
      why.copy(result.answer.message, kMessageBytes - 1);
      return result;
    }
    const auto first = got.begin() + static_cast<std::ptrdiff_t>(pe * launch.out_capacity);
    result.words.insert(result.words.end(), first, first + result.counts[pe]);
  }
  return result;
}

}  // namespace szarena::target::cerebras
