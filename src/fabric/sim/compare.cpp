// SPDX-License-Identifier: Apache-2.0
// See compare.h.
#include "fabric/sim/compare.h"

#include <fmt/format.h>

#include "fabric/model/cost.h"

namespace szarena::fabric {
namespace {

struct Side {
  std::unique_ptr<Fabric> fabric;
  std::string ended;  // "" or the error
};

Result<Side> RunOn(Backend backend, const std::shared_ptr<const bytecode::Program>& program,
                   Options options, const std::function<Result<void>(Fabric&)>& drive) {
  options.backend = backend;
  options.print = nullptr;
  options.trace.clear();
  Side side;
  SZARENA_TRY(side.fabric, Fabric::Create(program, std::move(options)));
  if (const auto ran = drive(*side.fabric); !ran) side.ended = ran.error().ToString();
  side.fabric->Stop();
  return side;
}

// What a fabric shows of itself, in the order in which a reader would look, as "name = value"
// lines.
std::string Describe(const Statistics& s) {
  return fmt::format(
      "cycles {}, instructions {}, elements {}, hops {}, tasks {}, busy cycles {}, wavelets in {}, "
      "out {}, PEs touched {}, pages {}, host cycles {}",
      s.cycles, s.instructions, s.elements, s.hops, s.tasks, s.busy_cycles, s.wavelets_in,
      s.wavelets_out, s.pes_touched, s.pages, s.host_cycles);
}
std::string Describe(const PeStatistics& s) {
  return fmt::format(
      "busy {}, stalled {}, tasks {}, instructions {}, elements {}, wavelets in {}, out {}, idle "
      "{}",
      s.count.busy, s.count.stalled, s.count.tasks, s.count.instructions, s.count.elements,
      s.count.wavelets_in, s.count.wavelets_out, s.idle_cycles);
}
std::string Describe(const Waiting& w) {
  return fmt::format("PE ({}, {}), {} PEs, since {}, {}:{}: {}", w.x, w.y, w.pes, w.since, w.file,
                     w.line, w.what);
}
std::string Describe(const PeDebug* debug) {
  std::string s;
  if (debug == nullptr) return s;
  for (const auto& [key, records] : debug->traces) {
    s += key + ":";
    for (const TraceRecord& r : records)
      s += fmt::format(" {}/{}/{}", static_cast<int>(r.type), static_cast<int>(r.kind), r.value);
    s += "\n";
  }
  return s + debug->line;
}

std::string Differs(std::string_view what, std::string_view bytecode, std::string_view native) {
  return bytecode == native
             ? ""
             : fmt::format("{}\n  bytecode: {}\n  native:   {}", what, bytecode, native);
}

// The first difference of two lists of texts.
template <typename List, typename Text>
std::string DiffersIn(std::string_view what, const List& a, const List& b, Text text) {
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string left = i < a.size() ? text(a[i]) : "(none)";
    const std::string right = i < b.size() ? text(b[i]) : "(none)";
    if (left != right) return Differs(fmt::format("{} {}", what, i), left, right);
  }
  return {};
}

std::string FirstDifference(Side& a, Side& b) {
  std::string d = Differs("how it ended", a.ended, b.ended);
  if (d.empty()) {
    d = DiffersIn("trap", a.fabric->traps(), b.fabric->traps(), [](const Trap& t) {
      return fmt::format("{} (count {})", t.ToString(), t.count);
    });
  }
  if (d.empty())
    d = Differs("statistics", Describe(a.fabric->statistics()), Describe(b.fabric->statistics()));
  if (d.empty())
    d = DiffersIn("printed line", a.fabric->printed(), b.fabric->printed(),
                  [](const std::string& s) { return s; });
  if (d.empty())
    d = DiffersIn("waiting PE", a.fabric->WaitingPes(), b.fabric->WaitingPes(),
                  [](const Waiting& w) { return Describe(w); });
  const bytecode::Program& p = a.fabric->program();
  for (int y = 0; y < p.height && d.empty(); ++y) {
    for (int x = 0; x < p.width && d.empty(); ++x) {
      const std::string pe = fmt::format("PE ({}, {}): ", x, y);
      d = Differs(pe + "statistics", Describe(a.fabric->StatisticsOf(x, y)),
                  Describe(b.fabric->StatisticsOf(x, y)));
      if (d.empty())
        d = Differs(pe + "debug traces", Describe(a.fabric->DebugOf(x, y)),
                    Describe(b.fabric->DebugOf(x, y)));
      if (!d.empty() || p.At(x, y).code_class == bytecode::kNoIndex) continue;
      const auto left = a.fabric->ReadMemory(x, y, 0, bytecode::kRegisterBase);
      const auto right = b.fabric->ReadMemory(x, y, 0, bytecode::kRegisterBase);
      for (uint32_t i = 0; i < left.size() && d.empty(); ++i) {
        if (left[i] != right[i])
          d = Differs(fmt::format("{}memory at 0x{:04x}", pe, i), fmt::format("{}", left[i]),
                      fmt::format("{}", right[i]));
      }
    }
  }
  return d;
}

}  // namespace

Result<std::string> CompareBackends(const std::shared_ptr<const bytecode::Program>& program,
                                    Options options,
                                    const std::function<Result<void>(Fabric&)>& drive) {
  SZARENA_TRY(Side bytecode, RunOn(Backend::kBytecode, program, options, drive));
  SZARENA_TRY(Side native, RunOn(Backend::kNative, program, std::move(options), drive));
  return FirstDifference(bytecode, native);
}

Result<std::string> CompareBackends(const std::shared_ptr<const bytecode::Program>& program,
                                    Options options) {
  return CompareBackends(program, std::move(options), [](Fabric& f) { return f.RunUntilIdle(); });
}

std::string WhyNoNativeBackend() {
  static const bytecode::Program kNothing;
  const auto made = MakeNative(Backend::kNative, kNothing, CostModelOf(kNothing.arch), true);
  return made ? std::string() : made.error().ToString();
}

}  // namespace szarena::fabric
