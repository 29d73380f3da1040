// SPDX-License-Identifier: Apache-2.0
// The one walk over the syntax: every expression becomes a compile-time value or, in a function
// body, a run-time operand for which code was emitted. Member functions are defined in eval_*.cpp,
// by area.
//
// Two modes. Compile-time mode (`fb() == nullptr`): layout, comptime blocks, global initialisers,
// type positions, `comptime x`. Run-time mode: the body of a function instance, with a
// FunctionBuilder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/builder.h"
#include "csl/sema/builtin.h"
#include "csl/sema/join.h"
#include "csl/sema/operand.h"
#include "csl/sema/unit.h"

namespace szarena::csl {

// Where `break`, `continue` and `return` of an inlined or compile-time function go.
struct JumpTarget {
  enum class Kind : uint8_t { kBlock, kLoop, kFunction };
  JumpTarget(Kind kind_in, Name label_in, Evaluator& eval, TypeId expect_in);
  Kind kind = Kind::kBlock;
  Name label;
  uint32_t depth = 0;  // run-time branches around it
  bytecode::Label break_label;
  bytecode::Label continue_label;
  TypeId expect;    // of the result; void: dropped; error type: inferred
  ResultJoin join;  // of jumping exits
  Operand result;   // of a structural exit
  bool has_result = false;
  bool was_jumped_to = false;  // a jump to break_label was emitted
  bool continued = false;      // a jump to continue_label was emitted
};

// How control left the last expression whose operand is kNoReturn.
struct Flow {
  enum class Kind : uint8_t { kNone, kBreak, kContinue, kJumped };
  Kind kind = Kind::kNone;
  JumpTarget* target = nullptr;  // kBreak (also a structural return), kContinue
};

struct Local {
  Name name;
  Operand operand;
};

// One activation: a function body, an inlined or compile-time call, or top-level code of a module.
struct Frame {
  ModuleInstance* module = nullptr;
  FnTemplate* fn = nullptr;
  std::vector<Local> locals;
  std::vector<JumpTarget*> targets;  // innermost last
  JumpTarget* function = nullptr;    // where `return` goes; null in a compiled function's own body
  TypeId result_type;
  Frame* caller = nullptr;
};

class Evaluator {
 public:
  Evaluator(Unit& unit, Context context);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  Unit& unit() { return unit_; }
  Session& session() { return unit_.session; }
  TypeTable& types() { return unit_.session.types; }
  Context context() const { return context_; }
  bool IsRuntime() const { return fb_ != nullptr; }
  bytecode::FunctionBuilder& fb() { return *fb_; }
  bytecode::CodeClass& code_class();
  const Ast& ast() const { return *frame_->module->ast; }
  Frame& frame() { return *frame_; }
  Name Intern(std::string_view text) { return session().names.Intern(text); }
  std::string_view TextOf(Name name) const { return unit_.session.names.Text(name); }
  const std::string& NameOf(TypeId type) { return types().Name(type); }

  // ---- diagnostics. Each returns the error operand.
  template <typename... Args>
  Operand Report(DiagKind kind, Span span, const Args&... args) {
    session().diags.Report(kind, span, args...);
    NoteCallers();
    return Operand::Error();
  }

  // ---- expressions (eval_expr.cpp). `expect` is a hint, the caller still coerces.
  Operand Eval(ExprId id, TypeId expect = {});        // may be a place
  Operand EvalLoaded(ExprId id, TypeId expect = {});  // Load(Eval())
  // Loaded and coerced to `type`. `undefined` is an error, but for what is only stored.
  enum class Undefined : uint8_t { kRefused, kStored };
  Operand EvalAs(ExprId id, TypeId type, Undefined undefined = Undefined::kRefused);
  std::optional<Value> EvalComptime(ExprId id, TypeId expect = {});  // reports what is not known
  std::optional<Value> EvalComptimeAs(ExprId id, TypeId type,
                                      Undefined undefined = Undefined::kRefused);
  std::optional<TypeId> EvalType(ExprId id);
  // An integer known at compile time, within [min, max].
  std::optional<int64_t> EvalComptimeInt(ExprId id, int64_t min, int64_t max);
  // The type of an expression without its effects: code goes to a scratch function.
  TypeId TypeOf(ExprId id);
  Span SpanOf(ExprId id) const { return ast().SpanOf(id); }

  // ---- operands (eval_place.cpp)
  // A place of scalar type becomes a value or register. A number, handle, … that was never given a
  // value is an error.
  Operand Load(Operand operand, Span span);
  Operand LoadPlace(Operand operand, Span span);
  Operand Coerce(Operand operand, TypeId type, Span span);
  Operand Detach(Operand operand);  // a copy of a variable's register, which may change
  // The value of a loaded operand, or nothing after a diagnostic that it must be known.
  std::optional<Value> RequireValue(const Operand& operand, Span span);
  bytecode::Reg ToReg(const Operand& operand,
                      Span span);                // a scalar of run-time type; 0 after a diagnostic
  Operand ToMemory(Operand operand, Span span);  // an aggregate or DSD with an address
  bytecode::Reg AddressOf(const Operand& place, Span span);           // address of a memory place
  void Store(const Operand& place, const Operand& value, Span span);  // value already of the type
  Operand FieldOf(Operand base, std::string_view name, Span span, Span name_span);
  Operand ElementOf(Operand base, const std::vector<Operand>& indices,
                    const std::vector<Span>& spans, Span span);
  Operand Deref(Operand pointer, Span span);
  Operand AddressOfPlace(Operand place, Span span);  // `&place`
  Operand PathToMemory(const Operand& path, Span span);
  Operand NewLocalMemory(TypeId type);  // in the frame of the function
  std::optional<bytecode::ScalarType> ScalarTypeOf(TypeId type);
  bool CheckFloatFormat(
      TypeId type, Span span);  // at run time there is one 16-bit float; false after a diagnostic
  std::optional<uint64_t> BitsOf(const Value& value, Span span);  // as they lie in a register
  std::optional<Value> ReadPath(const PointerValue& path, TypeId type, Span span);
  std::optional<int64_t> AddressOfPath(const PointerValue& path, Span span);  // in PE memory
  TypeId NaturalType(const PointerValue& path);
  // The array around a place as [lo, hi) addresses, for DSD bounds.
  std::optional<std::pair<int64_t, int64_t>> BoundsOfPath(const PointerValue& path, Span span);
  // A constant in PE memory that holds the value.
  Global* ConstantInMemory(const Value& value);

  // ---- values (coerce.cpp)
  std::optional<Value> CoerceValue(const Value& value, TypeId type);  // silent
  TypeId PeerType(TypeId a, TypeId b);                                // error type: none

  // ---- operators (eval_op.cpp)
  Operand Unary(UnaryOp op, Operand operand, Span span);
  Operand Binary(BinaryOp op, Operand lhs, Operand rhs, Span span);
  // Cast of @as.
  Operand Cast(Operand operand, TypeId type, Span span);

  // ---- declarations (eval_decl.cpp)
  bool Resolve(Global& global);
  Operand UseGlobal(Global& global, Span span);
  Operand MemberOf(ModuleInstance& module, Name name, Span span);
  std::optional<uint16_t> AddressOfGlobal(Global& global, Span span);
  // Runs the top-level comptime blocks of a module, and of the modules it imported before.
  void RunComptimeBlocks(ModuleInstance& module);
  // Gives the fields of an anonymous struct to the params of a module.
  void BindParams(ModuleInstance& module, const Value& params, Span span);
  ModuleInstance* ImportModule(std::string_view path, const Value* params, Span span);
  bool ResolveSignature(FnTemplate& fn);

  // ---- calls (eval_call.cpp)
  Operand Call(Operand callee, std::span<const ExprId> args, Span span, Span callee_span);
  // The same with evaluated arguments, at compile time or run time as the evaluation stands.
  Operand CallFn(FnTemplate& fn, std::vector<Operand> args, std::vector<Span> spans, Span span);
  // CallFn where the code around it repeats (@map).
  Operand CallInLoop(FnTemplate& fn, std::vector<Operand> args, std::vector<Span> spans, Span span);
  // The compiled instance of a function without compile-time params; its index in
  // CodeClass::functions. For tasks, exported functions, handlers and function pointers.
  std::optional<uint32_t> FunctionIndex(FnTemplate& fn, Span span);
  // The one id that a task is bound to; reports where there is none or several.
  std::optional<uint32_t> TaskIdOf(FnTemplate& task, Span span);
  void CompileBody(FnInstance& instance);
  // The call in the program's own code that led to a library or generic function, or none.
  Span CallOf(const FnInstance& instance) const;
  const FnInstance* compiling_ = nullptr;  // its body is being compiled
  // Compiles everything that waits in unit().to_compile.
  void CompilePending();
  // Code that comptime blocks ask to run at load (CodeClass::init_function).
  bytecode::FunctionBuilder& InitBuilder();
  void FinishInit();

  // ---- statements
  Operand ExecBlock(std::span<const ExprId> statements);
  void ExecTopLevel(ModuleInstance& module, ExprId block);

  // Deeper than this many bytes of stack, or out of steps: reports once and returns false.
  bool CheckLimits(Span span);

  // Emits code for a line.
  void At(Span span);

  uint32_t depth() const { return depth_; }
  bool IsAddressTaken(Name name);

 private:
  friend class FrameScope;
  friend class ComptimeScope;
  friend class BranchScope;

  Operand EvalNode(ExprId id, const ExprNode& node, TypeId expect);
  Operand EvalIdent(Name name, Span span);
  Operand EvalField(const FieldExpr& node, Span span);
  Operand EvalIndex(const IndexExpr& node, Span span);
  Operand EvalCall(const CallExpr& node, Span span);
  Operand EvalBuiltin(const BuiltinExpr& node, Span span, TypeId expect);
  Operand EvalUnary(const UnaryExpr& node, Span span, TypeId expect);
  Operand EvalBinary(const BinaryExpr& node, Span span);
  Operand EvalLogical(const BinaryExpr& node, Span span);
  Operand EvalInit(const InitExpr& node, Span span, TypeId expect);
  Operand InitAggregate(TypeId type, const InitExpr& node, Span span);
  Operand EvalArrayType(const ArrayTypeExpr& node, Span span);
  Operand EvalFnType(const FnTypeExpr& node, Span span);
  Operand EvalContainer(const ContainerExpr& node, Span span);
  Operand EvalIf(const IfExpr& node, Span span, TypeId expect);
  Operand EvalSwitch(const SwitchExpr& node, Span span, TypeId expect);
  Operand EvalBlock(const BlockExpr& node, Span span, TypeId expect);
  Operand EvalWhile(const WhileExpr& node, Span span);
  Operand EvalFor(const ForExpr& node, Span span);
  Operand WhileUnrolled(const WhileExpr& node, Span span);
  Operand WhileRuntime(const WhileExpr& node, Span span);
  Operand ForUnrolled(const ForExpr& node, const Operand& sequence, Span span);
  Operand ForRange(const ForExpr& node, const Operand& sequence, Span span);
  Operand ForArray(const ForExpr& node, Operand sequence, Span span);
  void BindLoopNames(const ForExpr& node, Operand element, Operand index);
  // One unrolled iteration; false where the loop ends, with `result` set.
  bool UnrolledBody(JumpTarget& target, ExprId body, Span span, Operand& result);
  Operand FinishLoop(JumpTarget& target, Operand last, Span span);
  Operand EvalAssign(const AssignExpr& node, Span span);
  Operand EvalReturn(const ReturnExpr& node, Span span);
  Operand EvalBreak(const BreakExpr& node, Span span);
  Operand EvalContinue(const ContinueExpr& node, Span span);
  Operand EvalLocal(DeclId decl, Span span);
  Operand LeaveTo(JumpTarget& target, Operand result, Span span);
  Operand FinishTarget(JumpTarget& target, Operand last, Span span);
  void JumpInstead(Span span);
  Operand Stop(Flow flow);
  Operand Nothing();  // the value of type void
  bool IsVoid(TypeId type) { return types().kind(type) == TypeKind::kVoid; }
  enum class Condition : uint8_t { kTrue, kFalse, kRuntime, kStop };
  Condition EmitCondition(ExprId id, bytecode::Label if_false);
  void JumpUnless(const Operand& condition, bytecode::Label if_false, Span span);
  Operand LoadBits(const Operand& place, Span span);
  // The bits of a packed struct or union, wherever it is, in a register.
  bytecode::Reg PackedBits(const Operand& value, Span span);
  void StoreBits(const Operand& place, const Operand& value, Span span);
  bool StorePath(const PointerValue& path, Value value, Span span);
  Value* WritablePath(const PointerValue& path, Span span);
  Operand CallInline(FnTemplate& fn, std::vector<Operand> args, const std::vector<Span>& spans,
                     Span span);
  Operand CallRuntime(FnTemplate& fn, std::vector<Operand> args, const std::vector<Span>& spans,
                      Span span);
  Operand CallPointer(const Operand& pointer, std::vector<Operand> args,
                      const std::vector<Span>& spans, Span span);
  Operand EmitCall(const std::vector<TypeId>& param_types, TypeId result,
                   const std::vector<Operand>& args, const std::vector<Span>& spans, Span span,
                   std::optional<uint32_t> index, bytecode::Reg pointer_reg);
  FnInstance* InstanceOf(FnTemplate& fn, const std::vector<Operand>& args,
                         const std::vector<Span>& spans, Span span);
  Operand CallInlineBody(FnTemplate& fn, std::vector<Operand> args, const std::vector<Span>& spans,
                         Span span);
  bool BindParam(FnTemplate& fn, size_t index, Operand arg, Span arg_span, Frame& frame);
  struct Suspended;
  bool ResolveFn(Global& global);
  bool ResolveVar(Global& global);
  Global* ExternTarget(Global& global, Span span);
  Operand EmitBinary(BinaryOp op, const Operand& lhs, const Operand& rhs, TypeId type, Span span);
  // index * factor as u16, by a shift where the factor is a power of two.
  bytecode::Reg Scaled(bytecode::Reg index, int64_t factor);
  void FixWidth(bytecode::Reg reg, TypeId type);
  bytecode::Reg SaturateWidth(bytecode::Reg reg, TypeId type);
  Operand* FindLocal(Name name);
  void NoteCallers();
  bool IsComptimeParam(const Param& param, TypeId type);

  Unit& unit_;
  Context context_;
  Frame* frame_ = nullptr;
  bytecode::FunctionBuilder* fb_ = nullptr;
  uint32_t depth_ = 0;
  Flow flow_;
  uintptr_t stack_base_ = 0;
  bool sret_ = false;             // register 0 of the compiled function is the result's address
  std::string type_name_;         // of the declaration whose initialiser may be a container type
  std::vector<Span> call_stack_;  // spans of inlined and compile-time calls
};

// A colour, task id, queue or microthread from its number.
Operand MakeHandle(Evaluator& eval, HandleKind kind, Operand id, Span span);

}  // namespace szarena::csl
