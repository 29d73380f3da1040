// SPDX-License-Identifier: Apache-2.0
// The reference names every builtin and every flag, and what it says about operands and
// architectures is what the compiler does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "bytecode/op.h"
#include "csl/driver/golden_file_testing.h"
#include "csl/driver/options.h"
#include "csl/layout/compile.h"
#include "csl/sema/builtin.h"

namespace szarena::csl {
namespace {

std::string Read(const std::string& name) {
  std::ifstream file(SZARENA_SOURCE_DIR "/docs/csl/" + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The cells of a line of a table, without the spaces around them; empty for other lines.
std::vector<std::string> Cells(const std::string& line) {
  std::vector<std::string> cells;
  if (!line.starts_with("| ")) return cells;
  for (size_t begin = 1, end = line.find('|', 1); end != std::string::npos;
       begin = end + 1, end = line.find('|', begin)) {
    const size_t first = line.find_first_not_of(' ', begin),
                 last = line.find_last_not_of(' ', end - 1);
    cells.push_back(first >= end ? "" : line.substr(first, last - first + 1));
  }
  return cells;
}

struct Forms {
  std::set<std::string> taken, warned;  // letters D, P, v, the destination first
};

// The table of operand forms in builtins.md: operation (without '@') to forms.
std::map<std::string, Forms> DocumentedForms() {
  std::map<std::string, Forms> operations;
  std::istringstream lines(Read("builtins.md"));
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "| operations | forms | arch |") inside = true;
    const std::vector<std::string> cells = Cells(line);
    if (!inside || line.starts_with("|---")) continue;
    if (cells.empty()) break;
    Forms forms;
    std::string form;
    bool warned = false;
    for (const char c : cells[1] + ";") {
      if (c == 'D' || c == 'P' || c == 'v') form += c;
      if (c == ';' || c == '(' || c == ':') {
        if (!form.empty()) (warned ? forms.warned : forms.taken).insert(form);
        form.clear();
        if (c == ':') break;
        warned = c == '(';
      }
    }
    std::istringstream names(cells[0].substr(1, cells[0].size() - 2));
    for (std::string name; names >> name;) {
      if (name.starts_with('@') && name != "@dfilt") operations[name.substr(1)] = forms;
    }
  }
  return operations;
}

// Context bits of a "where" cell: "C R", "any", "C, WSE-3", "libraries only".
uint8_t ContextsIn(const std::string& where) {
  if (where.starts_with("any") || where.starts_with("libraries only")) return kAnywhere;
  uint8_t bits = 0;
  for (const char c : where.substr(0, where.find(','))) {
    bits |= c == 'L'   ? kInLayout
            : c == 'C' ? kInComptime
            : c == 'G' ? kInGlobal
            : c == 'R' ? kInRuntime
                       : 0;
  }
  return bits;
}

// A row may name several builtins and their places in the same order: "`@random16()`,
// `@set_active_prng(id)` | R; C R".
TEST(Docs, PlacesAndArchitecturesAreTheCompilers) {
  BuiltinTable table;
  AddLayoutBuiltins(table);
  std::set<std::string> seen;
  std::istringstream lines(Read("builtins.md"));
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "| builtin | where | meaning |") inside = true;
    const std::vector<std::string> cells = Cells(line);
    if (cells.empty()) inside = inside && line.starts_with("|");
    if (!inside || cells.size() < 3 || cells[0] == "builtin") continue;
    std::vector<std::string> names, places;
    for (size_t at = cells[0].find("`@"); at != std::string::npos;
         at = cells[0].find("`@", at + 1)) {
      const size_t end =
          cells[0].find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789", at + 2);
      names.push_back(cells[0].substr(at + 2, end - at - 2));
    }
    std::istringstream wheres(cells[1]);
    for (std::string part; std::getline(wheres, part, ';');) places.push_back(part);
    for (size_t i = 0; i < names.size(); ++i) {
      const BuiltinEntry* entry = table.Find(names[i]);
      ASSERT_NE(entry, nullptr) << "builtins.md describes @" << names[i]
                                << ", which cslc does not have";
      const std::string& place = places[std::min(i, places.size() - 1)];
      EXPECT_EQ(entry->contexts, ContextsIn(place))
          << "@" << names[i] << " where '" << place << "'";
      EXPECT_EQ(entry->wse3_only, place.find("WSE-3") != std::string::npos) << "@" << names[i];
      seen.insert(names[i]);
    }
  }
  for (const std::string_view name : table.Names()) {
    bool is_operation = name == "map";
    for (int i = 0; i < static_cast<int>(bytecode::DsdOp::kCount); ++i)
      is_operation |= name == bytecode::FactsOf(static_cast<bytecode::DsdOp>(i)).name;
    EXPECT_TRUE(is_operation || seen.contains(std::string(name)))
        << "builtins.md does not say where @" << name << " may stand";
  }
}

// An operand of an element letter of dsd_op.def: a vector, a pointer or a value.
std::string OperandText(char form, char letter) {
  const std::string type = letter == 'w'   ? "i16"
                           : letter == 'l' ? "u32"
                           : letter == 'h' ? "f16"
                                           : "f32";
  return form == 'D' ? type + "_dsd" : form == 'P' ? "&" + type + "_value" : "@as(" + type + ", 1)";
}

TEST(Docs, OperandFormsAreTheCompilers) {
  const std::map<std::string, Forms> documented = DocumentedForms();
  std::string code;
  for (const char* type : {"i16", "u32", "f16", "f32"}) {
    code += fmt::format(
        "var {0}_array = @zeros([4]{0});\nvar {0}_value: {0} = 0;\nconst {0}_dsd = "
        "@get_dsd(mem1d_dsd, .{{ .base_address = &{0}_array, .extent = 4 }});\n",
        type);
  }
  code += "task main() void {\n";
  std::map<int, std::pair<std::string, std::string>>
      lines;  // line of the code to operation and form
  int line = 14;
  for (int i = 0; i < static_cast<int>(bytecode::DsdOp::kCount); ++i) {
    const bytecode::DsdOpFacts& facts = bytecode::FactsOf(static_cast<bytecode::DsdOp>(i));
    if (facts.dest == '-') continue;
    const std::string letters = facts.dest + std::string(facts.sources);
    ASSERT_TRUE(documented.contains(std::string(facts.name)))
        << "builtins.md has no forms of @" << facts.name;
    int count = 1;
    for (size_t k = 0; k < letters.size(); ++k) count *= 3;
    for (int choice = 0; choice < count; ++choice) {
      std::string form, args;
      for (int k = 0, rest = choice; k < static_cast<int>(letters.size()); ++k, rest /= 3) {
        form += "DPv"[rest % 3];
        args +=
            (args.empty() ? "" : ", ") + OperandText(form.back(), letters[static_cast<size_t>(k)]);
      }
      code += fmt::format("  @{}({});\n", facts.name, args);
      lines[line++] = {std::string(facts.name), form};
    }
  }
  code += "}\ncomptime { @bind_local_task(main, @get_local_task_id(8)); }\n";
  for (const char* arch : {"wse2", "wse3"}) {
    testing::GoldenFile program;
    program.args = {"--arch=" + std::string(arch), "--max-errors=0", "--pedantic"};
    program.inputs = {
        {"layout.csl", "layout { @set_rectangle(1, 1); @set_tile_code(0, 0, \"pe.csl\"); }\n"},
        {"pe.csl", code}};
    std::map<int, std::string> said;
    std::istringstream messages(testing::RunGolden(program).output);
    for (std::string text; std::getline(messages, text);) {
      if (!text.starts_with("pe.csl:")) continue;
      said[std::stoi(text.substr(7))] =
          text.find(": error:") != std::string::npos ? "error" : "warning";
    }
    for (const auto& [at, call] : lines) {
      const auto& [name, form] = call;
      const Forms& forms = documented.at(name);
      const std::string expected = forms.taken.contains(form)    ? ""
                                   : forms.warned.contains(form) ? "warning"
                                                                 : "error";
      EXPECT_EQ(said[at], expected) << arch << ": @" << name << " with " << form;
    }
  }
}

TEST(Docs, EveryBuiltinIsInTheReference) {
  std::string text = Read("builtins.md");
  BuiltinTable table;
  AddLayoutBuiltins(table);
  ASSERT_GT(table.Names().size(), 100u);
  for (std::string_view name : table.Names()) {
    size_t at = text.find("@" + std::string(name));
    while (at != std::string::npos &&
           (std::isalnum(static_cast<unsigned char>(text[at + name.size() + 1])) ||
            text[at + name.size() + 1] == '_')) {
      at = text.find("@" + std::string(name), at + 1);
    }
    EXPECT_NE(at, std::string::npos) << "docs/csl/builtins.md does not describe @" << name;
  }
}

TEST(Docs, EveryFlagIsInTheReference) {
  std::string text = Read("cslc.md"), help = OptionsHelp();
  for (size_t at = help.find("\n  -"); at != std::string::npos; at = help.find("\n  -", at + 1)) {
    std::string flag = help.substr(at + 3, help.find_first_of(" =", at + 3) - at - 3);
    if (flag == "--help" || flag == "--version") continue;
    EXPECT_NE(text.find("`" + flag), std::string::npos)
        << "docs/csl/cslc.md does not describe " << flag;
  }
}

}  // namespace
}  // namespace szarena::csl
