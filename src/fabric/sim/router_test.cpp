// SPDX-License-Identifier: Apache-2.0
// Routers: switches, pop modes, filters, colour swap, teardown, multicast, back-pressure; tasks
// that wavelets start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/model/router.h"
#include "fabric/sim/fabric.h"
#include "fabric/testing/program_kit.h"

namespace szarena::fabric {
namespace {
using namespace testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
constexpr auto kE = Direction::kEast;
constexpr auto kW = Direction::kWest;
constexpr auto kS = Direction::kSouth;
constexpr auto kN = Direction::kNorth;
constexpr auto kR = Direction::kRamp;

// entry point, data and one command
uint32_t Single(SwitchCommand op, bool skip, uint32_t entry, uint32_t data) {
  return entry << 16 | static_cast<uint32_t>(op) << 22 | (skip ? 1u << 24 : 0) | data;
}

// A class that sends the words of `data` on a colour, data or control, when main is launched.
struct Sent {
  uint32_t word;
  bool control;
};
ClassKit Sender(ProgramKit& kit, uint8_t color, const std::vector<Sent>& words) {
  ClassKit c = kit.AddClass("sender");
  const uint16_t data = c.Dsd(FabOut(2, color, 1));
  Descriptor control = FabOut(2, color, 1);
  control.control = true;
  const uint16_t ctrl = c.Dsd(control);
  c.Queue(true, 2, color);
  c.ExportFunction("main", c.Fn("main", [&](FunctionBuilder& b) {
    for (const Sent& s : words) {
      const Reg r = b.Const(s.word);
      EmitDsd(b, c,
              MakeDsd(DsdOp::kMov32, At(s.control ? ctrl : data), {Scalar(r, ScalarType::kU32)}));
    }
    EmitUnblock(b);
  }));
  return c;
}

// A class whose data task on `color` appends the word to an array, and whose control task 40
// appends 0x8000 | data.
ClassKit Collector(ProgramKit& kit, uint8_t color, bool wse3 = false) {
  ClassKit c = kit.AddClass("collector");
  const uint16_t log = c.Global("log", 64);
  const uint16_t count = c.Words("count", {0});
  const auto append = [&](bool control) {
    return [=](FunctionBuilder& b) {
      const Reg n = b.NewReg();
      b.Emit(Op::kLoadAbsU16, n, count);
      const Reg p = b.Const(log);
      if (control) b.Emit(Op::kOr, 0, 0, b.Const(0x8000));
      b.Emit(Op::kStoreIdx16, 0, p, n);
      b.Emit(Op::kAddImmU16, n, n, 1);
      b.Emit(Op::kStoreAbs16, n, count);
    };
  };
  c.Queue(false, 4, color);
  c.Task(TaskKind::kData, wse3 ? 4 : color, c.Fn("data", append(false), {ScalarType::kU16}));
  c.Task(TaskKind::kControl, 40, c.Fn("control", append(true), {ScalarType::kU16}));
  c.ExportFunction("main", c.Fn("main", [&](FunctionBuilder& b) { EmitUnblock(b); }));
  return c;
}

std::unique_ptr<Fabric> Launch(const ProgramKit& kit, Options options = {}) {
  auto f = Fabric::Create(kit.Build(), std::move(options));
  EXPECT_TRUE(f) << f.error().ToString();
  const auto t = (*f)->Launch((*f)->ExportId("main").value(), {});
  EXPECT_TRUE(t);
  const auto r = (*f)->RunUntilIdle();
  EXPECT_TRUE(r) << r.error().ToString();
  return *std::move(f);
}

std::vector<uint16_t> Log(Fabric& f, int x, int y) {
  const auto count = f.ReadSymbol(x, y, "count").value();
  const auto bytes = f.ReadSymbol(x, y, "log").value();
  std::vector<uint16_t> v(count[0]);
  if (!v.empty()) std::memcpy(v.data(), bytes.data(), v.size() * 2);
  return v;
}

// The cross of the public switch tutorials: the centre sends control wavelets that advance its own
// switch.
ProgramKit Cross(const std::vector<Sent>& words, bool ring, uint8_t start,
                 PopMode mode = PopMode::kNoPop) {
  ProgramKit kit(3, 3);
  const ClassKit sender = Sender(kit, 6, words);
  const ClassKit collector = Collector(kit, 6);
  kit.Place(1, 1, sender);
  for (const auto& [x, y, from] :
       {std::tuple(2, 1, kW), std::tuple(0, 1, kE), std::tuple(1, 2, kN), std::tuple(1, 0, kS)}) {
    kit.Place(x, y, collector);
    kit.Route(x, y, 6, {from}, {kR});
  }
  ColorRoute& r = kit.Route(1, 1, 6, {kR}, {kE});
  r.has_switches = true;
  r.positions[0] = {true, 0, Set({kW})};
  r.positions[1] = {true, 0, Set({kS})};
  r.positions[2] = {true, 0, Set({kN})};
  r.current_position = start;
  r.ring_mode = ring;
  r.pop_mode = mode;
  return kit;
}

TEST(Switch, RoutesFirstThenAdvances) {
  // Starts at position 1 (WEST): the first control wavelet still goes WEST.
  std::vector<Sent> words;
  for (uint32_t i = 0; i < 4; ++i)
    words.push_back({Single(SwitchCommand::kAdvance, false, 40, i), true});
  auto f = Launch(Cross(words, true, 1));
  EXPECT_THAT(Log(*f, 0, 1), ElementsAre(0x8000));
  EXPECT_THAT(Log(*f, 1, 2), ElementsAre(0x8001));
  EXPECT_THAT(Log(*f, 1, 0), ElementsAre(0x8002));
  EXPECT_THAT(Log(*f, 2, 1), ElementsAre(0x8003));  // ring mode: back to position 0
}

TEST(Switch, StaysAtTheLastPositionWithoutRingModeAndResets) {
  std::vector<Sent> words;
  for (uint32_t i = 0; i < 3; ++i)
    words.push_back({Single(SwitchCommand::kAdvance, false, 40, i), true});
  words.push_back({100, false});
  words.push_back({Single(SwitchCommand::kAdvance, false, 40, 3), true});
  words.push_back({101, false});
  words.push_back({Single(SwitchCommand::kReset, false, 40, 4), true});
  words.push_back({102, false});
  auto f = Launch(Cross(words, false, 0));
  EXPECT_THAT(Log(*f, 2, 1), ElementsAre(0x8000, 102));
  EXPECT_THAT(Log(*f, 0, 1), ElementsAre(0x8001));
  EXPECT_THAT(Log(*f, 1, 2), ElementsAre(0x8002));
  EXPECT_THAT(Log(*f, 1, 0), ElementsAre(100, 0x8003, 101, 0x8004));
}

TEST(Switch, InvalidPositionsAreSkipped) {
  ProgramKit kit =
      Cross({{Single(SwitchCommand::kAdvance, false, 31, 0), true}, {7, false}}, true, 0);
  kit.get().routers[kit.get().At(1, 1).router].colors[0].positions[0].valid = false;
  auto f = Launch(kit);
  EXPECT_THAT(Log(*f, 1, 2), ElementsAre(7));
}

TEST(Switch, SkipCoreKeepsAControlWaveletFromTheCore) {
  for (const bool skip : {false, true}) {
    auto f =
        Launch(Cross({{Single(SwitchCommand::kNop, skip, 40, 5), true}, {6, false}}, false, 0));
    if (skip)
      EXPECT_THAT(Log(*f, 2, 1), ElementsAre(6));
    else
      EXPECT_THAT(Log(*f, 2, 1), ElementsAre(0x8005, 6));
  }
}

TEST(ControlPayload, CommandsAndPop) {
  // Teardown first, then seven NOP, all kept from the core, entry 31: the constant of the public
  // all-reduce.
  const uint32_t word = 0x09DF9249;
  EXPECT_EQ(EntryPoint(0x1fu << 16), 31u);
  ControlCommand c = FirstCommand(word & ~0xc0000000u);
  EXPECT_EQ(c.op, SwitchCommand::kTeardown);
  EXPECT_TRUE(c.skip_core);
  const uint32_t popped = PopCommand(word);
  c = FirstCommand(popped);
  EXPECT_EQ(c.op, SwitchCommand::kNop);
  EXPECT_TRUE(c.skip_core);
  EXPECT_EQ(EntryPoint(popped), EntryPoint(word));
  uint32_t w = word;
  for (int i = 0; i < 8; ++i) w = PopCommand(w);
  EXPECT_EQ(FirstCommand(w).op, SwitchCommand::kNop);
  EXPECT_FALSE(FirstCommand(w).skip_core);
}

// A row of four: a router that has advanced delivers to its core, one that has not passes on to the
// east. One control wavelet with the given first two commands goes through, then a datum: where it
// ends says who advanced.
int WhereTheDatumEnds(PopMode mode, uint32_t first, uint32_t second) {
  ProgramKit kit(4, 1);
  const uint32_t word =
      31u << 16 | first << 22 | 1u << 24 | second << 25 | 1u << 27 | 1u << 0 | 1u << 3 | 1u << 6;
  kit.Place(0, 0, Sender(kit, 6, {{word, true}, {77, false}}));
  const ClassKit collector = Collector(kit, 6);
  for (int x = 1; x < 4; ++x) kit.Place(x, 0, collector);
  for (int x = 0; x < 4; ++x) {
    ColorRoute& r = x == 0   ? kit.Route(x, 0, 6, {kR}, {kE})
                    : x == 3 ? kit.Route(x, 0, 6, {kW}, {kR})
                             : kit.Route(x, 0, 6, {kW}, {kE});
    r.has_switches = true;
    r.positions[0] = {true, 0, x == 0 ? Set({kE}) : Set({kR})};
    r.pop_mode = mode;
  }
  auto f = Launch(kit);
  for (int x = 1; x < 4; ++x) {
    if (!Log(*f, x, 0).empty()) return x;
  }
  return -1;
}

TEST(PopMode, DecidesWhichRoutersActOnWhichCommand) {
  const uint32_t nop = 0;
  const uint32_t adv = 1;
  EXPECT_EQ(WhereTheDatumEnds(PopMode::kNoPop, adv, nop), 1);  // all act on the first command
  EXPECT_EQ(WhereTheDatumEnds(PopMode::kPopOnAdvance, adv, nop),
            3);  // the sender's router used it up
  EXPECT_EQ(WhereTheDatumEnds(PopMode::kAlwaysPop, adv, nop), 3);
  EXPECT_EQ(WhereTheDatumEnds(PopMode::kPopOnAdvance, adv, adv),
            1);  // the sender's router and its neighbour
  EXPECT_EQ(WhereTheDatumEnds(PopMode::kNoPop, nop, adv), 3);
  EXPECT_EQ(WhereTheDatumEnds(PopMode::kPopOnAdvance, nop, adv), 3);     // a NOP does not pop
  EXPECT_EQ(WhereTheDatumEnds(PopMode::kPopOnAdvanceNop, nop, adv), 1);  // here it does
  EXPECT_EQ(WhereTheDatumEnds(PopMode::kAlwaysPop, nop, adv), 1);
}

TEST(Filter, RangeAndCounter) {
  ProgramKit kit(2, 1);
  std::vector<Sent> words;
  for (uint32_t i = 0; i < 8; ++i) words.push_back({i << 16 | (10 + i), false});
  kit.Place(0, 0, Sender(kit, 6, words));
  kit.Place(1, 0, Collector(kit, 6));
  kit.Route(0, 0, 6, {kR}, {kE});
  ColorRoute& r = kit.Route(1, 0, 6, {kW}, {kR});
  r.filter.kind = FilterKind::kRange;
  r.filter.min_index = 2;
  r.filter.max_index = 4;
  EXPECT_THAT(Log(*Launch(kit), 1, 0), ElementsAre(12, 13, 14));
  r.filter = {};
  r.filter.kind = FilterKind::kCounter;
  r.filter.count_data = true;
  r.filter.limit1 = 3;       // period 4
  r.filter.max_counter = 1;  // two of four
  r.filter.init_counter = 3;
  EXPECT_THAT(Log(*Launch(kit), 1, 0), ElementsAre(11, 12, 15, 16));
}

TEST(ColorSwap, NeighbouringColoursAreExchangedOnTheWayIn) {
  ProgramKit kit(2, 1);
  kit.Place(0, 0, Sender(kit, 6, {{9, false}}));
  kit.Place(1, 0, Collector(kit, 7));
  kit.Route(0, 0, 6, {kR}, {kE});
  kit.Route(1, 0, 7, {kW}, {kR}).swap_x = true;
  EXPECT_THAT(Log(*Launch(kit), 1, 0), ElementsAre(9));
}

TEST(Multicast, GoesToEveryDirectionAtOnce) {
  ProgramKit kit(3, 3);
  kit.Place(1, 1, Sender(kit, 6, {{1, false}, {2, false}}));
  const ClassKit c = Collector(kit, 6);
  kit.Route(1, 1, 6, {kR}, {kE, kW, kS, kN});
  for (const auto& [x, y, from] :
       {std::tuple(2, 1, kW), std::tuple(0, 1, kE), std::tuple(1, 2, kN), std::tuple(1, 0, kS)}) {
    kit.Place(x, y, c);
    kit.Route(x, y, 6, {from}, {kR});
  }
  auto f = Launch(kit);
  for (const auto& [x, y] : {std::pair(2, 1), std::pair(0, 1), std::pair(1, 2), std::pair(1, 0)})
    EXPECT_THAT(Log(*f, x, y), ElementsAre(1, 2));
}

TEST(BackPressure, NothingIsLostWhenTheReceiverIsSlow) {
  // The receiver's data task is blocked; 40 wavelets fill queues and routers; then it unblocks
  // itself.
  ProgramKit kit(4, 1);
  std::vector<Sent> words;
  for (uint32_t i = 0; i < 30; ++i) words.push_back({i, false});
  kit.Place(0, 0, Sender(kit, 6, words));
  ClassKit c = Collector(kit, 6);
  c.get().initially_blocked = uint64_t{1} << 6;
  c.Task(TaskKind::kLocal, 12, c.Fn("open", [](FunctionBuilder& b) {
    b.Emit(Op::kUnblock, 6, static_cast<uint16_t>(TargetKind::kColor));
  }));
  c.get().initially_active = uint64_t{1} << 12;
  // First pass a long loop so that the sender runs into the full fabric.
  FunctionBuilder slow(c.get(), "slow", {});
  const Reg i = slow.Const(0);
  const Reg n = slow.Const(2000);
  const Label top = slow.NewLabel();
  slow.Bind(top);
  slow.Emit(Op::kAddImmU16, i, i, 1);
  slow.JumpCompare(Op::kJumpLtU, i, n, top);
  slow.Emit(Op::kUnblock, 6, static_cast<uint16_t>(TargetKind::kColor));
  const uint32_t slow_fn = slow.FinishInto().value();
  for (TaskBinding& t : c.get().tasks) {
    if (t.id == 12) t.function = slow_fn;
  }
  kit.Place(3, 0, c);
  kit.Route(0, 0, 6, {kR}, {kE});
  kit.Route(1, 0, 6, {kW}, {kE});
  kit.Route(2, 0, 6, {kW}, {kE});
  kit.Route(3, 0, 6, {kW}, {kR});
  auto f = Launch(kit);
  const auto log = Log(*f, 3, 0);
  ASSERT_EQ(log.size(), 30u);
  for (uint16_t k = 0; k < 30; ++k) EXPECT_EQ(log[k], k);
}

// Three PEs in a row; the one in the middle writes a register, sends a word on colour 6, and keeps
// what it reads back.
ProgramKit Poking(uint16_t address, uint16_t value, Arch arch = Arch::kWse2) {
  ProgramKit kit(3, 1, arch);
  const bool wse3 = arch == Arch::kWse3;
  ClassKit c = kit.AddClass("poker");
  const uint16_t before = c.Words("before", {0});
  const uint16_t after = c.Words("after", {0});
  const uint16_t out = c.Dsd(FabOut(2, 6, 1));
  c.Queue(true, 2, 6);
  c.ExportFunction("main", c.Fn("main", [&](FunctionBuilder& b) {
    const Reg r = b.NewReg();
    b.Emit(Op::kLoadAbsU16, r, address);
    b.Emit(Op::kStoreAbs16, r, before);
    b.Emit(Op::kStoreAbs16, b.Const(value), address);
    b.Emit(Op::kLoadAbsU16, r, address);
    b.Emit(Op::kStoreAbs16, r, after);
    EmitDsd(b, c, MakeDsd(DsdOp::kMov32, At(out), {Scalar(b.Const(7), ScalarType::kU32)}));
    EmitUnblock(b);
  }));
  kit.Place(1, 0, c);
  const ClassKit collector = Collector(kit, 6, wse3);
  kit.Place(0, 0, collector);
  kit.Place(2, 0, collector);
  kit.Route(0, 0, 6, {kE}, {kR});
  kit.Route(1, 0, 6, {kR}, {kE});
  kit.Route(2, 0, 6, {kW}, {kR});
  return kit;
}

uint16_t WordOf(Fabric& f, const std::string& name) {
  const auto bytes = f.ReadSymbol(1, 0, name).value();
  return static_cast<uint16_t>(bytes[0] | bytes[1] << 8);
}

TEST(Registers, RouteWordsReadAndChangeRoutes) {
  // From the ramp: output east 0x2, west 0x1; input ramp 0x200.
  auto f = Launch(Poking(0xfe40 + 12, 0x201));
  EXPECT_EQ(WordOf(*f, "before"), 0x202);
  EXPECT_EQ(WordOf(*f, "after"), 0x201);
  EXPECT_THAT(Log(*f, 0, 0), ElementsAre(7));
  EXPECT_TRUE(Log(*f, 2, 0).empty());
}

TEST(Registers, SwitchWordsReadAndChangePositions) {
  // Position 1: output west; positions 2 and 3 invalid; now at position 1.
  auto f = Launch(Poking(0xfe80 + 12, 0x2550));
  EXPECT_EQ(WordOf(*f, "before"), 0x555);
  EXPECT_EQ(WordOf(*f, "after"), 0x2550);
  EXPECT_THAT(Log(*f, 0, 0), ElementsAre(7));
  EXPECT_TRUE(Log(*f, 2, 0).empty());
}

TEST(Registers, QueueWordsReadAndChangePriorities) {
  auto f = Launch(Poking(0xfeb0 + 6, 0x200));
  EXPECT_EQ(WordOf(*f, "before"), 0);
  EXPECT_EQ(WordOf(*f, "after"), 0x200);
}

TEST(Registers, WhatIsNotModelledIsATrapWithItsPlace) {
  const auto message = [](const ProgramKit& kit) {
    auto f = Fabric::Create(kit.Build(), {}).value();
    EXPECT_TRUE(f->Launch(f->ExportId("main").value(), {}));
    const auto r = f->RunUntilIdle();
    return r ? std::string() : r.error().message;
  };
  EXPECT_THAT(message(Poking(0xff00, 0)),
              AllOf(HasSubstr("raw-register"), HasSubstr("0xff00"), HasSubstr("(1, 0)")));
  EXPECT_THAT(message(Poking(0xfe40 + 12, 0x201, Arch::kWse3)), HasSubstr("raw-register"));
  EXPECT_THAT(message(Poking(0xfe40 + 12, 0x1201)), HasSubstr("written back"));  // another pop mode
  EXPECT_THAT(message(Poking(0xfe80 + 12, 0x556)), HasSubstr("direction code 6"));
  EXPECT_THAT(message(Poking(0xfeb0, 0x400)), HasSubstr("bits other than 8 and 9"));
}

TEST(Teardown, HandlerRunsAndExitLetsTrafficGoOn) {
  ProgramKit kit(2, 1);
  kit.Place(0, 0,
            Sender(kit, 6, {{Single(SwitchCommand::kTeardown, true, 31, 0), true}, {77, false}}));
  ClassKit c = Collector(kit, 6);
  const auto handler = [&](ClassKit& k) {
    return k.Fn("handler", [](FunctionBuilder& b) {
      const Reg w = b.Const(6);
      b.Emit(Op::kNative, w, 0, static_cast<uint16_t>(Native::k_teardown_exit));
    });
  };
  c.get().teardown_handlers.push_back({false, 6, handler(c)});
  kit.Place(1, 0, c);
  ClassKit left(kit.get(), 0);
  left.get().teardown_handlers.push_back({false, 6, handler(left)});
  kit.Route(0, 0, 6, {kR}, {kE});
  kit.Route(1, 0, 6, {kW}, {kR});
  EXPECT_THAT(Log(*Launch(kit), 1, 0), ElementsAre(77));
  // Without the exit the second wavelet stays where it is, and the report says why.
  left.get().teardown_handlers.clear();
  auto f = Fabric::Create(kit.Build(), {}).value();
  ASSERT_TRUE(f->RunUntil(f->Launch(f->ExportId("main").value(), {}).value()));
  ASSERT_TRUE(f->RunUntilIdle());
  f->Stop();
  EXPECT_TRUE(Log(*f, 1, 0).empty());
  EXPECT_THAT(f->traps().back().ToString(), HasSubstr("unconsumed-wavelets"));
}

TEST(Router, ACircleIsNamedWhereTheProgramEndsAllTheSame) {
  ProgramKit kit(2, 1);
  kit.Place(0, 0, Sender(kit, 6, {{1, false}, {2, false}, {3, false}, {4, false}, {5, false}}));
  kit.Place(1, 0, Collector(kit, 7));
  kit.Route(0, 0, 6, {kR, kE}, {kE});
  kit.Route(1, 0, 6, {kW}, {kW});
  auto f = Fabric::Create(kit.Build(), {}).value();
  ASSERT_TRUE(f->RunUntil(f->Launch(f->ExportId("main").value(), {}).value()));
  ASSERT_TRUE(f->RunUntilIdle());
  EXPECT_TRUE(f->traps().empty());
  f->Stop();
  std::string all;
  for (const Trap& trap : f->traps()) all += trap.ToString() + "\n";
  EXPECT_THAT(all, AllOf(HasSubstr("unconsumed-wavelets"), HasSubstr("route-loop at PE (0, 0)"),
                         HasSubstr("the routes of colour 6 lead in a circle of 2 PEs")));
}

TEST(ControlTask, NeedsAnUnblockedColourWithoutDataTask) {
  for (const bool unblock : {false, true}) {
    ProgramKit kit(2, 1);
    kit.Place(0, 0, Sender(kit, 6, {{Single(SwitchCommand::kNop, false, 40, 3), true}}));
    ClassKit c = Collector(kit, 6);
    std::erase_if(c.get().tasks, [](const TaskBinding& t) { return t.kind == TaskKind::kData; });
    if (unblock)
      c.get().init_function = c.Fn("init", [](FunctionBuilder& b) {
        b.Emit(Op::kUnblock, 6, static_cast<uint16_t>(TargetKind::kColor));
      });
    kit.Place(1, 0, c);
    kit.Route(0, 0, 6, {kR}, {kE});
    kit.Route(1, 0, 6, {kW}, {kR});
    auto f = Launch(kit);
    if (unblock) {
      EXPECT_THAT(Log(*f, 1, 0), ElementsAre(0x8003));
    } else {
      EXPECT_TRUE(Log(*f, 1, 0).empty());
      EXPECT_THAT(f->DeadlockReport(), HasSubstr("was never unblocked: @unblock it"));
    }
  }
}

TEST(Wse3, DataTasksBelongToQueues) {
  ProgramKit kit(2, 1, Arch::kWse3);
  kit.Place(0, 0, Sender(kit, 6, {{5, false}, {Single(SwitchCommand::kNop, false, 40, 1), true}}));
  kit.Place(1, 0, Collector(kit, 6, true));
  kit.Route(0, 0, 6, {kR}, {kE});
  kit.Route(1, 0, 6, {kW}, {kR});
  EXPECT_THAT(Log(*Launch(kit), 1, 0), ElementsAre(5, 0x8001));
}

TEST(Routes, FaultsAreNamed) {
  ProgramKit kit(2, 1);
  kit.Place(0, 0, Sender(kit, 6, {{5, false}}));
  kit.Place(1, 0, Collector(kit, 6));
  kit.Route(0, 0, 6, {kR}, {kW});  // over the edge
  auto f = Launch(kit);
  ASSERT_FALSE(f->traps().empty());
  EXPECT_EQ(f->traps()[0].kind, TrapKind::kRouteToNowhere);
  ProgramKit none(2, 1);
  none.Place(0, 0, Sender(none, 6, {{5, false}, {6, false}, {7, false}, {8, false}}));
  none.Place(1, 0, Collector(none, 6));
  none.Route(0, 0, 6, {kR}, {kE});  // and no route there
  f = Launch(none);
  ASSERT_FALSE(f->traps().empty());
  EXPECT_EQ(f->traps()[0].kind, TrapKind::kNoRoute);
  EXPECT_EQ(f->traps()[0].x, 1);
  EXPECT_EQ(f->traps()[0].ToString().find("times"), std::string::npos) << "named once a stall";
}

TEST(Ports, AnOpenPortHoldsItsColourBackWhenItIsFull) {
  ProgramKit kit(1, 1);
  kit.Route(0, 0, 3, {kW}, {kE});
  auto f = Fabric::Create(kit.Build(), {}).value();
  ASSERT_TRUE(f->OpenPort({0, 0, kE, 3}));
  constexpr size_t kHeld = size_t{1} << 22;  // what the header says
  std::vector<uint32_t> words(kHeld + 1000);
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint32_t>(i);
  ASSERT_TRUE(f->SendInto({0, 0, kW, 3}, words));
  (void)f->RunUntilIdle();
  std::vector<uint32_t> got = f->TakeArrived({0, 0, kE, 3});
  EXPECT_EQ(got.size(), kHeld);
  ASSERT_TRUE(f->RunUntilIdle());
  const std::vector<uint32_t> rest = f->TakeArrived({0, 0, kE, 3});
  got.insert(got.end(), rest.begin(), rest.end());
  EXPECT_EQ(got, words);
}

TEST(Ports, StreamsEnterAndLeaveOverTheEdge) {
  // A word goes in at the west edge, through two PEs, out at the east edge.
  ProgramKit kit(2, 1);
  kit.Route(0, 0, 3, {kW}, {kE});
  kit.Route(1, 0, 3, {kW}, {kE});
  auto f = Fabric::Create(kit.Build(), {}).value();
  const Ticket out = f->ReceiveFrom({1, 0, kE, 3}, 20).value();
  std::vector<uint32_t> words(20);
  for (uint32_t i = 0; i < 20; ++i) words[i] = i * i;
  ASSERT_TRUE(f->SendInto({0, 0, kW, 3}, words));
  ASSERT_TRUE(f->RunUntil(out));
  EXPECT_EQ(f->TakeOutput(out), words);
  // One wavelet a cycle in the steady state.
  const auto span = f->SpanOf(out);
  EXPECT_EQ(span.end - span.begin, 19u);
}

TEST(HostStreams, InAndOutOfTheRamp) {
  // pipeline-01 in spirit: a microthread adds one to a stream for ever.
  ProgramKit kit(1, 1);
  kit.get().host_in_colors = 1u << 4;
  kit.get().host_out_colors = 1u << 5;
  ClassKit c = kit.AddClass("pipe");
  const uint16_t in = c.Dsd(FabIn(2, 4, kInfiniteExtent));
  const uint16_t out = c.Dsd(FabOut(3, 5, kInfiniteExtent));
  c.Task(TaskKind::kLocal, 9, c.Fn("start", [&](FunctionBuilder& b) {
    const Reg one = b.Const(1);
    DsdOpInfo op = MakeDsd(DsdOp::kAdd16, At(out), {At(in), Scalar(one, ScalarType::kU16)});
    op.settings.async = true;
    EmitDsd(b, c, op);
  }));
  c.get().initially_active = 1u << 9;
  kit.PlaceAll(c);
  auto f = Fabric::Create(kit.Build(), {}).value();
  std::vector<uint32_t> words;
  for (uint32_t i = 0; i < 100; ++i) words.push_back(i);
  ASSERT_TRUE(f->StreamIn(4, {0, 0, 1, 1}, 100, words));
  const Ticket t = f->StreamOut(5, {0, 0, 1, 1}, 100).value();
  const auto r = f->RunUntil(t);
  ASSERT_TRUE(r) << r.error().ToString();
  const auto got = f->TakeOutput(t);
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(got[i], i + 1);
  EXPECT_EQ(f->DeadlockReport(), "");  // an endless microthread that waits is no fault
}

}  // namespace
}  // namespace szarena::fabric
