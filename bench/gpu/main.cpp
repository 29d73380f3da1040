// SPDX-License-Identifier: Apache-2.0
// bench_gpu: the CUDA codecs' speed and proof on the device of this machine. One JSON file with
// everything.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "bench/gpu/proof.h"
#include "bench/gpu/speed.h"
#include "bench/gpu/timing.h"

namespace szarena::bench::gpu {
namespace {

using data::Json;

int Report(const Error& error) {
  fmt::print(stderr, "bench_gpu: {}\n", error.ToString());
  return static_cast<int>(ExitCodeFor(error.code));
}

Json DescribeDevice() {
  cudaDeviceProp device{};
  int driver = 0;
  int runtime = 0;
  Check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  Check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  Check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  return Json::Of({{"name", device.name},
                   {"compute_capability", fmt::format("{}.{}", device.major, device.minor)},
                   {"multiprocessors", device.multiProcessorCount},
                   {"l2_bytes", device.l2CacheSize},
                   {"memory_bytes", device.totalGlobalMem},
                   {"driver_cuda", driver},
                   {"runtime_cuda", runtime}});
}

int Run(int argc, char** argv) {
  CLI::App app("Races the CUDA codecs on the device of this machine, and checks what they write.");
  SpeedOptions speed;
  uint64_t mib = 512;
  std::string json_path;
  std::vector<std::string> peers, fields, cross;
  bool doubles = false, host = false, patterns = false, huge = false;
  app.add_option("--mib", mib, "size of an array")->check(CLI::Range(1, 65536));
  app.add_option("--runs", speed.runs, "timed runs of each call")->check(CLI::Range(3, 1000));
  app.add_option("--rel", speed.relative_bounds, "bounds, relative to the range");
  app.add_option("--field", fields, "built-in fields, or NAME=FILE.f32 repeated up to the size");
  app.add_option("--peer", peers,
                 "NAME=LIBRARY.so[:MODES] with the ABI of szarena_candidate_cuda.h (trusted)");
  app.add_option("--cross", cross,
                 "peers that use our SZp format: each decodes the other's streams");
  app.add_flag("--f64", doubles, "f64 instead of f32");
  app.add_flag("--host", host, "also arrays in host memory");
  app.add_flag("--patterns", patterns, "also every f32 bit pattern, against the processor");
  app.add_flag("--huge", huge, "also more than 2^32 values");
  app.add_option("--json", json_path, "write the results there");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kBadUsage);
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    fmt::print(stderr, "bench_gpu: no CUDA device: not run\n");
    return static_cast<int>(ExitCode::kEnvironment);
  }
  std::optional<AtomicFile> file;  // opened before anything is measured: nothing is lost at the end
  if (!json_path.empty()) {
    auto created = AtomicFile::Create(json_path);
    if (!created) return Report(created.error());
    file = *std::move(created);
  }
  speed.bytes = mib << 20;
  speed.dtype = doubles ? SZARENA_F64 : SZARENA_F32;
  speed.fields = fields;
  if (fields.empty()) speed.fields.assign(std::begin(kFieldNames), std::end(kFieldNames));
  auto contenders = OwnContenders(SZARENA_VERSION);
  for (const std::string& peer : peers) {
    auto loaded = LoadPeers(peer);
    if (!loaded) return Report(loaded.error());
    contenders.insert(contenders.end(), loaded->begin(), loaded->end());
  }
  Json result = Json::Of({{"version", SZARENA_VERSION}, {"device", DescribeDevice()}});
  Json versions = Json::MakeObject();
  for (const Contender& contender : contenders) versions.Set(contender.name, contender.version);
  result.Set("contenders", versions);
  auto rows = RaceOnDevice(speed, contenders);
  if (!rows) return Report(rows.error());
  result.Set("rows", *rows);
  if (!cross.empty()) {
    auto crossed = CrossDecode(contenders, cross);
    if (!crossed) return Report(crossed.error());
    result.Set("cross", *crossed);
  }
  const auto add = [&](bool wanted, const char* key, auto&& measure) -> Result<void> {
    if (!wanted) return {};
    SZARENA_TRY(auto measured, measure());
    result.Set(key, std::move(measured));
    return {};
  };
  for (const auto& status : {add(host, "host", [&] { return RaceOnHost(speed.bytes, speed.runs); }),
                             add(patterns, "patterns", [] { return ProveAllPatterns(1e-3); }),
                             add(huge, "huge", ProveHuge)}) {
    if (!status) return Report(status.error());
  }
  if (file) {
    auto written = file->Append(result.Dump(2) + "\n");
    if (written) written = file->Commit();
    if (!written) return Report(written.error());
  }
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace szarena::bench::gpu

int main(int argc, char** argv) { return szarena::bench::gpu::Run(argc, argv); }
