// SPDX-License-Identifier: Apache-2.0
// See programs.h.
#include "bench/csl/programs.h"

#include <bit>

namespace szarena::bench {
using namespace fabric::testing;

ProgramKit ScalarProgram(int width, int height, uint32_t turns) {
  ProgramKit kit(width, height);
  ClassKit c = kit.AddClass("scalar");
  const uint16_t a = c.Floats("a", std::vector<float>(64, 1.0f));
  c.ExportFunction("main", c.Fn("main", [&](FunctionBuilder& b) {
    const Reg i = b.Const(0);
    const Reg n = b.Const(turns);
    const Reg base = b.Const(a);
    const Reg mask = b.Const(63);
    const Reg k = b.NewReg();
    const Reg x = b.NewReg();
    const Reg scale = b.Const(std::bit_cast<int32_t>(1.0001f));
    const Reg sum = b.Const(0);
    const Label top = b.NewLabel();
    b.Bind(top);
    b.Emit(Op::kAnd, k, i, mask);
    b.Emit(Op::kLoadIdxU32, x, base, k);
    b.Emit(Op::kMulF32, x, x, scale);
    b.Emit(Op::kAddF32, sum, sum, x);
    b.Emit(Op::kStoreIdx32, x, base, k);
    b.Emit(Op::kShrU32, k, i, mask);
    b.Emit(Op::kXor, k, k, i);
    b.Emit(Op::kAddImmU32, i, i, 1);
    b.JumpCompare(Op::kJumpLtU, i, n, top);
    EmitUnblock(b);
  }));
  kit.PlaceAll(c);
  return kit;
}

ProgramKit CallsProgram(int width, int height, uint32_t turns) {
  ProgramKit kit(width, height);
  ClassKit c = kit.AddClass("calls");
  const uint32_t f = c.Fn("step", [&](FunctionBuilder& b) {
    const Label odd = b.NewLabel();
    const Reg bit = b.NewReg();
    const Reg one = b.Const(1);
    b.Emit(Op::kAnd, bit, 0, one);
    b.JumpIf(bit, odd);
    b.Emit(Op::kShrU32, 0, 0, one);
    b.Emit(Op::kReturn, 0);
    b.Bind(odd);
    b.Emit(Op::kMulU32, 0, 0, 1);
    b.Emit(Op::kAddU32, 0, 0, one);
    b.Emit(Op::kReturn, 0);
  }, {ScalarType::kU32, ScalarType::kU32}, true);
  c.ExportFunction("main", c.Fn("main", [&](FunctionBuilder& b) {
    const Reg i = b.Const(0);
    const Reg n = b.Const(turns);
    const Reg x = b.Const(27);
    const Reg w = b.NewRegs(2);
    const Label top = b.NewLabel();
    b.Bind(top);
    b.Emit(Op::kMove, w, x);
    b.Const(static_cast<Reg>(w + 1), 3);
    b.Emit(Op::kCall, w, 0, static_cast<uint16_t>(f));
    b.Emit(Op::kMove, x, w);
    b.Emit(Op::kAddImmU32, i, i, 1);
    b.JumpCompare(Op::kJumpLtU, i, n, top);
    EmitUnblock(b);
  }));
  kit.PlaceAll(c);
  return kit;
}

ProgramKit VectorProgram(int width, int height, uint16_t length, uint32_t turns) {
  ProgramKit kit(width, height);
  ClassKit c = kit.AddClass("vector");
  const uint16_t y = c.Floats("y", std::vector<float>(length, 1.0f));
  const uint16_t x = c.Floats("x", std::vector<float>(length, 0.5f));
  const uint16_t dy = c.Dsd(Mem(y, length, 4));
  const uint16_t dx = c.Dsd(Mem(x, length, 4));
  c.ExportFunction("main", c.Fn("main", [&](FunctionBuilder& b) {
    const Reg i = b.Const(0);
    const Reg n = b.Const(turns);
    const Reg s = b.Const(std::bit_cast<int32_t>(0.25f));
    const Label top = b.NewLabel();
    b.Bind(top);
    EmitDsd(b, c, MakeDsd(DsdOp::kFmacs, At(dy), {At(dy), At(dx), Scalar(s, ScalarType::kF32)}));
    b.Emit(Op::kAddImmU32, i, i, 1);
    b.JumpCompare(Op::kJumpLtU, i, n, top);
    EmitUnblock(b);
  }));
  kit.PlaceAll(c);
  return kit;
}

ProgramKit CommunicationProgram(int width, int height, uint16_t length) {
  ProgramKit kit(width, height);
  ClassKit first = kit.AddClass("first");
  const uint16_t a = first.Words("a", std::vector<uint16_t>(length, 7));
  const uint16_t from = first.Dsd(Mem(a, length, 2));
  const uint16_t out = first.Dsd(FabOut(2, 5, length));
  first.ExportFunction("main", first.Fn("main", [&](FunctionBuilder& b) {
    EmitDsd(b, first, MakeDsd(DsdOp::kMov16, At(out), {At(from)}));
    EmitUnblock(b);
  }));
  ClassKit last = kit.AddClass("last");
  const uint16_t r = last.Global("r", 2u * length);
  const uint16_t to = last.Dsd(Mem(r, length, 2));
  const uint16_t in = last.Dsd(FabIn(2, 5, length));
  last.ExportFunction("main", last.Fn("main", [&](FunctionBuilder& b) {
    EmitDsd(b, last, MakeDsd(DsdOp::kMov16, At(to), {At(in)}));
    EmitUnblock(b);
  }));
  ClassKit middle = kit.AddClass("middle");
  middle.ExportFunction("main", middle.Fn("main", [&](FunctionBuilder& b) { EmitUnblock(b); }));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      kit.Place(x, y, x == 0 ? first : x == width - 1 ? last : middle);
      if (x == 0) kit.Route(x, y, 5, {Direction::kRamp}, {Direction::kEast});
      else if (x == width - 1) kit.Route(x, y, 5, {Direction::kWest}, {Direction::kRamp});
      else kit.Route(x, y, 5, {Direction::kWest}, {Direction::kEast});
    }
  }
  return kit;
}

ProgramKit IdleProgram(int width, int height, uint16_t length) {
  ProgramKit kit(width, height);
  ClassKit c = kit.AddClass("idle");
  const uint16_t a = c.Global("a", 4u * length, 4);
  const uint16_t d = c.Dsd(Mem(a, length, 4));
  c.ExportPointer("a", a, 4);
  c.ExportFunction("main", c.Fn("main", [&](FunctionBuilder& b) {
    const Reg one = b.Const(std::bit_cast<int32_t>(1.0f));
    EmitDsd(b, c, MakeDsd(DsdOp::kFadds, At(d), {At(d), Scalar(one, ScalarType::kF32)}));
    EmitUnblock(b);
  }));
  kit.PlaceAll(c);
  return kit;
}

}  // namespace szarena::bench
