// SPDX-License-Identifier: Apache-2.0
// The types of CSL: interned facts behind a typed id, with names, memory sizes and predicates.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace szarena::csl {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

// Index into a TypeTable. Equal ids are equal types. 0 is the type of an erroneous expression.
struct TypeId {
  uint32_t value = 0;
  friend bool operator==(TypeId, TypeId) = default;
  bool is_error() const { return value == 0; }
};

enum class TypeKind : uint8_t {
  kError,
  kVoid,
  kNoReturn,  // an expression that never yields a value: return, break, continue
  kBool,
  kInt,
  kFloat,
  kComptimeInt,
  kComptimeFloat,
  kComptimeString,
  kComptimeStruct,  // the declared type `comptime_struct`: any anonymous struct
  kType,
  kModule,
  kRange,
  kFn,  // functions and tasks
  kArray,
  kPointer,
  kStruct,
  kUnion,
  kEnum,
  kHandle,  // 16-bit hardware names: colours, task ids, queues, directions, …
  kDsd,
  kDsr,
  kAnyOpaque,
  kAnyType,  // the declared type `anytype` of a parameter
};

enum class FloatFormat : uint8_t { kF16, kBf16, kCb16, kF32 };

enum class HandleKind : uint8_t {
  kColor,
  kDataTaskId,
  kLocalTaskId,
  kControlTaskId,
  kInputQueue,
  kOutputQueue,
  kUtId,
  kDirection,
};

enum class DsdKind : uint8_t { kMem1d, kMem4d, kCircbuf, kFabin, kFabout, kFifo };

enum class DsrKind : uint8_t { kDest, kSrc0, kSrc1, kFifoDest, kFifoSrc1, kXdsr, kSr };

// How a struct or union lies in memory. `kAuto` and `kExtern` lie in declaration order with
// natural alignment; `kPacked` has a backing integer.
enum class Packing : uint8_t { kAuto, kExtern, kPacked };

struct Field {
  std::string name;  // empty in a tuple
  TypeId type;
};

struct EnumElement {
  std::string name;
  Int128 value = 0;
};

// Everything about one type. Members that a kind does not use keep their defaults.
struct TypeInfo {
  TypeKind kind = TypeKind::kError;
  bool is_signed = false;     // kInt
  uint16_t bits = 0;          // kInt
  FloatFormat format{};       // kFloat
  HandleKind handle{};        // kHandle
  DsdKind dsd{};              // kDsd
  DsrKind dsr{};              // kDsr
  Packing packing{};          // kStruct, kUnion
  bool is_anonymous = false;  // kStruct: identity by names and types
  bool is_tuple = false;      // kStruct
  bool is_const = false;      // kPointer: the pointee cannot be written through it
  bool is_many = false;       // kPointer: [*]T
  bool is_task = false;       // kFn
  TypeId element;  // kArray, kPointer, kRange; kEnum: underlying; packed: backing integer
  std::vector<int64_t> dims;          // kArray, outermost first
  std::vector<Field> fields;          // kStruct, kUnion
  std::vector<TypeId> params;         // kFn
  TypeId result;                      // kFn
  std::vector<EnumElement> elements;  // kEnum
  std::string name;                   // as printed in diagnostics
};

class TypeTable {
 public:
  TypeTable();
  TypeTable(const TypeTable&) = delete;
  TypeTable& operator=(const TypeTable&) = delete;

  const TypeInfo& operator[](TypeId id) const { return infos_[id.value]; }
  TypeKind kind(TypeId id) const { return infos_[id.value].kind; }
  const std::string& Name(TypeId id) const { return infos_[id.value].name; }

  // Types without parts.
  TypeId Simple(TypeKind kind) const;
  TypeId error() const { return TypeId{}; }
  TypeId void_type() const { return Simple(TypeKind::kVoid); }
  TypeId no_return() const { return Simple(TypeKind::kNoReturn); }
  TypeId bool_type() const { return Simple(TypeKind::kBool); }
  TypeId comptime_int() const { return Simple(TypeKind::kComptimeInt); }
  TypeId comptime_float() const { return Simple(TypeKind::kComptimeFloat); }
  TypeId comptime_string() const { return Simple(TypeKind::kComptimeString); }
  TypeId type_type() const { return Simple(TypeKind::kType); }
  TypeId module_type() const { return Simple(TypeKind::kModule); }
  TypeId u16() { return Int(16, false); }
  TypeId i16() { return Int(16, true); }
  TypeId u32() { return Int(32, false); }
  TypeId f16() { return Float(FloatFormat::kF16); }
  TypeId f32() { return Float(FloatFormat::kF32); }

  TypeId Int(uint16_t bits, bool is_signed);
  TypeId Float(FloatFormat format);
  TypeId Handle(HandleKind kind);
  TypeId Dsd(DsdKind kind);
  TypeId Dsr(DsrKind kind);
  TypeId Range(TypeId element);
  TypeId Array(std::vector<int64_t> dims, TypeId element);
  TypeId Pointer(TypeId element, bool is_const, bool is_many);
  TypeId Fn(std::vector<TypeId> params, TypeId result, bool is_task = false);
  // Anonymous struct; a tuple where `is_tuple` (field names empty).
  TypeId AnonymousStruct(std::vector<Field> fields, bool is_tuple);
  // Nominal types: `identity` tells the place of the declaration and is the same for the same type.
  TypeId Struct(const std::string& identity, std::string name, Packing packing,
                std::vector<Field> fields, TypeId backing);
  TypeId Union(const std::string& identity, std::string name, Packing packing,
               std::vector<Field> fields);
  TypeId Enum(const std::string& identity, std::string name, TypeId underlying,
              std::vector<EnumElement> elements);

  // A predeclared type by its name (`i16`, `mem1d_dsd`, `u7`, …).
  std::optional<TypeId> FromName(std::string_view name);

  bool IsInt(TypeId id) const { return kind(id) == TypeKind::kInt; }
  bool IsFloat(TypeId id) const { return kind(id) == TypeKind::kFloat; }
  bool IsIntegral(TypeId id) const { return IsInt(id) || kind(id) == TypeKind::kComptimeInt; }
  bool IsFloating(TypeId id) const { return IsFloat(id) || kind(id) == TypeKind::kComptimeFloat; }
  bool IsNumeric(TypeId id) const { return IsIntegral(id) || IsFloating(id); }
  bool IsHandle(TypeId id, HandleKind k) const {
    return kind(id) == TypeKind::kHandle && infos_[id.value].handle == k;
  }
  bool IsDsd(TypeId id, DsdKind k) const {
    return kind(id) == TypeKind::kDsd && infos_[id.value].dsd == k;
  }
  bool IsAggregate(TypeId id) const {
    const TypeKind k = kind(id);
    return k == TypeKind::kArray || k == TypeKind::kStruct || k == TypeKind::kUnion;
  }
  // True for types that have no run-time representation.
  bool IsComptimeOnly(TypeId id) const;
  // True for types whose values live in one virtual register at run time.
  bool IsScalar(TypeId id) const;
  // True for DSDs and aggregates that hold one: they live in descriptor space.
  bool InDescriptorSpace(TypeId id) const;
  bool IsSignedScalar(TypeId id) const;

  // Size and alignment in bytes of a run-time type. Source of the rules: docs/csl/decisions.md.
  int64_t SizeOf(TypeId id) const;
  int64_t AlignOf(TypeId id) const;
  int64_t FieldOffset(TypeId aggregate, size_t index) const;
  bool IsPacked(TypeId id) const {
    return IsAggregate(id) && infos_[id.value].packing == Packing::kPacked;
  }
  // Bits of a scalar inside a packed struct or union, and of a packed one as a whole.
  int BitWidth(TypeId id) const;
  // First bit of a field of a packed struct, the lowest field at bit 0.
  int BitOffset(TypeId packed, size_t index) const;
  int64_t ElementCount(TypeId array) const;
  // Index of a field, or nothing.
  std::optional<size_t> FieldIndex(TypeId aggregate, std::string_view name) const;
  std::optional<Int128> EnumValue(TypeId enumeration, std::string_view name) const;

  // Least and greatest value of a fixed-width integer type.
  static Int128 MinOf(const TypeInfo& int_type);
  static Int128 MaxOf(const TypeInfo& int_type);
  // The value cut to the width of the type, as the machine does it.
  static Int128 Wrap(const TypeInfo& int_type, Int128 value);

 private:
  TypeId Intern(const std::string& key, TypeInfo info);

  std::deque<TypeInfo> infos_;
  std::unordered_map<std::string, TypeId> by_key_;
};

std::string_view DsdKindName(DsdKind kind);
std::string_view HandleKindName(HandleKind kind);
std::string Int128ToString(Int128 value);

}  // namespace szarena::csl
