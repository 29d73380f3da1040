// SPDX-License-Identifier: Apache-2.0
// bench_csl [--threads N] [--json] [scalar|calls|vector|communication|wafer ...]: instructions, elements and hops of the simulated wafer
// a second of processor time (that is, a core), and a whole wafer loaded, run and read back, in wall time. Medians of five runs; the wafer once.
// Each program runs on all back ends in turn, bytecode first; compiling is part of a run.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "bench/csl/programs.h"
#include "fabric/sim/compare.h"

namespace szarena::bench {
namespace {
using fabric::Fabric;

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

[[noreturn]] void Die(const std::string& what) {
  fmt::print(stderr, "bench_csl: {}\n", what);
  std::exit(4);
}
template <typename T>
T Must(Result<T> r) {
  if (!r) Die(r.error().ToString());
  if constexpr (!std::is_void_v<T>) return *std::move(r);
}

double CpuSeconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double PeakGib() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_maxrss) / (1024.0 * 1024.0);
}

struct Row {
  std::string name;
  fabric::Backend backend = fabric::Backend::kBytecode;
  std::string unit;
  double per_second = 0;      // the figure that the program is about
  double pe_cycles = 0;       // PEs times simulated cycles, a second
  double seconds = 0;
  double goal = 0;
  double ratio = 1;           // to bytecode, in the same run
};

using Count = uint64_t (*)(const fabric::Statistics&);

Row MeasureOn(fabric::Backend backend, const std::string& name, const std::string& unit, double goal, const std::shared_ptr<const bytecode::Program>& program, int threads, Count count) {
  std::vector<std::pair<double, Row>> runs;
  for (int i = 0; i < 5; ++i) {
    fabric::Options options;
    options.threads = threads;
    options.backend = backend;
    auto f = Must(Fabric::Create(program, options));
    const auto ticket = Must(f->Launch(Must(f->ExportId("main")), {}));
    const double begin = CpuSeconds();
    Must(f->RunUntil(ticket));
    const double t = CpuSeconds() - begin;
    const auto s = f->statistics();
    Row r{name, backend, unit, static_cast<double>(count(s)) / t, static_cast<double>(s.cycles) * program->width * program->height / t, t, goal};
    runs.emplace_back(r.per_second, r);
  }
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return runs[2].second;
}

void Measure(std::vector<Row>& rows, const std::string& name, const std::string& unit, double goal, double native_goal, const fabric::testing::ProgramKit& kit, int threads, Count count) {
  const auto program = kit.Build();
  const Row bytecode = MeasureOn(fabric::Backend::kBytecode, name, unit, goal, program, threads, count);
  rows.push_back(bytecode);
  if (!fabric::WhyNoNativeBackend().empty()) return;
  for (const fabric::Backend backend : {fabric::Backend::kNative, fabric::Backend::kAuto}) {
    Row r = MeasureOn(backend, name, unit, native_goal, program, threads, count);
    r.ratio = r.per_second / bytecode.per_second;
    rows.push_back(r);
  }
}

void Wafer(int threads, bool json) {
  const double begin = Seconds();
  const int width = 750;
  const int height = 994;
  const uint16_t n = 16;
  const auto program = IdleProgram(width, height, n).Build();
  fabric::Options options;
  options.threads = threads;
  auto f = Must(Fabric::Create(program, options));
  const double loaded = Seconds();
  const double loaded_gib = PeakGib();
  std::vector<uint32_t> words(static_cast<size_t>(width) * height * n);
  for (size_t i = 0; i < words.size(); ++i) words[i] = std::bit_cast<uint32_t>(static_cast<float>(i % 1000));
  const uint32_t a = Must(f->ExportId("a"));
  Must(f->CopyIn(a, {0, 0, width, height}, 32, n, words));
  Must(f->Launch(Must(f->ExportId("main")), {}));
  const auto out = Must(f->CopyOut(a, {0, 0, width, height}, 32, n));
  Must(f->RunUntil(out));
  const auto got = f->TakeOutput(out);
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::bit_cast<float>(got[i]) != static_cast<float>(i % 1000) + 1.0f) Die(fmt::format("wrong value at {}", i));
  }
  const double total = Seconds() - begin;
  const auto s = f->statistics();
  const double idle_bytes = loaded_gib * 1024 * 1024 * 1024 / (static_cast<double>(width) * height);
  if (json) {
    fmt::print("{{\"name\":\"wafer\",\"pes\":{},\"seconds\":{:.2f},\"load_seconds\":{:.2f},\"peak_gib\":{:.2f},\"bytes_per_idle_pe\":{:.0f},\"pages\":{}}}\n", width * height, total, loaded - begin, PeakGib(), idle_bytes, s.pages);
  } else {
    fmt::print("wafer          {}x{} PEs loaded, {} f32 each in, run, out and checked: {:.1f} s (loading {:.2f} s), peak {:.2f} GiB, {:.0f} bytes an idle PE (goal 60 s, 12 GiB)\n", width, height, n, total, loaded - begin, PeakGib(), idle_bytes);
  }
}

int Main(int argc, char** argv) {
  int threads = 1;
  bool json = false;
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--json") json = true;
    else if (a == "--threads" && i + 1 < argc) threads = std::atoi(argv[++i]);
    else if (a == "scalar" || a == "calls" || a == "vector" || a == "communication" || a == "wafer") wanted.push_back(a);
    else {
      fmt::print(stderr, "usage: bench_csl [--threads N] [--json] [scalar|calls|vector|communication|wafer ...]\n");
      return 2;
    }
  }
  const auto want = [&](const char* n) { return wanted.empty() || std::find(wanted.begin(), wanted.end(), n) != wanted.end(); };
  std::vector<Row> rows;
  if (want("wafer")) Wafer(threads, json);
  const Count instructions = [](const fabric::Statistics& x) { return x.instructions; };
  if (want("scalar")) Measure(rows, "scalar", "instructions/s", 20e6, 100e6, ScalarProgram(4, 4, 1'600'000), threads, instructions);
  if (want("calls")) Measure(rows, "calls", "instructions/s", 20e6, 100e6, CallsProgram(4, 4, 800'000), threads, instructions);
  if (want("vector")) Measure(rows, "vector", "elements/s", 300e6, 300e6, VectorProgram(4, 4, 1024, 4000), threads, [](const fabric::Statistics& x) { return x.elements; });
  if (want("communication")) Measure(rows, "communication", "hops/s", 10e6, 10e6, CommunicationProgram(64, 16, 1000), threads, [](const fabric::Statistics& x) { return x.hops; });
  if (const std::string why = fabric::WhyNoNativeBackend(); !why.empty()) fmt::print(stderr, "bench_csl: {}\n", why);
  for (const Row& r : rows) {
    const auto backend = fabric::BackendName(r.backend);
    if (json) {
      fmt::print("{{\"name\":\"{}\",\"backend\":\"{}\",\"unit\":\"{}\",\"per_second\":{:.0f},\"ratio_to_bytecode\":{:.3f},\"pe_cycles_per_second\":{:.0f},\"seconds\":{:.4f},\"goal\":{:.0f},\"threads\":{},\"version\":\"{}\",\"build\":\"{}\"}}\n",
                 r.name, backend, r.unit, r.per_second, r.ratio, r.pe_cycles, r.seconds, r.goal, threads, SZARENA_VERSION, SZARENA_BUILD_TYPE);
    } else {
      fmt::print("{:<14} {:<9} {:>8.1f} M {:<15} x{:<5.2f} {:>8.1f} M PE-cycles/s   {:.3f} s of processor time (goal {:.0f} M, {} thread{})\n", r.name, backend, r.per_second / 1e6, r.unit, r.ratio,
                 r.pe_cycles / 1e6, r.seconds, r.goal / 1e6, threads, threads == 1 ? "" : "s");
    }
  }
  return 0;
}

}  // namespace
}  // namespace szarena::bench

int main(int argc, char** argv) { return szarena::bench::Main(argc, argv); }
