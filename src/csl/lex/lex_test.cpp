// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "csl/lex/lexer.h"
#include "csl/lex/literal.h"

namespace szarena::csl {
namespace {

struct Lexed {
  SourceMap sources;
  DiagSink diags;
  std::vector<Token> tokens;
  std::string text;  // spellings joined by blanks

  explicit Lexed(std::string source) {
    SourceId id = sources.Add("t.csl", std::move(source)).value();
    tokens = Lex(sources, id, diags);
    for (const Token& token : tokens) {
      if (token.kind == TokenKind::kEof) break;
      if (!text.empty()) text += ' ';
      text += std::string(sources.Text(token.span));
    }
  }
};

TEST(Lexer, TakesTheLongestSymbol) {
  EXPECT_EQ(Lexed("a<<=b<<c<=d->e=>f=g.*.{").text, "a <<= b << c <= d -> e => f = g . * . {");
  EXPECT_EQ(Lexed("x.y[1.5e-3,2.z]//c\n@as").text, "x . y [ 1.5e-3 , 2 . z ] @as");
  EXPECT_EQ(Lexed("p.*=8;q*=2").text, "p . * = 8 ; q *= 2");
}

TEST(Lexer, KeywordsAndContextualWords) {
  Lexed lexed("var layout align undefined variable");
  EXPECT_EQ(lexed.tokens[0].kind, TokenKind::kVar);
  EXPECT_EQ(lexed.tokens[1].kind, TokenKind::kIdentifier);
  EXPECT_EQ(lexed.tokens[2].kind, TokenKind::kIdentifier);
  EXPECT_EQ(lexed.tokens[3].kind, TokenKind::kUndefined);
  EXPECT_EQ(lexed.tokens[4].kind, TokenKind::kIdentifier);
}

TEST(Lexer, FaultsAreReportedAndBecomeErrorTokens) {
  Lexed lexed("a $$$ \"open\n'x' @ 1 /* b */ c");
  EXPECT_EQ(lexed.diags.error_count(), 4u);
  EXPECT_EQ(lexed.tokens[1].kind, TokenKind::kError);
  EXPECT_EQ(lexed.text, "a $$$ \"open 'x' @ 1 c");
}

TEST(Lexer, AnyBytesEndInEofAndSpansGrow) {
  rc::check([](const std::vector<unsigned char>& bytes) {
    Lexed lexed(std::string(bytes.begin(), bytes.end()));
    RC_ASSERT(!lexed.tokens.empty() && lexed.tokens.back().kind == TokenKind::kEof);
    uint32_t last = 0;
    for (const Token& token : lexed.tokens) {
      RC_ASSERT(token.span.begin >= last && token.span.end >= token.span.begin);
      RC_ASSERT(token.kind == TokenKind::kEof || token.span.end > token.span.begin);
      last = token.span.end;
    }
  });
}

template <typename F>
size_t Errors(F&& f) {
  DiagSink diags;
  f(diags);
  return diags.error_count();
}

TEST(Literal, Integers) {
  DiagSink d;
  auto value = [&](std::string_view text) {
    return static_cast<uint64_t>(ParseInt(text, {1, 2}, d));
  };
  EXPECT_EQ(value("1_000"), 1000u);
  EXPECT_EQ(value("0xfF_ff"), 65535u);
  EXPECT_EQ(value("0b1010"), 10u);
  EXPECT_EQ(value("0o17"), 15u);
  EXPECT_TRUE(ParseInt("340282366920938463463374607431768211455", {1, 2}, d) == ~UInt128{0});
  EXPECT_FALSE(d.HasErrors());
  for (std::string_view bad :
       {"0x", "0b2", "1a", "1__0", "1_", "0o8", "340282366920938463463374607431768211456"}) {
    EXPECT_EQ(Errors([&](DiagSink& s) { ParseInt(bad, {1, 2}, s); }), 1u) << bad;
  }
}

TEST(Literal, Floats) {
  DiagSink d;
  EXPECT_EQ(ParseFloat("1.5e-3", {1, 2}, d), 1.5e-3);
  EXPECT_EQ(ParseFloat("1_0.2_5", {1, 2}, d), 10.25);
  EXPECT_EQ(ParseFloat("0x1.8p3", {1, 2}, d), 12.0);
  EXPECT_FALSE(d.HasErrors());
  for (std::string_view bad : {"1.5e", "1.5x", "1_.5", "1e999"}) {
    EXPECT_EQ(Errors([&](DiagSink& s) { ParseFloat(bad, {1, 2}, s); }), 1u) << bad;
  }
}

TEST(Literal, Escapes) {
  DiagSink d;
  EXPECT_EQ(ParseQuoted("\"a\\n\\t\\\\\\\"\\x41\\0\"", {1, 20}, d), std::string("a\n\t\\\"A\0", 7));
  EXPECT_FALSE(d.HasErrors());
  EXPECT_EQ(Errors([](DiagSink& s) { ParseQuoted("\"\\q\\x4\"", {1, 8}, s); }), 2u);
}

}  // namespace
}  // namespace szarena::csl
