// SPDX-License-Identifier: Apache-2.0
// Instructions of the register bytecode: opcodes, scalar types, encoding. The list is op.def.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace szarena::bytecode {

// Types of scalar registers. The first eight are the integer order of the typed instructions.
enum class ScalarType : uint8_t { kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64, kBool, kF16, kF32 };
inline constexpr int kScalarTypeCount = 11;

constexpr int SizeOf(ScalarType t) {  // bytes in PE memory
  constexpr std::array<uint8_t, kScalarTypeCount> kSize = {1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4};
  return kSize[static_cast<size_t>(t)];
}
constexpr bool IsSigned(ScalarType t) { return t <= ScalarType::kI64; }
std::string_view ScalarTypeName(ScalarType t);  // "i16", "bool", "f16"

enum class CostGroup : uint8_t {
  kFree,
  kMove,
  kAlu16,
  kAlu32,
  kAlu64,
  kMul16,
  kMul32,
  kMul64,
  kDiv16,
  kDiv32,
  kDiv64,
  kFToI16,
  kFToI32,
  kFToI64,
  kFloat16,
  kFloat32,
  kFloatDiv,
  kBranch,
  kSwitch,
  kCall,
  kReturn,
  kLoad,
  kStore,
  kLoadIdx,
  kStoreIdx,
  kCopy,
  kTask,
  kDsdMake,
  kDsdInc,
  kDsd,
  kDsrLoad,
  kMap,
  kNative,
  kCount
};

enum class Op : uint16_t {
#define OP(name, fmt, group) k##name,
#include "bytecode/op.def"
  kCount
};
inline constexpr int kOpCount = static_cast<int>(Op::kCount);

struct OpInfo {
  const char* name;
  const char* operands;  // see op.def
  CostGroup group;
};
const OpInfo& InfoOf(Op op);

// The member for integer type `t` of a family made by OP8, given its I8 member: TypedOp(Op::kAddI8,
// kU16) = kAddU16.
constexpr Op TypedOp(Op i8_member, ScalarType t) {
  return static_cast<Op>(static_cast<int>(i8_member) +
                         static_cast<int>(t == ScalarType::kBool ? ScalarType::kU8 : t));
}
// The integer type with the bits of `t` as they lie in a register: floats as unsigned words.
constexpr ScalarType StorageType(ScalarType t) {
  if (t == ScalarType::kF16) return ScalarType::kU16;
  if (t == ScalarType::kF32) return ScalarType::kU32;
  if (t == ScalarType::kBool) return ScalarType::kU8;
  return t;
}
enum class AddressForm : uint8_t { kOffset, kAbsolute, kIndexed };
constexpr Op LoadOp(ScalarType t, AddressForm form = AddressForm::kOffset) {
  const Op base = form == AddressForm::kOffset     ? Op::kLoadI8
                  : form == AddressForm::kAbsolute ? Op::kLoadAbsI8
                                                   : Op::kLoadIdxI8;
  return TypedOp(base, StorageType(t));
}
constexpr Op StoreOp(ScalarType t, AddressForm form = AddressForm::kOffset) {
  const Op base = form == AddressForm::kOffset     ? Op::kStore8
                  : form == AddressForm::kAbsolute ? Op::kStoreAbs8
                                                   : Op::kStoreIdx8;
  const int size = SizeOf(t);
  return static_cast<Op>(static_cast<int>(base) + (size == 1   ? 0
                                                   : size == 2 ? 1
                                                   : size == 4 ? 2
                                                               : 3));
}

struct Instr {
  uint16_t op = 0;
  uint16_t a = 0;
  uint16_t b = 0;
  uint16_t c = 0;
  friend bool operator==(const Instr&, const Instr&) = default;
  uint32_t bc() const { return static_cast<uint32_t>(b) | static_cast<uint32_t>(c) << 16; }
};
static_assert(sizeof(Instr) == 8);

constexpr Instr MakeInstr(Op op, uint16_t a = 0, uint16_t b = 0, uint16_t c = 0) {
  return {static_cast<uint16_t>(op), a, b, c};
}
constexpr Instr MakeWide(Op op, uint16_t a, uint32_t bc) {
  return {static_cast<uint16_t>(op), a, static_cast<uint16_t>(bc), static_cast<uint16_t>(bc >> 16)};
}

enum class DsdOp : uint8_t {
#define DSDOP(name, builtin, dest, srcs) k##name,
#include "bytecode/dsd_op.def"
  kCount
};
struct DsdOpFacts {
  const char* name;  // CSL builtin without '@'
  char dest;         // element letters of dsd_op.def
  const char* sources;
};
const DsdOpFacts& FactsOf(DsdOp op);
// Takes elements from one place to another and computes nothing.
constexpr bool IsMove(DsdOp op) {
  return op == DsdOp::kMov16 || op == DsdOp::kMov32 || op == DsdOp::kFmovh || op == DsdOp::kFmovs ||
         op == DsdOp::kDfilt;
}

enum class Native : uint16_t {
#define NATIVE(name, args, result) k_##name,
#include "bytecode/native.def"
  kCount
};
struct NativeInfo {
  const char* name;
  const char* args;  // letters of native.def
  char result;
};
const NativeInfo& InfoOf(Native native);
// kCount where no native has that name.
Native NativeByName(std::string_view name);

}  // namespace szarena::bytecode
