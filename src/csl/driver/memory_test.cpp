// SPDX-License-Identifier: Apache-2.0
// What a class's memory breakdown counts.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "csl/driver/driver.h"

namespace szarena::csl {
namespace {

TEST(Memory, LocalZerosTakeOneStackFrameAndNoConstant) {
  const std::filesystem::path dir = std::filesystem::temp_directory_path() / "csl_memory_test";
  std::filesystem::create_directories(dir);
  std::ofstream(dir / "layout.csl")
      << "layout { @set_rectangle(1, 1); @set_tile_code(0, 0, \"pe.csl\"); }\n";
  std::ofstream(dir / "pe.csl")
      << "export var y: f32 = 0.0;\nvar at: u16 = 3;\n"
         "task main() void {\n  var zeros = @zeros([100]f32);\n  zeros[at] = 1.0;\n  y = "
         "zeros[at];\n"
         "}\ncomptime { @bind_local_task(main, @get_local_task_id(8)); }\n";
  Options options;
  options.input = (dir / "layout.csl").string();
  const Outcome outcome = Compile(options, {});
  std::filesystem::remove_all(dir);
  ASSERT_TRUE(outcome.program) << outcome.messages;
  uint32_t stack = 0;
  for (const bytecode::MemoryItem& item : outcome.program->classes.at(0).memory) {
    EXPECT_EQ(item.name.find("constant"), std::string::npos) << item.name;
    if (item.what == "stack") stack += item.bytes;
  }
  EXPECT_GE(stack, 400u);
  EXPECT_LT(stack, 450u);
}

}  // namespace
}  // namespace szarena::csl
