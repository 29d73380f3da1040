// SPDX-License-Identifier: Apache-2.0
// The reference names every builtin and every flag.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "csl/driver/options.h"
#include "csl/layout/compile.h"
#include "csl/sema/builtin.h"

namespace szarena::csl {
namespace {

std::string Read(const std::string& name) {
  std::ifstream file(SZARENA_SOURCE_DIR "/docs/csl/" + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(Docs, EveryBuiltinIsInTheReference) {
  std::string text = Read("builtins.md");
  BuiltinTable table;
  AddLayoutBuiltins(table);
  ASSERT_GT(table.Names().size(), 100u);
  for (std::string_view name : table.Names()) {
    size_t at = text.find("@" + std::string(name));
    while (at != std::string::npos && (std::isalnum(static_cast<unsigned char>(text[at + name.size() + 1])) || text[at + name.size() + 1] == '_')) {
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
    EXPECT_NE(text.find("`" + flag), std::string::npos) << "docs/csl/cslc.md does not describe " << flag;
  }
}

}  // namespace
}  // namespace szarena::csl
