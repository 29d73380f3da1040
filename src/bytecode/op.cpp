// SPDX-License-Identifier: Apache-2.0
// Tables behind op.h.
#include "bytecode/op.h"

#include <unordered_map>

#include "base/check.h"

namespace szarena::bytecode {
namespace {
constexpr OpInfo kOps[] = {
#define OP(name, fmt, group) {#name, fmt, CostGroup::group},
#include "bytecode/op.def"
};
constexpr DsdOpFacts kDsdOps[] = {
#define DSDOP(name, builtin, dest, srcs) {builtin, dest, srcs},
#include "bytecode/dsd_op.def"
};
constexpr NativeInfo kNatives[] = {
#define NATIVE(name, args, result) {#name, args, result},
#include "bytecode/native.def"
};
}  // namespace

std::string_view ScalarTypeName(ScalarType t) {
  static constexpr std::string_view kNames[] = {"i8",  "i16", "i32",  "i64", "u8", "u16",
                                                "u32", "u64", "bool", "f16", "f32"};
  return kNames[static_cast<size_t>(t)];
}

const OpInfo& InfoOf(Op op) {
  SZARENA_CHECK(op < Op::kCount, "opcode within the table");
  return kOps[static_cast<size_t>(op)];
}

const DsdOpFacts& FactsOf(DsdOp op) {
  SZARENA_CHECK(op < DsdOp::kCount, "DSD operation within the table");
  return kDsdOps[static_cast<size_t>(op)];
}

const NativeInfo& InfoOf(Native native) {
  SZARENA_CHECK(native < Native::kCount, "native within the table");
  return kNatives[static_cast<size_t>(native)];
}

Native NativeByName(std::string_view name) {
  static const auto* const kByName = [] {
    auto* map = new std::unordered_map<std::string_view, Native>;
    for (size_t i = 0; i < std::size(kNatives); ++i)
      map->emplace(kNatives[i].name, static_cast<Native>(i));
    return map;
  }();
  const auto it = kByName->find(name);
  return it == kByName->end() ? Native::kCount : it->second;
}

}  // namespace szarena::bytecode
