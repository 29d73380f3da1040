// SPDX-License-Identifier: Apache-2.0
// The four things szc does. Each returns the program's exit status or why it failed; stdout gets
// the result, stderr progress.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/exit_code.h"
#include "codec/container/container.h"
#include "field/field.h"

namespace szarena::codec::szc {

struct CompressArgs {
  std::string input;  // a file, or a field specification (field/spec.h)
  std::string output;
  std::string codec;
  std::string mode;  // empty: the codec's default
  std::optional<double> abs = {};
  std::optional<double> rel = {};
  std::string dtype;  // empty: as the file says
  std::string dims;   // empty: as the file says, else one dimension
  std::optional<double> fill = {};
  std::uint32_t threads = 0;
  std::string device = "cpu";
  bool json = false;
};
Result<ExitCode> RunCompress(const CompressArgs& args);

struct DecompressArgs {
  std::string input;
  std::string output;
  std::uint32_t threads = 0;
  std::string device = "cpu";
  bool json = false;
};
Result<ExitCode> RunDecompress(const DecompressArgs& args);

struct InspectArgs {
  std::string input;
  bool json = false;
};
Result<ExitCode> RunInspect(const InspectArgs& args);

struct CompareArgs {
  std::string original;
  std::string decompressed;
  std::string dtype;
  std::string dims;
  std::optional<double> abs = {};
  std::optional<double> fill = {};
  std::uint32_t threads = 0;
  bool json = false;
};
// kCandidateFailed (1) where a value violates the bound or was not kept.
Result<ExitCode> RunCompare(const CompareArgs& args);

// The program: reads the arguments, runs a command, prints its failure. Returns the exit status.
int RunSzc(int argc, const char* const* argv);

// Shared by the commands.
Result<field::Field> LoadInput(const std::string& input, const std::string& dtype,
                               const std::string& dims);
container::Dims ToDims(const field::Dims& dims);
field::Dims FromDims(const container::Dims& dims);
ConstArray ArrayOfField(const field::Field& field);
// Who codes on `device`: nothing for "cpu". Fails where this build or this machine lacks it.
Result<std::unique_ptr<container::PayloadCodec>> OpenDevice(std::string_view device);
// kCancelled once the user has asked to stop (SIGINT, SIGTERM); nothing half-written stays then.
Result<void> CheckStop();
void WatchStopSignals();
// Says on the terminal, if stderr is one, that `what` happens to `file`; `bytes` 0: of unknown
// size.
void ShowStage(std::string_view what, std::string_view file, std::uint64_t bytes);
void EndStage();

}  // namespace szarena::codec::szc
