// SPDX-License-Identifier: Apache-2.0
// Any bytes: the lexer, the parser and the renderers end; what parses without faults prints to an
// equal tree.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "csl/diag/render.h"
#include "csl/parse/parser.h"
#include "csl/syntax/dump.h"
#include "csl/syntax/print.h"

using namespace szarena::csl;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  SourceMap sources;
  NameTable names;
  DiagSink diags;
  auto id = sources.Add("input.csl", std::string(reinterpret_cast<const char*>(data), size));
  if (!id) return 0;
  Ast ast = Parse(sources, *id, names, diags);
  RenderText(sources, diags);
  RenderJson(sources, diags);
  if (diags.HasErrors()) return 0;
  auto printed = sources.Add("printed.csl", Print(ast, names));
  Ast again = Parse(sources, *printed, names, diags);
  if (diags.HasErrors() || Dump(ast, names) != Dump(again, names)) std::abort();
  return 0;
}
