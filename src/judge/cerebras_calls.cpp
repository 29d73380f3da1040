// SPDX-License-Identifier: Apache-2.0
// Calls: data to words, words to payloads, and what went wrong.
#include "judge/cerebras_platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "codec/core/bound.h"
#include "judge/checks.h"
#include "judge/records.h"

namespace szarena::judge::wafer {
namespace {

std::vector<uint32_t> ToWords(ByteView bytes) {
  std::vector<uint32_t> words((bytes.size() + 3) / 4);
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}
Bytes ToBytes(std::span<const uint32_t> words) {
  const auto bytes = std::as_bytes(words);
  return {bytes.begin(), bytes.end()};
}
// What the machine itself said; empty where it had nothing to say.
std::string DiagnosisOf(const JobAnswer& answer) {
  std::string text =
      answer.state == CallState::kFailed ? std::string(answer.message) + "\n" : std::string();
  text += answer.traps;
  return text.empty() ? text : Printable(text, kDiagnosisBytes, Lines::kAny);
}
// The first word that is in the second round the inverse of what it was in the first: poison. What
// a program writes cannot follow both.
std::optional<size_t> NeverWritten(const Bytes& first, const Bytes& second) {
  if (first.size() != second.size()) return std::nullopt;
  for (size_t at = 0; at + 4 <= first.size(); at += 4) {
    if (LoadLe<uint32_t>(first.data() + at) == ~LoadLe<uint32_t>(second.data() + at)) return at / 4;
  }
  return std::nullopt;
}
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Result<Launch> CerebrasPlatform::MakeLaunch(CallKind kind, const Call& call,
                                            const Program& program) const {
  const bool forward = kind == CallKind::kForward;
  Launch launch;
  launch.program = call.split.program;
  launch.streaming = streaming();
  launch.forward = forward;
  launch.function = NameOf(kind);
  launch.eb = codec::RoundBoundDown<float>(call.problem.abs_bound);
  // Unbiased exponent field of the f64 form.
  launch.eb_exponent =
      static_cast<int32_t>(std::bit_cast<uint64_t>(static_cast<double>(launch.eb)) >> 52 & 0x7ff) -
      1023;
  for (uint32_t i = 0; i < call.split.parts; ++i)
    launch.n.push_back(static_cast<uint32_t>(PartOf(call.problem, call.split, i).count));
  launch.float_values = task_.compressor;
  launch.in_color = program.in_color;
  launch.out_color = program.out_color;
  if (!streaming()) {
    launch.in_capacity = forward ? program.max_elems : MaxWords(program);
    launch.out_capacity = forward ? MaxWords(program) : program.max_elems;
    launch.answer_words = uint64_t{program.pes()} * launch.out_capacity;
    if (forward) {
      launch.counts = launch.n;
      launch.data = ToWords(call.input);
    } else {
      SZARENA_TRY(const std::vector<ByteView> parts, PartsOf(call.split, call.input));
      for (const ByteView part : parts)
        launch.counts.push_back(static_cast<uint32_t>(part.size() / 4));
      launch.data = ToWords(call.input.subspan(uint64_t{call.split.parts} * 4));
    }
    return launch;
  }
  std::vector<ByteView> parts;
  if (!forward) {
    SZARENA_TRY(parts, PartsOf(call.split, call.input));
  }
  for (uint32_t row = 0; row < call.split.parts; ++row) {
    const Part part = PartOf(call.problem, call.split, row);
    const uint64_t blocks = (part.count + task_.block_size - 1) / task_.block_size;
    std::vector<uint32_t> words;
    if (forward) {
      words = ToWords(call.input.subspan(part.first * 4, part.count * 4));
      words.resize(blocks * task_.block_size);
    } else {
      SZARENA_TRY(words, ToRecords(task_, part.count, call.split.pad_blocks, parts[row]));
    }
    launch.counts.push_back(static_cast<uint32_t>(words.size()));
    launch.data.insert(launch.data.end(), words.begin(), words.end());
    launch.answer_words += blocks * (forward ? MaxRecordWords(task_) : 1 + task_.block_size) + 16;
  }
  return launch;
}

Result<Launch> CerebrasPlatform::EmptyLaunch(CallKind kind, const Split& split,
                                             szarena_problem problem,
                                             const Program& program) const {
  problem.n = problem.dims[2] = 0;
  problem.dims[0] = problem.dims[1] = 1;
  const Bytes nothing = JoinParts(std::vector<Bytes>(split.parts));
  return MakeLaunch(kind,
                    {"empty", true, problem, split,
                     kind == CallKind::kForward ? ByteView() : ByteView(nothing), std::nullopt},
                    program);
}

Result<Bytes> CerebrasPlatform::Convert(CallKind kind, const Call& call,
                                        const LaunchResult& result) const {
  const bool forward = kind == CallKind::kForward;
  std::vector<Bytes> parts;
  Bytes values(forward ? 0 : InputBytes(task_, call.problem));
  uint64_t at = 0;
  for (uint32_t i = 0; i < call.split.parts; ++i) {
    const Part part = PartOf(call.problem, call.split, i);
    const uint32_t count = result.counts[i];
    if (count > result.words.size() - at) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("{}: {} words came out, far more than its {} values can need",
                              PartName(call.split, i), count, part.count));
    }
    const std::span<const uint32_t> words(result.words.data() + at, count);
    at += count;
    if (!streaming()) {
      const std::optional<std::string> wrong_count =
          forward && i < result.written.size()
              ? WrongCount(task_, part.count, call.split.pad_blocks, words, result.written[i])
              : std::nullopt;
      if (wrong_count)
        return Fail(ErrorCode::kCorrupt, PartName(call.split, i) + ": " + *wrong_count);
      if (part.count == 0 && forward && task_.compressor && count != 0) {
        return Fail(ErrorCode::kCorrupt,
                    fmt::format("{} has no element: its word count must be 0, not {}",
                                PartName(call.split, i), count));
      }
      if (forward) {
        parts.push_back(ToBytes(words));
      } else if (count > 0) {
        std::memcpy(values.data() + part.first * 4, words.data(), words.size_bytes());
      }
      continue;
    }
    if (forward) {
      Result<Bytes> payload = FromRecords(task_, part.count, call.split.pad_blocks, words);
      if (!payload) return At(call.split, i, payload.error());
      parts.push_back(*std::move(payload));
    } else {
      const Result<void> status = FromValueRecords(
          task_, part.count, words, std::span(values).subspan(part.first * 4, part.count * 4));
      if (!status) return At(call.split, i, status.error());
    }
  }
  return forward ? JoinParts(parts) : values;
}

std::optional<Finding> CerebrasPlatform::FindingOf(CallKind kind,
                                                   const LaunchResult& result) const {
  const JobAnswer& answer = result.answer;
  const std::string function = NameOf(kind);
  switch (answer.state) {
    case CallState::kBadProgram:
      return Finding{Stage::kStarted, FirstLine(answer.message)};
    case CallState::kNotRun:
    case CallState::kRunning:
    case CallState::kFailed:
      return Finding{Stage::kFinished, function + ": " + FirstLine(answer.message)};
    case CallState::kDone:
      break;
  }
  if (answer.count_fault != 0)
    return Finding{Stage::kOutputProduced, function + ": " + answer.message};
  if (answer.bounds_traps != 0) {
    std::string text = answer.traps;
    const size_t at = text.find("out-of-bounds");
    if (at != std::string::npos) text = text.substr(text.rfind('\n', at) + 1);
    return Finding{Stage::kOutputProduced,
                   function + " reaches outside of an array: " + FirstLine(text)};
  }
  if (answer.changed_pointer != 0) {
    return Finding{Stage::kOutputProduced,
                   fmt::format("{} changed an exported pointer: {}", function, answer.message)};
  }
  if (answer.changed_symbol != 0) {
    return Finding{
        Stage::kOutputProduced,
        fmt::format("{} changed a symbol that the judge sets: {}", function, answer.message)};
  }
  return std::nullopt;
}

Result<RunReport> CerebrasPlatform::Run(CallKind kind, std::vector<Call>& calls,
                                        milliseconds call_timeout) {
  if (sdk_) return RunWithSdk(kind, calls);
  RunReport report;
  std::vector<Launch> launches;
  for (const Call& call : calls) {
    SZARENA_TRY(Launch launch, MakeLaunch(kind, call, programs_[call.split.program]));
    launch.max_seconds = std::chrono::duration<double>(call_timeout).count();
    launch.poison_seed = DrawSecretSeed();
    launch.written_wanted = kind == CallKind::kForward && !streaming() && !options_.free_format;
    launches.push_back(launch);
    launch.poison_inverted = true;
    launches.push_back(std::move(launch));
  }
  if (!streaming() && !calls.empty()) {
    SZARENA_TRY(Launch launch,
                EmptyLaunch(kind, MakeSplit(0, 1), calls.front().problem, programs_[0]));
    launch.max_seconds = std::chrono::duration<double>(call_timeout).count();
    launches.push_back(std::move(launch));
  }
  target::cerebras::RunLimits limits;
  limits.threads = threads_;
  limits.at_once = threads_;  // machines are small: one a thread needs no waiting between threads
  SZARENA_TRY(const std::vector<LaunchResult> results,
              target::cerebras::RunLaunches(sandbox_, images_, launches, limits));
  if (results.size() > 2 * calls.size() && results.back().answer.state == CallState::kDone) {
    kept_[static_cast<size_t>(kind)].empty_cycles = results.back().answer.launch_cycles;
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    Call& call = calls[i];
    const std::string where = " (" + call.name + ")";
    std::array<std::optional<Bytes>, 2> rounds;
    for (size_t round = 0; round < 2; ++round) {
      const LaunchResult& result = results[2 * i + round];
      report.peak_memory_bytes =
          std::max(report.peak_memory_bytes, result.answer.peak_memory_bytes);
      if (report.diagnosis.empty()) report.diagnosis = DiagnosisOf(result.answer);
      if (call.split.program == 0) Keep(kind, result.answer, call.problem.n);
      if (const auto finding = FindingOf(kind, result)) {
        report.findings.push_back({finding->stage, finding->detail + where});
        if (result.answer.state == CallState::kBadProgram || result.answer.limit_exceeded != 0)
          return report;
        break;
      }
      Result<Bytes> got = Convert(kind, call, result);
      if (!got) {
        report.findings.push_back(
            {Stage::kOutputProduced, NameOf(kind) + ": " + got.error().message + where});
        break;
      }
      rounds[round] = *std::move(got);
    }
    if (!rounds[0] || !rounds[1]) continue;
    if (const auto at = streaming() ? std::nullopt : NeverWritten(*rounds[0], *rounds[1])) {
      const bool forward = kind == CallKind::kForward;
      report.findings.push_back(
          {Stage::kOutputProduced, fmt::format("{}: {} {} was never written", NameOf(kind),
                                               forward ? "payload word" : "element",
                                               forward ? *at - call.split.parts : *at) +
                                       where});
      continue;
    }
    if (*rounds[1] != *rounds[0]) {
      report.deterministic = false;
      call.other = std::move(rounds[1]);
    }
    call.got = std::move(rounds[0]);
  }
  return report;
}

}  // namespace szarena::judge::wafer
