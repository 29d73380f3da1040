// SPDX-License-Identifier: Apache-2.0
#include "cost_programs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "csl/driver/driver.h"
#include "fabric/sim/fabric.h"

namespace szarena {

Result<uint64_t> CyclesOf(const std::string& path, const std::string& arch) {
  namespace fs = std::filesystem;
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  const std::string text = all.str();
  const std::string mark = "//--- layout\n";
  const size_t cut = text.find(mark);
  if (cut == std::string::npos)
    return Fail(ErrorCode::kInvalidArgument, fmt::format("'{}' has no line //--- layout", path));
  const fs::path dir =
      fs::temp_directory_path() /
      fmt::format("szarena_cost_{}_{}_{}", getpid(), fs::path(path).stem().string(), arch);
  fs::create_directories(dir);
  std::ofstream(dir / "pe.csl") << text.substr(0, cut);
  std::ofstream(dir / "layout.csl") << text.substr(cut + mark.size());
  fs::copy_file(fs::path(path).parent_path() / "stopwatch.csl", dir / "stopwatch.csl",
                fs::copy_options::overwrite_existing);
  SZARENA_TRY(const auto options,
              csl::ParseOptions({(dir / "layout.csl").string(), "--arch=" + arch}));
  csl::Outcome outcome = csl::Compile(options, {});
  fs::remove_all(dir);
  if (!outcome.program) return Fail(ErrorCode::kInvalidArgument, outcome.messages);
  const auto program = std::make_shared<const bytecode::Program>(std::move(*outcome.program));
  fabric::Options run;
  run.max_cycles = 2'000'000;
  run.check_uninitialised = false;
  SZARENA_TRY(auto fabric, fabric::Fabric::Create(program, run));
  SZARENA_TRY_VOID(fabric->RunUntilIdle());
  uint64_t most = 0;
  for (int y = 0; y < program->height; ++y) {
    for (int x = 0; x < program->width; ++x) {
      SZARENA_TRY(const auto bytes, fabric->ReadSymbol(x, y, "cycles"));
      uint32_t cycles = 0;
      std::memcpy(&cycles, bytes.data(), 4);
      most = std::max<uint64_t>(most, cycles);
    }
  }
  return most;
}

}  // namespace szarena
