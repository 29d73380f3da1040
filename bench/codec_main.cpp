// SPDX-License-Identifier: Apache-2.0
// bench_codec: speed, ratio and share of the memory floor of the codecs, side by side with a copy,
// ZFP and peers.
#include <fmt/format.h>
#include <hwy/targets.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <thread>

#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "bench/race.h"
#include "codec/core/bound.h"
#include "data/json.h"
#include "field/spec.h"
#include "tasks/contract/szarena_candidate.h"
#include "term/progress.h"
#include "term/style.h"
#include "term/table.h"

namespace szarena::bench {
namespace {

using data::Json;

struct Args {
  std::vector<std::string> fields = {"real:etopo5",
                                     "real:levitus-temp:missing=0",
                                     "real:navy-uwnd",
                                     "real:egm96",
                                     "gen:smooth:seed=1:dims=64x512x512",
                                     "gen:turbulence:seed=1:dims=64x512x512",
                                     "gen:normal:seed=1:dims=4194304",
                                     "gen:smooth:seed=1:dims=64x512x256:dtype=f64",
                                     "real:egm96-gradient"};
  std::vector<double> rels = {1e-2, 1e-3, 1e-4};
  std::vector<std::string> peers;
  std::vector<unsigned> threads;  // default: 1 and all
  std::string json_path;
  std::string instructions;
  RaceOptions race;
};

std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

// "NAME=LIBRARY" or "NAME=LIBRARY:MODE" with a mode of the contract by name.
Result<std::unique_ptr<Contender>> ParsePeer(const std::string& text) {
  static constexpr std::pair<std::string_view, std::uint32_t> kModes[] = {
      {"fixed", SZARENA_MODE_FIXED},
      {"plain", SZARENA_MODE_PLAIN},
      {"outlier", SZARENA_MODE_OUTLIER},
      {"random-access", SZARENA_MODE_RANDOM_ACCESS},
      {"sequential", SZARENA_MODE_SEQUENTIAL}};
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("peer '{}' is not NAME=LIBRARY.so[:MODE]", text));
  }
  std::string library = text.substr(equals + 1);
  std::uint32_t mode = SZARENA_MODE_RANDOM_ACCESS;
  if (const std::size_t colon = library.rfind(':'); colon != std::string::npos) {
    const auto* known = std::ranges::find(kModes, std::string_view(library).substr(colon + 1),
                                          &std::pair<std::string_view, std::uint32_t>::first);
    if (known == std::end(kModes)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("peer '{}' names an unknown mode", text));
    }
    mode = known->second;
    library.resize(colon);
  }
  return LoadPeer(text.substr(0, equals), library, mode);
}

Result<void> LimitInstructions(const std::string& name) {
  if (name.empty()) return {};
  std::string known;
  // Lower bits are better targets.
  for (std::int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    if (name == hwy::TargetName(target)) {
      // Not DisableTargets: Highway 1.0 forgets it at the next SupportedTargets().
      hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & ~(target - 1));
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      return {};
    }
    known += fmt::format(" {}", hwy::TargetName(target));
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("instruction set '{}' is not one of{}", name, known));
}

Json SpeedJson(const Speed& speed) {
  return Json::Of({{"median", speed.median}, {"q1", speed.q1}, {"q3", speed.q3}});
}

std::string SpeedText(const Speed& speed) {
  return fmt::format("{:.2f} [{:.2f} {:.2f}]", speed.median, speed.q1, speed.q3);
}

Result<ExitCode> Run(const Args& args) {
  SZARENA_TRY_VOID(LimitInstructions(args.instructions));
  std::optional<AtomicFile> file;  // opened before anything is measured: nothing is lost at the end
  if (!args.json_path.empty()) {
    SZARENA_TRY(file, AtomicFile::Create(args.json_path));
  }
  std::vector<std::unique_ptr<Contender>> contenders;
  contenders.push_back(MakeSzx("random-access"));
  contenders.push_back(MakeSzp("plain"));
  contenders.push_back(MakeSzp("outlier"));
  if (auto zfp = MakeZfp()) contenders.push_back(std::move(zfp));
  for (const std::string& text : args.peers) {
    SZARENA_TRY(auto peer, ParsePeer(text));
    contenders.push_back(std::move(peer));
  }
  const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
  std::vector<unsigned> threads = args.threads;
  if (threads.empty())
    threads = processors > 1 ? std::vector<unsigned>{1, processors} : std::vector<unsigned>{1};

  term::Progress progress(stderr, term::IsTerminal(stderr));
  term::Table table({{"field"},
                     {"rel", term::Align::kRight},
                     {"threads", term::Align::kRight},
                     {"codec"},
                     {"ratio", term::Align::kRight},
                     {"compress GB/s [quartiles]", term::Align::kRight},
                     {"floor", term::Align::kRight},
                     {"decompress GB/s [quartiles]", term::Align::kRight},
                     {"floor", term::Align::kRight},
                     {"copy GB/s", term::Align::kRight},
                     {"violations", term::Align::kRight},
                     {"error/bound", term::Align::kRight}});
  Json rows = Json::MakeArray();
  Json left_out = Json::MakeArray();
  for (const std::string& name : args.fields) {
    SZARENA_TRY(const auto loaded, field::LoadField(name));
    const codec::ConstArray values{
        loaded.bytes().data(), loaded.size(),
        loaded.dtype() == field::DType::kF32 ? codec::DType::kF32 : codec::DType::kF64};
    const auto range = codec::FindRange(values);
    for (const double rel : args.rels) {
      for (const unsigned t : threads) {
        progress.Show(fmt::format("{} rel {:g} threads {}", name, rel, t));
        const Problem problem{values, loaded.dims(), codec::ResolveRelativeBound(rel, range), t};
        SZARENA_TRY(const auto race, RunRace(problem, contenders, args.race));
        for (const RaceRow& row : race.rows) {
          table.AddRow({name, fmt::format("{:g}", rel), fmt::format("{}", t), row.contender,
                        fmt::format("{:.2f}", row.ratio), SpeedText(row.compress),
                        fmt::format("{:.2f}", row.compress_floor_fraction),
                        SpeedText(row.decompress),
                        fmt::format("{:.2f}", row.decompress_floor_fraction),
                        fmt::format("{:.1f}", race.copy.median), fmt::format("{}", row.violations),
                        fmt::format("{:.4f}", row.max_error_over_bound)});
          rows.Append(Json::Of({{"field", name},
                                {"dtype", codec::DTypeName(values.dtype)},
                                {"bytes", loaded.size_bytes()},
                                {"rel", rel},
                                {"abs_bound", problem.eb},
                                {"threads", t},
                                {"contender", row.contender},
                                {"version", row.version},
                                {"ratio", row.ratio},
                                {"compress_gbps", SpeedJson(row.compress)},
                                {"decompress_gbps", SpeedJson(row.decompress)},
                                {"copy_gbps", SpeedJson(race.copy)},
                                {"compress_floor_fraction", row.compress_floor_fraction},
                                {"decompress_floor_fraction", row.decompress_floor_fraction},
                                {"violations", row.violations},
                                {"max_error_over_bound", row.max_error_over_bound}}));
        }
        for (const std::string& reason : race.left_out) {
          left_out.Append(
              Json::Of({{"field", name}, {"rel", rel}, {"threads", t}, {"reason", reason}}));
          progress.Line(fmt::format("left out on {}: {}", name, reason));
        }
      }
    }
  }
  progress.Wipe();
  fmt::print("{}", table.Text());
  if (file) {
    const auto json = Json::Of(
        {{"benchmark", "codec"},
         {"basis", "measured"},
         {"processor", ProcessorName()},
         {"processors", processors},
         {"instructions", hwy::TargetName(hwy::SupportedTargets() & -hwy::SupportedTargets())},
         {"compiler", "gcc " __VERSION__},
         {"build", SZARENA_BUILD_TYPE},
         {"rounds", args.race.rounds},
         {"rows", std::move(rows)},
         {"left_out", std::move(left_out)}});
    SZARENA_TRY_VOID(file->Append(json.Dump(1) + "\n"));
    SZARENA_TRY_VOID(file->Commit());
  }
  return ExitCode::kDone;
}

int Main(int argc, char** argv) {
  Args args;
  CLI::App app{
      "Races our codecs, ZFP and peers, with a copy beside, each round in turn. One process: peers "
      "are trusted."};
  app.name("bench_codec");
  app.add_option("--field", args.fields, "field specifications (szc compress takes the same)");
  app.add_option("--rel", args.rels, "error bounds as fractions of the value range");
  app.add_option("--threads", args.threads, "thread counts; default: 1 and one per processor")
      ->check(CLI::Range(1, 4096));
  app.add_option("--peer", args.peers,
                 "NAME=LIBRARY.so[:MODE] with the ABI of tasks/contract/szarena_candidate.h");
  app.add_option("--rounds", args.race.rounds, "timed rounds, at least 10 for figures to publish")
      ->check(CLI::Range(1, 1000));
  app.add_option("--json", args.json_path, "file for the results as JSON");
  app.add_option("--instructions", args.instructions,
                 "no better instruction set than this, such as AVX2");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kBadUsage);
  }
  const auto result = Run(args);
  if (result) return static_cast<int>(*result);
  std::fprintf(stderr, "bench_codec: %s\n", result.error().ToString().c_str());
  return static_cast<int>(ExitCodeFor(result.error().code));
}

}  // namespace
}  // namespace szarena::bench

int main(int argc, char** argv) { return szarena::bench::Main(argc, argv); }
