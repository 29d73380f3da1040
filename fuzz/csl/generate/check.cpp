// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "bytecode/image.h"
#include "bytecode/verify.h"
#include "csl/diag/render.h"
#include "csl/driver/big_stack.h"
#include "csl/layout/compile.h"
#include "fabric/sim/compare.h"
#include "memory_files.h"
#include "sdkhost/runtime.h"

namespace szarena::csl_fuzz {
namespace {

using bytecode::FloatFormat;

struct Compiled {
  std::shared_ptr<const bytecode::Program> program;
  std::string messages;
  std::string fault;
};

// Every error and warning names file, line and column, but for the few that are about the program
// as a whole.
std::string MessageWithoutPlace(const csl::DiagSink& diags) {
  for (const csl::Diagnostic& d : diags.all()) {
    if (d.severity == csl::Severity::kNote || !d.span.IsNone()) continue;
    using csl::DiagKind;
    const bool whole = d.kind == DiagKind::kTooManyErrors || d.kind == DiagKind::kLayoutMissing ||
                       d.kind == DiagKind::kRectangleMissing ||
                       d.kind == DiagKind::kLayoutParamUnknown ||
                       d.kind == DiagKind::kTileCodeMissing || d.kind == DiagKind::kNeverExported;
    if (!whole) return d.message;
  }
  return {};
}

Compiled Compile(const Program& program, bool damaged) {
  Compiled out;
  csl::SourceMap sources;
  csl::NameTable names;
  csl::DiagSink diags;
  MemoryFiles files(sources, names, diags, program);
  csl::Session session(sources, names, diags, files);
  session.target.arch = program.wse3 ? bytecode::Arch::kWse3 : bytecode::Arch::kWse2;
  session.target.fp16 = program.half == Format::kBf16   ? FloatFormat::kBf16
                        : program.half == Format::kCb16 ? FloatFormat::kCb16
                                                        : FloatFormat::kF16;
  session.target.offset_x = session.target.offset_y = -1;
  if (damaged) session.limits.comptime_steps = 300'000;
  csl::AddLayoutBuiltins(session.builtins);
  csl::CompileRequest request;
  request.layout = files.Load(program.files[0].name, {}, {});
  request.name = program.files[0].name;
  request.params = program.params;
  request.memcpy = program.memcpy;
  request.channels = 1;
  std::optional<bytecode::Program> compiled;
  if (request.layout != nullptr) compiled = csl::CompileProgram(session, request);
  out.messages = csl::RenderText(sources, diags);
  csl::RenderJson(sources, diags);
  const std::string homeless = MessageWithoutPlace(diags);
  if (!homeless.empty()) out.fault = "a message without a place: " + homeless;
  if (diags.HasErrors()) return out;
  if (!compiled) {
    out.fault = "no program and no error";
    return out;
  }
  if (const auto valid = bytecode::Verify(*compiled); !valid)
    out.fault = "not well formed: " + valid.error().ToString();
  const std::vector<uint8_t> bytes = bytecode::ToBytes(*compiled);
  auto again = bytecode::FromBytes(bytes);
  if (!again)
    out.fault = "the image cannot be read back: " + again.error().ToString();
  else if (bytecode::ToBytes(*again) != bytes)
    out.fault = "the image changes when it is read back";
  if (out.fault.empty()) out.program = std::make_shared<const bytecode::Program>(std::move(*again));
  return out;
}

// Everything that can be seen of a run.
struct Seen {
  std::string error;
  uint64_t cycles = 0;
  std::string statistics;  // of the fabric, then a line a PE
  std::vector<std::string> traps, printed;
  std::vector<uint8_t> memory;  // of all PEs: variables, stacks, descriptors
  std::vector<std::vector<uint32_t>> outputs;
  std::string wrong;  // first difference from what is expected
};

std::string StatisticsOf(const fabric::Fabric& f, int width, int height) {
  const fabric::Statistics s = f.statistics();
  std::string text = fmt::format(
      "instructions {}, elements {}, arithmetic {}, hops {}, tasks {}, quiet since {}, wavelets {} "
      "{}, PEs {}, pages {}",
      s.instructions, s.elements, s.arithmetic, s.hops, s.tasks, s.quiet_since, s.wavelets_in,
      s.wavelets_out, s.pes_touched, s.pages);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const fabric::PeStatistics pe = f.StatisticsOf(x, y);
      text += fmt::format("\n({}, {}): instructions {}, tasks {}, busy {}, stalled {}, idle {}", x,
                          y, pe.count.instructions, pe.count.tasks, pe.count.busy, pe.count.stalled,
                          pe.idle_cycles);
    }
  }
  return text;
}

Result<void> Drive(sdkhost::Runtime& runtime, const Program& program,
                   std::vector<std::vector<uint32_t>>& outputs) {
  size_t reserved = 0;
  for (const HostCommand& h : program.host)
    reserved +=
        h.kind == HostCommand::Kind::kCopyOut || h.kind == HostCommand::Kind::kStreamOut ? 1 : 0;
  outputs.reserve(reserved);  // the runtime keeps views of the words
  for (const HostCommand& h : program.host) {
    const bool streaming =
        h.kind == HostCommand::Kind::kStreamIn || h.kind == HostCommand::Kind::kStreamOut;
    if (h.kind == HostCommand::Kind::kLaunch) {
      std::vector<sdkhost::Argument> arguments;
      for (const auto& [value, type] : h.arguments)
        arguments.push_back({static_cast<uint32_t>(value), type});
      if (const auto ticket = runtime.Launch(h.name, arguments); !ticket)
        return tl::unexpected(ticket.error());
      continue;
    }
    const sdkhost::CopyShape shape{
        {h.x, h.y, h.width, h.height},
        h.count,
        streaming,
        h.half ? sdkhost::Width::k16Bit : sdkhost::Width::k32Bit,
        h.column_major ? sdkhost::Order::kColMajor : sdkhost::Order::kRowMajor};
    auto id = runtime.SymbolId(h.name);
    if (!id) return tl::unexpected(id.error());
    if (h.kind == HostCommand::Kind::kCopyIn || h.kind == HostCommand::Kind::kStreamIn) {
      const auto ticket =
          runtime.CopyIn(*id, h.words, shape, static_cast<sdkhost::Broadcast>(h.broadcast));
      if (!ticket) return tl::unexpected(ticket.error());
    } else {
      outputs.emplace_back(h.words.size());
      const auto ticket = runtime.CopyOut(*id, outputs.back(), shape);
      if (!ticket) return tl::unexpected(ticket.error());
    }
  }
  return runtime.WaitAll();
}

Seen Run(const Program& program, const Compiled& compiled, int threads,
         std::optional<uint64_t> picker, uint64_t max_cycles,
         fabric::Backend backend = fabric::Backend::kBytecode) {
  Seen seen;
  fabric::Options options;
  options.threads = threads;
  options.picker_seed = picker;
  options.max_cycles = max_cycles;
  options.backend = backend;
  auto runtime = sdkhost::Runtime::FromProgram(compiled.program, options);
  if (!runtime) {
    seen.error = runtime.error().ToString();
    return seen;
  }
  if (const auto loaded = (*runtime)->Load(); !loaded) {
    seen.error = loaded.error().ToString();
    return seen;
  }
  auto ran = Drive(**runtime, program, seen.outputs);
  if (!ran) seen.error = ran.error().ToString();
  fabric::Fabric& fabric = (*runtime)->fabric();
  if (seen.error.empty()) {
    if (const auto stopped = (*runtime)->Stop(); !stopped) seen.error = stopped.error().ToString();
  } else {
    fabric.DeadlockReport();
  }
  seen.cycles = fabric.now();
  const bytecode::Program& image = *compiled.program;
  seen.statistics = StatisticsOf(fabric, image.width, image.height);
  seen.printed = fabric.printed();
  for (const fabric::Trap& trap : fabric.traps()) seen.traps.push_back(trap.ToString());
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const auto bytes = fabric.ReadMemory(x, y, 0, bytecode::kRegisterBase);
      seen.memory.insert(seen.memory.end(), bytes.begin(), bytes.end());
    }
  }
  size_t output = 0;
  for (const HostCommand& h : program.host) {
    if (h.kind != HostCommand::Kind::kCopyOut && h.kind != HostCommand::Kind::kStreamOut) continue;
    if (output >= seen.outputs.size()) break;
    const auto& got = seen.outputs[output++];
    for (size_t i = 0; i < got.size() && seen.wrong.empty(); ++i) {
      const uint32_t mask = h.half ? 0xffff : 0xffffffff;
      if (((got[i] ^ h.words[i]) & mask) != 0)
        seen.wrong = fmt::format("the host got {:#x} as word {} of {}, not {:#x}", got[i], i,
                                 h.name, h.words[i]);
    }
  }
  for (const Expected& e : program.expected) {
    if (!seen.wrong.empty()) break;
    const auto bytes = fabric.ReadSymbol(e.x, e.y, e.symbol);
    if (!bytes) continue;  // nothing uses it
    const auto size = static_cast<size_t>(e.type.Bytes());
    for (size_t i = 0; i < e.values.size(); ++i) {
      Bits got = 0;
      if ((i + 1) * size > bytes->size()) {
        seen.wrong =
            fmt::format("{} of PE ({}, {}) has {} bytes only", e.symbol, e.x, e.y, bytes->size());
        break;
      }
      std::memcpy(&got, bytes->data() + i * size, size);
      if (e.type.bits < 64) got &= (Bits{1} << e.type.bits) - 1;
      if (!Same(e.type, got, e.values[i])) {
        seen.wrong = fmt::format("{}[{}] of PE ({}, {}), {}, is {:#x}, not {:#x}", e.symbol, i, e.x,
                                 e.y, e.type.Name(), got, e.values[i]);
        break;
      }
    }
  }
  return seen;
}

std::string Different(const Seen& a, const Seen& b, const std::string& how) {
  if (a.error != b.error) return fmt::format("{}: '{}' or '{}'", how, a.error, b.error);
  if (a.cycles != b.cycles) return fmt::format("{}: {} or {} cycles", how, a.cycles, b.cycles);
  if (a.traps != b.traps)
    return fmt::format("{}: other traps\n{}\nor\n{}", how, fmt::join(a.traps, "\n"),
                       fmt::join(b.traps, "\n"));
  if (a.outputs != b.outputs) return how + ": other data for the host";
  if (a.printed != b.printed) return how + ": other lines printed";
  if (a.statistics != b.statistics)
    return fmt::format("{}: other statistics\n{}\nor\n{}", how, a.statistics, b.statistics);
  const auto [left, right] =
      std::mismatch(a.memory.begin(), a.memory.end(), b.memory.begin(), b.memory.end());
  if (left == a.memory.end() && right == b.memory.end()) return {};
  const auto at = static_cast<size_t>(left - a.memory.begin());
  return fmt::format("{}: other memory, first at 0x{:04x} of PE {} in rows", how,
                     at % bytecode::kRegisterBase, at / bytecode::kRegisterBase);
}

}  // namespace

std::vector<uint8_t> ImageOf(const Program& program) {
  const Compiled compiled = Compile(program, true);
  return compiled.program != nullptr ? bytecode::ToBytes(*compiled.program)
                                     : std::vector<uint8_t>{};
}

bool HaveNative() {
  static const bool kHave = fabric::WhyNoNativeBackend().empty();
  return kHave;
}

namespace {
// Counts what a fuzzing program did and says so at its end.
struct Tally {
  uint64_t programs = 0, compiled = 0, native = 0;
  ~Tally() {
    std::fprintf(stderr,
                 "stat::generated_programs: %llu\nstat::compiled_programs: "
                 "%llu\nstat::compared_with_native_code: %llu\n",
                 static_cast<unsigned long long>(programs),
                 static_cast<unsigned long long>(compiled),
                 static_cast<unsigned long long>(native));
  }
};
}  // namespace

void BeginFuzzing(bool native) {
  if (!native)
    std::fputs(
        "this build has no native back end (SZARENA_NATIVE is OFF): bytecode alone is checked\n",
        stderr);
  else if (const std::string why = fabric::WhyNoNativeBackend(); !why.empty()) {
    std::fprintf(stderr, "nothing to compare bytecode with: %s\n", why.c_str());
    std::exit(3);
  }
}

void Require(const Program& program, const Verdict& verdict) {
  static Tally tally;
  ++tally.programs;
  tally.compiled += verdict.compiled ? 1 : 0;
  tally.native += verdict.native ? 1 : 0;
  if (verdict.fault.empty()) return;
  std::fprintf(stderr, "%s\n%s\n%s\n", program.ToText().c_str(), verdict.messages.c_str(),
               verdict.fault.c_str());
  std::abort();
}

Verdict CheckValid(const Program& program, bool native) {
  Verdict verdict;
  const Compiled compiled = Compile(program, false);
  verdict.messages = compiled.messages;
  verdict.fault = compiled.fault;
  verdict.compiled = compiled.program != nullptr;
  if (!verdict.fault.empty()) return verdict;
  if (!compiled.messages.empty()) {
    verdict.fault = "a valid program is not compiled without messages";
    return verdict;
  }
  constexpr uint64_t kCycles = 5'000'000;
  const Seen one = Run(program, compiled, 1, {}, kCycles);
  verdict.cycles = one.cycles;
  if (!one.error.empty())
    verdict.fault = one.error;
  else if (!one.traps.empty())
    verdict.fault = "an unexpected trap: " + one.traps[0];
  else if (!one.wrong.empty())
    verdict.fault = one.wrong;
  if (verdict.fault.empty() && program.width * program.height > 1)
    verdict.fault =
        Different(one, Run(program, compiled, 2, {}, kCycles), "1 and 2 threads differ");
  if (verdict.fault.empty() && native && HaveNative()) {
    verdict.native = true;
    verdict.fault = Different(one, Run(program, compiled, 1, {}, kCycles, fabric::Backend::kNative),
                              "bytecode and native code differ");
  }
  if (verdict.fault.empty() && !program.order_matters) {
    const Seen shaken = Run(program, compiled, 1, 7, kCycles);
    if (!shaken.error.empty())
      verdict.fault = "in another order of tasks: " + shaken.error;
    else if (!shaken.wrong.empty())
      verdict.fault = "in another order of tasks: " + shaken.wrong;
    else if (!shaken.traps.empty())
      verdict.fault = "in another order of tasks, a trap: " + shaken.traps[0];
  }
  return verdict;
}

Verdict CheckDamaged(const Program& program, bool native) {
  Verdict verdict;
  const Compiled compiled = Compile(program, true);
  verdict.messages = compiled.messages;
  verdict.fault = compiled.fault;
  verdict.compiled = compiled.program != nullptr;
  if (!verdict.fault.empty() || compiled.program == nullptr) return verdict;
  if (size_t{compiled.program->width} * compiled.program->height > 64)
    return verdict;  // a number of the rectangle was damaged
  constexpr uint64_t kCycles = 20'000;
  const Seen one = Run(program, compiled, 1, {}, kCycles);
  verdict.cycles = one.cycles;
  if (program.width * program.height > 1)
    verdict.fault =
        Different(one, Run(program, compiled, 2, {}, kCycles), "1 and 2 threads differ");
  if (verdict.fault.empty() && native && HaveNative()) {
    verdict.native = true;
    verdict.fault = Different(one, Run(program, compiled, 1, {}, kCycles, fabric::Backend::kNative),
                              "bytecode and native code differ");
  }
  return verdict;
}

}  // namespace szarena::csl_fuzz
