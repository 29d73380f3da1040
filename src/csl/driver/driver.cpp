// SPDX-License-Identifier: Apache-2.0
#include "csl/driver/driver.h"

#include <fmt/format.h>
#include <algorithm>

#include "bytecode/disasm.h"
#include "bytecode/verify.h"
#include "csl/diag/render.h"
#include "csl/driver/big_stack.h"
#include "csl/driver/routes.h"
#include "csl/layout/compile.h"
#include "csl/module/files.h"
#include "csl/syntax/dump.h"
#include "csl/syntax/print.h"

namespace szarena::csl {
namespace {

Target TargetOf(const Options& options) {
  Target target;
  target.arch = options.arch;
  target.fp16 = options.fp16;
  target.fabric_width = options.fabric_width;
  target.fabric_height = options.fabric_height;
  target.offset_x = options.offset_x;
  target.offset_y = options.offset_y;
  return target;
}

Outcome CompileHere(const Options& options, const std::vector<std::string>& import_dirs) {
  Outcome outcome;
  SourceMap sources;
  NameTable names;
  DiagSink diags;
  diags.set_max_errors(options.max_errors);
  diags.set_warnings_as_errors(options.warnings_as_errors);
  std::vector<std::string> dirs = options.import_paths;
  dirs.insert(dirs.end(), import_dirs.begin(), import_dirs.end());
  Files files(sources, names, diags, std::move(dirs), options.only_below);
  for (const std::string& warning : options.warnings)
    diags.Report(DiagKind::kFlagIgnored, Span{}, warning);
  const Ast* ast = files.Load(options.input, {}, {});
  using Emit = Options::Emit;
  if (ast != nullptr && options.emit == Emit::kAst) outcome.printed = Dump(*ast, names);
  if (ast != nullptr && options.emit == Emit::kSource) outcome.printed = Print(*ast, names);
  if (ast != nullptr && (options.emit == Emit::kProgram || options.emit == Emit::kBytecode)) {
    Session session(sources, names, diags, files);
    session.target = TargetOf(options);
    session.limits.inlined_iterations = options.max_inlined_iterations;
    session.pedantic = options.pedantic;
    session.limits.call_depth = options.comptime_depth;
    for (const auto& [name, address] : options.section_addresses) {
      session.section_starts[SectionKey(name)] =
          static_cast<uint32_t>(std::clamp<int64_t>(address, 0, UINT16_MAX));
    }
    AddLayoutBuiltins(session.builtins);
    CompileRequest request{ast,
                           sources.File(ast->source()).path,
                           options.params,
                           options.colors,
                           options.memcpy,
                           options.channels,
                           options.west_buffer,
                           options.east_buffer};
    outcome.program = CompileProgram(session, request);
    for (const auto& [span, text] : session.printed) {
      if (auto at = sources.Locate(span.begin))
        outcome.printed += fmt::format("{}:{}: {}\n", at->file->path, at->line, text);
    }
    if (diags.HasErrors()) outcome.program.reset();
  }
  if (outcome.program) {
    if (auto valid = bytecode::Verify(*outcome.program); !valid) {
      outcome.program.reset();
      outcome.messages =
          fmt::format("internal error: the compiled program is not well formed: {}\n",
                      valid.error().ToString());
      outcome.exit = ExitCode::kInternal;
      return outcome;
    }
    if (options.out_routes) outcome.printed += RoutesTable(*outcome.program);
    if (options.emit == Emit::kBytecode) outcome.printed += bytecode::Disassemble(*outcome.program);
  }
  if (options.json) {
    outcome.messages = RenderJson(sources, diags);
  } else {
    outcome.messages = RenderText(sources, diags, {.color = options.color});
  }
  if (diags.HasErrors()) outcome.exit = ExitCode::kBadUsage;
  return outcome;
}

}  // namespace

Outcome Compile(const Options& options, const std::vector<std::string>& import_dirs) {
  Outcome outcome;
  WithBigStack([&] { outcome = CompileHere(options, import_dirs); });
  return outcome;
}

std::vector<std::string> SplitPathList(const std::string& list) {
  std::vector<std::string> dirs;
  size_t begin = 0;
  while (begin <= list.size()) {
    size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) dirs.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return dirs;
}

}  // namespace szarena::csl
