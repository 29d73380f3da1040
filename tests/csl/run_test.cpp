// SPDX-License-Identifier: Apache-2.0
// Runs each file of src/csl/testdata/run (the language) and of src/csl/testdata/lib (the libraries) on a small fabric
// and compares global variables.
//
//   //@ width: 2                 PEs in a row (default 1); all run the same code, with `param x: u16` where declared
//   //@ height: 3                rows of them (default 1)
//   //@ cycles: 5000000          the run's limit (default 2 000 000)
//   //@ args: --fp16-format=bf16 more flags of cslc
//   //@ arch: wse3               only there (default: both)
//   //L const m = …;             a line of the layout file, before its layout block
//   //P .x = x, .p = m.f(x, y)   params of the PE at (x, y), instead of x alone
//   //@ layout: STATEMENTS;      a line more in the layout block
//   //= out: 1 2 3               what variable `out` of PE (0, 0) holds at the end; `//= out@1:` for PE (1, 0),
//                                `//= out@1,2:` for PE (1, 2), `//= out@all:` for every PE
//   //! index-out-of-bounds      a trap that must be reported (default: none may be)
//   layout-free PE code with `task main() void`, which runs at start
//
// Files that programs import: src/csl/testdata/run/data.
// Routes between the PEs: `//@ row: N` configures colour N from each PE to its eastern neighbour.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <sstream>

#include "csl/driver/driver.h"
#include "csl/layout/compile.h"
#include "csl/sema/builtin.h"
#include "fabric/sim/compare.h"
#include "fabric/sim/fabric.h"

namespace szarena {
namespace {

struct Expectation {
  std::string variable;
  int x = 0;
  int y = 0;
  bool everywhere = false;
  std::vector<std::string> values;
};

struct RunFile {
  std::string name;
  std::string text;
  int width = 1;
  int height = 1;
  uint64_t max_cycles = 2'000'000;
  std::string layout_lines;
  std::string params;
  std::vector<std::string> archs = {"wse2", "wse3"};
  std::vector<std::string> args;
  std::vector<int> row_colors;
  std::string layout;
  std::vector<Expectation> expectations;
  std::vector<std::string> traps;
};

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

RunFile ReadFile(const std::string& path) {
  RunFile file;
  file.name = std::filesystem::path(path).stem().string();
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  file.text = all.str();
  std::istringstream lines(file.text);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    const std::vector<std::string> words =
        Words(colon == std::string::npos ? "" : line.substr(colon + 1));
    if (line.rfind("//@ width", 0) == 0) file.width = std::stoi(words.at(0));
    if (line.rfind("//@ height", 0) == 0) file.height = std::stoi(words.at(0));
    if (line.rfind("//@ cycles", 0) == 0) file.max_cycles = std::stoull(words.at(0));
    if (line.rfind("//L ", 0) == 0) file.layout_lines += line.substr(4) + "\n";
    if (line.rfind("//P ", 0) == 0) file.params += line.substr(4);
    if (line.rfind("//@ args", 0) == 0) file.args = words;
    if (line.rfind("//@ layout", 0) == 0) file.layout += "  " + line.substr(colon + 1) + "\n";
    if (line.rfind("//@ arch", 0) == 0) file.archs = words;
    if (line.rfind("//@ row", 0) == 0) {
      for (const std::string& word : words) file.row_colors.push_back(std::stoi(word));
    }
    if (line.rfind("//! ", 0) == 0) file.traps.push_back(Words(line.substr(4)).at(0));
    if (line.rfind("//= ", 0) == 0) {
      Expectation expectation;
      expectation.variable = line.substr(4, colon - 4);
      const size_t at = expectation.variable.find('@');
      if (at != std::string::npos) {
        const std::string place = expectation.variable.substr(at + 1);
        const size_t comma = place.find(',');
        expectation.everywhere = place == "all";
        if (!expectation.everywhere) expectation.x = std::stoi(place);
        if (comma != std::string::npos) expectation.y = std::stoi(place.substr(comma + 1));
        expectation.variable.resize(at);
      }
      expectation.values = words;
      file.expectations.push_back(std::move(expectation));
    }
  }
  return file;
}

std::string LayoutFor(const RunFile& file) {
  std::string text = file.layout_lines + "layout {\n  @set_rectangle(" + std::to_string(file.width) + ", " +
                     std::to_string(file.height) + ");\n";
  if (file.height > 1 || !file.params.empty()) {
    text += "  for (@range(u16, " + std::to_string(file.width) + ")) |x| {\n    for (@range(u16, " +
            std::to_string(file.height) + ")) |y| {\n      @set_tile_code(x, y, \"pe.csl\", .{ " + file.params +
            " });\n    }\n  }\n";
    return text + "}\n";
  }
  const bool wants_x = file.text.find("param x: u16") != std::string::npos;
  for (int x = 0; x < file.width; ++x) {
    text += "  @set_tile_code(" + std::to_string(x) + ", 0, \"pe.csl\", .{";
    if (wants_x) text += " .x = " + std::to_string(x) + " ";
    text += "});\n";
    for (const int color : file.row_colors) {
      const char* rx = x == 0 ? "RAMP" : "WEST";
      const char* tx = x + 1 == file.width ? "RAMP" : x == 0 ? "EAST" : "RAMP, EAST";
      if (file.width == 1) tx = "RAMP";
      text += "  @set_color_config(" + std::to_string(x) + ", 0, @get_color(" +
              std::to_string(color) + "), .{ .routes = .{ .rx = .{ " + rx + " }, .tx = .{ " + tx +
              " } } });\n";
    }
  }
  return text + file.layout + "}\n";
}

// The values of a variable as text, each in the shortest form that shows it exactly enough.
std::vector<std::string> Decode(const bytecode::Symbol& symbol, const std::vector<uint8_t>& bytes,
                                bytecode::FloatFormat fp16) {
  std::string type = symbol.type.substr(symbol.type.rfind(']') + 1);
  std::vector<std::string> values;
  for (size_t i = 0; i + symbol.elem_size <= bytes.size(); i += symbol.elem_size) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i, symbol.elem_size);
    if (type == "f32") {
      values.push_back(fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits))));
    } else if (type == "f16" || type == "bf16" || type == "cb16") {
      values.push_back(fmt::format("{}", bytecode::F16ToDouble(fp16, static_cast<uint16_t>(bits))));
    } else if (type[0] == 'i') {
      values.push_back(fmt::format("{}", bytecode::SignExtend(bits, symbol.elem_size * 8)));
    } else {
      values.push_back(fmt::format("{}", bits));
    }
  }
  return values;
}

// Compiles the PE code in a fresh directory.
csl::Outcome CompileText(const RunFile& file, const std::string& text, const std::string& arch) {
  const std::filesystem::path dir =
      std::filesystem::temp_directory_path() /
      ("szarena_csl_run_" + std::to_string(getpid()) + "_" + file.name + "_" + arch);
  std::filesystem::create_directories(dir);
  std::ofstream(dir / "layout.csl") << LayoutFor(file);
  std::string code = text;
  code += "\ncomptime {\n  @bind_local_task(main, @get_local_task_id(26));\n"
          "  @activate(@get_local_task_id(26));\n}\n";
  std::ofstream(dir / "pe.csl") << code;

  std::vector<std::string> args = {(dir / "layout.csl").string(), "--arch=" + arch,
                                   "--import-path=" SZARENA_SOURCE_DIR "/src/csl/testdata/run/data"};
  args.insert(args.end(), file.args.begin(), file.args.end());
  const auto options = csl::ParseOptions(args);
  csl::Outcome outcome;
  if (options) {
    outcome = csl::Compile(*options, {});
  } else {
    outcome.messages = options.error().ToString();
  }
  std::filesystem::remove_all(dir);
  return outcome;
}

void RunOn(const RunFile& file, const std::string& arch) {
  SCOPED_TRACE(arch);
  csl::Outcome outcome = CompileText(file, file.text, arch);
  ASSERT_TRUE(outcome.program) << outcome.messages;

  const auto program = std::make_shared<const bytecode::Program>(std::move(*outcome.program));
  fabric::Options run_options;
  run_options.max_cycles = file.max_cycles;
  auto fabric = fabric::Fabric::Create(program, run_options);
  ASSERT_TRUE(fabric) << fabric.error().ToString();
  const auto ran = (*fabric)->RunUntilIdle();
  if (!ran) {  // only a fatal trap that the file expects may end it
    const std::string message = ran.error().ToString();
    const bool expected = std::any_of(file.traps.begin(), file.traps.end(), [&](const std::string& trap) {
      return message.find("trap " + trap) != std::string::npos;
    });
    EXPECT_TRUE(expected) << message;
  }
  (*fabric)->Stop();

  std::vector<std::string> expected_traps = file.traps;
  for (const fabric::Trap& trap : (*fabric)->traps()) {
    const std::string name(fabric::TrapName(trap.kind));
    const auto found = std::find(expected_traps.begin(), expected_traps.end(), name);
    if (found == expected_traps.end()) {
      ADD_FAILURE() << "unexpected trap " << name << " in line " << trap.line << ": "
                    << trap.detail;
    }
  }
  for (const std::string& name : expected_traps) {
    const bool seen = std::any_of((*fabric)->traps().begin(), (*fabric)->traps().end(),
                                  [&](const fabric::Trap& trap) {
                                    return fabric::TrapName(trap.kind) == name;
                                  });
    EXPECT_TRUE(seen) << "no trap " << name;
  }
  for (const Expectation& expectation : file.expectations) {
    for (int y = 0; y < file.height; ++y) {
      for (int x = 0; x < file.width; ++x) {
        if (!expectation.everywhere && (x != expectation.x || y != expectation.y)) continue;
        const uint32_t index = program->At(x, y).code_class;
        const auto& symbols = program->classes[index].symbols;
        const auto symbol = std::find_if(symbols.begin(), symbols.end(), [&](const auto& candidate) {
          return candidate.name == expectation.variable;
        });
        ASSERT_NE(symbol, symbols.end()) << expectation.variable;
        const auto bytes = (*fabric)->ReadSymbol(x, y, expectation.variable);
        ASSERT_TRUE(bytes) << bytes.error().ToString();
        EXPECT_EQ(Decode(*symbol, *bytes, program->fp16), expectation.values)
            << expectation.variable << " of PE (" << x << ", " << y << ")";
      }
    }
    EXPECT_TRUE(expectation.everywhere || (expectation.x < file.width && expectation.y < file.height))
        << expectation.variable << ": no PE (" << expectation.x << ", " << expectation.y << ")";
  }
  EXPECT_FALSE(file.expectations.empty()) << "the file expects nothing";
}

// The program by bytecode and by compiled code: nothing that can be seen may differ.
void CompareOn(const RunFile& file, const std::string& arch) {
  SCOPED_TRACE(arch);
  csl::Outcome outcome = CompileText(file, file.text, arch);
  ASSERT_TRUE(outcome.program) << outcome.messages;
  fabric::Options options;
  options.max_cycles = file.max_cycles;
  const auto difference =
      fabric::CompareBackends(std::make_shared<const bytecode::Program>(std::move(*outcome.program)), options);
  ASSERT_TRUE(difference) << difference.error().ToString();
  EXPECT_EQ(*difference, "");
}

class CslRun : public ::testing::TestWithParam<std::string> {};

TEST_P(CslRun, Program) {
  const RunFile file = ReadFile(GetParam());
  for (const std::string& arch : file.archs) RunOn(file, arch);
}

TEST_P(CslRun, BothBackends) {
  if (const std::string why = fabric::WhyNoNativeBackend(); !why.empty()) GTEST_SKIP() << why;
  const RunFile file = ReadFile(GetParam());
  for (const std::string& arch : file.archs) CompareOn(file, arch);
}

std::vector<std::string> Files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(SZARENA_SOURCE_DIR "/src/csl/testdata/" + folder)) {
    if (entry.path().extension() == ".csl") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The programs of src/csl/testdata/run without their comments.
std::string CodeOfPrograms() {
  std::string code;
  for (const std::string& path : Files("run")) {
    std::istringstream lines(ReadFile(path).text);
    for (std::string line; std::getline(lines, line);) code += line.substr(0, line.find("//")) + "\n";
  }
  return code;
}

// The words that follow `mark`: builtins after '@', fields after '.'.
std::set<std::string> WordsAfter(char mark, const std::string& text) {
  std::set<std::string> words;
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    size_t end = at + 1;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
    if (end > at + 1) words.insert(text.substr(at + 1, end - at - 1));
  }
  return words;
}

// The code in backticks of the reference of builtins, and the form of a colour's configuration.
std::string CodeOfReference() {
  const auto read = [](const char* name) {
    std::ifstream in(std::string(SZARENA_SOURCE_DIR "/docs/csl/") + name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string builtins = read("builtins.md");
  std::string code;
  for (size_t at = builtins.find('`'); at != std::string::npos;) {
    const size_t end = builtins.find('`', at + 1);
    code += builtins.substr(at + 1, end - at - 1) + "\n";
    at = end == std::string::npos ? end : builtins.find('`', end + 1);
  }
  const std::string language = read("language.md");
  const size_t config = language.find("\n    .{ .routes"), last = language.find(".teardown", config);
  return code + language.substr(config, language.find('\n', last) - config);
}

// Each field of settings and descriptors that the reference names is used by a program that runs.
TEST(CslRunCoverage, EveryField) {
  std::set<std::string> documented;
  for (const std::string& word : WordsAfter('.', CodeOfReference())) {
    if (std::isalpha(static_cast<unsigned char>(word[0])) != 0) documented.insert(word);
  }
  documented.erase("json");               // of a file's name
  documented.erase("csl");
  const std::set<std::string> used = WordsAfter('.', CodeOfPrograms());
  EXPECT_GT(documented.size(), 50u);
  for (const std::string& word : documented) {
    EXPECT_TRUE(used.contains(word)) << "." << word << " is used by no program of src/csl/testdata/run";
  }
}

// Each builtin is used by a program that runs, but for those that only other tests can reach.
TEST(CslRunCoverage, EveryBuiltin) {
  const std::set<std::string_view> elsewhere = {
      "host_stream",                  // for libraries only: the host's streams, tests of the host
      "native",                       // for libraries only: reached through <tile_config>, <time>
      "export_name",                  // layout block: in the `//@ layout` lines
      "set_rectangle", "set_tile_code", "set_color_config",  // in every layout that this test writes
  };
  const std::set<std::string> used = WordsAfter('@', CodeOfPrograms());
  csl::BuiltinTable table;
  csl::AddLayoutBuiltins(table);
  for (const std::string_view name : table.Names()) {
    const bool seen = used.contains(std::string(name));
    EXPECT_NE(seen, elsewhere.contains(name))
        << "@" << name << (seen ? " is used: take it off the list" : " is used by no program of src/csl/testdata/run");
  }
}

// Words of a program, so that a change gives another nearly valid program.
std::vector<std::string> Tokens(const std::string& text) {
  std::vector<std::string> tokens;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    const auto is_word = [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    if (is_word(text[i])) {
      while (end < text.size() && is_word(text[end])) ++end;
    }
    tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

// Nearly valid programs: none may bring the compiler down, and what compiles must run or trap.
TEST_P(CslRun, SurvivesChanges) {
  const RunFile file = ReadFile(GetParam());
  const std::vector<std::string> tokens = Tokens(file.text);
  std::mt19937 random(static_cast<uint32_t>(std::hash<std::string>{}(file.name)));
  constexpr int kChanges = 25;
  for (int change = 0; change < kChanges; ++change) {
    std::vector<std::string> changed = tokens;
    for (int edit = 0; edit < 1 + change % 3; ++edit) {
      const size_t at = random() % changed.size();
      switch (random() % 4) {
        case 0: changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 1: changed[at] = changed[random() % changed.size()]; break;
        case 2: std::swap(changed[at], changed[random() % changed.size()]); break;
        default: changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at), tokens[random() % tokens.size()]); break;
      }
    }
    std::string text;
    for (const std::string& token : changed) text += token;
    SCOPED_TRACE(text);
    csl::Outcome outcome = CompileText(file, text, change % 2 == 0 ? "wse2" : "wse3");
    EXPECT_NE(outcome.exit, ExitCode::kInternal) << outcome.messages;
    if (!outcome.program) continue;
    fabric::Options options;
    options.max_cycles = 20'000;
    auto fabric = fabric::Fabric::Create(
        std::make_shared<const bytecode::Program>(std::move(*outcome.program)), options);
    ASSERT_TRUE(fabric) << fabric.error().ToString();
    (void)(*fabric)->RunUntilIdle();
  }
}

std::string NameOf(const ::testing::TestParamInfo<std::string>& test) {
  return std::filesystem::path(test.param).stem().string();
}

INSTANTIATE_TEST_SUITE_P(Files, CslRun, ::testing::ValuesIn(Files("run")), NameOf);

// The libraries. Changing a library's users at random shows nothing that changing the language's programs does not.
class CslLibrary : public ::testing::TestWithParam<std::string> {};

TEST_P(CslLibrary, Program) {
  const RunFile file = ReadFile(GetParam());
  for (const std::string& arch : file.archs) RunOn(file, arch);
}

TEST_P(CslLibrary, BothBackends) {
  if (const std::string why = fabric::WhyNoNativeBackend(); !why.empty()) GTEST_SKIP() << why;
  const RunFile file = ReadFile(GetParam());
  for (const std::string& arch : file.archs) CompareOn(file, arch);
}

INSTANTIATE_TEST_SUITE_P(Files, CslLibrary, ::testing::ValuesIn(Files("lib")), NameOf);

}  // namespace
}  // namespace szarena
