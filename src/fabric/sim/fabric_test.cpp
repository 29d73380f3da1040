// SPDX-License-Identifier: Apache-2.0
// The machine from end to end: host commands, vector operations, traffic between PEs, host streams,
// reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "fabric/sim/fabric.h"
#include "fabric/testing/program_kit.h"

namespace szarena::fabric {
namespace {
using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Fabric> Load(const ProgramKit& kit, Options options = {}) {
  auto f = Fabric::Create(kit.Build(), std::move(options));
  EXPECT_TRUE(f) << (f ? "" : f.error().ToString());
  return f ? *std::move(f) : nullptr;
}

void Done(Fabric& f, Result<Ticket> t) {
  ASSERT_TRUE(t) << t.error().ToString();
  const auto r = f.RunUntil(*t);
  ASSERT_TRUE(r) << r.error().ToString();
}

TEST(Fabric, CopyLaunchCopyBack) {
  ProgramKit kit(1, 1);
  ClassKit c = kit.AddClass("pe");
  const uint16_t a = c.Global("a", 8, 4);
  const uint16_t d = c.Dsd(Mem(a, 2, 4));
  c.ExportPointer("a", a, 4);
  c.ExportFunction("main", c.Fn("main", [&](FunctionBuilder& b) {
    const Reg two = b.Const(std::bit_cast<int32_t>(2.0f));
    EmitDsd(b, c, MakeDsd(DsdOp::kFmuls, At(d), {At(d), Scalar(two, ScalarType::kF32)}));
    EmitUnblock(b);
  }));
  kit.PlaceAll(c);
  auto f = Load(kit);
  const uint32_t array = f->ExportId("a").value();
  Done(*f, f->CopyIn(array, {0, 0, 1, 1}, 32, 2,
                     {std::bit_cast<uint32_t>(1.5f), std::bit_cast<uint32_t>(-3.0f)}));
  Done(*f, f->Launch(f->ExportId("main").value(), {}));
  const Ticket out = f->CopyOut(array, {0, 0, 1, 1}, 32, 2).value();
  ASSERT_TRUE(f->RunUntil(out));
  EXPECT_THAT(f->TakeOutput(out),
              ElementsAre(std::bit_cast<uint32_t>(3.0f), std::bit_cast<uint32_t>(-6.0f)));
  f->Stop();
  EXPECT_TRUE(f->traps().empty()) << f->traps()[0].ToString();
  EXPECT_EQ(f->statistics().elements, 2u);
}

// Two PEs: the left sends its array, the right receives it asynchronously and then tells the host.
ProgramKit SendReceive(uint16_t n, Arch arch) {
  ProgramKit kit(2, 1, arch);
  ClassKit left = kit.AddClass("left");
  std::vector<uint16_t> values;
  for (uint16_t i = 0; i < n; ++i) values.push_back(static_cast<uint16_t>(100 + i));
  const uint16_t a = left.Words("a", values);
  const uint16_t from = left.Dsd(Mem(a, n, 2));
  const uint16_t out = left.Dsd(FabOut(2, 5, n));
  left.Queue(true, 2, 5);
  left.ExportFunction("main", left.Fn("main", [&](FunctionBuilder& b) {
    EmitDsd(b, left, MakeDsd(DsdOp::kMov16, At(out), {At(from)}));
    EmitUnblock(b);
  }));
  ClassKit right = kit.AddClass("right");
  const uint16_t r = right.Global("r", 2u * n);
  const uint16_t to = right.Dsd(Mem(r, n, 2));
  const uint16_t in = right.Dsd(FabIn(3, 5, n));
  right.Queue(false, 3, 5);
  right.Task(TaskKind::kLocal, 9, right.Fn("done", [&](FunctionBuilder& b) { EmitUnblock(b); }));
  right.ExportPointer("r", r, 2);
  right.ExportFunction("main", right.Fn("main", [&](FunctionBuilder& b) {
    DsdOpInfo op = MakeDsd(DsdOp::kMov16, At(to), {At(in)});
    op.settings.async = true;
    op.settings.on_done = {SignalKind::kActivate, false, 9};
    EmitDsd(b, right, op);
  }));
  kit.Place(0, 0, left);
  kit.Place(1, 0, right);
  kit.Route(0, 0, 5, {Direction::kRamp}, {Direction::kEast});
  kit.Route(1, 0, 5, {Direction::kWest}, {Direction::kRamp});
  return kit;
}

TEST(Fabric, WaveletsGoFromPeToPe) {
  for (const Arch arch : {Arch::kWse2, Arch::kWse3}) {
    auto f = Load(SendReceive(50, arch));
    Done(*f, f->Launch(f->ExportId("main").value(), {}));
    const Ticket out = f->CopyOut(f->ExportId("r").value(), {1, 0, 1, 1}, 16, 50).value();
    ASSERT_TRUE(f->RunUntil(out));
    const auto words = f->TakeOutput(out);
    for (uint32_t i = 0; i < 50; ++i) EXPECT_EQ(words[i], 100 + i);
    f->Stop();
    EXPECT_TRUE(f->traps().empty()) << f->traps()[0].ToString();
    EXPECT_EQ(f->statistics().hops, 100u);
  }
}

TEST(Fabric, WaitingIsCountedAsStalledNotBusy) {
  // A receives one word synchronously from B, which first computes for a long time.
  ProgramKit kit(2, 1);
  ClassKit a = kit.AddClass("a");
  const uint16_t word = a.Global("word", 2);
  const uint16_t to = a.Dsd(Mem(word, 1, 2));
  const uint16_t in = a.Dsd(FabIn(2, 5, 1));
  a.ExportFunction("main", a.Fn("main", [&](FunctionBuilder& b) {
    EmitDsd(b, a, MakeDsd(DsdOp::kMov16, At(to), {At(in)}));
    EmitUnblock(b);
  }));
  ClassKit c = kit.AddClass("b");
  const uint16_t out = c.Dsd(FabOut(2, 5, 1));
  c.ExportFunction("main", c.Fn("main", [&](FunctionBuilder& b) {
    const Reg i = b.Const(0);
    const Reg n = b.Const(1000);
    const Label top = b.NewLabel();
    b.Bind(top);
    b.Emit(Op::kAddImmU16, i, i, 1);
    b.JumpCompare(Op::kJumpLtU, i, n, top);
    EmitDsd(b, c, MakeDsd(DsdOp::kMov16, At(out), {Scalar(i, ScalarType::kU16)}));
    EmitUnblock(b);
  }));
  kit.Place(0, 0, a);
  kit.Place(1, 0, c);
  kit.Route(0, 0, 5, {Direction::kEast}, {Direction::kRamp});
  kit.Route(1, 0, 5, {Direction::kRamp}, {Direction::kWest});
  auto f = Load(kit);
  Done(*f, f->Launch(f->ExportId("main").value(), {}));
  const PeStatistics receiver = f->StatisticsOf(0, 0);
  const PeStatistics sender = f->StatisticsOf(1, 0);
  EXPECT_GT(sender.count.busy, 4000u);  // 1000 turns of an addition and a taken branch
  EXPECT_LT(sender.count.stalled, 20u);
  EXPECT_GT(receiver.count.stalled, 4000u);
  EXPECT_LT(receiver.count.busy, 50u);
}

TEST(Fabric, MissingWaveletIsADeadlockWithPlaceAndReason) {
  ProgramKit kit = SendReceive(50, Arch::kWse2);
  kit.get().classes[0].dsd_ops[0].src[0].value = kit.get().classes[0].image[1].address;
  Encode(Mem(0, 49, 2), std::span<uint8_t, kDescriptorBytes>(
                            kit.get().classes[0].image[1].bytes.data(), kDescriptorBytes));
  Encode(FabOut(2, 5, 49), std::span<uint8_t, kDescriptorBytes>(
                               kit.get().classes[0].image[2].bytes.data(), kDescriptorBytes));
  auto f = Load(kit);
  const auto r = f->RunUntil(f->Launch(f->ExportId("main").value(), {}).value());
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message, HasSubstr("PE (1, 0)"));
  EXPECT_THAT(r.error().message,
              HasSubstr("input queue 3 (colour 5) is empty (49 of 50 elements done)"));
  EXPECT_THAT(r.error().message, HasSubstr("activates 'done' (id 9)"));
  EXPECT_THAT(r.error().message, HasSubstr("kit.csl:2"));
}

TEST(LoadTimeCode, RunsBeforeTheFirstCycle) {
  ProgramKit kit(1, 1);
  ClassKit c = kit.AddClass("pe");
  const uint16_t mark = c.Global("mark", 2);
  c.get().init_function = c.Fn("init", [&](FunctionBuilder& b) {
    const Reg w = b.NewRegs(3);
    b.Const(w, 5);
    b.Const(static_cast<Reg>(w + 1), BitOf(Direction::kRamp));
    b.Const(static_cast<Reg>(w + 2), BitOf(Direction::kRamp));
    b.Emit(Op::kNative, w, 0, static_cast<uint16_t>(Native::k_route_reset));
    b.Emit(Op::kStoreAbs16, b.Const(5), mark);
  });
  kit.PlaceAll(c);
  auto f = Load(kit);
  ASSERT_TRUE(f->RunUntilIdle());
  EXPECT_LT(f->now(), 10u);
  EXPECT_THAT(f->ReadSymbol(0, 0, "mark").value(), ElementsAre(5, 0));
}

TEST(LoadTimeCode, MustEnd) {
  ProgramKit kit(1, 1);
  ClassKit c = kit.AddClass("pe");
  c.get().init_function = c.Fn("init", [&](FunctionBuilder& b) {
    const Label top = b.NewLabel();
    b.Bind(top);
    b.Jump(top);
  });
  kit.PlaceAll(c);
  const auto f = Fabric::Create(kit.Build(), {});
  ASSERT_FALSE(f);
  EXPECT_THAT(f.error().message, HasSubstr("does not come to an end"));
}

// A task that `comptime` activated jumps for ever, or ends.
TEST(Rest, SettlesOrSaysWhoMoves) {
  for (const bool ends : {true, false}) {
    ProgramKit kit(2, 1);
    ClassKit c = kit.AddClass("pe");
    c.Task(TaskKind::kLocal, 9, c.Fn("poll", [&](FunctionBuilder& b) {
      const Label top = b.NewLabel();
      b.Bind(top);
      if (!ends) b.Jump(top);
    }));
    c.get().initially_active = uint64_t{1} << 9;
    kit.Place(1, 0, c);
    auto f = Load(kit);
    EXPECT_FALSE(f->AtRest());
    const Result<bool> rests = f->Settle(1000);
    ASSERT_TRUE(rests) << rests.error().ToString();
    EXPECT_EQ(*rests, ends);
    EXPECT_EQ(f->AtRest(), ends);
    EXPECT_EQ(f->WhoMoves().empty(), ends);
    if (ends) continue;
    EXPECT_THAT(f->WhoMoves(), HasSubstr("PE (1, 0): task 'poll' (id 9) runs"));
    EXPECT_LE(f->now(), 1000u);
  }
}

TEST(Rest, WhatNeverEndsIsNotIdle) {
  // The launched function unblocks the host, and goes on for ever.
  ProgramKit kit(1, 1);
  ClassKit c = kit.AddClass("pe");
  c.ExportFunction("main", c.Fn("main", [&](FunctionBuilder& b) {
    EmitUnblock(b);
    const Label top = b.NewLabel();
    b.Bind(top);
    b.Jump(top);
  }));
  kit.PlaceAll(c);
  Options options;
  options.max_cycles = 5000;
  auto f = Fabric::Create(kit.Build(), options);
  ASSERT_TRUE(f) << f.error().ToString();
  Done(**f, (*f)->Launch((*f)->ExportId("main").value(), {}));
  const auto idle = (*f)->RunUntilIdle();
  ASSERT_FALSE(idle);
  EXPECT_EQ(idle.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(idle.error().message,
              HasSubstr("still runs after 5000 cycles, the limit that was given; PE (0, 0): "
                        "function 'main', launched by the host, runs"));
}

}  // namespace
}  // namespace szarena::fabric
