// SPDX-License-Identifier: Apache-2.0
// The printer gives back what the parser read; random trees survive print and parse; no text breaks
// the parser.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "csl/diag/render.h"
#include "csl/lex/lexer.h"
#include "csl/parse/parser.h"
#include "csl/parse/random_tree_testing.h"
#include "csl/syntax/dump.h"
#include "csl/syntax/print.h"

namespace szarena::csl {
namespace {

struct Parsed {
  SourceMap sources;
  NameTable names;
  DiagSink diags;
  Ast ast;

  explicit Parsed(std::string text)
      : ast(Parse(sources, sources.Add("t.csl", std::move(text)).value(), names, diags)) {}
  std::string dump() const { return Dump(ast, names); }
};

std::string OneExpr(const std::string& text) {
  Parsed parsed("const x = " + text + ";");
  EXPECT_FALSE(parsed.diags.HasErrors()) << RenderText(parsed.sources, parsed.diags);
  const VarDecl* decl = parsed.ast.As<VarDecl>(parsed.ast.items()[0].decl);
  return Print(parsed.ast, parsed.names, decl->init);
}

TEST(Parser, PrecedenceAndAssociativity) {
  EXPECT_EQ(OneExpr("(a+b)*c"), "(a + b) * c");
  EXPECT_EQ(OneExpr("a+(b*c)"), "a + b * c");
  EXPECT_EQ(OneExpr("a-(b-c)"), "a - (b - c)");
  EXPECT_EQ(OneExpr("(a-b)-c"), "a - b - c");
  EXPECT_EQ(OneExpr("(a&b)==c"), "a & b == c");
  EXPECT_EQ(OneExpr("((a<<1)|b)<<2"), "(a << 1 | b) << 2");
  EXPECT_EQ(OneExpr("(a or b) and !(c and d)"), "(a or b) and !(c and d)");
  EXPECT_EQ(OneExpr("(-a).b"), "(-a).b");
  EXPECT_EQ(OneExpr("-(a.b)"), "-a.b");
  EXPECT_EQ(OneExpr("if (a) b else (c + d)"), "if (a) b else c + d");
  EXPECT_EQ(OneExpr("(if (a) b else c) + d"), "(if (a) b else c) + d");
}

TEST(Parser, InitialiserOrBlock) {
  EXPECT_EQ(OneExpr("[3]i16{1,2,3,}"), "[3]i16{ 1, 2, 3 }");
  EXPECT_EQ(OneExpr("m.T{.a=1}"), "m.T{ .a = 1 }");
  EXPECT_EQ(OneExpr(".{.{1,2},.{}}"), ".{ .{ 1, 2 }, .{} }");
  EXPECT_EQ(OneExpr("@zeros([M,N]f32)"), "@zeros([M, N]f32)");
  EXPECT_EQ(OneExpr("if (c) T{} else U{}"), "if (c) T{} else U{}");
  EXPECT_EQ(OneExpr("{}"), "{}");
  EXPECT_EQ(OneExpr("|i,j|{M,N+1} -> p.*[i,j+1]"), "|i, j|{M, N + 1} -> p.*[i, j + 1]");
  EXPECT_EQ(OneExpr("[2]*const [4]u8{&a,&b}"), "[2]*const [4]u8{ &a, &b }");
  EXPECT_EQ(OneExpr("@get_dsd(mem1d_dsd, .{.tensor_access = |i|{N} -> A[i]})"),
            "@get_dsd(mem1d_dsd, .{ .tensor_access = |i|{N} -> A[i] })");
}

// The input files in a golden file (see driver/golden_file_testing.h); any other file as it is.
std::vector<std::string> Sections(const std::string& text) {
  std::vector<std::string> sections(1);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line == "//--- expect") break;
    if (line.starts_with("//--- "))
      sections.emplace_back();
    else
      sections.back() += line + "\n";
  }
  return sections;
}

// Every program of testdata that is meant to be right prints to a text with an equal tree.
TEST(Parser, PrintThenParseIsTheIdentity) {
  size_t count = 0;
  for (auto& entry : std::filesystem::recursive_directory_iterator(SZARENA_SOURCE_DIR "/src/csl")) {
    if (entry.path().extension() != ".csl" || entry.path().filename().string().starts_with("fail_"))
      continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    for (const std::string& source : Sections(text.str())) {
      Parsed first(source);
      ASSERT_FALSE(first.diags.HasErrors())
          << entry.path() << RenderText(first.sources, first.diags);
      Parsed second(Print(first.ast, first.names));
      EXPECT_EQ(first.dump(), second.dump())
          << entry.path() << RenderText(second.sources, second.diags);
    }
    ++count;
  }
  EXPECT_GT(count, 0u);
}

TEST(Parser, RandomTreesSurvivePrintAndParse) {
  for (uint32_t seed = 1; seed <= 1500; ++seed) {
    NameTable names;
    Ast tree = testing::RandomTree(seed, names);
    std::string text = Print(tree, names);
    Parsed parsed(text);
    ASSERT_FALSE(parsed.diags.HasErrors()) << "seed " << seed << "\n"
                                           << RenderText(parsed.sources, parsed.diags);
    ASSERT_EQ(Dump(tree, names), parsed.dump()) << "seed " << seed << "\n" << text;
  }
}

// Random token soup reaches deep into the parser.
TEST(Parser, TokenSoupNeverBreaksIt) {
  std::mt19937 random(7);
  const char* words[] = {
      "var ",  "const ",  "param ", "fn ",  "task ",   "inline ", "export ", "comptime ", "layout ",
      "if ",   "else ",   "while ", "for ", "switch ", "break ",  "return ", "struct ",   "enum ",
      "x ",    "y ",      "@as",    "(",    ")",       "{",       "}",       "[",         "]",
      ",",     ";",       ":",      ".",    "->",      "=>",      "=",       "+",         "-",
      "*",     "&",       "|",      "==",   "<",       "1 ",      "2.5 ",    "\"s\"",     "'c'",
      "align", "packed ", "asm ",   "and ", "or ",     "$"};
  for (int round = 0; round < 4000; ++round) {
    std::string text;
    size_t length = random() % 60;
    for (size_t i = 0; i < length; ++i) text += words[random() % std::size(words)];
    Parsed parsed(text);
    RenderText(parsed.sources, parsed.diags);
    RenderJson(parsed.sources, parsed.diags);
    if (!parsed.diags.HasErrors()) {
      Parsed again(Print(parsed.ast, parsed.names));
      ASSERT_EQ(parsed.dump(), again.dump())
          << text << "\n---\n"
          << Print(parsed.ast, parsed.names) << RenderText(again.sources, again.diags);
    }
  }
}

TEST(Parser, DepthIsLimitedEverywhere) {
  auto repeat = [](std::string_view text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  const int n = 20000;
  for (std::string text :
       {"const x = " + repeat("(", n), "const x = " + repeat("-", n) + "1;",
        "const x = 1" + repeat("+1", n) + ";", "const x = a" + repeat(".a", n) + ";",
        "fn f() void " + repeat("{", n), "var x: " + repeat("*", n) + "u8;",
        "const x = " + repeat(".{", n), "const x = " + repeat("if (a) b else ", n) + "c;",
        "var x: " + repeat("[1]", n) + "u8;", "const x = " + repeat("@a(", n),
        "fn f() void { " + repeat("if (a) x = 1 else ", n) + "{} }",
        "const x = " + repeat("switch (", n), "var x: " + repeat("fn() ", n) + "void;",
        "const x = " + repeat("|i|{", n)}) {
    Parsed parsed(text);
    bool found = false;
    for (const Diagnostic& diagnostic : parsed.diags.all())
      found |= diagnostic.kind == DiagKind::kNestedTooDeep;
    EXPECT_TRUE(found) << text.substr(0, 40);
    EXPECT_LT(parsed.diags.all().size(), 5u) << text.substr(0, 40);
  }
}

TEST(Parser, ManyFaultsOfOneFileAreAllReported) {
  Parsed parsed(
      "const a = ;\nvar b;\nfn f() void { x = 1 y = 2; if (a { } }\nconst c = 1;\ntask t() u16 "
      "{}\nfn g() void { return }\n");
  std::string text;
  for (const Diagnostic& diagnostic : parsed.diags.all()) {
    text += std::to_string(parsed.sources.LineOf(diagnostic.span.begin)) + " " +
            std::string(InfoOf(diagnostic.kind).name) + "\n";
  }
  EXPECT_EQ(text,
            "1 expected-expression\n2 missing-type\n3 missing-semicolon\n3 expected-token\n5 "
            "task-returns-value\n6 missing-semicolon\n");
}

}  // namespace
}  // namespace szarena::csl
