// SPDX-License-Identifier: Apache-2.0
// Interning of types, their names and their layout in memory.
#include "csl/sema/type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.h"

namespace szarena::csl {
namespace {

struct SimpleName {
  TypeKind kind;
  const char* name;
};
// In the order of TypeKind values: Simple() indexes it.
constexpr std::array kSimple = {
    SimpleName{TypeKind::kError, "(error)"},
    SimpleName{TypeKind::kVoid, "void"},
    SimpleName{TypeKind::kNoReturn, "noreturn"},
    SimpleName{TypeKind::kBool, "bool"},
    SimpleName{TypeKind::kComptimeInt, "comptime_int"},
    SimpleName{TypeKind::kComptimeFloat, "comptime_float"},
    SimpleName{TypeKind::kComptimeString, "comptime_string"},
    SimpleName{TypeKind::kComptimeStruct, "comptime_struct"},
    SimpleName{TypeKind::kType, "type"},
    SimpleName{TypeKind::kModule, "imported_module"},
    SimpleName{TypeKind::kAnyOpaque, "anyopaque"},
    SimpleName{TypeKind::kAnyType, "anytype"},
};

constexpr std::array<const char*, 8> kHandleNames = {
    "color",       "data_task_id", "local_task_id", "control_task_id",
    "input_queue", "output_queue", "ut_id",         "direction"};
constexpr std::array<const char*, 6> kDsdNames = {"mem1d_dsd", "mem4d_dsd",  "circbuf_dsd",
                                                  "fabin_dsd", "fabout_dsd", "fifo"};
constexpr std::array<const char*, 7> kDsrNames = {
    "dsr_dest", "dsr_src0", "dsr_src1", "dsr_fifo_dest", "dsr_fifo_src1", "xdsr", "sr"};
constexpr std::array<const char*, 4> kFloatNames = {"f16", "bf16", "cb16", "f32"};

int64_t AlignUp(int64_t offset, int64_t align) { return (offset + align - 1) / align * align; }

}  // namespace

std::string_view DsdKindName(DsdKind kind) { return kDsdNames[static_cast<size_t>(kind)]; }
std::string_view HandleKindName(HandleKind kind) { return kHandleNames[static_cast<size_t>(kind)]; }

std::string Int128ToString(Int128 value) {
  if (value == 0) return "0";
  const bool negative = value < 0;
  Uint128 rest = negative ? ~static_cast<Uint128>(value) + 1 : static_cast<Uint128>(value);
  std::string out;
  while (rest != 0) {
    out.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  }
  if (negative) out.push_back('-');
  std::reverse(out.begin(), out.end());
  return out;
}

TypeTable::TypeTable() {
  for (const SimpleName& simple : kSimple) {
    TypeInfo info;
    info.kind = simple.kind;
    info.name = simple.name;
    Intern(info.name, info);
  }
}

TypeId TypeTable::Intern(const std::string& key, TypeInfo info) {
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) return found->second;
  const TypeId id{static_cast<uint32_t>(infos_.size())};
  infos_.push_back(std::move(info));
  by_key_.emplace(key, id);
  return id;
}

TypeId TypeTable::Simple(TypeKind kind) const {
  for (uint32_t i = 0; i < kSimple.size(); ++i) {
    if (kSimple[i].kind == kind) return TypeId{i};
  }
  SZARENA_CHECK(false, "not a type without parts");
  return {};
}

TypeId TypeTable::Int(uint16_t bits, bool is_signed) {
  TypeInfo info;
  info.kind = TypeKind::kInt;
  info.bits = bits;
  info.is_signed = is_signed;
  info.name = fmt::format("{}{}", is_signed ? 'i' : 'u', bits);
  const std::string key = info.name;
  return Intern(key, std::move(info));
}

TypeId TypeTable::Float(FloatFormat format) {
  TypeInfo info;
  info.kind = TypeKind::kFloat;
  info.format = format;
  info.bits = format == FloatFormat::kF32 ? 32 : 16;
  info.is_signed = true;
  info.name = kFloatNames[static_cast<size_t>(format)];
  const std::string key = info.name;
  return Intern(key, std::move(info));
}

TypeId TypeTable::Handle(HandleKind kind) {
  TypeInfo info;
  info.kind = TypeKind::kHandle;
  info.handle = kind;
  info.name = HandleKindName(kind);
  const std::string key = info.name;
  return Intern(key, std::move(info));
}

TypeId TypeTable::Dsd(DsdKind kind) {
  TypeInfo info;
  info.kind = TypeKind::kDsd;
  info.dsd = kind;
  info.name = DsdKindName(kind);
  const std::string key = info.name;
  return Intern(key, std::move(info));
}

TypeId TypeTable::Dsr(DsrKind kind) {
  TypeInfo info;
  info.kind = TypeKind::kDsr;
  info.dsr = kind;
  info.name = kDsrNames[static_cast<size_t>(kind)];
  const std::string key = info.name;
  return Intern(key, std::move(info));
}

TypeId TypeTable::Range(TypeId element) {
  TypeInfo info;
  info.kind = TypeKind::kRange;
  info.element = element;
  info.name = "range";
  return Intern(fmt::format("range:{}", element.value), std::move(info));
}

TypeId TypeTable::Array(std::vector<int64_t> dims, TypeId element) {
  TypeInfo info;
  info.kind = TypeKind::kArray;
  info.element = element;
  std::string list;
  for (const int64_t dim : dims) list += fmt::format("{}{}", list.empty() ? "" : ",", dim);
  info.dims = std::move(dims);
  info.name = fmt::format("[{}]{}", list, Name(element));
  return Intern(fmt::format("[{}]:{}", list, element.value), std::move(info));
}

TypeId TypeTable::Pointer(TypeId element, bool is_const, bool is_many) {
  TypeInfo info;
  info.kind = TypeKind::kPointer;
  info.element = element;
  info.is_const = is_const;
  info.is_many = is_many;
  const std::string prefix = fmt::format("{}{}", is_many ? "[*]" : "*", is_const ? "const " : "");
  info.name = prefix + Name(element);
  return Intern(fmt::format("{}:{}", prefix, element.value), std::move(info));
}

TypeId TypeTable::Fn(std::vector<TypeId> params, TypeId result, bool is_task) {
  TypeInfo info;
  info.kind = TypeKind::kFn;
  info.is_task = is_task;
  std::string key = is_task ? "task(" : "fn(";
  std::string name = key;
  for (size_t i = 0; i < params.size(); ++i) {
    key += fmt::format("{},", params[i].value);
    name += fmt::format("{}{}", i == 0 ? "" : ", ", Name(params[i]));
  }
  key += fmt::format("){}", result.value);
  info.name = fmt::format("{}) {}", name, Name(result));
  info.params = std::move(params);
  info.result = result;
  return Intern(key, std::move(info));
}

TypeId TypeTable::AnonymousStruct(std::vector<Field> fields, bool is_tuple) {
  TypeInfo info;
  info.kind = TypeKind::kStruct;
  info.is_anonymous = true;
  info.is_tuple = is_tuple;
  std::string key = is_tuple ? ".tuple{" : ".struct{";
  std::string name = "struct {";
  for (size_t i = 0; i < fields.size(); ++i) {
    key += fmt::format("{}:{};", fields[i].name, fields[i].type.value);
    name += fmt::format("{}{}{}{}", i == 0 ? " " : ", ", fields[i].name, is_tuple ? "" : ": ",
                        Name(fields[i].type));
  }
  info.name = name + (fields.empty() ? "}" : " }");
  info.fields = std::move(fields);
  return Intern(key, std::move(info));
}

TypeId TypeTable::Struct(const std::string& identity, std::string name, Packing packing,
                         std::vector<Field> fields, TypeId backing) {
  TypeInfo info;
  info.kind = TypeKind::kStruct;
  info.packing = packing;
  info.element = backing;
  info.name = std::move(name);
  std::string key = fmt::format("struct@{}:", identity);
  for (const Field& field : fields) key += fmt::format("{}:{};", field.name, field.type.value);
  info.fields = std::move(fields);
  return Intern(key, std::move(info));
}

TypeId TypeTable::Union(const std::string& identity, std::string name, Packing packing,
                        std::vector<Field> fields) {
  TypeInfo info;
  info.kind = TypeKind::kUnion;
  info.packing = packing;
  info.name = std::move(name);
  std::string key = fmt::format("union@{}:", identity);
  for (const Field& field : fields) key += fmt::format("{}:{};", field.name, field.type.value);
  info.fields = std::move(fields);
  return Intern(key, std::move(info));
}

TypeId TypeTable::Enum(const std::string& identity, std::string name, TypeId underlying,
                       std::vector<EnumElement> elements) {
  TypeInfo info;
  info.kind = TypeKind::kEnum;
  info.element = underlying;
  info.bits = infos_[underlying.value].bits;
  info.is_signed = infos_[underlying.value].is_signed;
  info.name = std::move(name);
  std::string key = fmt::format("enum@{}:{}:", identity, underlying.value);
  for (const EnumElement& element : elements) {
    key += fmt::format("{}={};", element.name, Int128ToString(element.value));
  }
  info.elements = std::move(elements);
  return Intern(key, std::move(info));
}

std::optional<TypeId> TypeTable::FromName(std::string_view name) {
  for (uint32_t i = 1; i < kSimple.size(); ++i) {
    if (name == kSimple[i].name) return TypeId{i};
  }
  for (size_t i = 0; i < kHandleNames.size(); ++i) {
    if (name == kHandleNames[i]) return Handle(static_cast<HandleKind>(i));
  }
  for (size_t i = 0; i < kDsdNames.size(); ++i) {
    if (name == kDsdNames[i]) return Dsd(static_cast<DsdKind>(i));
  }
  for (size_t i = 0; i < kDsrNames.size(); ++i) {
    if (name == kDsrNames[i]) return Dsr(static_cast<DsrKind>(i));
  }
  for (size_t i = 0; i < kFloatNames.size(); ++i) {
    if (name == kFloatNames[i]) return Float(static_cast<FloatFormat>(i));
  }
  if (name == "range") return Range(comptime_int());
  if (name.size() >= 2 && name.size() <= 4 && (name[0] == 'i' || name[0] == 'u')) {
    unsigned bits = 0;
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), bits);
    if (error == std::errc() && end == name.data() + name.size() && name[1] != '0' && bits >= 1 &&
        bits <= 64) {
      return Int(static_cast<uint16_t>(bits), name[0] == 'i');
    }
  }
  return std::nullopt;
}

bool TypeTable::IsComptimeOnly(TypeId id) const {
  const TypeInfo& info = infos_[id.value];
  switch (info.kind) {
    case TypeKind::kComptimeInt:
    case TypeKind::kComptimeFloat:
    case TypeKind::kComptimeString:
    case TypeKind::kComptimeStruct:
    case TypeKind::kType:
    case TypeKind::kModule:
    case TypeKind::kFn:
    case TypeKind::kAnyType:
      return true;
    case TypeKind::kArray:
      return IsComptimeOnly(info.element);
    case TypeKind::kStruct:
    case TypeKind::kUnion:
      return std::any_of(info.fields.begin(), info.fields.end(),
                         [&](const Field& field) { return IsComptimeOnly(field.type); });
    case TypeKind::kError:
    case TypeKind::kVoid:
    case TypeKind::kNoReturn:
    case TypeKind::kBool:
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kRange:
    case TypeKind::kPointer:
    case TypeKind::kEnum:
    case TypeKind::kHandle:
    case TypeKind::kDsd:
    case TypeKind::kDsr:
    case TypeKind::kAnyOpaque:
      return false;
  }
  return false;
}

bool TypeTable::IsScalar(TypeId id) const {
  const TypeInfo& info = infos_[id.value];
  switch (info.kind) {
    case TypeKind::kBool:
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kPointer:
    case TypeKind::kEnum:
    case TypeKind::kHandle:
    case TypeKind::kDsr:
      return true;
    case TypeKind::kError:
    case TypeKind::kVoid:
    case TypeKind::kNoReturn:
    case TypeKind::kComptimeInt:
    case TypeKind::kComptimeFloat:
    case TypeKind::kComptimeString:
    case TypeKind::kComptimeStruct:
    case TypeKind::kType:
    case TypeKind::kModule:
    case TypeKind::kRange:
    case TypeKind::kFn:
    case TypeKind::kArray:
    case TypeKind::kStruct:
    case TypeKind::kUnion:
    case TypeKind::kDsd:
    case TypeKind::kAnyOpaque:
    case TypeKind::kAnyType:
      return false;
  }
  return false;
}

bool TypeTable::InDescriptorSpace(TypeId id) const {
  const TypeInfo& info = infos_[id.value];
  if (info.kind == TypeKind::kDsd) return true;
  if (info.kind == TypeKind::kArray) return InDescriptorSpace(info.element);
  if (info.kind == TypeKind::kStruct || info.kind == TypeKind::kUnion) {
    return std::any_of(info.fields.begin(), info.fields.end(),
                       [&](const Field& field) { return InDescriptorSpace(field.type); });
  }
  return false;
}

bool TypeTable::IsSignedScalar(TypeId id) const {
  const TypeInfo& info = infos_[id.value];
  return (info.kind == TypeKind::kInt || info.kind == TypeKind::kEnum) && info.is_signed;
}

int TypeTable::BitWidth(TypeId id) const {
  const TypeInfo& info = infos_[id.value];
  if (info.kind == TypeKind::kBool) return 1;
  if (info.bits != 0) return info.bits;
  if (!IsPacked(id)) return static_cast<int>(SizeOf(id)) * 8;
  if (!info.element.is_error()) return infos_[info.element.value].bits;
  int bits = 0;
  for (const Field& field : info.fields) {
    const int own = BitWidth(field.type);
    bits = info.kind == TypeKind::kUnion ? std::max(bits, own) : bits + own;
  }
  return bits;
}

int TypeTable::BitOffset(TypeId packed, size_t index) const {
  const TypeInfo& info = infos_[packed.value];
  int bits = 0;
  if (info.kind == TypeKind::kUnion) return 0;
  for (size_t i = 0; i < index; ++i) bits += BitWidth(info.fields[i].type);
  return bits;
}

int64_t TypeTable::SizeOf(TypeId id) const {
  const TypeInfo& info = infos_[id.value];
  if (IsPacked(id)) {
    const int bits = BitWidth(id);
    return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
  }
  switch (info.kind) {
    case TypeKind::kBool:
      return 1;
    case TypeKind::kInt:
    case TypeKind::kEnum:
      return info.bits <= 8 ? 1 : info.bits <= 16 ? 2 : info.bits <= 32 ? 4 : 8;
    case TypeKind::kFloat:
      return info.format == FloatFormat::kF32 ? 4 : 2;
    case TypeKind::kPointer:
    case TypeKind::kHandle:
    case TypeKind::kDsr:
      return 2;
    case TypeKind::kDsd:
      return 32;
    case TypeKind::kArray:
      return ElementCount(id) * SizeOf(info.element);
    case TypeKind::kStruct: {
      int64_t end = 0;
      if (!info.fields.empty()) {
        end = FieldOffset(id, info.fields.size() - 1) + SizeOf(info.fields.back().type);
      }
      return AlignUp(end, AlignOf(id));
    }
    case TypeKind::kUnion: {
      int64_t size = 0;
      for (const Field& field : info.fields) size = std::max(size, SizeOf(field.type));
      return AlignUp(size, AlignOf(id));
    }
    case TypeKind::kError:
    case TypeKind::kVoid:
    case TypeKind::kNoReturn:
    case TypeKind::kComptimeInt:
    case TypeKind::kComptimeFloat:
    case TypeKind::kComptimeString:
    case TypeKind::kComptimeStruct:
    case TypeKind::kType:
    case TypeKind::kModule:
    case TypeKind::kRange:
    case TypeKind::kFn:
    case TypeKind::kAnyOpaque:
    case TypeKind::kAnyType:
      return 0;
  }
  return 0;
}

int64_t TypeTable::AlignOf(TypeId id) const {
  const TypeInfo& info = infos_[id.value];
  switch (info.kind) {
    case TypeKind::kArray:
      return AlignOf(info.element);
    case TypeKind::kStruct:
    case TypeKind::kUnion: {
      if (info.packing == Packing::kPacked) return std::clamp<int64_t>(SizeOf(id), 1, 4);
      int64_t align = 1;
      for (const Field& field : info.fields) align = std::max(align, AlignOf(field.type));
      return align;
    }
    case TypeKind::kDsd:
      return 32;
    case TypeKind::kError:
    case TypeKind::kVoid:
    case TypeKind::kNoReturn:
    case TypeKind::kBool:
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kComptimeInt:
    case TypeKind::kComptimeFloat:
    case TypeKind::kComptimeString:
    case TypeKind::kComptimeStruct:
    case TypeKind::kType:
    case TypeKind::kModule:
    case TypeKind::kRange:
    case TypeKind::kFn:
    case TypeKind::kPointer:
    case TypeKind::kEnum:
    case TypeKind::kHandle:
    case TypeKind::kDsr:
    case TypeKind::kAnyOpaque:
    case TypeKind::kAnyType:
      return std::clamp<int64_t>(SizeOf(id), 1, 4);
  }
  return 1;
}

int64_t TypeTable::FieldOffset(TypeId aggregate, size_t index) const {
  const TypeInfo& info = infos_[aggregate.value];
  if (info.kind == TypeKind::kUnion || info.packing == Packing::kPacked) return 0;
  int64_t offset = 0;
  for (size_t i = 0; i <= index; ++i) {
    offset = AlignUp(offset, AlignOf(info.fields[i].type));
    if (i < index) offset += SizeOf(info.fields[i].type);
  }
  return offset;
}

int64_t TypeTable::ElementCount(TypeId array) const {
  int64_t count = 1;
  for (const int64_t dim : infos_[array.value].dims) count *= dim;
  return count;
}

std::optional<size_t> TypeTable::FieldIndex(TypeId aggregate, std::string_view name) const {
  const TypeInfo& info = infos_[aggregate.value];
  for (size_t i = 0; i < info.fields.size(); ++i) {
    if (info.fields[i].name == name && !name.empty()) return i;
  }
  return std::nullopt;
}

std::optional<Int128> TypeTable::EnumValue(TypeId enumeration, std::string_view name) const {
  for (const EnumElement& element : infos_[enumeration.value].elements) {
    if (element.name == name) return element.value;
  }
  return std::nullopt;
}

Int128 TypeTable::MinOf(const TypeInfo& int_type) {
  return int_type.is_signed ? -(Int128{1} << (int_type.bits - 1)) : Int128{0};
}

Int128 TypeTable::MaxOf(const TypeInfo& int_type) {
  return (Int128{1} << (int_type.is_signed ? int_type.bits - 1 : int_type.bits)) - 1;
}

Int128 TypeTable::Wrap(const TypeInfo& int_type, Int128 value) {
  const Uint128 mask = (Uint128{1} << int_type.bits) - 1;
  const Uint128 cut = static_cast<Uint128>(value) & mask;
  const bool negative = int_type.is_signed && ((cut >> (int_type.bits - 1)) & 1) != 0;
  return static_cast<Int128>(negative ? cut | ~mask : cut);
}

}  // namespace szarena::csl
