// SPDX-License-Identifier: Apache-2.0
// Arguments of szc.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>

#include "codec/szc/commands.h"

namespace szarena::codec::szc {
namespace {

using Action = std::function<Result<ExitCode>()>;

constexpr const char* kInputHelp =
    "FILE.f32, .f64, .bin (raw, little endian), FILE.npy, FILE.nc:VARIABLE, FILE.h5:/DATASET, "
    "FILE.gtx";
constexpr const char* kFillHelp =
    "elements with exactly this value are kept as they are and out of the value range";

void AddThreads(CLI::App& command, std::uint32_t& threads) {
  command
      .add_option("--threads", threads,
                  "threads; 0 (default): one per processor. The result does not depend on it")
      ->check(CLI::Range(0, 4096));
}

void AddCompress(CLI::App& app, Action& action, CompressArgs& args) {
  auto* command =
      app.add_subcommand("compress", "compress a field into a file that describes itself");
  command->add_option("IN", args.input, kInputHelp)->required();
  command->add_option("-o,--output", args.output, "file to write")->required();
  command->add_option("--codec", args.codec, "szp or szx")->required();
  command->add_option(
      "--mode", args.mode,
      "szp: fixed, plain, outlier (default); szx: random-access (default), sequential");
  auto* abs = command->add_option("--abs", args.abs, "absolute error bound, above 0");
  auto* rel = command->add_option("--rel", args.rel,
                                  "error bound as a fraction of max - min of the finite values");
  abs->excludes(rel);
  command->add_option("--dtype", args.dtype,
                      "f32 or f64; needed for raw files whose name does not say");
  command->add_option("--dims", args.dims, "Z,Y,X: 1 to 3 dimensions, slowest first; default: one");
  command->add_option("--fill", args.fill, kFillHelp);
  AddThreads(*command, args.threads);
  command->add_option("--device", args.device, "cpu (default) or cuda");
  command->add_flag("--json", args.json, "result as JSON");
  command->callback([&] { action = [&] { return RunCompress(args); }; });
}

void AddDecompress(CLI::App& app, Action& action, DecompressArgs& args) {
  auto* command = app.add_subcommand("decompress",
                                     "restore a field; .npy by name, raw little endian otherwise");
  command->add_option("IN", args.input, "file written by szc compress")->required();
  command->add_option("-o,--output", args.output, "file to write")->required();
  AddThreads(*command, args.threads);
  command->add_option("--device", args.device, "cpu (default) or cuda");
  command->add_flag("--json", args.json, "result as JSON");
  command->callback([&] { action = [&] { return RunDecompress(args); }; });
}

void AddInspect(CLI::App& app, Action& action, InspectArgs& args) {
  auto* command = app.add_subcommand(
      "inspect", "what a compressed file holds; checks it without decompressing");
  command->add_option("IN", args.input, "file written by szc compress")->required();
  command->add_flag("--json", args.json, "result as JSON");
  command->callback([&] { action = [&] { return RunInspect(args); }; });
}

void AddCompare(CLI::App& app, Action& action, CompareArgs& args) {
  auto* command = app.add_subcommand("compare", "errors of field B against its original A");
  command->add_option("A", args.original, "the original")->required();
  command->add_option("B", args.decompressed, "what became of it")->required();
  command->add_option("--dtype", args.dtype,
                      "f32 or f64; needed for raw files whose name does not say");
  command->add_option("--dims", args.dims,
                      "Z,Y,X: 1 to 3 dimensions, slowest first (SSIM depends on them)");
  command->add_option("--abs", args.abs,
                      "count violations of this absolute bound; status 1 if there is one");
  command->add_option("--fill", args.fill,
                      "elements of A with exactly this value must be kept and do not count");
  AddThreads(*command, args.threads);
  command->add_flag("--json", args.json, "result as JSON");
  command->callback([&] { action = [&] { return RunCompare(args); }; });
}

}  // namespace

int RunSzc(int argc, const char* const* argv) {
  CLI::App app{
      "Error-bounded lossy compression of floating-point fields: SZp and SZx with a guaranteed "
      "bound."};
  app.name("szc");
  app.set_version_flag("--version", "szc " SZARENA_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done, 1 compare found a violation, 2 bad usage or bad input, 3 the "
      "environment lacks "
      "something, 4 internal error.");
  Action action;
  CompressArgs compress;
  DecompressArgs decompress;
  InspectArgs inspect;
  CompareArgs compare;
  AddCompress(app, action, compress);
  AddDecompress(app, action, decompress);
  AddInspect(app, action, inspect);
  AddCompare(app, action, compare);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kBadUsage);
  }
  WatchStopSignals();
  auto result = action();
  EndStage();
  if (result && std::fflush(stdout) != 0)
    result = Fail(ErrorCode::kIo, "cannot write the result to standard output");
  if (result) return static_cast<int>(*result);
  std::fprintf(stderr, "szc: %s\n", result.error().ToString().c_str());
  return static_cast<int>(ExitCodeFor(result.error().code));
}

}  // namespace szarena::codec::szc
