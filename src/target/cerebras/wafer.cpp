// SPDX-License-Identifier: Apache-2.0
#include "target/cerebras/wafer.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "csl/lex/lexer.h"
#include "os/errno.h"
#include "os/files.h"
#include "os/shared_memory.h"
#include "os/temp_dir.h"
#include "target/cerebras/embedded.h"

namespace szarena::target::cerebras {
namespace {

using std::chrono::milliseconds;

// A layout says something of every PE: large ones take longer.
milliseconds CompileTimeout(const Geometry& geometry) {
  return milliseconds(60000 + geometry.width * geometry.height / 4);
}
constexpr uint64_t kCompileMemory = 4ull << 30;
// Room for a compiled program, its messages included; pages that are not touched cost nothing.
constexpr size_t kCompileAnswerBytes = 512u << 20;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitAddresses = false;  // sanitizers reserve terabytes of addresses
#else
constexpr bool kLimitAddresses = true;
#endif

sandbox::Command DriverCommand(int driver_fd, std::vector<std::string> arguments,
                               uint64_t memory_bytes) {
  sandbox::Command command;
  command.argv = std::move(arguments);
  command.argv.insert(command.argv.begin(), kDriverPath);
  command.files = {{driver_fd, kDriverPath, 0555}};
  command.limits.address_space_bytes = kLimitAddresses ? memory_bytes : 0;
  command.limits.processes = 64;
  return command;
}

// What the sandbox or the driver says when it does not come to the program at all.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string WithoutSourcePath(std::string text) {
  const std::string prefix = std::string(kSourcePath) + "/";
  for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at))
    text.erase(at, prefix.size());
  return text;
}

uint64_t Align(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace

Geometry WholeWafer(bytecode::Arch arch) {
  // docs/contracts/cerebras.md: the fabric less the columns and rows of the host connections.
  return arch == bytecode::Arch::kWse2 ? Geometry{arch, 750, 994} : Geometry{arch, 755, 1170};
}

bool DeclaresParam(const std::string& source, std::string_view name) {
  csl::SourceMap sources;
  csl::DiagSink faults;  // the compiler will tell
  const auto id = sources.Add("layout.csl", source);
  if (!id) return false;
  const std::vector<csl::Token> tokens = csl::Lex(sources, *id, faults);
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].kind == csl::TokenKind::kParam &&
        tokens[i + 1].kind == csl::TokenKind::kIdentifier &&
        sources.Text(tokens[i + 1].span) == name)
      return true;
  }
  return false;
}

Result<CompileResult> Compile(const sandbox::Sandbox& sandbox, const Candidate& candidate,
                              const Geometry& geometry, const Params& params) {
  CompileResult result;
  const milliseconds timeout = CompileTimeout(geometry);
  if (std::none_of(candidate.files.begin(), candidate.files.end(),
                   [](const CandidateFile& f) { return f.path == "layout.csl"; })) {
    result.reason = "there is no file 'layout.csl'";
    return result;
  }
  SZARENA_TRY(const os::TempDir work, os::TempDir::Create("szarena-csl-", 0711));
  const std::string source = work.path() + "/src";
  if (mkdir(source.c_str(), 0700) < 0 || chmod(source.c_str(), 0755) < 0)
    return os::FailErrno("cannot make folder '" + source + "'");
  SZARENA_TRY_VOID(WriteCandidate(candidate, source));
  SZARENA_TRY(const os::SharedMemory answer_memory,
              os::SharedMemory::Create("compiled", kCompileAnswerBytes, os::Sharing::kWritable));
  SZARENA_TRY(const os::UniqueFd driver, os::MemoryFile("driver", DriverProgram()));
  std::string list = fmt::format("--params=width:{},height:{}", geometry.width, geometry.height);
  for (const auto& [name, value] : params) list += fmt::format(",{}:{}", name, value);
  sandbox::Command command =
      DriverCommand(driver.get(),
                    {"compile", std::string(kSourcePath) + "/layout.csl",
                     geometry.arch == bytecode::Arch::kWse2 ? "--arch=wse2" : "--arch=wse3",
                     fmt::format("--fabric-dims={},{}", geometry.width + 7, geometry.height + 2),
                     "--fabric-offsets=4,1", "--memcpy", "--channels=1",
                     std::string("--only-below=") + kSourcePath, list},
                    kCompileMemory);
  command.binds = {{source, kSourcePath, false}};
  command.cwd = kSourcePath;
  command.fds = {{answer_memory.fd(), kOutputFd}};
  command.limits.cpu_seconds = static_cast<uint64_t>(timeout.count() / 1000 + 5);
  SZARENA_TRY(const os::ProcessResult run, sandbox.Run(command, timeout));
  result.seconds = run.seconds;
  CompileAnswer answer;
  std::memcpy(&answer, answer_memory.data(), sizeof answer);
  const auto fits = [&](uint64_t from, uint64_t bytes) {
    return from <= answer_memory.size() && bytes <= answer_memory.size() - from;
  };
  const uint64_t image_at = Align(sizeof answer + answer.message_bytes);
  if (answer.done == 0 || !fits(sizeof answer, answer.message_bytes) ||
      !fits(image_at, answer.image_bytes) ||
      !fits(image_at + answer.image_bytes, answer.memory_text_bytes)) {
    if (run.timed_out) {
      result.reason = fmt::format("compiling took more than {} s", timeout.count() / 1000);
      return result;
    }
    if (run.status.exited && run.status.code == 120)
      return Fail(ErrorCode::kInternal, "compiling: " + FirstLine(run.err));
    // 126, 127 and the like: the sandbox could not start it.
    if (run.status.exited && run.status.code != 0 &&
        run.err.find("bad_alloc") == std::string::npos) {
      return Fail(ErrorCode::kUnavailable,
                  "the compiler could not be started in the sandbox: " + FirstLine(run.err));
    }
    result.reason = fmt::format(
        "compiling ended with {}: too much memory (the limit is {} GiB) or a fault of the compiler",
        run.status.ToString(), kCompileMemory >> 30);
    result.log = run.err;
    return result;
  }
  const char* bytes = reinterpret_cast<const char*>(answer_memory.data());
  result.log = WithoutSourcePath({bytes + sizeof answer, answer.message_bytes});
  result.memory_bytes = answer.memory_bytes;
  result.memory_text =
      WithoutSourcePath({bytes + image_at + answer.image_bytes, answer.memory_text_bytes});
  if (answer.ok == 0) {
    const size_t at = result.log.find("error");
    result.reason = at == std::string::npos
                        ? "the compiler refuses it"
                        : FirstLine(result.log.substr(result.log.rfind('\n', at) + 1));
    return result;
  }
  if (answer.width != static_cast<uint32_t>(geometry.width) ||
      answer.height != static_cast<uint32_t>(geometry.height)) {
    result.reason = fmt::format(
        "layout.csl: the rectangle has {} x {} PEs, the params ask for {} x {}: "
        "@set_rectangle(width, height) is wanted",
        answer.width, answer.height, geometry.width, geometry.height);
    return result;
  }
  if (answer.memory_bytes > bytecode::kSramBytes) {
    result.reason = fmt::format("a PE needs {} bytes of data, stack and code, it has {}",
                                answer.memory_bytes, bytecode::kSramBytes);
    result.log += result.memory_text;
    return result;
  }
  result.image.assign(bytes + image_at, answer.image_bytes);
  result.ok = true;
  return result;
}

Result<std::vector<LaunchResult>> RunLaunches(const sandbox::Sandbox& sandbox,
                                              std::span<const std::string> images,
                                              std::span<const Launch> launches,
                                              const RunLimits& limits) {
  if (images.size() > kMaxPrograms || launches.size() > kMaxCalls)
    return Fail(ErrorCode::kInternal, "too many programs or launches for one job");
  // Where everything lies.
  Job job;
  job.threads = static_cast<uint32_t>(limits.threads);
  job.at_once = static_cast<uint32_t>(std::max(1, limits.at_once));
  job.program_count = static_cast<uint32_t>(images.size());
  job.call_count = static_cast<uint32_t>(launches.size());
  job.check_uninitialised = limits.check_uninitialised ? 1 : 0;
  uint64_t at = Align(sizeof(Job) + launches.size() * sizeof(JobCall));
  for (size_t i = 0; i < images.size(); ++i) {
    job.program_offset[i] = at;
    job.program_bytes[i] = images[i].size();
    at = Align(at + images[i].size());
  }
  uint64_t answer_at = Align(launches.size() * sizeof(JobAnswer));
  job.total_seconds = limits.total_seconds;
  const double seconds = limits.total_seconds + 30;  // loading and copying come on top
  std::vector<JobCall> calls;
  for (const Launch& launch : launches) {
    JobCall& call = calls.emplace_back();
    call.program = launch.program;
    call.streaming = launch.streaming ? 1 : 0;
    call.forward = launch.forward ? 1 : 0;
    if (launch.function.size() >= sizeof call.function)
      return Fail(ErrorCode::kInternal, "the function's name is too long");
    std::copy(launch.function.begin(), launch.function.end(), call.function);
    call.max_cycles = launch.max_cycles;
    call.max_seconds = launch.max_seconds;
    call.eb_bits = std::bit_cast<uint32_t>(launch.eb);
    call.eb_exponent = launch.eb_exponent;
    call.in_capacity = launch.in_capacity;
    call.out_capacity = launch.out_capacity;
    call.in_color = launch.in_color;
    call.out_color = launch.out_color;
    call.poison_seed = launch.poison_seed;
    call.float_values = launch.float_values ? 1 : 0;
    call.written_wanted = launch.written_wanted ? 1 : 0;
    call.poison_inverted = launch.poison_inverted ? 1 : 0;
    call.n_offset = at;
    call.counts_offset = at + launch.n.size() * 4;
    call.data_offset = call.counts_offset + launch.counts.size() * 4;
    at = Align(call.data_offset + launch.data.size() * 4);
    call.answer_offset = answer_at;
    call.answer_words = launch.answer_words;
    answer_at = Align(answer_at + (2 * launch.n.size() + launch.answer_words) * 4);
  }
  SZARENA_TRY(const os::SharedMemory input,
              os::SharedMemory::Create("job", at, os::Sharing::kReadOnlyForOthers));
  SZARENA_TRY(const os::SharedMemory output,
              os::SharedMemory::Create("answers", answer_at, os::Sharing::kWritable));
  std::memcpy(input.data(), &job, sizeof job);
  if (!calls.empty())
    std::memcpy(input.data() + sizeof job, calls.data(), calls.size() * sizeof(JobCall));
  for (size_t i = 0; i < images.size(); ++i)
    std::memcpy(input.data() + job.program_offset[i], images[i].data(), images[i].size());
  const auto put = [&](uint64_t offset, const std::vector<uint32_t>& words) {
    if (!words.empty()) std::memcpy(input.data() + offset, words.data(), words.size() * 4);
  };
  for (size_t i = 0; i < launches.size(); ++i) {
    put(calls[i].n_offset, launches[i].n);
    put(calls[i].counts_offset, launches[i].counts);
    put(calls[i].data_offset, launches[i].data);
  }

  SZARENA_TRY(const os::UniqueFd driver, os::MemoryFile("driver", DriverProgram()));
  sandbox::Command command =
      DriverCommand(driver.get(), {"run"}, limits.memory_bytes + at + answer_at);
  command.fds = {{input.fd(), kInputFd}, {output.fd(), kOutputFd}};
  command.limits.cpu_seconds =
      static_cast<uint64_t>(seconds) * static_cast<uint64_t>(std::max(1, limits.threads)) + 10;
  const auto timeout = milliseconds(static_cast<int64_t>(seconds * 1000));
  SZARENA_TRY(const os::ProcessResult run, sandbox.Run(command, timeout));

  std::vector<LaunchResult> results(launches.size());
  const auto* answers = reinterpret_cast<const JobAnswer*>(output.data());
  for (size_t i = 0; i < launches.size(); ++i) {
    LaunchResult& result = results[i];
    std::memcpy(&result.answer, &answers[i], sizeof(JobAnswer));
    JobAnswer& answer = result.answer;
    answer.message[kMessageBytes - 1] = answer.traps[kMessageBytes - 1] = 0;
    if (answer.state == CallState::kRunning) {
      answer.state = CallState::kFailed;
      answer.limit_exceeded = 1;
      const std::string why = run.timed_out
                                  ? fmt::format("stopped after {:.0f} s", seconds)
                                  : fmt::format("the simulator ended with {}: {}",
                                                run.status.ToString(), FirstLine(run.err));
      why.copy(answer.message, kMessageBytes - 1);
      answer.message[std::min<size_t>(why.size(), kMessageBytes - 1)] = 0;
    }
    if (answer.state != CallState::kDone || answer.count_fault != 0) continue;
    const size_t parts = launches[i].n.size();
    const auto copy = [&](std::vector<uint32_t>& to, uint64_t first, uint64_t count) {
      to.resize(count);
      if (count == 0) return;
      std::memcpy(to.data(), output.data() + calls[i].answer_offset + first * 4, count * 4);
    };
    copy(result.counts, 0, parts);
    if (launches[i].written_wanted) copy(result.written, parts, parts);
    uint64_t total = 0;
    for (const uint32_t count : result.counts) total += count;
    copy(result.words, 2 * parts, std::min(total, calls[i].answer_words));
  }
  if (!results.empty() && results.front().answer.state == CallState::kNotRun) {
    return Fail(run.status.exited && run.status.code == 120 ? ErrorCode::kInternal
                                                            : ErrorCode::kUnavailable,
                fmt::format("the wafer driver did not run ({}): {}", run.status.ToString(),
                            FirstLine(run.err)));
  }
  return results;
}

}  // namespace szarena::target::cerebras
