// SPDX-License-Identifier: Apache-2.0
// Abstract syntax of one CSL file. Nodes live in flat arenas and refer to each other by typed ids.
//
// There are two kinds of node. An expression (ExprId) is everything that may stand in a body: as in
// Zig, blocks, `if`, loops, `return` and assignments are expressions too, and a local declaration
// appears in a block as DeclExpr. A declaration (DeclId) is a variable, constant, param or
// function. An id is "none" where an optional part is absent.
//
// Parentheses leave no node; the printer puts back those that matter. What the parser could not
// read is an ErrorExpr, and a diagnostic was reported for it; a consumer stays silent about it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.h"
#include "csl/source/int128.h"
#include "csl/source/names.h"
#include "csl/source/source_map.h"

namespace szarena::csl {

template <typename Tag>
struct NodeId {
  uint32_t index = UINT32_MAX;
  bool IsNone() const { return index == UINT32_MAX; }
  explicit operator bool() const { return index != UINT32_MAX; }
  friend auto operator<=>(const NodeId&, const NodeId&) = default;
};
using ExprId = NodeId<struct ExprTag>;
using DeclId = NodeId<struct DeclTag>;

// A slice of one of the arena's arrays; Ast turns it into a std::span.
template <typename T>
struct List {
  uint32_t begin = 0;
  uint32_t count = 0;
  bool empty() const { return count == 0; }
  friend bool operator==(const List&, const List&) = default;
};

enum class UnaryOp : uint8_t { kNegate, kNot, kBitNot, kAddressOf };
enum class BinaryOp : uint8_t {
  kMul,
  kDiv,
  kMod,
  kAdd,
  kSub,
  kShl,
  kShr,
  kBitAnd,
  kBitXor,
  kBitOr,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kAnd,
  kOr,
};
std::string_view Spelling(UnaryOp op);
std::string_view Spelling(BinaryOp op);

// ---- literals and names
struct ErrorExpr {};
struct IntExpr {
  uint32_t value;
  Name spelling;
};  // value: index for Ast::Int; also character literals ('a' is its spelling)
struct FloatExpr {
  uint32_t value;
  Name spelling;
};  // index for Ast::Float
struct StringExpr {
  Name bytes;
};  // escapes resolved; any byte may occur
struct BoolExpr {
  bool value;
};
struct UndefinedExpr {};
struct IdentExpr {
  Name name;
};  // also type names (i16, f32, type, void, …) and directions

// ---- postfix
struct FieldExpr {
  ExprId base;
  Name name;
  Span name_span;
};  // base.name
struct DerefExpr {
  ExprId base;
};  // base.*
struct IndexExpr {
  ExprId base;
  List<ExprId> indices;
};  // base[i, j]
struct CallExpr {
  ExprId callee;
  List<ExprId> args;
};
struct BuiltinExpr {
  Name name;
  List<ExprId> args;
};  // @name(args); name without the @

// ---- operators
struct UnaryExpr {
  UnaryOp op;
  ExprId operand;
};
struct BinaryExpr {
  BinaryOp op;
  ExprId lhs;
  ExprId rhs;
  Span op_span;
};
struct ComptimeExpr {
  ExprId operand;
};  // `comptime x`; the operand may be a block

// ---- initialisers
struct FieldInit {
  Name name;
  ExprId value;
  Span span;
};  // name is none for a positional element
// `.{…}` (type none), `Name{…}`, `[3]i16{…}`. Either all fields are named or none is.
struct InitExpr {
  ExprId type;
  List<FieldInit> fields;
};

// ---- types
struct ArrayTypeExpr {
  List<ExprId> dims;
  ExprId element;
};  // [M, N]T
struct PointerTypeExpr {
  bool is_many;
  bool is_const;
  ExprId pointee;
};  // *T, *const T, [*]T, [*]const T
struct FnTypeExpr {
  List<ExprId> params;
  ExprId result;
  bool is_task = false;
};  // fn(A, B) R, task(A) void
enum class ContainerKind : uint8_t { kStruct, kUnion, kEnum };
enum class ContainerLayout : uint8_t { kAuto, kExtern, kPacked };
struct Member {
  Name name;
  ExprId type;
  ExprId value;
  Span span;
};  // enum members have no type; value = explicit number or default
struct ContainerExpr {
  ContainerKind kind;
  ContainerLayout layout;
  ExprId tag;
  List<Member> members;
};  // tag: enum(u16), packed struct(u32)

// |i, j|{M, N} -> array[f(i, j), …]
struct TensorAccessExpr {
  List<Name> variables;
  List<ExprId> extents;
  ExprId array;
  List<ExprId> indices;
};

// ---- control flow
struct IfExpr {
  ExprId condition;
  ExprId then_branch;
  ExprId else_branch;
};
struct SwitchProng {
  List<ExprId> values;
  bool is_else;
  ExprId body;
  Span span;
};
struct SwitchExpr {
  ExprId operand;
  List<SwitchProng> prongs;
};
struct BlockExpr {
  Name label;
  List<ExprId> statements;
};  // `{}` is also the value of type void
struct WhileExpr {
  Name label;
  bool is_inline;
  ExprId condition;
  ExprId step;
  ExprId body;
};
struct ForExpr {
  Name label;
  bool is_inline;
  ExprId sequence;
  Name element;
  Name index;
  ExprId body;
};
enum class AssignOp : uint8_t {
  kPlain,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kShl,
  kShr,
  kBitAnd,
  kBitOr,
  kBitXor
};
std::string_view Spelling(AssignOp op);
struct AssignExpr {
  AssignOp op;
  ExprId target;
  ExprId value;
};
struct ReturnExpr {
  ExprId value;
};
struct BreakExpr {
  Name label;
  ExprId value;
};
struct ContinueExpr {
  Name label;
};
struct DeclExpr {
  DeclId decl;
};  // a local var or const
struct AsmOperand {
  Name name;
  Name constraint;
  ExprId value;
  Span span;
};
struct AsmExpr {
  bool is_volatile;
  Name text;
  List<AsmOperand> outputs;
  List<AsmOperand> inputs;
  List<AsmOperand> clobbers;
};

using ExprNode =
    std::variant<ErrorExpr, IntExpr, FloatExpr, StringExpr, BoolExpr, UndefinedExpr, IdentExpr,
                 FieldExpr, DerefExpr, IndexExpr, CallExpr, BuiltinExpr, UnaryExpr, BinaryExpr,
                 ComptimeExpr, InitExpr, ArrayTypeExpr, PointerTypeExpr, FnTypeExpr, ContainerExpr,
                 TensorAccessExpr, IfExpr, SwitchExpr, BlockExpr, WhileExpr, ForExpr, AssignExpr,
                 ReturnExpr, BreakExpr, ContinueExpr, DeclExpr, AsmExpr>;

// ---- declarations
enum class Linkage : uint8_t { kNone, kExport, kExtern };
enum class VarKind : uint8_t { kVar, kConst, kParam, kColor };  // kColor: the old `color name;`
struct VarDecl {
  VarKind kind;
  Linkage linkage;
  bool is_comptime;  // comptime var
  ExprId type;
  ExprId init;
};
struct Param {
  Name name;  // none in an extern prototype without names
  bool is_comptime;
  bool is_anytype;  // then type is none
  ExprId type;
  Span span;
};
struct FnDecl {
  bool is_task;
  bool is_inline;
  Linkage linkage;
  List<Param> params;
  ExprId result;
  ExprId body;  // none for a prototype
};
using DeclNode = std::variant<VarDecl, FnDecl>;

struct Attributes {
  ExprId align, linksection, linkname;
};

// What stands at the top level of a file, in source order.
struct Item {
  enum class Kind : uint8_t { kDecl, kComptime, kLayout };
  Kind kind;
  DeclId decl;   // kDecl
  ExprId block;  // kComptime, kLayout: a BlockExpr
  Span span;
};

class Ast {
 public:
  explicit Ast(SourceId source) : source_(source) {}

  SourceId source() const { return source_; }
  std::span<const Item> items() const { return items_; }

  const ExprNode& Expr(ExprId id) const { return exprs_[id.index]; }
  const DeclNode& Decl(DeclId id) const { return decls_[id.index].node; }
  Span SpanOf(ExprId id) const { return expr_spans_[id.index]; }
  Span SpanOf(DeclId id) const { return decls_[id.index].span; }
  Name NameOf(DeclId id) const { return decls_[id.index].name; }
  Span NameSpanOf(DeclId id) const { return decls_[id.index].name_span; }
  const Attributes& AttributesOf(DeclId id) const { return decls_[id.index].attributes; }

  // The node as a certain kind, or null.
  template <typename T>
  const T* As(ExprId id) const {
    return id ? std::get_if<T>(&exprs_[id.index]) : nullptr;
  }
  template <typename T>
  const T* As(DeclId id) const {
    return id ? std::get_if<T>(&decls_[id.index].node) : nullptr;
  }

  UInt128 Int(const IntExpr& node) const { return ints_[node.value]; }
  double Float(const FloatExpr& node) const { return floats_[node.value]; }

  std::span<const ExprId> Get(List<ExprId> list) const { return Slice(expr_lists_, list); }
  std::span<const Name> Get(List<Name> list) const { return Slice(name_lists_, list); }
  std::span<const FieldInit> Get(List<FieldInit> list) const { return Slice(field_inits_, list); }
  std::span<const Member> Get(List<Member> list) const { return Slice(members_, list); }
  std::span<const SwitchProng> Get(List<SwitchProng> list) const { return Slice(prongs_, list); }
  std::span<const Param> Get(List<Param> list) const { return Slice(params_, list); }
  std::span<const AsmOperand> Get(List<AsmOperand> list) const {
    return Slice(asm_operands_, list);
  }

  size_t expr_count() const { return exprs_.size(); }
  size_t decl_count() const { return decls_.size(); }

  // ---- construction (parser and tests)
  ExprId Add(ExprNode node, Span span);
  DeclId Add(DeclNode node, Name name, Span name_span, Attributes attributes, Span span);
  void Add(Item item) { items_.push_back(item); }
  uint32_t AddInt(UInt128 value);
  uint32_t AddFloat(double value);
  List<ExprId> AddList(std::span<const ExprId> list) { return Append(expr_lists_, list); }
  List<Name> AddList(std::span<const Name> list) { return Append(name_lists_, list); }
  List<FieldInit> AddList(std::span<const FieldInit> list) { return Append(field_inits_, list); }
  List<Member> AddList(std::span<const Member> list) { return Append(members_, list); }
  List<SwitchProng> AddList(std::span<const SwitchProng> list) { return Append(prongs_, list); }
  List<Param> AddList(std::span<const Param> list) { return Append(params_, list); }
  List<AsmOperand> AddList(std::span<const AsmOperand> list) { return Append(asm_operands_, list); }

 private:
  struct DeclEntry {
    DeclNode node;
    Name name;
    Span name_span;
    Span span;
    Attributes attributes;
  };

  template <typename T>
  static std::span<const T> Slice(const std::vector<T>& from, List<T> list) {
    return std::span<const T>(from).subspan(list.begin, list.count);
  }
  template <typename T>
  static List<T> Append(std::vector<T>& to, std::span<const T> items) {
    List<T> list{static_cast<uint32_t>(to.size()), static_cast<uint32_t>(items.size())};
    to.insert(to.end(), items.begin(), items.end());
    return list;
  }

  SourceId source_;
  std::vector<Item> items_;
  std::vector<ExprNode> exprs_;
  std::vector<Span> expr_spans_;
  std::vector<DeclEntry> decls_;
  std::vector<UInt128> ints_;
  std::vector<double> floats_;
  std::vector<ExprId> expr_lists_;
  std::vector<Name> name_lists_;
  std::vector<FieldInit> field_inits_;
  std::vector<Member> members_;
  std::vector<SwitchProng> prongs_;
  std::vector<Param> params_;
  std::vector<AsmOperand> asm_operands_;
};

}  // namespace szarena::csl
