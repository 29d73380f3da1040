// SPDX-License-Identifier: Apache-2.0
// Code and data that no compiler writes but that an image may hold, or a program may make in its
// own memory: each ends in a named trap or at a defined place, never outside of the machine's own
// state.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/interp/operand.h"
#include "fabric/testing/lone_pe.h"

namespace szarena::fabric {
namespace {
using namespace testing;
using ::testing::HasSubstr;

// The only trap of running `body` as a function, as "name: detail"; "" where there is none.
template <typename Body>
std::string TrapOf(LonePe& pe, Body body) {
  const uint32_t f = pe.code().Fn("damaged", body);
  pe.Load();
  pe.traps.clear();
  pe.Call(f);
  if (pe.traps.empty()) return {};
  EXPECT_EQ(pe.traps.size(), 1u);
  return fmt::format("{}: {}", TrapName(pe.traps[0].first), pe.traps[0].second);
}

TEST(Damage, StepOfAMapThatWasNotBegun) {
  for (const Op op : {Op::kMapNext, Op::kMapPut}) {
    LonePe pe;
    pe.code().get().maps.push_back({{{OperandKind::kScalar, ScalarType::kU16, 0}}, {}});
    EXPECT_THAT(TrapOf(pe, [&](FunctionBuilder& b) { b.Emit(op, b.NewReg(), 0, 0); }),
                HasSubstr("program-trap"));
  }
}

TEST(Damage, StepOfAnotherMapThanTheOneBegun) {
  LonePe pe;
  pe.code().get().maps.resize(2);
  pe.code().get().maps[0].inputs.assign(40, {OperandKind::kScalar, ScalarType::kU16, 0});
  EXPECT_THAT(TrapOf(pe,
                     [&](FunctionBuilder& b) {
                       const Reg r = b.NewReg();
                       b.Emit(Op::kMapStart, 0, 0, 0);
                       b.Emit(Op::kMapNext, r, 0, 1);
                     }),
              HasSubstr("program-trap"));
}

TEST(Damage, LoopsOfMapInEachOther) {
  LonePe pe;
  pe.code().get().maps.push_back({{{OperandKind::kScalar, ScalarType::kU16, 0}}, {}});
  EXPECT_THAT(TrapOf(pe,
                     [&](FunctionBuilder& b) {
                       const Label top = b.NewLabel();
                       b.Bind(top);
                       b.Emit(Op::kMapStart, 0, 0, 0);
                       b.Jump(top);
                     }),
              HasSubstr("stack-overflow: 1000 loops"));
}

TEST(Damage, RegistersOfDeepCalls) {
  LonePe pe;
  const uint32_t self = static_cast<uint32_t>(pe.code().get().functions.size());
  EXPECT_THAT(TrapOf(pe,
                     [&](FunctionBuilder& b) {
                       const Reg r = b.NewRegs(20'000);
                       b.Emit(Op::kCall, static_cast<Reg>(r + 19'999), 0,
                              static_cast<uint16_t>(self));
                     }),
              HasSubstr("stack-overflow: call of 'damaged' at depth"));
}

TEST(Damage, FrameOfAFunctionThatBeginsAtTheEndOfMemory) {
  LonePe pe;
  pe.code().get().stack_base = kSramBytes - 100;
  EXPECT_THAT(
      TrapOf(pe,
             [&](FunctionBuilder& b) { b.EmitWide(Op::kFrameAddr, b.NewReg(), b.NewLocal(102)); }),
      HasSubstr("stack-overflow"));
  EXPECT_EQ(
      TrapOf(pe,
             [&](FunctionBuilder& b) { b.EmitWide(Op::kFrameAddr, b.NewReg(), b.NewLocal(100)); }),
      "");
}

TEST(Damage, FillBeyondTheMemory) {
  LonePe pe;
  EXPECT_THAT(
      TrapOf(pe, [&](FunctionBuilder& b) { b.EmitWide(Op::kZeroMem, b.Const(8), 0xfffffffcu); }),
      HasSubstr("raw-register"));
}

TEST(Damage, NativesCheckCodesAndHandles) {
  LonePe pe;
  const auto call = [&](Native native, std::vector<int64_t> args) {
    return TrapOf(pe, [&](FunctionBuilder& b) {
      const Reg w = b.NewRegs(static_cast<int>(args.size()));
      for (size_t k = 0; k < args.size(); ++k) b.Const(static_cast<Reg>(w + k), args[k]);
      b.Emit(Op::kNative, w, 0, static_cast<uint16_t>(native));
    });
  };
  EXPECT_THAT(call(Native::k_print_value, {11, 'd', 0, 1}),
              HasSubstr("program-trap: print_value: there is no scalar type 11"));
  EXPECT_THAT(call(Native::k_trace_value, {0, -1, 1}), HasSubstr("program-trap: trace_value"));
  EXPECT_THAT(call(Native::k_dsr_set_base, {0x7fffff00, 0}), HasSubstr("bad-dsr"));
  // Natives of fewer arguments than the machine looks at, in a function's last registers.
  EXPECT_EQ(call(Native::k_sqrt_f32, {0x42280000}), "");
  EXPECT_EQ(call(Native::k_switch_get_position, {3}), "");
}

// A descriptor as an operation on it would find it in memory.
std::string TrapOfMove(Descriptor d) {
  LonePe pe;
  const uint16_t at = pe.code().Dsd(d);
  const uint16_t a = pe.code().Words("a", {1, 2, 3, 4});
  const uint16_t from = pe.code().Dsd(Mem(a, 4, 2));
  const bool reads = d.kind == DsdKind::kFabin;
  return TrapOf(pe, [&](FunctionBuilder& b) {
    EmitDsd(b, pe.code(),
            reads ? MakeDsd(DsdOp::kMov16, At(from), {At(at)})
                  : MakeDsd(DsdOp::kMov16, At(at), {At(from)}));
  });
}

TEST(Damage, DescriptorsOfNoRank) {
  for (const uint8_t rank : {uint8_t{0}, uint8_t{5}, uint8_t{255}}) {
    Descriptor in = FabIn(1, 2, 4);
    Descriptor out = FabOut(1, 2, 4);
    Descriptor memory = Mem(0, 4, 2);
    in.rank = out.rank = memory.rank = rank;
    for (const Descriptor& d : {in, out, memory})
      EXPECT_THAT(TrapOfMove(d), HasSubstr("bad-descriptor")) << d.ToString();
  }
}

TEST(Damage, WalksOverEmptyInnerLoopsEnd) {
  Descriptor d = Mem(64, 4, 2);
  d.kind = DsdKind::kMem4d;
  d.rank = 2;
  d.extent = {4, 0, 1, 1};
  d.stride = {1, 7, 0, 0};
  EXPECT_THAT(TrapOfMove(d), ::testing::Not(HasSubstr("bad-descriptor")));
}

TEST(Damage, LongWalksOfLargeSteps) {
  LonePe pe;
  Descriptor far = Mem(0, 1, 4);
  far.stride[0] = -32768;  // walked far beyond its length, by a source of 2^24 elements
  Descriptor many = Mem(0, 1, 4);
  many.kind = DsdKind::kMem4d;
  many.rank = 2;
  many.extent = {256, 65535, 1, 1};
  many.stride = {32767, 32767, 0, 0};
  const uint16_t dest = pe.code().Dsd(far);
  const uint16_t source = pe.code().Dsd(many);
  const uint32_t f = pe.code().Fn("long", [&](FunctionBuilder& b) {
    EmitDsd(b, pe.code(), MakeDsd(DsdOp::kMov32, At(dest), {At(source)}));
  });
  pe.Load();
  pe.core().check_uninitialised = false;
  pe.Call(f);
  EXPECT_EQ(pe.pe().count.elements, 256u * 65535u);
}

TEST(Damage, DfiltOfMemory) {
  LonePe pe;
  const uint16_t a = pe.code().Words("a", {1, 2, 3, 4});
  const uint16_t from = pe.code().Dsd(Mem(a, 2, 4));
  EXPECT_THAT(TrapOf(pe,
                     [&](FunctionBuilder& b) {
                       EmitDsd(b, pe.code(), MakeDsd(DsdOp::kDfilt, {}, {At(from)}));
                     }),
              HasSubstr("bad-descriptor: @dfilt"));
}

// Queues that change their colours again and again leave no queues behind.
TEST(Damage, QueuesOfColoursThatComeAndGo) {
  LonePe pe;
  pe.Load();
  Comm& comm = CommOf(pe.core(), pe.pe());
  for (int round = 0; round < 300; ++round) {
    for (uint32_t color = 2; color < 6; ++color) InputQueueFor(pe.core(), pe.pe(), color);
    for (uint8_t color = 2; color < 6; ++color) BindQueue(pe.core(), pe.pe(), 0, color, {});
  }
  EXPECT_LE(comm.in.size(), 8u + 4u);
  EXPECT_TRUE(pe.traps.empty());
}

TEST(Damage, WaveletsWithoutRoomInANewQueueAreReported) {
  LonePe pe;
  pe.Load();
  Comm& comm = CommOf(pe.core(), pe.pe());
  const uint32_t old = InputQueueFor(pe.core(), pe.pe(), 5);
  comm.in[0].color = 4;
  comm.queue_of_color[4] = 0;
  while (comm.in[0].ring.size() < Ring::kCapacity) comm.in[0].ring.push({});
  comm.in[old].ring.push({});
  BindQueue(pe.core(), pe.pe(), 0, 5, {});
  ASSERT_EQ(pe.traps.size(), 2u);
  EXPECT_THAT(pe.traps[1].second, HasSubstr("no room for 1 wavelets"));
  EXPECT_TRUE(comm.in[old].ring.empty());
}

}  // namespace
}  // namespace szarena::fabric
