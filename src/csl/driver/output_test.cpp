// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "bytecode/image.h"
#include "csl/driver/output.h"

namespace szarena::csl {
namespace {

bytecode::Program Small() {
  bytecode::Program program;
  program.name = "layout.csl";
  program.width = program.height = 1;
  program.fabric_width = 8;
  program.fabric_height = 3;
  program.params = {{"M", "4"}, {"MEMCPYH2D_DATA_1_ID", "2"}};
  program.routers.emplace_back();
  program.pes.resize(1);
  bytecode::Export y{"y", "[*]f32"};
  y.is_mutable = true;
  bytecode::Export f{"compute", "fn(u16)void", bytecode::ExportKind::kFunction};
  f.params = {bytecode::ScalarType::kU16};
  program.exports = {y, f};
  return program;
}

TEST(Output, ParamsAreWhatHostScriptsRead) {
  auto json = nlohmann::json::parse(OutJson(Small()));
  EXPECT_EQ(json["params"]["M"], "4");
  EXPECT_EQ(json["params"]["MEMCPYH2D_DATA_1_ID"], "2");
  EXPECT_TRUE(json["colors"].is_object());
}

TEST(Output, SymbolsOfTheHostInterface) {
  auto symbols = nlohmann::json::parse(OutRpcJson(Small()))["rpc_symbols"];
  ASSERT_EQ(symbols.size(), 2u);
  EXPECT_EQ(symbols[0]["name"], "y");
  EXPECT_EQ(symbols[0]["kind"], "Var");
  EXPECT_EQ(symbols[0]["immutable"], false);
  EXPECT_EQ(symbols[1]["id"], 1);
  EXPECT_EQ(symbols[1]["kind"], "Func");
  EXPECT_EQ(symbols[1]["inputs"][0]["type"], "u16");
}

TEST(Output, DirectoryHoldsImageAndTables) {
  auto dir =
      std::filesystem::temp_directory_path() / ("csl_output_test_" + std::to_string(::getpid()));
  auto written = WriteOutput(Small(), (dir / "deep").string());
  ASSERT_TRUE(written) << written.error().ToString();
  auto loaded = bytecode::LoadImage((dir / "deep/program.szcsl").string());
  ASSERT_TRUE(loaded) << loaded.error().ToString();
  EXPECT_EQ(loaded->exports.size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(dir / "deep/out.json"));
  EXPECT_FALSE(WriteOutput(Small(), (dir / "deep/out.json").string()))
      << "a file stands where the directory should be";
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace szarena::csl
