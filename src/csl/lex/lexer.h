// SPDX-License-Identifier: Apache-2.0
// Text to tokens. Any bytes give a token list that ends in Eof; what is no token is reported and
// becomes Error.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "csl/diag/diag.h"
#include "csl/source/source_map.h"

namespace szarena::csl {

enum class TokenKind : uint8_t {
#define TOKEN(kind, text) k##kind,
#include "csl/lex/token.def"
};

struct Token {
  TokenKind kind;
  Span span;
};

// "'<<='", "a name": for messages.
std::string_view Describe(TokenKind kind);

// True for words that cannot be names.
bool IsKeyword(std::string_view word);

std::vector<Token> Lex(const SourceMap& sources, SourceId source, DiagSink& diags);

}  // namespace szarena::csl
