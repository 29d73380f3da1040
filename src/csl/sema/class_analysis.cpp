// SPDX-License-Identifier: Apache-2.0
// Driving of one class: comptime blocks, compilation of what is reachable, initial memory, symbols.
#include "csl/sema/class_analysis.h"

#include <algorithm>
#include <utility>

#include "bytecode/descriptor.h"
#include "csl/sema/scope.h"

namespace szarena::csl {

ClassAnalysis::ClassAnalysis(Session& session, std::unique_ptr<UnitExtension> extension, int width,
                             int height)
    : unit_(session, Unit::Kind::kClass), evaluator_(unit_, kInComptime) {
  unit_.builder = &builder_;
  unit_.extension = std::move(extension);
  unit_.rectangle = {width, height};
}

bool ClassAnalysis::Run(const Ast& ast, const std::string& path, const Value* params, Span origin) {
  const size_t errors = unit_.session.diags.error_count();
  ModuleInstance& root = unit_.AddModule(ast, path, origin);
  root.is_library = unit_.session.files.IsLibrary(ast.source());
  if (params != nullptr) evaluator_.BindParams(root, *params, origin);
  for (Global* global : root.order) {
    if (global->kind != GlobalKind::kVar || !first_.contains(global->label)) continue;
    if (evaluator_.Resolve(*global)) (void)evaluator_.AddressOfGlobal(*global, global->span);
  }
  evaluator_.RunComptimeBlocks(root);
  CompileExports(root);
  GiveTaskIds();
  evaluator_.FinishInit();
  evaluator_.CompilePending();
  while (!unit_.pending_ids.empty()) {  // of FIFOs that only code names
    GiveTaskIds();
    evaluator_.CompilePending();
  }
  if (unit_.session.diags.error_count() != errors) return false;
  WriteImage();
  AddSymbols();
  builder_.Finish();
  builder_.code().name = path;
  return unit_.session.diags.error_count() == errors;
}

void ClassAnalysis::GiveTaskIds() {
  for (const PendingTaskId& pending : std::exchange(unit_.pending_ids, {})) {
    const std::optional<uint32_t> id = evaluator_.TaskIdOf(*pending.task, pending.span);
    if (id) pending.set(builder_.code(), *id);
  }
}

std::set<std::string> ClassAnalysis::PlacedVariables() const {
  std::set<std::string> names;
  const ModuleInstance* root = &unit_.modules.front();
  for (const Global* global : unit_.placed) {
    if (global->module == root && global->kind == GlobalKind::kVar) names.insert(global->label);
  }
  return names;
}

// `export fn` and `export var` of the root are there for the host even if nothing here uses them.
void ClassAnalysis::CompileExports(ModuleInstance& root) {
  for (Global* global : root.order) {
    if (!global->exported || !evaluator_.Resolve(*global)) continue;
    if (global->kind == GlobalKind::kFn) {
      FnTemplate* fn = global->value.as_fn();
      if (fn != nullptr && !fn->is_generic) (void)evaluator_.FunctionIndex(*fn, global->span);
    } else {
      (void)evaluator_.AddressOfGlobal(*global, global->span);
    }
  }
}

bool ClassAnalysis::Serialize(const Value& value, std::vector<uint8_t>& out) {
  TypeTable& types = unit_.session.types;
  const auto size = static_cast<size_t>(types.SizeOf(value.type));
  const size_t start = out.size();
  if (const std::vector<Value>* elements = value.as_elements()) {
    const TypeInfo& info = types[value.type];
    if (types.IsPacked(value.type)) {
      const std::optional<uint64_t> word = evaluator_.BitsOf(value, Span{});
      if (!word) return false;
      for (size_t i = 0; i < size; ++i) out.push_back(static_cast<uint8_t>(*word >> (8 * i)));
      return true;
    }
    for (size_t i = 0; i < elements->size(); ++i) {
      if (info.kind == TypeKind::kUnion && (*elements)[i].is_undefined()) continue;
      if (info.kind != TypeKind::kArray) {
        out.resize(start + static_cast<size_t>(types.FieldOffset(value.type, i)), 0);
      }
      if (!Serialize((*elements)[i], out)) return false;
    }
    out.resize(start + size, 0);
    return true;
  }
  if (const DsdBytes* dsd = value.as_dsd()) {
    out.insert(out.end(), dsd->bytes.begin(), dsd->bytes.end());
    return true;
  }
  if (value.is_undefined()) {
    out.resize(start + size, 0);
    return true;
  }
  const std::optional<uint64_t> bits = evaluator_.BitsOf(value, Span{});
  if (!bits) return false;
  for (size_t i = 0; i < size; ++i) out.push_back(static_cast<uint8_t>(*bits >> (8 * i)));
  return true;
}

void ClassAnalysis::WriteImage() {
  // Pointers in initial values may place further globals: the list grows.
  for (size_t i = 0; i < unit_.placed.size(); ++i) {
    const Global& global = *unit_.placed[i];
    if (global.value.is_undefined()) continue;
    bytecode::Segment segment;
    segment.address = *global.address;
    if (!Serialize(global.value, segment.bytes)) return;
    if (!segment.bytes.empty()) builder_.code().image.push_back(std::move(segment));
  }
  // A function pointer in an initial value may have brought new functions.
  evaluator_.CompilePending();
  std::sort(builder_.code().image.begin(), builder_.code().image.end(),
            [](const auto& a, const auto& b) { return a.address < b.address; });
}

void ClassAnalysis::AddSymbols() {
  TypeTable& types = unit_.session.types;
  for (const Global* global : unit_.placed) {
    if (global->module == nullptr) continue;
    bytecode::Symbol symbol;
    symbol.name = global->label;
    symbol.type = types.Name(global->type);
    symbol.address = *global->address;
    symbol.size = static_cast<uint32_t>(types.SizeOf(global->type));
    TypeId element = global->type;
    while (types.kind(element) == TypeKind::kArray) element = types[element].element;
    symbol.elem_size = static_cast<uint8_t>(std::min<int64_t>(types.SizeOf(element), 32));
    symbol.exported = global->exported;
    builder_.code().symbols.push_back(std::move(symbol));
  }
}

}  // namespace szarena::csl
