// SPDX-License-Identifier: Apache-2.0
// The same result, cycle count and findings for any number of host threads; the picker's fuzz mode
// changes only what may change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "fabric/sim/fabric.h"
#include "fabric/testing/program_kit.h"

namespace szarena::fabric {
namespace {
using namespace testing;

// A torus-like tangle: every PE sends a few words along one of four colours to a neighbour and adds
// up what it gets from the others.
ProgramKit Tangle(int size, uint32_t seed) {
  ProgramKit kit(size, size);
  std::mt19937 random(seed);
  ClassKit c = kit.AddClass("tangle");
  const uint16_t sum = c.Words("sum", {0});
  const uint16_t got = c.Words("got", {0});
  for (uint8_t k = 0; k < 4; ++k) {
    const uint16_t out =
        c.Dsd(FabOut(static_cast<uint8_t>(k + 1), static_cast<uint8_t>(10 + k), 25));
    const uint16_t word = c.Words("w" + std::to_string(k), {static_cast<uint16_t>(3 * k + 1)});
    const uint16_t from = c.Dsd(Mem(word, 25, 2, 0));
    c.Task(TaskKind::kLocal, 20 + k, c.Fn("send", [&](FunctionBuilder& b) {
      DsdOpInfo op = MakeDsd(DsdOp::kMov16, At(out), {At(from)});
      op.settings.async = true;
      EmitDsd(b, c, op);
    }));
    c.Task(TaskKind::kData, 10 + k,
           c.Fn("take",
                [&](FunctionBuilder& b) {
                  const Reg r = b.NewReg();
                  b.Emit(Op::kLoadAbsU16, r, sum);
                  b.Emit(Op::kAddU16, r, r, 0);
                  b.Emit(Op::kStoreAbs16, r, sum);
                  b.Emit(Op::kLoadAbsU16, r, got);
                  b.Emit(Op::kAddImmU16, r, r, 1);
                  b.Emit(Op::kStoreAbs16, r, got);
                },
                {ScalarType::kU16}));
  }
  c.get().initially_active = 0xfull << 20;
  kit.PlaceAll(c);
  constexpr Direction kSides[] = {Direction::kEast, Direction::kWest, Direction::kSouth,
                                  Direction::kNorth};
  constexpr Direction kBack[] = {Direction::kWest, Direction::kEast, Direction::kNorth,
                                 Direction::kSouth};
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      for (uint32_t k = 0; k < 4; ++k) {
        // Colour 10 + k goes one step in direction k; even PEs send, odd ones (on that axis)
        // receive; the edge talks to itself.
        const int along = k < 2 ? x : y;
        const bool forward = k % 2 == 0;
        const bool sends = along % 2 == 0 ? (forward ? along + 1 < size : along > 0) : false;
        const bool receives = along % 2 == 1 ? (forward || along + 1 < size) : false;
        if (sends)
          kit.Route(x, y, 10 + k, {Direction::kRamp}, {kSides[k]});
        else if (receives)
          kit.Route(x, y, 10 + k, {kBack[k], Direction::kRamp}, {Direction::kRamp});
        else
          kit.Route(x, y, 10 + k, {Direction::kRamp}, {Direction::kRamp});
      }
    }
  }
  return kit;
}

struct Outcome {
  uint64_t cycles = 0;
  uint64_t hops = 0;
  uint64_t busy = 0;
  std::vector<uint8_t> memory;
  std::vector<std::string> traps;
  bool operator==(const Outcome&) const = default;
};

Outcome RunWith(const ProgramKit& kit, int threads, std::optional<uint64_t> seed = {}) {
  Options options;
  options.threads = threads;
  options.picker_seed = seed;
  auto f = Fabric::Create(kit.Build(), std::move(options)).value();
  const auto r = f->RunUntilIdle();
  EXPECT_TRUE(r) << r.error().ToString();
  f->Stop();
  Outcome o{f->now(), f->statistics().hops, f->statistics().busy_cycles, {}, {}};
  for (int y = 0; y < f->program().height; ++y) {
    for (int x = 0; x < f->program().width; ++x) {
      for (const char* name : {"sum", "got"}) {
        const auto bytes = f->ReadSymbol(x, y, name).value();
        o.memory.insert(o.memory.end(), bytes.begin(), bytes.end());
      }
    }
  }
  for (const Trap& t : f->traps()) o.traps.push_back(t.ToString());
  return o;
}

TEST(Determinism, ThreadCountChangesNothing) {
  const ProgramKit kit = Tangle(21, 1);
  const Outcome one = RunWith(kit, 1);
  EXPECT_GT(one.hops, 10000u);
  for (const int threads : {2, 3, 5}) EXPECT_EQ(RunWith(kit, threads), one) << threads;
}

TEST(Determinism, RunsRepeat) {
  const ProgramKit kit = Tangle(9, 2);
  EXPECT_EQ(RunWith(kit, 1), RunWith(kit, 1));
  EXPECT_EQ(RunWith(kit, 1, 7), RunWith(kit, 2, 7));
}

TEST(Picker, SeedsShakeTheOrderButNotWhatIsIndependentOfIt) {
  const ProgramKit kit = Tangle(9, 3);
  const Outcome plain = RunWith(kit, 1);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Outcome o = RunWith(kit, 1, seed);
    EXPECT_EQ(o.memory, plain.memory);  // sums do not depend on the order
  }
}

TEST(Picker, FindsAProgramThatDependsOnTheOrder) {
  ProgramKit kit(1, 1);
  ClassKit c = kit.AddClass("order");
  const uint16_t sum = c.Words("sum", {0});
  c.Words("got", {0});
  for (uint16_t k = 0; k < 2; ++k) {
    c.Task(TaskKind::kLocal, 10u + k,
           c.Fn("set", [&](FunctionBuilder& b) { b.Emit(Op::kStoreAbs16, b.Const(k), sum); }));
  }
  c.get().initially_active = 3u << 10;
  kit.PlaceAll(c);
  std::vector<int> seen(2, 0);
  for (uint64_t seed = 1; seed <= 20; ++seed) ++seen[RunWith(kit, 1, seed).memory[0]];
  EXPECT_GT(seen[0], 0);
  EXPECT_GT(seen[1], 0);
  EXPECT_EQ(RunWith(kit, 1).memory[0], 1);  // lowest id first, so the second one wins
}

}  // namespace
}  // namespace szarena::fabric
