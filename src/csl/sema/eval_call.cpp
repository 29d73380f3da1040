// SPDX-License-Identifier: Apache-2.0
// Calls: inlined and compile-time ones walk the body, run-time ones go to a compiled instance.
#include <algorithm>
#include <optional>
#include <utility>

#include "csl/emit/class_builder.h"
#include "csl/sema/evaluator.h"
#include "csl/sema/scope.h"

namespace szarena::csl {

using bytecode::Op;
using bytecode::Reg;
using bytecode::ScalarType;

Operand Evaluator::Call(Operand callee, std::span<const ExprId> args, Span span, Span callee_span) {
  const TypeInfo info = types()[callee.type];
  const bool is_pointer =
      info.kind == TypeKind::kPointer && types().kind(info.element) == TypeKind::kFn;
  if (info.kind != TypeKind::kFn && !is_pointer) {
    return Report(DiagKind::kNotCallable, callee_span, info.name);
  }
  FnTemplate* fn = callee.IsValue() ? callee.value.as_fn() : nullptr;
  std::vector<Operand> operands;
  std::vector<Span> spans;
  const TypeInfo fn_info = is_pointer ? types()[info.element] : info;
  bool failed = false;
  for (size_t i = 0; i < args.size(); ++i) {
    TypeId hint;
    if (i < fn_info.params.size() && types().kind(fn_info.params[i]) != TypeKind::kAnyType) {
      hint = fn_info.params[i];
    }
    Operand operand = EvalLoaded(args[i], hint);
    if (operand.kind == Operand::Kind::kNoReturn) return operand;
    failed = failed || operand.Stops();
    if (!failed) operands.push_back(Detach(std::move(operand)));
    spans.push_back(SpanOf(args[i]));
  }
  if (failed) return Operand::Error();
  if (fn != nullptr) return CallFn(*fn, std::move(operands), std::move(spans), span);
  if (callee.IsValue()) return Report(DiagKind::kNotComptime, callee_span, "the function");
  return CallPointer(callee, std::move(operands), spans, span);
}

Operand Evaluator::CallFn(FnTemplate& fn, std::vector<Operand> args, std::vector<Span> spans,
                          Span span) {
  if (!CheckLimits(span)) return Operand::Error();
  if (call_stack_.size() >= session().limits.call_depth) {
    unit_.out_of_steps = true;
    return Report(DiagKind::kRecursionLimit, span);
  }
  const std::string_view name = TextOf(fn.name);
  const size_t wanted = fn.module->ast->Get(fn.node->params).size();
  if (fn.node->is_task) return Report(DiagKind::kCallOfTask, span, name);
  // Functions of libraries that older SDKs declare with fewer params: the rest, anytype, is void.
  const std::vector<TypeId>& params = types()[fn.type].params;
  while (args.size() < wanted && fn.module->is_library &&
         types().kind(params[args.size()]) == TypeKind::kAnyType) {
    args.push_back(Operand::Of(MakeVoid(types().void_type())));
    spans.push_back(span);
  }
  if (args.size() != wanted) {
    session()
        .diags.Report(DiagKind::kCallArity, span, name, wanted, args.size())
        .Note(fn.module->ast->NameSpanOf(fn.decl), "declared here");
    return Operand::Error();
  }
  if (fn.node->body.IsNone()) return Report(DiagKind::kExternNotFound, span, name);
  if (fb_ == nullptr || fn.node->is_inline) return CallInline(fn, std::move(args), spans, span);
  return CallRuntime(fn, std::move(args), spans, span);
}

Operand Evaluator::CallInLoop(FnTemplate& fn, std::vector<Operand> args, std::vector<Span> spans,
                              Span span) {
  BranchScope branch(*this);
  return CallFn(fn, std::move(args), std::move(spans), span);
}

// Adds the param to the frame of an inlined or compile-time call.
bool Evaluator::BindParam(FnTemplate& fn, size_t index, Operand arg, Span arg_span, Frame& frame) {
  const Param& param = fn.module->ast->Get(fn.node->params)[index];
  if (!param.is_anytype) {
    std::optional<TypeId> type;
    {
      FrameScope scope(*this, frame);
      type = EvalType(param.type);
    }
    if (!type) return false;
    arg = Coerce(std::move(arg), *type, arg_span);
    if (arg.Stops()) return false;
  }
  if (param.is_comptime) {
    const std::optional<Value> value = RequireValue(arg, arg_span);
    if (!value) return false;
    arg = Operand::Of(*value);
  }
  // The callee sees a constant; what it names in memory may change under it, as by a pointer.
  if (arg.kind == Operand::Kind::kMemory || arg.kind == Operand::Kind::kPath) {
    if (fb_ != nullptr && !arg.is_const && !arg.is_temp) {
      Operand copy = NewLocalMemory(arg.type);
      Store(copy, arg, arg_span);
      arg = std::move(copy);
    }
    arg.is_const = true;
  }
  if (!param.name.IsNone()) frame.locals.push_back({param.name, std::move(arg)});
  return true;
}

Operand Evaluator::CallInline(FnTemplate& fn, std::vector<Operand> args,
                              const std::vector<Span>& spans, Span span) {
  call_stack_.push_back(span);
  const Operand result = CallInlineBody(fn, std::move(args), spans, span);
  call_stack_.pop_back();
  return result;
}

Operand Evaluator::CallInlineBody(FnTemplate& fn, std::vector<Operand> args,
                                  const std::vector<Span>& spans, Span span) {
  Frame frame;
  frame.module = fn.module;
  frame.fn = &fn;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!BindParam(fn, i, std::move(args[i]), spans[i], frame)) return Operand::Error();
  }
  FrameScope scope(*this, frame);
  if (fn.node->result.IsNone()) {
    frame.result_type = types().void_type();
  } else {
    const std::optional<TypeId> type = EvalType(fn.node->result);
    if (!type) return Operand::Error();
    frame.result_type = *type;
  }
  JumpTarget target(JumpTarget::Kind::kFunction, Name{}, *this, frame.result_type);
  frame.function = &target;
  const size_t errors = session().diags.error_count();
  Operand last = Eval(fn.node->body, types().void_type());
  if (!last.Stops() && !IsVoid(frame.result_type)) {
    // After an error the `return` may be what failed.
    if (session().diags.error_count() != errors) return Operand::Error();
    return Report(DiagKind::kMissingReturn, ast().NameSpanOf(fn.decl), TextOf(fn.name));
  }
  const bool returned_here = last.kind == Operand::Kind::kNoReturn &&
                             flow_.kind == Flow::Kind::kBreak && flow_.target == &target;
  Operand result = FinishTarget(target, std::move(last), span);
  // Registers of the body's variables may be reused once it is left.
  if (returned_here && result.kind == Operand::Kind::kReg && result.is_place && fb_ != nullptr) {
    result = Detach(std::move(result));
  }
  if (result.kind == Operand::Kind::kMemory) result.is_temp = true;
  return result;
}

bool Evaluator::IsComptimeParam(const Param& param, TypeId type) {
  return param.is_comptime || types().IsComptimeOnly(type);
}

FnInstance* Evaluator::InstanceOf(FnTemplate& fn, const std::vector<Operand>& args,
                                  const std::vector<Span>& spans, Span span) {
  // Param types may depend on earlier params: evaluate them in a frame that grows.
  auto instance = std::make_unique<FnInstance>();
  instance->called_from = span;
  instance->caller = compiling_;
  instance->fn = &fn;
  Frame frame;
  frame.module = fn.module;
  frame.fn = &fn;
  std::string key;
  const std::span<const Param> params = fn.module->ast->Get(fn.node->params);
  for (size_t i = 0; i < params.size(); ++i) {
    const Param& param = params[i];
    TypeId type = args[i].type;
    if (!param.is_anytype) {
      FrameScope scope(*this, frame);
      const std::optional<TypeId> declared = EvalType(param.type);
      if (!declared) return nullptr;
      type = *declared;
    }
    if (types().kind(type) == TypeKind::kComptimeStruct) type = args[i].type;
    std::optional<Value> known;
    if (IsComptimeParam(param, type)) {
      const Operand coerced = Coerce(args[i], type, spans[i]);
      if (coerced.Stops()) return nullptr;
      known = RequireValue(coerced, spans[i]);
      if (!known) return nullptr;
      type = known->type;
      key += "=" + ValueKey(*known) + ";";
    } else {
      key += fmt::format("{};", type.value);
    }
    if (!param.name.IsNone()) {
      frame.locals.push_back(
          {param.name, known ? Operand::Of(*known)
                             : Operand::Memory(type, AddressBase::kAbsolute, 0, 0, true)});
    }
    instance->comptime_args.push_back(std::move(known));
    instance->param_types.push_back(type);
  }
  const auto found = fn.instances.find(key);
  if (found != fn.instances.end()) return found->second.get();
  if (fn.instances.size() >= session().limits.instances_per_function) {
    Report(DiagKind::kTooManyInstances, span, TextOf(fn.name),
           session().limits.instances_per_function);
    return nullptr;
  }
  {
    FrameScope scope(*this, frame);
    if (fn.node->result.IsNone()) {
      instance->result = types().void_type();
    } else {
      const std::optional<TypeId> result = EvalType(fn.node->result);
      if (!result) return nullptr;
      instance->result = *result;
    }
  }
  // A result that exists at compile time only: the call is evaluated, nothing is compiled.
  if (!types().IsComptimeOnly(instance->result)) {
    instance->index = static_cast<uint32_t>(code_class().functions.size());
    code_class().functions.emplace_back();
    unit_.to_compile.push_back(instance.get());
  }
  return fn.instances.emplace(std::move(key), std::move(instance)).first->second.get();
}

Operand Evaluator::CallRuntime(FnTemplate& fn, std::vector<Operand> args,
                               const std::vector<Span>& spans, Span span) {
  FnInstance* instance = InstanceOf(fn, args, spans, span);
  if (instance == nullptr) return Operand::Error();
  if (types().IsComptimeOnly(instance->result)) {
    ComptimeScope scope(*this);
    return CallInline(fn, std::move(args), spans, span);
  }
  std::vector<TypeId> param_types;
  std::vector<Operand> runtime_args;
  std::vector<Span> runtime_spans;
  for (size_t i = 0; i < args.size(); ++i) {
    if (instance->comptime_args[i]) continue;
    param_types.push_back(instance->param_types[i]);
    runtime_args.push_back(std::move(args[i]));
    runtime_spans.push_back(spans[i]);
  }
  return EmitCall(param_types, instance->result, runtime_args, runtime_spans, span, instance->index,
                  0);
}

Operand Evaluator::CallPointer(const Operand& pointer, std::vector<Operand> args,
                               const std::vector<Span>& spans, Span span) {
  if (fb_ == nullptr) {
    (void)RequireValue(pointer, span);
    return Operand::Error();
  }
  const TypeInfo info = types()[types()[pointer.type].element];
  if (args.size() != info.params.size()) {
    return Report(DiagKind::kCallArity, span, "the function", info.params.size(), args.size());
  }
  return EmitCall(info.params, info.result, args, spans, span, std::nullopt, ToReg(pointer, span));
}

Operand Evaluator::EmitCall(const std::vector<TypeId>& param_types, TypeId result,
                            const std::vector<Operand>& args, const std::vector<Span>& spans,
                            Span span, std::optional<uint32_t> index, Reg pointer_reg) {
  const bool returns_memory = types().IsAggregate(result) || types().kind(result) == TypeKind::kDsd;
  // Arguments first into registers of their own, then into the window.
  std::vector<Reg> regs;
  Operand result_place;
  if (returns_memory) {
    result_place = NewLocalMemory(result);
    regs.push_back(AddressOf(result_place, span));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const TypeId type = param_types[i];
    Operand arg = Coerce(args[i], type, spans[i]);
    if (arg.Stops()) return arg;
    if (IsVoid(type)) continue;
    if (types().IsScalar(type)) {
      regs.push_back(ToReg(arg, spans[i]));
      continue;
    }
    const bool is_shared =
        (arg.kind == Operand::Kind::kMemory || arg.kind == Operand::Kind::kPath) && !arg.is_const &&
        !arg.is_temp;
    arg = ToMemory(std::move(arg), spans[i]);
    if (arg.Stops()) return arg;
    if (is_shared) {
      Operand copy = NewLocalMemory(type);
      Store(copy, arg, spans[i]);
      arg = std::move(copy);
    }
    regs.push_back(AddressOf(arg, spans[i]));
  }
  At(span);
  const Reg window = fb_->NewRegs(std::max<int>(static_cast<int>(regs.size()), 1));
  for (size_t i = 0; i < regs.size(); ++i) {
    fb_->Emit(Op::kMove, static_cast<Reg>(window + i), regs[i]);
  }
  if (index) {
    fb_->Emit(Op::kCall, window, 0, static_cast<uint16_t>(*index));
  } else {
    fb_->Emit(Op::kCallIndirect, window, pointer_reg, static_cast<uint16_t>(regs.size()));
  }
  if (returns_memory) return result_place;
  if (IsVoid(result)) return Nothing();
  return Operand::Register(result, window);
}

std::optional<uint32_t> Evaluator::FunctionIndex(FnTemplate& fn, Span span) {
  if (!ResolveSignature(fn)) return std::nullopt;
  if (span.IsNone())
    span = fn.module->ast->NameSpanOf(fn.decl);  // an initial value: no better place is known
  if (fn.is_generic) {
    Report(DiagKind::kGenericAddress, span, TextOf(fn.name));
    return std::nullopt;
  }
  if (fn.node->body.IsNone()) {
    Report(DiagKind::kExternNotFound, span, TextOf(fn.name));
    return std::nullopt;
  }
  if (unit_.builder == nullptr) {
    Report(DiagKind::kNoMemoryHere, span, TextOf(fn.name));
    return std::nullopt;
  }
  const TypeInfo info = types()[fn.type];
  std::vector<Operand> args;
  std::vector<Span> spans;
  for (const TypeId param : info.params) {
    args.push_back(Operand::Memory(param, AddressBase::kAbsolute, 0, 0, true));
    spans.push_back(span);
  }
  FnInstance* instance = InstanceOf(fn, args, spans, span);
  if (instance == nullptr) return std::nullopt;
  return instance->index;
}

bytecode::FunctionBuilder& Evaluator::InitBuilder() {
  if (unit_.init == nullptr) {
    unit_.init = std::make_unique<bytecode::FunctionBuilder>(code_class(), "(load)",
                                                             std::vector<ScalarType>{});
  }
  return *unit_.init;
}

void Evaluator::FinishInit() {
  if (unit_.init == nullptr) return;
  unit_.init->Emit(Op::kReturnVoid);
  const Result<uint32_t> index = unit_.init->FinishInto();
  unit_.init.reset();
  if (index) {
    code_class().init_function = *index;
  } else {
    Report(DiagKind::kFunctionTooLarge, Span{}, "(load)", index.error().ToString());
  }
}

void Evaluator::CompilePending() {
  while (!unit_.to_compile.empty() && !unit_.out_of_steps) {
    FnInstance* instance = unit_.to_compile.back();
    unit_.to_compile.pop_back();
    CompileBody(*instance);
  }
}

Span Evaluator::CallOf(const FnInstance& instance) const {
  if (!instance.fn->is_generic && !instance.fn->module->is_library) return {};
  const FnInstance* at = &instance;
  while (at->fn->module->is_library && at->caller != nullptr && at->caller->fn->module->is_library)
    at = at->caller;
  return at->called_from;
}

void Evaluator::CompileBody(FnInstance& instance) {
  FnTemplate& fn = *instance.fn;
  const FnInstance* saved_compiling = std::exchange(compiling_, &instance);
  std::optional<DiagSink::Context> context;
  if (const Span call = CallOf(instance); !call.IsNone())
    context.emplace(session().diags, call, "called from here");
  const TypeId result = instance.result;
  const bool returns_memory = types().IsAggregate(result) || types().kind(result) == TypeKind::kDsd;
  const std::span<const Param> params = fn.module->ast->Get(fn.node->params);
  bool has_format = CheckFloatFormat(result, fn.module->ast->NameSpanOf(fn.decl));
  for (size_t i = 0; i < params.size(); ++i) {
    if (!instance.comptime_args[i])
      has_format = CheckFloatFormat(instance.param_types[i], params[i].span) && has_format;
  }
  if (!has_format) {
    compiling_ = saved_compiling;
    return;
  }
  std::vector<ScalarType> scalars;
  if (returns_memory) scalars.push_back(ScalarType::kU16);
  for (size_t i = 0; i < params.size(); ++i) {
    if (instance.comptime_args[i] || IsVoid(instance.param_types[i])) continue;
    scalars.push_back(ScalarTypeOf(instance.param_types[i]).value_or(ScalarType::kU16));
  }
  bytecode::FunctionBuilder builder(code_class(), std::string(TextOf(fn.name)), scalars,
                                    !returns_memory && !IsVoid(result));
  const Context saved_context = context_;
  context_ = kInRuntime;
  fb_ = &builder;
  depth_ = 0;
  sret_ = returns_memory;
  Frame frame;
  frame.module = fn.module;
  frame.fn = &fn;
  frame.result_type = result;
  Operand last;
  const size_t errors = session().diags.error_count();
  {
    FrameScope scope(*this, frame);
    At(fn.module->ast->NameSpanOf(fn.decl));
    auto reg = static_cast<Reg>(returns_memory ? 1 : 0);
    for (size_t i = 0; i < params.size(); ++i) {
      const TypeId type = instance.param_types[i];
      Operand local;
      if (instance.comptime_args[i]) {
        local = Operand::Of(*instance.comptime_args[i]);
      } else if (IsVoid(type)) {
        local = Nothing();
      } else if (types().IsScalar(type)) {
        local = Operand::Register(type, reg++, true, true);
        if (IsAddressTaken(params[i].name)) {
          Operand memory = NewLocalMemory(type);
          Store(memory, local, params[i].span);
          memory.is_const = true;
          memory.is_temp = false;
          local = std::move(memory);
        }
      } else {
        local = Operand::Memory(type, AddressBase::kRegister, reg++, 0, true);
      }
      if (!params[i].name.IsNone()) frame.locals.push_back({params[i].name, std::move(local)});
    }
    last = Eval(fn.node->body, types().void_type());
    if (!last.Stops() && !IsVoid(result) && session().diags.error_count() == errors) {
      last = Report(DiagKind::kMissingReturn, fn.module->ast->NameSpanOf(fn.decl), TextOf(fn.name));
    }
  }
  if (builder.reachable()) {
    if (IsVoid(result) || returns_memory) {
      builder.Emit(Op::kReturnVoid);
    } else {
      builder.EmitWide(
          Op::kTrap, 0,
          bytecode::InternString(code_class(), "end of a function that returns a value"));
    }
  }
  fb_ = nullptr;
  compiling_ = saved_compiling;
  context_ = saved_context;
  sret_ = false;
  // A faulty body may have left jumps without a target; the class is refused anyway.
  if (session().diags.HasErrors()) return;
  if (const auto finished = builder.FinishInto(instance.index); !finished) {
    Report(DiagKind::kFunctionTooLarge, fn.module->ast->NameSpanOf(fn.decl), TextOf(fn.name),
           finished.error().ToString());
  }
}

// Names that stand under `&` anywhere in the function: such scalars live in memory.
bool Evaluator::IsAddressTaken(Name name) {
  if (frame_->fn == nullptr) return true;
  FnTemplate& fn = *frame_->fn;
  if (!fn.address_taken_done) {
    fn.address_taken_done = true;
    const Ast& tree = *fn.module->ast;
    const Span body = tree.SpanOf(fn.decl);
    for (uint32_t i = 0; i < tree.expr_count(); ++i) {
      const ExprId id{i};
      const auto* unary = tree.As<UnaryExpr>(id);
      if (unary == nullptr || unary->op != UnaryOp::kAddressOf) continue;
      const Span span = tree.SpanOf(id);
      if (span.begin < body.begin || span.end > body.end) continue;
      ExprId root = unary->operand;
      while (true) {
        if (const auto* field = tree.As<FieldExpr>(root)) {
          root = field->base;
        } else if (const auto* index = tree.As<IndexExpr>(root)) {
          root = index->base;
        } else {
          break;
        }
      }
      if (const auto* ident = tree.As<IdentExpr>(root)) fn.address_taken.push_back(ident->name);
    }
  }
  return std::find(fn.address_taken.begin(), fn.address_taken.end(), name) !=
         fn.address_taken.end();
}

}  // namespace szarena::csl
