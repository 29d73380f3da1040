// SPDX-License-Identifier: Apache-2.0
#include "csl/layout/export_symbol.h"

#include "csl/layout/class_state.h"
#include "csl/sema/evaluator.h"
#include "csl/sema/suggest.h"

namespace szarena::csl {
namespace {

Operand Void(BuiltinCall& call) { return Operand::Of(MakeVoid(call.eval.types().void_type())); }

// The global that an argument names: `x` or `module.x`. Null after a diagnostic.
Global* NamedGlobal(BuiltinCall& call, ExprId arg) {
  Evaluator& eval = call.eval;
  ModuleInstance* module = eval.frame().module;
  Name name;
  if (auto* ident = eval.ast().As<IdentExpr>(arg)) {
    name = ident->name;
  } else if (auto* field = eval.ast().As<FieldExpr>(arg)) {
    auto base = eval.EvalComptime(field->base);
    if (!base) return nullptr;
    module = base->as_module();
    name = field->name;
  }
  auto found = module != nullptr && name ? module->globals.find(name)
                                         : std::unordered_map<Name, Global*>::iterator{};
  if (module == nullptr || !name || found == module->globals.end()) {
    eval.Report(DiagKind::kNotASymbol, eval.SpanOf(arg), call.entry.name);
    return nullptr;
  }
  return eval.Resolve(*found->second) ? found->second : nullptr;
}

// The host's type for a symbol may be [*]T where the symbol is *[N]T.
bool TypesAgree(TypeTable& types, TypeId host, TypeId symbol) {
  if (host == symbol) return true;
  const TypeInfo &h = types[host], &s = types[symbol];
  if (h.kind == TypeKind::kFn && s.kind == TypeKind::kFn)
    return h.params == s.params && h.result == s.result;
  if (h.kind != TypeKind::kPointer || s.kind != TypeKind::kPointer || h.is_const != s.is_const)
    return false;
  return types.kind(s.element) == TypeKind::kArray && types[s.element].element == h.element;
}

// Where the pointer of a constant or variable leads, if that is known for good.
void BindPointer(BuiltinCall& call, Global& global, bytecode::ExportBinding& binding) {
  const PointerValue* pointer = global.value.as_pointer();
  if (pointer == nullptr) return;
  if (global.kind == GlobalKind::kVar) return;
  if (auto bounds = call.eval.BoundsOfPath(*pointer, call.span)) {
    auto address = call.eval.AddressOfPath(*pointer, call.span);
    if (address) binding.target_bytes = static_cast<uint32_t>(bounds->second - *address);
  }
}

}  // namespace

Operand ExportSymbol(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  ClassState& state = ClassState::Of(eval.unit());
  Global* global = NamedGlobal(call, call.args[0]);
  if (global == nullptr) return Operand::Error();
  std::string name(eval.TextOf(global->name));
  if (call.args.size() > 1) {
    auto given = eval.EvalComptime(call.args[1], eval.types().comptime_string());
    if (!given) return Operand::Error();
    if (given->as_text() == nullptr)
      return eval.Report(DiagKind::kExportNameText, eval.SpanOf(call.args[1]));
    name = *given->as_text();
  }
  const HostName* host = state.layout.FindName(name);
  if (host == nullptr) {
    std::vector<std::string> known;
    for (const HostName& other : state.layout.names) known.push_back(other.name);
    return eval.Report(DiagKind::kSymbolNotNamed, call.span, name, DidYouMean(name, known),
                       eval.NameOf(global->type));
  }
  bool is_fn = global->kind == GlobalKind::kFn;
  FnTemplate* fn = is_fn ? global->value.as_fn() : nullptr;
  if (is_fn && (fn == nullptr || !eval.ResolveSignature(*fn))) return Operand::Error();
  TypeId type = is_fn ? fn->type : global->type;
  if (!TypesAgree(eval.types(), host->type, type)) {
    eval.Report(DiagKind::kSymbolType, call.span, name, eval.NameOf(type), eval.NameOf(host->type));
    eval.session().diags.Note(host->span, "the layout names it here");
    return Operand::Error();
  }
  if (!is_fn && host->is_mutable != (global->kind == GlobalKind::kVar)) {
    eval.Report(DiagKind::kSymbolMutability, call.span, name,
                host->is_mutable ? "writable" : "read-only", host->is_mutable ? "const" : "var");
    eval.session().diags.Note(host->span, "the layout names it here");
    return Operand::Error();
  }
  bytecode::ExportBinding binding;
  binding.export_id = static_cast<uint32_t>(host - state.layout.names.data());
  auto& exports = eval.code_class().exports;
  for (size_t i = 0; i < exports.size(); ++i) {
    if (exports[i].export_id != binding.export_id) continue;
    eval.Report(DiagKind::kSymbolTwice, call.span, name);
    eval.session().diags.Note(state.export_spans[i], "the first one is here");
    return Operand::Error();
  }
  if (is_fn) {
    auto function = eval.FunctionIndex(*fn, call.span);
    if (!function) return Operand::Error();
    binding.is_function = true;
    binding.function = *function;
  } else if (global->kind == GlobalKind::kVar) {
    auto address = eval.AddressOfGlobal(*global, call.span);
    if (!address) return Operand::Error();
    binding.address = *address;
    global->exported = true;
  } else {
    auto bits = eval.BitsOf(global->value, call.span);
    if (!bits) return Operand::Error();
    binding.constant = true;
    binding.value = static_cast<uint32_t>(*bits);
    BindPointer(call, *global, binding);
  }
  exports.push_back(binding);
  state.export_ids.emplace(global, binding.export_id);
  state.export_spans.push_back(call.span);
  return Void(call);
}

Operand HasExportedTensors(BuiltinCall& call) {
  bool any = false;
  if (call.eval.unit().kind == Unit::Kind::kClass) {
    for (const HostName& name : ClassState::Of(call.eval.unit()).layout.names)
      any |= call.eval.types().kind(name.type) == TypeKind::kPointer;
  }
  return Operand::Of(MakeInt(call.eval.types().bool_type(), any ? 1 : 0));
}

Operand GetSymbolId(BuiltinCall& call) {
  Global* global = NamedGlobal(call, call.args[0]);
  if (global == nullptr) return Operand::Error();
  const ClassState& state = ClassState::Of(call.eval.unit());
  const TypeId u16 = call.eval.types().u16();
  if (const auto found = state.export_ids.find(global); found != state.export_ids.end())
    return Operand::Of(MakeInt(u16, found->second));
  // Not exported yet: then under its own name.
  std::string_view name = call.eval.TextOf(global->name);
  const auto& names = state.layout.names;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].name == name) return Operand::Of(MakeInt(u16, static_cast<Int128>(i)));
  }
  return call.eval.Report(DiagKind::kSymbolNotNamed, call.span, name, "",
                          call.eval.NameOf(global->type));
}

}  // namespace szarena::csl
