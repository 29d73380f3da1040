// SPDX-License-Identifier: Apache-2.0
// Every snippet of the CSL primer compiles for both machines, and the primer fits a model's
// context.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "csl/driver/driver.h"
#include "os/temp_dir.h"

namespace szarena::tasks {
namespace {

struct Snippet {
  std::string kind;  // "" (part of a PE file), "file" (a whole one), "layout"
  std::string text;
};

std::string ReadPrimer() {
  std::ifstream in(SZARENA_SOURCE_DIR "/tasks/prompt/csl_primer.md");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<Snippet> Snippets(const std::string& text) {
  std::vector<Snippet> snippets;
  const std::regex fence("```csl ?([a-z]*)\n([^`]*)```");
  for (std::sregex_iterator it(text.begin(), text.end(), fence), end; it != end; ++it) {
    snippets.push_back({(*it)[1], (*it)[2]});
  }
  return snippets;
}

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string Compile(const std::string& folder, const std::string& arch) {
  const auto options = csl::ParseOptions(
      {folder + "/layout.csl", "--arch=" + arch, "--memcpy", "--channels=1", "--params=size:8"});
  EXPECT_TRUE(options) << options.error().ToString();
  const csl::Outcome outcome = csl::Compile(*options, {});
  return outcome.program ? outcome.messages : outcome.messages + "(no program)";
}

TEST(CslPrimer, FitsTheContext) {
  // Some three and a half bytes a token: 12,000 tokens.
  EXPECT_LT(ReadPrimer().size(), 40'000u);
}

TEST(CslPrimer, EverySnippetCompiles) {
  const std::string primer = ReadPrimer();
  const std::vector<Snippet> snippets = Snippets(primer);
  ASSERT_GE(snippets.size(), 6u);
  std::string layout;
  std::string file;
  for (const Snippet& s : snippets) {
    if (s.kind == "layout") layout = s.text;
    if (s.kind == "file") file = s.text;
  }
  for (const char* arch : {"wse2", "wse3"}) {
    auto folder = os::TempDir::Create("csl-primer");
    ASSERT_TRUE(folder);
    Write(folder->path() + "/layout.csl", layout);
    Write(folder->path() + "/pe.csl", file);
    EXPECT_EQ(Compile(folder->path(), arch), "");
    for (const Snippet& s : snippets) {
      if (!s.kind.empty()) continue;
      SCOPED_TRACE(s.text);
      EXPECT_NE(s.text.find("fn run() void"), std::string::npos) << "nothing would be compiled";
      Write(folder->path() + "/layout.csl",
            "param size: u16;\nconst memcpy = @import_module(\"<memcpy/get_params>\", .{ .width = "
            "1, .height = 1 });\n"
            "layout { @set_rectangle(1, 1); @set_tile_code(0, 0, \"pe.csl\", .{ .memcpy_params = "
            "memcpy.get_params(0) }); @export_name(\"run\", fn () void); }\n");
      Write(folder->path() + "/pe.csl",
            "param memcpy_params: comptime_struct;\nconst sys_mod = "
            "@import_module(\"<memcpy/memcpy>\", memcpy_params);\n" +
                s.text + "\ncomptime { @export_symbol(run); }\n");
      EXPECT_EQ(Compile(folder->path(), arch), "");
    }
  }
}

}  // namespace
}  // namespace szarena::tasks
