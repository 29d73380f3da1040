// SPDX-License-Identifier: Apache-2.0
// What all evaluations of one compilation share: sources, names, types, diagnostics, target, files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bytecode/program.h"
#include "csl/diag/diag.h"
#include "csl/sema/builtin.h"
#include "csl/sema/type.h"
#include "csl/source/names.h"
#include "csl/source/source_map.h"
#include "csl/syntax/ast.h"

namespace szarena::csl {

// Where imported files come from. Implemented by csl/module; tests use texts in memory.
class FileProvider {
 public:
  virtual ~FileProvider() = default;
  // The parsed file that `path` names when written in file `from` (none: the command line), or null
  // after a diagnostic at `span`. The same file gives the same Ast.
  virtual const Ast* Load(std::string_view path, SourceId from, Span span) = 0;
  // The bytes of a data file (@import_comptime_value), or nothing after a diagnostic.
  virtual std::optional<std::string> ReadText(std::string_view path, SourceId from, Span span) = 0;
  // True for files of the standard library, which may call @native.
  virtual bool IsLibrary(SourceId file) const = 0;
};

// The name of a linker section as a key: ".data1" and "data1" are one.
inline std::string SectionKey(std::string_view name) {
  return std::string(name.substr(name.starts_with('.') ? 1 : 0));
}

struct Target {
  bytecode::Arch arch = bytecode::Arch::kWse2;
  bytecode::FloatFormat fp16 = bytecode::FloatFormat::kF16;
  int fabric_width = 0;
  int fabric_height = 0;
  int offset_x = 0;
  int offset_y = 0;
};

// Limits that turn endless compile-time work into a diagnostic.
struct Limits {
  uint64_t comptime_steps = 20'000'000;  // expressions evaluated by one evaluation
  uint64_t call_depth = 400;             // nested calls: the same for every build of the compiler
  uint64_t stack_bytes = 5'000'000;  // of the compiler's own stack, where expressions nest instead
  uint64_t inlined_iterations = 50;  // of `inline for` and `inline while` (0: no limit)
  uint32_t instances_per_function = 1000;  // of one generic function
};

struct Session {
  SourceMap& sources;
  NameTable& names;
  DiagSink& diags;
  FileProvider& files;
  bool pedantic = false;  // warn of what is accepted and in no public document of the SDK
  Target target;
  Limits limits;
  // --link-section-start-address-bytes: where linker sections (by SectionKey) start, in bytes.
  std::map<std::string, uint32_t> section_starts;
  TypeTable types;
  BuiltinTable builtins;
  // What @comptime_print said, in order; the driver shows it.
  std::vector<std::pair<Span, std::string>> printed;

  Session(SourceMap& source_map, NameTable& name_table, DiagSink& sink, FileProvider& provider)
      : sources(source_map), names(name_table), diags(sink), files(provider) {}

  bool IsWse3() const { return target.arch == bytecode::Arch::kWse3; }
  TypeId Fp16() { return types.Float(static_cast<FloatFormat>(target.fp16)); }
};

}  // namespace szarena::csl
