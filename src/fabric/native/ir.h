// SPDX-License-Identifier: Apache-2.0
// A short hand for LLVM's C interface: values of 64, 32, 16 and 8 bits, memory by pointer and byte
// offset. Wrapping arithmetic only.
#pragma once

#include <llvm-c/Core.h>

#include <cstdint>
#include <vector>

namespace szarena::fabric::native {

using Value = LLVMValueRef;
using Block = LLVMBasicBlockRef;

class Ir {
 public:
  explicit Ir(LLVMContextRef context);
  ~Ir();
  Ir(const Ir&) = delete;
  Ir& operator=(const Ir&) = delete;

  LLVMContextRef context;
  LLVMBuilderRef builder;
  LLVMTypeRef i1, i8, i16, i32, i64, f32, ptr;

  LLVMTypeRef Int(unsigned bits) const { return LLVMIntTypeInContext(context, bits); }
  Value C64(uint64_t v) const { return LLVMConstInt(i64, v, 0); }
  Value C32(uint32_t v) const { return LLVMConstInt(i32, v, 0); }
  Value Address(const void* p) const {
    return LLVMConstIntToPtr(C64(reinterpret_cast<uint64_t>(p)), ptr);
  }

  Value Add(Value a, Value b) const { return LLVMBuildAdd(builder, a, b, ""); }
  Value Sub(Value a, Value b) const { return LLVMBuildSub(builder, a, b, ""); }
  Value And(Value a, Value b) const { return LLVMBuildAnd(builder, a, b, ""); }
  Value Or(Value a, Value b) const { return LLVMBuildOr(builder, a, b, ""); }
  Value Cmp(LLVMIntPredicate p, Value a, Value b) const {
    return LLVMBuildICmp(builder, p, a, b, "");
  }
  Value Select(Value c, Value a, Value b) const { return LLVMBuildSelect(builder, c, a, b, ""); }
  Value Zext(Value v, LLVMTypeRef to) const { return LLVMBuildZExt(builder, v, to, ""); }
  Value Sext(Value v, LLVMTypeRef to) const { return LLVMBuildSExt(builder, v, to, ""); }
  Value Trunc(Value v, LLVMTypeRef to) const { return LLVMBuildTrunc(builder, v, to, ""); }

  Value At(Value base, Value bytes) const {
    return LLVMBuildGEP2(builder, i8, base, &bytes, 1, "");
  }
  Value At(Value base, uint64_t bytes) const { return At(base, C64(bytes)); }
  // `align`: what is known of the address.
  Value Load(LLVMTypeRef type, Value address, unsigned align = 1) const;
  Value LoadInvariant(LLVMTypeRef type,
                      Value address) const;  // nobody writes it while the function runs
  void Store(Value v, Value address, unsigned align = 1) const;

  Value Call(LLVMTypeRef type, Value callee, std::vector<Value> args, bool pure = false) const;

  void Go(Block to) const { LLVMBuildBr(builder, to); }
  void If(Value c, Block yes, Block no) const { LLVMBuildCondBr(builder, c, yes, no); }
  void Unlikely(Value c, Block yes, Block no) const;  // `yes` is rare
  void Begin(Block block) const { LLVMPositionBuilderAtEnd(builder, block); }

 private:
  unsigned invariant_;
  unsigned profile_;
  Value rare_;
  LLVMAttributeRef pure_[3];
};

}  // namespace szarena::fabric::native
