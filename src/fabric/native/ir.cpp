// SPDX-License-Identifier: Apache-2.0
// See ir.h.
#include "fabric/native/ir.h"

namespace szarena::fabric::native {
namespace {
LLVMAttributeRef AttributeOf(LLVMContextRef context, const char* name, size_t length) {
  return LLVMCreateEnumAttribute(context, LLVMGetEnumAttributeKindForName(name, length), 0);
}
}  // namespace

Ir::Ir(LLVMContextRef c) : context(c), builder(LLVMCreateBuilderInContext(c)) {
  i1 = Int(1);
  i8 = Int(8);
  i16 = Int(16);
  i32 = Int(32);
  i64 = Int(64);
  f32 = LLVMFloatTypeInContext(c);
  ptr = LLVMPointerTypeInContext(c, 0);
  invariant_ = LLVMGetMDKindIDInContext(c, "invariant.load", 14);
  profile_ = LLVMGetMDKindIDInContext(c, "prof", 4);
  LLVMMetadataRef weights[3] = {LLVMMDStringInContext2(c, "branch_weights", 14),
                                LLVMValueAsMetadata(C32(1)), LLVMValueAsMetadata(C32(4000))};
  rare_ = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, weights, 3));
  pure_[0] = AttributeOf(c, "nounwind", 8);
  pure_[1] = AttributeOf(c, "willreturn", 10);
  pure_[2] = AttributeOf(c, "memory", 6);  // value 0: touches none
}

Ir::~Ir() { LLVMDisposeBuilder(builder); }

Value Ir::Load(LLVMTypeRef type, Value address, unsigned align) const {
  Value v = LLVMBuildLoad2(builder, type, address, "");
  LLVMSetAlignment(v, align);
  return v;
}

Value Ir::LoadInvariant(LLVMTypeRef type, Value address) const {
  Value v = Load(type, address, 8);
  LLVMSetMetadata(v, invariant_,
                  LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, nullptr, 0)));
  return v;
}

void Ir::Store(Value v, Value address, unsigned align) const {
  LLVMSetAlignment(LLVMBuildStore(builder, v, address), align);
}

Value Ir::Call(LLVMTypeRef type, Value callee, std::vector<Value> args, bool pure) const {
  Value call =
      LLVMBuildCall2(builder, type, callee, args.data(), static_cast<unsigned>(args.size()), "");
  LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, pure_[0]);
  if (pure) {
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, pure_[1]);
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, pure_[2]);
  }
  return call;
}

void Ir::Unlikely(Value c, Block yes, Block no) const {
  LLVMSetMetadata(LLVMBuildCondBr(builder, c, yes, no), profile_, rare_);
}

}  // namespace szarena::fabric::native
