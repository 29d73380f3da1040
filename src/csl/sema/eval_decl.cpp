// SPDX-License-Identifier: Apache-2.0
// Declarations of a file: modules, globals resolved on first use, params, signatures, comptime
// blocks.
#include <algorithm>

#include "csl/emit/class_builder.h"
#include "csl/sema/evaluator.h"
#include "csl/sema/scope.h"
#include "csl/sema/suggest.h"

namespace szarena::csl {

namespace {
constexpr uint32_t kMaxImportDepth = 64;

// `const S = struct { … }` and the like.
bool IsContainer(const Global& global) {
  const Ast& ast = *global.module->ast;
  const auto* var = ast.As<VarDecl>(global.decl);
  return var != nullptr && var->init && ast.As<ContainerExpr>(var->init) != nullptr;
}
}  // namespace

ModuleInstance& Unit::AddModule(const Ast& ast, std::string path, Span origin) {
  ModuleInstance& module = modules.emplace_back();
  module.ast = &ast;
  module.path = std::move(path);
  module.origin = origin;
  for (const Item& item : ast.items()) {
    if (item.kind != Item::Kind::kDecl) continue;
    const Name name = ast.NameOf(item.decl);
    const Span name_span = ast.NameSpanOf(item.decl);
    const auto previous = module.globals.find(name);
    if (previous != module.globals.end()) {
      session.diags.Report(DiagKind::kDuplicateName, name_span, session.names.Text(name))
          .Note(previous->second->span, "declared here before");
      continue;
    }
    Global& global = globals.emplace_back();
    global.module = &module;
    global.decl = item.decl;
    global.name = name;
    global.label = std::string(session.names.Text(name));
    global.span = name_span;
    if (const auto* var = ast.As<VarDecl>(item.decl)) {
      global.kind = var->kind == VarKind::kVar     ? GlobalKind::kVar
                    : var->kind == VarKind::kConst ? GlobalKind::kConst
                                                   : GlobalKind::kParam;
      global.exported = var->linkage == Linkage::kExport;
      global.is_extern = var->linkage == Linkage::kExtern;
    } else {
      global.kind = GlobalKind::kFn;
      const auto* fn = ast.As<FnDecl>(item.decl);
      global.exported = fn->linkage == Linkage::kExport;
      global.is_extern = fn->linkage == Linkage::kExtern;
    }
    module.globals.emplace(name, &global);
    module.order.push_back(&global);
  }
  return module;
}

// Everything about the walk that a declaration resolved in its midst must not disturb.
struct Evaluator::Suspended {
  explicit Suspended(Evaluator& eval_in, Context context)
      : eval(eval_in),
        saved_context(eval_in.context_),
        fb(eval_in.fb_),
        depth(eval_in.depth_),
        flow(eval_in.flow_),
        type_name(std::exchange(eval_in.type_name_, "")),
        calls(std::exchange(eval_in.call_stack_, {})),
        sret(eval_in.sret_) {
    eval.context_ = context;
    eval.fb_ = nullptr;
    eval.depth_ = 0;
  }
  ~Suspended() {
    eval.context_ = saved_context;
    eval.fb_ = fb;
    eval.depth_ = depth;
    eval.flow_ = flow;
    eval.type_name_ = std::move(type_name);
    eval.call_stack_ = std::move(calls);
    eval.sret_ = sret;
  }
  Suspended(const Suspended&) = delete;
  Suspended& operator=(const Suspended&) = delete;

  Evaluator& eval;
  Context saved_context;
  bytecode::FunctionBuilder* fb;
  uint32_t depth;
  Flow flow;
  std::string type_name;
  std::vector<Span> calls;
  bool sret;
};

bool Evaluator::Resolve(Global& global) {
  switch (global.state) {
    case Global::State::kDone:
      return true;
    case Global::State::kFailed:
      return false;
    case Global::State::kActive:
      Report(IsContainer(global) ? DiagKind::kTypeNamesItself : DiagKind::kDependencyLoop,
             global.span, global.label);
      global.state = Global::State::kFailed;
      return false;
    case Global::State::kNew:
      break;
  }
  if (!CheckLimits(global.span)) return false;
  global.state = Global::State::kActive;
  Suspended suspended(*this, kInGlobal);
  Frame frame;
  frame.module = global.module;
  FrameScope scope(*this, frame);
  const bool ok = global.kind == GlobalKind::kFn ? ResolveFn(global) : ResolveVar(global);
  if (global.state == Global::State::kFailed) return false;  // a loop was found on the way
  global.state = ok ? Global::State::kDone : Global::State::kFailed;
  return ok;
}

bool Evaluator::ResolveFn(Global& global) {
  FnTemplate& fn = unit_.fns.emplace_back();
  fn.module = global.module;
  fn.decl = global.decl;
  fn.name = global.name;
  fn.node = global.module->ast->As<FnDecl>(global.decl);
  if (!ResolveSignature(fn)) return false;
  global.type = fn.type;
  global.value = Value{fn.type, &fn};
  return true;
}

bool Evaluator::ResolveSignature(FnTemplate& fn) {
  if (fn.signature_done) return !fn.signature_failed;
  fn.signature_done = true;
  fn.signature_failed = true;
  std::vector<TypeId> params;
  const TypeId any = types().Simple(TypeKind::kAnyType);
  for (const Param& param : ast().Get(fn.node->params)) {
    if (param.is_comptime || param.is_anytype) fn.is_generic = true;
    if (fn.is_generic) {
      params.push_back(any);  // may depend on the arguments: seen at each call
      continue;
    }
    const std::optional<TypeId> type = EvalType(param.type);
    if (!type) return false;
    if (types().IsComptimeOnly(*type)) fn.is_generic = true;
    params.push_back(*type);
  }
  TypeId result = any;
  if (!fn.is_generic) {
    const std::optional<TypeId> type =
        fn.node->result.IsNone() ? std::optional(types().void_type()) : EvalType(fn.node->result);
    if (!type) return false;
    result = *type;
  }
  fn.type = types().Fn(std::move(params), result, fn.node->is_task);
  fn.signature_failed = false;
  return true;
}

bool Evaluator::ResolveVar(Global& global) {
  const VarDecl& node = *global.module->ast->As<VarDecl>(global.decl);
  const Attributes& attributes = ast().AttributesOf(global.decl);
  TypeId type;
  if (node.kind == VarKind::kColor) {
    type = types().Handle(HandleKind::kColor);
  } else if (!node.type.IsNone()) {
    const std::optional<TypeId> declared = EvalType(node.type);
    if (!declared) return false;
    type = *declared;
  }
  if (!attributes.align.IsNone()) {
    const std::optional<int64_t> align = EvalComptimeInt(attributes.align, 1, 4096);
    if (!align) return false;
    if ((*align & (*align - 1)) != 0) {
      Report(DiagKind::kAlignment, SpanOf(attributes.align), *align);
      return false;
    }
    global.align = static_cast<uint32_t>(*align);
  }
  if (!attributes.linksection.IsNone()) {
    const std::optional<Value> name =
        EvalComptimeAs(attributes.linksection, types().comptime_string());
    if (!name) return false;
    global.section = SectionKey(*name->as_text());
  }
  if (!attributes.linkname.IsNone()) {
    const std::optional<Value> name = EvalComptime(attributes.linkname);
    if (!name || name->as_text() == nullptr) return false;
    global.label = *name->as_text();
  }

  std::optional<Value> value;
  const auto bound = global.module->bindings.find(global.name);
  if (global.kind == GlobalKind::kParam && bound != global.module->bindings.end()) {
    const Span where = global.module->origin.IsNone() ? global.span : global.module->origin;
    value = bound->second;
    if (!type.is_error()) {
      value = CoerceValue(bound->second, type);
      // Handles come as their integers from the command line; colours go to integer params
      // (SdkLayout of SDK 2.x).
      const bool to_handle =
          types().IsIntegral(bound->second.type) && types().kind(type) == TypeKind::kHandle;
      const bool from_color =
          types().IsHandle(bound->second.type, HandleKind::kColor) && types().IsIntegral(type);
      if (!value && (to_handle || from_color) && bound->second.as_int() != nullptr) {
        value = MakeInt(type, *bound->second.as_int());
      }
      if (!value) {
        session()
            .diags
            .Report(DiagKind::kParamType, where, global.label, NameOf(type),
                    NameOf(bound->second.type), FormatValue(types(), bound->second))
            .Note(global.span, "the param is declared here");
        return false;
      }
    }
  } else if (!node.init.IsNone()) {
    type_name_ = global.label;
    const bool is_definition = node.kind == VarKind::kConst;
    if (!is_definition) type_name_.clear();
    if (node.kind == VarKind::kColor) {  // SDK 0.9: a number is enough
      value = EvalComptime(node.init);
      if (value && types().IsIntegral(value->type)) {
        const Operand color =
            MakeHandle(*this, HandleKind::kColor, Operand::Of(*value), SpanOf(node.init));
        value = color.IsValue() ? std::optional(color.value) : std::nullopt;
      } else if (value) {
        value = EvalComptimeAs(node.init, type, Undefined::kStored);
      }
    } else {
      value = type.is_error() ? EvalComptime(node.init)
                              : EvalComptimeAs(node.init, type, Undefined::kStored);
    }
    type_name_.clear();
    if (!value) return false;
  } else if (global.kind == GlobalKind::kParam) {
    auto& report = session().diags.Report(
        DiagKind::kUnboundParam, global.span, global.label,
        unit_.kind == Unit::Kind::kLayout && global.module->origin.IsNone()
            ? fmt::format("give --params={}:VALUE, or a default", global.label)
            : fmt::format("bind it where the file is named: '.{{ .{} = VALUE }}' in @set_tile_code "
                          "or @import_module, or give it a default",
                          global.label));
    if (!global.module->origin.IsNone()) {
      report.Note(global.module->origin, "the file is used here");
    }
    return false;
  } else {
    value = MakeUndefined(type);
  }
  if (type.is_error() || types().kind(type) == TypeKind::kComptimeStruct) type = value->type;
  if (types().kind(type) == TypeKind::kAnyType) {
    Report(DiagKind::kUndefinedNeedsType, global.span, global.label);
    return false;
  }
  if (global.kind == GlobalKind::kVar && types().IsComptimeOnly(type)) {
    Report(DiagKind::kVarOfComptimeType, global.span, global.label, NameOf(type));
    return false;
  }
  if (global.kind == GlobalKind::kVar && unit_.kind == Unit::Kind::kClass &&
      !CheckFloatFormat(type, global.span))
    return false;
  global.type = type;
  global.value = std::move(*value);
  return true;
}

Operand Evaluator::UseGlobal(Global& global, Span span) {
  if (!Resolve(global)) return Operand::Error();
  if (global.is_extern && global.kind != GlobalKind::kFn) {
    Global* target = ExternTarget(global, span);
    if (target == nullptr) return Operand::Error();
    return UseGlobal(*target, span);
  }
  if (types().IsComptimeOnly(global.type) || types().kind(global.type) == TypeKind::kVoid) {
    return Operand::Of(global.value);
  }
  PointerValue path;
  path.global = &global;
  return Operand::Path(global.type, std::move(path), global.kind != GlobalKind::kVar);
}

// The exported variable that an `extern` declaration of the same name means.
Global* Evaluator::ExternTarget(Global& global, Span span) {
  for (ModuleInstance& module : unit_.modules) {
    for (Global* other : module.order) {
      if (!other->exported || other->kind == GlobalKind::kFn) continue;
      if (!Resolve(*other) || other->label != global.label) continue;
      if (other->type != global.type) {
        Report(DiagKind::kTypeMismatch, span, NameOf(global.type), NameOf(other->type),
               "declare both with one type");
        return nullptr;
      }
      return other;
    }
  }
  Report(DiagKind::kExternNotFound, span, global.label);
  return nullptr;
}

Operand Evaluator::MemberOf(ModuleInstance& module, Name name, Span span) {
  const auto found = module.globals.find(name);
  if (found == module.globals.end()) {
    std::vector<std::string> candidates;
    for (const Global* other : module.order) candidates.emplace_back(TextOf(other->name));
    return Report(DiagKind::kNoSuchMember, span, module.path, TextOf(name),
                  DidYouMean(TextOf(name), candidates));
  }
  return UseGlobal(*found->second, span);
}

std::optional<uint16_t> Evaluator::AddressOfGlobal(Global& global, Span span) {
  if (global.address) return global.address;
  if (unit_.builder == nullptr) {
    Report(DiagKind::kNoMemoryHere, span, global.label);
    return std::nullopt;
  }
  if (!Resolve(global)) return std::nullopt;
  if (types().IsComptimeOnly(global.type)) {
    Report(DiagKind::kNotRuntime, span, NameOf(global.type));
    return std::nullopt;
  }
  if (!CheckFloatFormat(global.type, span.IsNone() ? global.span : span)) {
    session().diags.Note(global.span, "declared here");
    global.state = Global::State::kFailed;
    return std::nullopt;
  }
  const auto bytes = static_cast<uint32_t>(types().SizeOf(global.type));
  const uint32_t align =
      std::max<uint32_t>(global.align, static_cast<uint32_t>(types().AlignOf(global.type)));
  const auto section = session().section_starts.find(global.section);
  if (section != session().section_starts.end() && !types().InDescriptorSpace(global.type)) {
    const std::optional<uint16_t> place = unit_.builder->AllocateInSection(
        global.label, NameOf(global.type), bytes, align, section->second);
    if (!place) {
      Report(DiagKind::kSectionFull, global.span, global.label, bytes, global.section,
             section->second);
      return std::nullopt;
    }
    global.address = place;
    unit_.placed.push_back(&global);
    return place;
  }
  const std::optional<uint16_t> address = unit_.builder->Allocate(
      global.label, NameOf(global.type), bytes, align, types().InDescriptorSpace(global.type));
  if (!address) {
    if (!unit_.builder->out_of_memory_reported) {
      unit_.builder->out_of_memory_reported = true;
      Report(DiagKind::kOutOfMemory, global.span.IsNone() ? span : global.span, global.label, bytes,
             unit_.builder->LargestItems());
    }
    return std::nullopt;
  }
  global.address = address;
  unit_.placed.push_back(&global);
  return address;
}

ModuleInstance* Evaluator::ImportModule(std::string_view path, const Value* params, Span span) {
  const ModuleInstance& from = *frame_->module;
  if (from.depth >= kMaxImportDepth) {
    Report(DiagKind::kImportTooDeep, span, kMaxImportDepth);
    return nullptr;
  }
  const Ast* ast_of_module = session().files.Load(path, from.ast->source(), span);
  if (ast_of_module == nullptr) return nullptr;
  ModuleInstance& module = unit_.AddModule(*ast_of_module, std::string(path), span);
  module.depth = from.depth + 1;
  module.is_library = session().files.IsLibrary(ast_of_module->source());
  if (params != nullptr) BindParams(module, *params, span);
  return &module;
}

void Evaluator::BindParams(ModuleInstance& module, const Value& params, Span span) {
  const std::vector<Value>* values = params.as_elements();
  const TypeInfo& info = types()[params.type];
  if (values == nullptr || info.kind != TypeKind::kStruct || (info.is_tuple && !values->empty())) {
    Report(DiagKind::kParamsNotStruct, span, info.name);
    return;
  }
  for (size_t i = 0; i < values->size(); ++i) {
    const Name name = Intern(info.fields[i].name);
    const auto found = module.globals.find(name);
    if (found == module.globals.end() || found->second->kind != GlobalKind::kParam) {
      session().diags.Report(DiagKind::kUnknownParam, span, info.fields[i].name, module.path);
      continue;
    }
    module.bindings.insert_or_assign(name, (*values)[i]);
  }
}

void Evaluator::ExecTopLevel(ModuleInstance& module, ExprId block) {
  Frame frame;
  frame.module = &module;
  FrameScope scope(*this, frame);
  const auto* node = ast().As<BlockExpr>(block);
  if (node == nullptr) return;
  (void)ExecBlock(ast().Get(node->statements));
}

namespace {

// Does this initialiser (perhaps one of several) import a module?
bool Imports(const Ast& ast, const NameTable& names, ExprId id) {
  if (const auto* builtin = ast.As<BuiltinExpr>(id))
    return names.Text(builtin->name) == "import_module";
  if (const auto* choice = ast.As<IfExpr>(id)) {
    return Imports(ast, names, choice->then_branch) ||
           (choice->else_branch && Imports(ast, names, choice->else_branch));
  }
  return false;
}

}  // namespace

void Evaluator::RunComptimeBlocks(ModuleInstance& module) {
  if (module.blocks_done) return;
  module.blocks_done = true;
  for (Global* global : module.order) {
    if (global->kind != GlobalKind::kConst) continue;
    const auto* node = module.ast->As<VarDecl>(global->decl);
    if (node->init.IsNone() || !Imports(*module.ast, session().names, node->init)) continue;
    if (!Resolve(*global)) continue;
    if (ModuleInstance* imported = global->value.as_module()) RunComptimeBlocks(*imported);
  }
  for (const Item& item : module.ast->items()) {
    if (item.kind == Item::Kind::kComptime) ExecTopLevel(module, item.block);
  }
}

}  // namespace szarena::csl
