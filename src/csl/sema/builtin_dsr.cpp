// SPDX-License-Identifier: Apache-2.0
// Data structure registers and FIFOs.
#include <fmt/format.h>

#include <algorithm>

#include "csl/emit/class_builder.h"
#include "csl/sema/dsd_operand.h"
#include "csl/sema/dsd_value.h"

namespace szarena::csl {

using bytecode::DsrFile;
using bytecode::Op;

namespace {

constexpr int64_t kMaxDsr = 15;

Operand Void(BuiltinCall& call) { return Operand::Of(MakeVoid(call.eval.types().void_type())); }

std::optional<DsrFile> FileOf(DsrKind kind) {
  switch (kind) {
    case DsrKind::kDest:
    case DsrKind::kFifoDest:
      return DsrFile::kDest;
    case DsrKind::kSrc0:
      return DsrFile::kSrc0;
    case DsrKind::kSrc1:
    case DsrKind::kFifoSrc1:
      return DsrFile::kSrc1;
    case DsrKind::kXdsr:
    case DsrKind::kSr:
      break;
  }
  return std::nullopt;
}

Operand GetDsr(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const std::optional<TypeId> type = eval.EvalType(call.args[0]);
  if (!type) return Operand::Error();
  const TypeInfo info = eval.types()[*type];
  const std::optional<DsrFile> file = info.kind == TypeKind::kDsr ? FileOf(info.dsr) : std::nullopt;
  if (!file) {
    return eval.Report(DiagKind::kDsrKind, eval.SpanOf(call.args[0]), info.name);
  }
  const std::optional<int64_t> index = eval.EvalComptimeInt(call.args[1], 0, kMaxDsr);
  if (!index) return Operand::Error();
  return Operand::Of(MakeInt(*type, bytecode::DsrHandle(*file, static_cast<uint32_t>(*index))));
}

Operand GetXdsr(BuiltinCall& call) {
  const std::optional<int64_t> index = call.eval.EvalComptimeInt(call.args[0], 0, kMaxDsr);
  if (!index) return Operand::Error();
  const DsrKind kind = call.entry.name == "get_sr" ? DsrKind::kSr : DsrKind::kXdsr;
  return Operand::Of(MakeInt(call.eval.types().Dsr(kind), *index));
}

// May a descriptor of this kind lie in that register file?
bool KindFits(DsdKind dsd, DsrKind dsr) {
  const bool is_source = dsr == DsrKind::kSrc1;
  const bool is_dest_only = dsr == DsrKind::kDest;
  if (dsd == DsdKind::kFabin) return !is_dest_only;
  if (dsd == DsdKind::kFabout) return !is_source;
  return true;
}

// A FIFO in a register: operations on the register go to the FIFO.
Operand LoadFifo(BuiltinCall& call, const Operand& fifo, uint32_t handle, Span span) {
  const std::optional<Value> index = call.eval.RequireValue(fifo, span);
  if (!index || index->as_int() == nullptr) return Operand::Error();
  const auto [entry, is_new] =
      call.eval.unit().fifo_registers.emplace(handle, static_cast<uint32_t>(*index->as_int()));
  if (!is_new && entry->second != static_cast<uint32_t>(*index->as_int())) {
    return call.eval.Report(DiagKind::kFifoRegister, call.span);
  }
  return Void(call);
}

Operand Load(BuiltinCall& call, size_t dsd_index) {
  Evaluator& eval = call.eval;
  const Span dsr_span = eval.SpanOf(call.args[0]);
  const std::optional<Value> dsr = eval.EvalComptime(call.args[0]);
  if (!dsr) return Operand::Error();
  const TypeInfo dsr_info = eval.types()[dsr->type];
  if (dsr_info.kind != TypeKind::kDsr || !FileOf(dsr_info.dsr) || dsr->as_int() == nullptr) {
    return eval.Report(DiagKind::kDsrKind, dsr_span, dsr_info.name);
  }
  for (size_t i = 1; i < dsd_index; ++i) {  // extended registers: named, not modelled apart
    if (!eval.EvalComptime(call.args[i])) return Operand::Error();
  }
  const Span dsd_span = eval.SpanOf(call.args[dsd_index]);
  const Operand dsd = eval.EvalLoaded(call.args[dsd_index]);
  if (dsd.Stops()) return dsd;
  const TypeInfo dsd_info = eval.types()[dsd.type];
  if (dsd_info.kind != TypeKind::kDsd || !KindFits(dsd_info.dsd, dsr_info.dsr)) {
    return eval.Report(DiagKind::kDsrLoad, dsd_span, dsd_info.name, dsr_info.name);
  }
  bytecode::DsrLoadInfo load;
  load.handle = static_cast<uint32_t>(*dsr->as_int());
  auto& code = eval.code_class();
  const bool at_load = !eval.IsRuntime();
  const size_t slot = at_load ? code.dsr_inits.size() : code.dsr_loads.size();
  if (call.args.size() > dsd_index + 1) {
    Settings settings(eval, call.args[dsd_index + 1], "the settings of @load_to_dsr");
    load.save_address = settings.Bool("save_address", false);
    (void)settings.Bool(
        "single_step",
        false);  // documented for the registers of @map, which steps them in any case
    const auto done = [slot](bytecode::CodeClass& c) -> bytecode::Signal& {
      return c.dsr_inits[slot].load.settings.on_done;
    };
    const auto control = [slot](bytecode::CodeClass& c) -> bytecode::Signal& {
      return c.dsr_inits[slot].load.settings.on_control;
    };
    if (!settings.valid() ||
        !ReadAsyncSettings(eval, settings, load.settings, call.span, done, control) ||
        !settings.Finish()) {
      return Operand::Error();
    }
    if (load.settings.on_done.in_register || load.settings.on_control.in_register) {
      return eval.Report(DiagKind::kNotComptime, call.span, "the task id given to @load_to_dsr");
    }
  }
  if (dsd_info.dsd == DsdKind::kFifo) return LoadFifo(call, dsd, load.handle, dsd_span);
  if (at_load) {
    const std::optional<Value> value = eval.RequireValue(dsd, dsd_span);
    if (!value || value->as_dsd() == nullptr) return Operand::Error();
    code.dsr_inits.push_back({load, DescriptorOf(*value->as_dsd())});
    return Void(call);
  }
  const Operand place = eval.ToMemory(dsd, dsd_span);
  if (place.Stops()) return place;
  const bytecode::Reg address = eval.AddressOf(place, call.span);
  code.dsr_loads.push_back(load);
  eval.At(call.span);
  eval.fb().EmitWide(Op::kDsrLoad, address, static_cast<uint32_t>(code.dsr_loads.size() - 1));
  return Void(call);
}

Operand LoadToDsr(BuiltinCall& call) { return Load(call, 1); }
Operand LoadToDsrXdsr(BuiltinCall& call) { return Load(call, 2); }
Operand LoadToDsrXdsrSr(BuiltinCall& call) { return Load(call, 3); }

// ---------------------------------------------------------------- FIFOs

// Settings that only one architecture's FIFOs have.
bool CheckFifoArch(Evaluator& eval, Settings& settings, const bytecode::FifoInfo& fifo) {
  const bool wse3 = eval.session().IsWse3();
  bool ok = true;
  const auto only = [&](std::string_view name, bool for_wse3) {
    Settings::Entry* entry = settings.Find(name);
    if (entry == nullptr || wse3 == for_wse3) return;
    eval.Report(DiagKind::kSettingArch, entry->span, name, "a FIFO", for_wse3 ? "WSE-3" : "WSE-2",
                wse3 ? "WSE-3" : "WSE-2");
    ok = false;
  };
  only("full_action", true);
  only("priority", true);
  only("simd_mode", false);
  const bool waits = fifo.empty_action == bytecode::FifoAction::kSuspend ||
                     fifo.empty_action == bytecode::FifoAction::kFault;
  if (!wse3 && waits) {
    eval.Report(DiagKind::kSettingArch, settings.Find("empty_action")->span, "suspend and .fault",
                "a FIFO's empty_action", "WSE-3", "WSE-2");
    ok = false;
  }
  return ok;
}

// Reads '.dest', '.src' and '.xdsr', the registers that the FIFO is to use. Operations on them go
// to the FIFO.
bool ReadFifoRegisters(Evaluator& eval, Settings& settings, size_t slot, Span span) {
  std::optional<Int128> dest, src;
  int given = 0;
  for (const std::string_view name : {"dest", "src", "xdsr"}) {
    Settings::Entry* entry = settings.Find(name);
    if (entry == nullptr) continue;
    ++given;
    const DsrKind kind = name == "dest"  ? DsrKind::kDest
                         : name == "src" ? DsrKind::kSrc1
                                         : DsrKind::kXdsr;
    const std::optional<Value> value = eval.RequireValue(
        eval.Coerce(entry->operand, eval.types().Dsr(kind), entry->span), entry->span);
    if (!value || value->as_int() == nullptr) return false;
    if (name == "dest") dest = *value->as_int();
    if (name == "src") src = *value->as_int();
  }
  if (given == 0) return true;
  const auto number = [](Int128 handle) { return static_cast<uint32_t>(handle) & 0xff; };
  if (given < 3 || number(*dest) != number(*src)) {
    eval.Report(DiagKind::kFifoOwnRegisters, span,
                given < 3 ? "" : fmt::format(", not {} and {}", number(*dest), number(*src)));
    return false;
  }
  for (const Int128 handle : {*dest, *src}) {
    if (!eval.unit()
             .fifo_registers.emplace(static_cast<uint32_t>(handle), static_cast<uint32_t>(slot))
             .second) {
      eval.Report(DiagKind::kFifoRegister, span);
      return false;
    }
  }
  return true;
}

Operand AllocateFifo(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  TypeTable& types = eval.types();
  if (eval.unit().kind == Unit::Kind::kLayout) {
    return eval.Report(DiagKind::kNoMemoryHere, call.span, "a FIFO");
  }
  const Span span = eval.SpanOf(call.args[0]);
  Operand buffer = eval.Eval(call.args[0]);
  if (buffer.Stops()) return buffer;
  if (types.kind(buffer.type) == TypeKind::kPointer) {
    buffer = eval.Deref(eval.Load(std::move(buffer), span), span);
    if (buffer.Stops()) return buffer;
  }
  const TypeInfo info = types[buffer.type];
  if (info.kind != TypeKind::kArray || buffer.kind != Operand::Kind::kPath || buffer.is_const) {
    return eval.Report(DiagKind::kFifoBuffer, span, info.name);
  }
  const int64_t size = types.SizeOf(info.element);
  if (size != 2 && size != 4) return eval.Report(DiagKind::kFifoBuffer, span, info.name);
  const std::optional<int64_t> address = eval.AddressOfPath(buffer.path, span);
  if (!address) return Operand::Error();
  auto& fifos = eval.code_class().fifos;
  const size_t slot = fifos.size();
  bytecode::FifoInfo fifo;
  fifo.name = buffer.path.global != nullptr ? buffer.path.global->label : "fifo";
  fifo.address = static_cast<uint16_t>(*address);
  fifo.capacity = static_cast<uint16_t>(types.ElementCount(buffer.type));
  fifo.elem_size = static_cast<uint8_t>(size);
  if (fifo.capacity == 0) return eval.Report(DiagKind::kFifoBuffer, span, info.name);
  if (call.args.size() > 1) {
    Settings settings(eval, call.args[1], "the settings of @allocate_fifo");
    if (!settings.valid()) return Operand::Error();
    const auto push = [slot](bytecode::CodeClass& c) -> bytecode::Signal& {
      return c.fifos[slot].on_push;
    };
    const auto pop = [slot](bytecode::CodeClass& c) -> bytecode::Signal& {
      return c.fifos[slot].on_pop;
    };
    if (Settings::Entry* entry = settings.Find("activate_push")) {
      if (!ReadSignal(eval, *entry, bytecode::SignalKind::kActivate, fifo.on_push, push)) {
        return Operand::Error();
      }
    }
    if (Settings::Entry* entry = settings.Find("activate_pop")) {
      if (!ReadSignal(eval, *entry, bytecode::SignalKind::kActivate, fifo.on_pop, pop)) {
        return Operand::Error();
      }
    }
    const std::initializer_list<std::string_view> kActions = {"terminate", "test_or_suspend",
                                                              "suspend", "fault"};
    if (const auto action = settings.Choice("empty_action", kActions)) {
      fifo.empty_action = static_cast<bytecode::FifoAction>(*action);
    }
    if (const auto action = settings.Choice("full_action", kActions)) {
      fifo.full_action = static_cast<bytecode::FifoAction>(*action);
    }
    if (const auto priority = settings.Choice("priority", {"low", "medium", "high"})) {
      fifo.priority = static_cast<bytecode::Priority>(*priority + 1);
    }
    (void)settings.Choice("simd_mode",
                          {"simd_32", "simd_64", "simd_32_or_64", "simd_off", "simd_max"});
    if (!ReadFifoRegisters(eval, settings, slot, call.span)) return Operand::Error();
    if (!CheckFifoArch(eval, settings, fifo)) return Operand::Error();
    if (!settings.Finish()) return Operand::Error();
  }
  fifos.push_back(std::move(fifo));
  return Operand::Of(MakeInt(types.Dsd(DsdKind::kFifo), static_cast<Int128>(slot)));
}

Operand SetFifoLength(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const std::optional<Value> fifo = eval.EvalComptime(call.args[0]);
  if (!fifo) return Operand::Error();
  if (!eval.types().IsDsd(fifo->type, DsdKind::kFifo) || fifo->as_int() == nullptr) {
    return eval.Report(DiagKind::kDsdArgument, eval.SpanOf(call.args[0]), call.entry.name,
                       eval.NameOf(fifo->type));
  }
  const auto index = static_cast<size_t>(*fifo->as_int());
  const Operand length = eval.EvalAs(call.args[1], eval.types().u16());
  if (length.Stops()) return length;
  const bool is_write = call.entry.name == "set_fifo_write_length";
  if (eval.IsRuntime()) {
    eval.At(call.span);
    eval.fb().Emit(Op::kFifoLength, eval.ToReg(length, call.span), is_write ? 1 : 0,
                   static_cast<uint16_t>(index));
    return Void(call);
  }
  const std::optional<Value> known = eval.RequireValue(length, call.span);
  if (!known) return Operand::Error();
  bytecode::FifoInfo& info = eval.code_class().fifos[index];
  (is_write ? info.write_length : info.read_length) = static_cast<uint16_t>(*known->as_int());
  return Void(call);
}

constexpr uint8_t kCode = kInComptime | kInRuntime;
constexpr BuiltinEntry kEntries[] = {
    {"get_dsr", 2, 2, kAnywhere, GetDsr, "@get_dsr(dsr_dest, id)"},
    {"get_xdsr", 1, 1, kAnywhere, GetXdsr, "@get_xdsr(id)"},
    {"get_sr", 1, 1, kAnywhere, GetXdsr, "@get_sr(id)"},
    {"load_to_dsr", 2, 3, kCode, LoadToDsr, "@load_to_dsr(dsr, dsd, .{ .save_address = true })"},
    {"load_to_dsr_xdsr", 3, 4, kCode, LoadToDsrXdsr,
     "@load_to_dsr_xdsr(dsr, xdsr, dsd, .{ settings })"},
    {"load_to_dsr_xdsr_sr", 4, 5, kCode, LoadToDsrXdsrSr,
     "@load_to_dsr_xdsr_sr(dsr, xdsr, .{ sr, … }, dsd, .{ settings })"},
    {"allocate_fifo", 1, 2, kInGlobal, AllocateFifo, "@allocate_fifo(buffer, .{ settings })"},
    {"set_fifo_read_length", 2, 2, kCode, SetFifoLength, "@set_fifo_read_length(fifo, length)"},
    {"set_fifo_write_length", 2, 2, kCode, SetFifoLength, "@set_fifo_write_length(fifo, length)"},
};

}  // namespace

std::span<const BuiltinEntry> DsrBuiltins() { return kEntries; }

}  // namespace szarena::csl
