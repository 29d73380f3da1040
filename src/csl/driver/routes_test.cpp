// SPDX-License-Identifier: Apache-2.0
#include "csl/driver/routes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "csl/driver/golden_file_testing.h"
#include "csl/driver/output.h"

namespace szarena::csl {
namespace {

using testing::GoldenFile;
using testing::GoldenRun;

GoldenRun RunWith(std::vector<std::string> args, const std::string& layout, const std::string& pe) {
  GoldenFile program;
  program.args = std::move(args);
  program.inputs = {{"layout.csl", layout}, {"pe.csl", pe}};
  return testing::RunGolden(program);
}

TEST(OutRoutes, TableNamesPlacesColoursAndSettings) {
  const std::string layout =
      "const c = @get_color(3);\n"
      "layout {\n"
      "  @set_rectangle(2, 1);\n"
      "  @set_tile_code(0, 0, \"pe.csl\");\n"
      "  @set_tile_code(1, 0, \"pe.csl\");\n"
      "  @set_color_config(0, 0, c, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } },\n"
      "    .switches = .{ .pos1 = .{ .tx = SOUTH }, .ring_mode = true, .pop_mode = .{ .always_pop "
      "= true } } });\n"
      "  @set_color_config(1, 0, c, .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP, EAST } }, "
      ".teardown = true,\n"
      "    .filter = .{ .kind = .{ .range = true }, .min_idx = 2, .max_idx = 5 } });\n"
      "}\n";
  const GoldenRun run = RunWith({"--out-routes"}, layout, "task main() void {}\n");
  EXPECT_EQ(run.output,
            "PE  | color | rx   | tx        | settings\n"
            "-----------------------------------------\n"
            "0,0 | 3     | RAMP | EAST      | pos1 same -> SOUTH; ring; always_pop\n"
            "1,0 | 3     | WEST | EAST,RAMP | filter range 2..5; teardown\n");
  EXPECT_FALSE(run.failed);
}

constexpr const char* kLayout =
    "layout { @set_rectangle(1, 1); @set_tile_code(0, 0, \"pe.csl\"); }\n";

TEST(Flags, WarningsAsErrors) {
  const std::string pe =
      "var a = @zeros([4]f32);\nconst d = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{5} -> a[i] "
      "});\n"
      "task main() void { @fmovs(d, 1.0); }\ncomptime { @bind_local_task(main, "
      "@get_local_task_id(8)); }\n";
  const GoldenRun warned = RunWith({}, kLayout, pe),
                  failed = RunWith({"--warnings-as-errors"}, kLayout, pe);
  EXPECT_FALSE(warned.failed);
  EXPECT_NE(warned.output.find("warning: the access leaves"), std::string::npos) << warned.output;
  EXPECT_TRUE(failed.failed);
  EXPECT_NE(failed.output.find("error: the access leaves"), std::string::npos) << failed.output;
  EXPECT_NE(failed.output.find("1 error\n"), std::string::npos) << failed.output;
}

TEST(ReservedQueues, ADsdSharesInputQueue0OnWse2Only) {
  const std::string pe =
      "var a = @zeros([4]f32);\nconst A = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> a[i] "
      "});\n"
      "const in = @get_dsd(fabin_dsd, .{ .extent = 4, .fabric_color = @get_color(3), .input_queue "
      "= @get_input_queue(0) });\n"
      "task main() void { @fmovs(A, in); }\ncomptime { @bind_local_task(main, "
      "@get_local_task_id(8)); }\n";
  EXPECT_FALSE(RunWith({"--memcpy"}, kLayout, pe).failed);
  const GoldenRun wse3 = RunWith({"--memcpy", "--arch=wse3"}, kLayout, pe);
  EXPECT_TRUE(wse3.failed);
  EXPECT_NE(wse3.output.find("[reserved-queue]"), std::string::npos) << wse3.output;
}

TEST(Flags, ComptimeFunctionDepth) {
  const std::string pe =
      "fn down(n: u16) u16 { if (n == 0) return 0; return down(n - 1) + 1; }\nconst ten: u16 = "
      "down(10);\n"
      "export var x: u16 = ten;\n";
  EXPECT_FALSE(RunWith({"--comptime-func-depth-limit=11"}, kLayout, pe).failed);
  const GoldenRun run = RunWith({"--comptime-func-depth-limit=10"}, kLayout, pe);
  EXPECT_TRUE(run.failed);
  EXPECT_NE(run.output.find("recursion-limit"), std::string::npos) << run.output;
}

TEST(Flags, OutputJsonPath) {
  const std::filesystem::path dir = std::filesystem::temp_directory_path() / "csl_output_json_test";
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  bytecode::Program program;
  program.params = {{"M", "4"}};
  const auto read = [](const std::filesystem::path& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  ASSERT_TRUE(WriteOutputJson(program, (dir / "out_code/").string(), ""));
  EXPECT_EQ(read(dir / "out_code.json"), OutJson(program));
  ASSERT_TRUE(WriteOutputJson(program, (dir / "out_code").string(), (dir / "b.json").string()));
  EXPECT_EQ(read(dir / "b.json"), OutJson(program));
  EXPECT_FALSE(WriteOutputJson(program, "out", (dir / "absent" / "b.json").string()));
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace szarena::csl
