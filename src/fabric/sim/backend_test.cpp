// SPDX-License-Identifier: Apache-2.0
// The native back end against the bytecode loop: random functions over all scalar instructions, and
// what only compiled code does: ways in and out in the middle of a function, calls on the host's
// stack.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "fabric/sim/compare.h"
#include "fabric/testing/program_kit.h"

namespace szarena::fabric {
namespace {
using namespace testing;

class BothBackends : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNoNativeBackend(); !why.empty()) GTEST_SKIP() << why;
  }
  // One PE whose task `f` runs at the start.
  static void ExpectSame(ProgramKit& kit, ClassKit& c, uint32_t f, Options options = {}) {
    c.Task(TaskKind::kLocal, 26, f);
    c.get().initially_active = uint64_t{1} << 26;
    kit.PlaceAll(c);
    if (options.max_cycles == kNever) options.max_cycles = 3'000'000;
    uint64_t compiled = 0;
    const auto difference = CompareBackends(kit.Build(), options, [&compiled](Fabric& fabric) {
      auto ran = fabric.RunUntilIdle();
      compiled = std::max(compiled, fabric.CompiledFunctions());
      return ran;
    });
    ASSERT_TRUE(difference) << difference.error().ToString();
    EXPECT_EQ(*difference, "");
    EXPECT_GT(compiled, 0u);
  }
};

TEST(Backend, NamesAreThoseOfTheManual) {
  EXPECT_EQ(ParseBackend("bytecode").value(), Backend::kBytecode);
  EXPECT_EQ(ParseBackend("native").value(), Backend::kNative);
  EXPECT_EQ(ParseBackend("auto").value(), Backend::kAuto);
  const auto bad = ParseBackend("llvm");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(bad.error().message.find("'llvm'"), std::string::npos);
}

// A back end that is not there is an error that names the package; one that is there runs.
TEST(Backend, NativeRunsOrSaysWhatIsMissing) {
  ProgramKit kit(1, 1);
  ClassKit c = kit.AddClass("c");
  c.Fn("f", [](FunctionBuilder&) {});
  kit.PlaceAll(c);
  Options options;
  options.backend = Backend::kNative;
  const auto fabric = Fabric::Create(kit.Build(), options);
  if (WhyNoNativeBackend().empty()) {
    EXPECT_TRUE(fabric);
  } else {
    ASSERT_FALSE(fabric);
    EXPECT_EQ(fabric.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(fabric.error().message.find("llvm-19-dev"), std::string::npos)
        << fabric.error().message;
  }
  options.backend = Backend::kAuto;
  EXPECT_TRUE(Fabric::Create(kit.Build(), options));
}

// ---------------------------------------------------------------- random code
constexpr uint16_t kRegs =
    14;  // that the random code works on; what lies above is for loops, addresses and calls

// All instructions whose operands are registers and small numbers, but for memory, tasks, DSDs and
// calls.
std::vector<Op> ScalarOps() {
  std::vector<Op> ops;
  for (int i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    switch (InfoOf(op).group) {
      case CostGroup::kMove:
      case CostGroup::kAlu16:
      case CostGroup::kAlu32:
      case CostGroup::kAlu64:
      case CostGroup::kMul16:
      case CostGroup::kMul32:
      case CostGroup::kMul64:
      case CostGroup::kDiv16:
      case CostGroup::kDiv32:
      case CostGroup::kDiv64:
      case CostGroup::kFToI16:
      case CostGroup::kFToI32:
      case CostGroup::kFToI64:
      case CostGroup::kFloat16:
      case CostGroup::kFloat32:
      case CostGroup::kFloatDiv:
        if (op != Op::kConstP && op != Op::kAssert && op != Op::kFrameAddr) ops.push_back(op);
        break;
      default:
        break;
    }
  }
  return ops;
}

class RandomCode {
 public:
  RandomCode(ClassKit& c, uint64_t seed) : c_(c), random_(seed), ops_(ScalarOps()) {
    std::vector<uint16_t> words(96);
    for (uint16_t& w : words) w = static_cast<uint16_t>(random_());
    c.Global("pad", 900);  // the data lie across the end of a page of 1 KiB
    data_ = c.Words("data", words);
    hole_ = c.Global("hole", 64);
    out_ = c.Global("out", 8 * kRegs, 8);
  }
  // A function of two arguments with a loop, which may call `callees`.
  uint32_t Function(const std::string& name, std::vector<uint32_t> callees, uint32_t turns,
                    bool store) {
    return c_.Fn(
        name,
        [&](FunctionBuilder& b) {
          b.NewRegs(kRegs - 2);
          counter_ = b.NewReg();
          end_ = b.Const(turns);
          address_ = b.NewReg();
          mask_ = b.Const(0xfe);
          base_ = b.Const(data_);
          one_ = b.Const(1);
          b.Const(counter_, 0);
          window_ = static_cast<Reg>(b.mark());
          b.NewRegs(4);
          for (uint16_t r = 2; r < kRegs; ++r) b.Const(r, Special());
          const Label top = b.NewLabel();
          b.Bind(top);
          for (int i = 0; i < 40; ++i) {
            const uint32_t kind = Below(20);
            if (kind < 3)
              Memory(b);
            else if (kind == 3)
              Branch(b);
            else if (kind == 4 && !callees.empty())
              Call(b, callees[Below(static_cast<uint32_t>(callees.size()))]);
            else
              Scalar(b);
            if (Below(10) == 0) b.At(0, 100 + static_cast<uint32_t>(i));
          }
          b.Emit(Op::kAddImmU16, counter_, counter_, 1);
          b.JumpCompare(Op::kJumpLtU, counter_, end_, top);
          if (store) {
            for (uint16_t r = 0; r < kRegs; ++r)
              b.Emit(Op::kStoreAbs64, r, static_cast<uint16_t>(out_ + 8 * r));
            b.Emit(Op::kReturnVoid);
          } else {
            b.Emit(Op::kReturn, Any());
          }
        },
        {ScalarType::kU64, ScalarType::kU64}, !store);
  }

 private:
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  Reg Any() { return static_cast<Reg>(Below(kRegs)); }
  int64_t Special() {
    static constexpr uint64_t kValues[] = {0,
                                           1,
                                           ~uint64_t{0},
                                           0x7f,
                                           0xff80,
                                           0x7fff,
                                           0xffffffffffff8000u,
                                           0x7fffffff,
                                           0xffffffff80000000u,
                                           0x80000000u,
                                           0x8000000000000000u,
                                           0x7fffffffffffffffu,
                                           0x3f800000,
                                           0x7f800000,
                                           0xff800000,
                                           0x7fc00000,
                                           0x7f800001,
                                           1u << 23,
                                           0x00000003,
                                           0x4f000000,
                                           0x5f000000,
                                           0xcf000001,
                                           0x3c00,
                                           0x7c00,
                                           0xfc00,
                                           0x7e00,
                                           0x0001,
                                           0x0400,
                                           64,
                                           31,
                                           16,
                                           7};
    return static_cast<int64_t>(Below(3) == 0 ? random_() : kValues[Below(std::size(kValues))]);
  }
  void Scalar(FunctionBuilder& b) {
    const Op op = ops_[Below(static_cast<uint32_t>(ops_.size()))];
    const char* letters = InfoOf(op).operands;
    if (op == Op::kConstI) {
      b.EmitWide(op, Any(), static_cast<uint32_t>(Special()));
      return;
    }
    uint16_t field[3] = {};
    for (size_t k = 0; k < 3; ++k) {
      if (letters[k] == 'i')
        field[k] = static_cast<uint16_t>(random_());
      else if (letters[k] == 'u')
        field[k] = static_cast<uint16_t>(1 + Below(64));  // widths
      else if (letters[k] != '-')
        field[k] = Any();
    }
    const CostGroup group = InfoOf(op).group;
    const bool division =
        group == CostGroup::kDiv16 || group == CostGroup::kDiv32 || group == CostGroup::kDiv64;
    if (division && Below(50) != 0) b.Emit(Op::kOr, field[2], field[2], one_);  // else it may trap
    b.Emit(op, field[0], field[1], field[2]);
  }
  void Memory(FunctionBuilder& b) {
    const auto type = static_cast<ScalarType>(Below(8));
    const bool store = Below(2) == 0;
    const bool wild = Below(120) == 0;  // any address: misaligned, unwritten, a register
    if (wild)
      b.Emit(Op::kMove, address_, Any());
    else
      b.Emit(Op::kAnd, address_, Any(), mask_);
    b.Emit(Op::kMove, window_, address_);
    for (int size = SizeOf(type); size > 1; size /= 2) b.Emit(Op::kShrU16, window_, window_, one_);
    const auto constant = static_cast<uint16_t>(Below(4) == 0 ? 1022 - data_ : 2 * Below(32));
    switch (Below(3)) {
      case 0:
        if (Below(20) == 0)
          b.Emit(
              store ? StoreOp(type, AddressForm::kAbsolute) : LoadOp(type, AddressForm::kAbsolute),
              Any(), static_cast<uint16_t>(hole_ + constant % 64));
        else
          b.Emit(
              store ? StoreOp(type, AddressForm::kAbsolute) : LoadOp(type, AddressForm::kAbsolute),
              Any(), static_cast<uint16_t>(data_ + constant));
        break;
      case 1:
        if (!wild) b.Emit(Op::kAddU16, address_, address_, base_);
        b.Emit(store ? StoreOp(type) : LoadOp(type), Any(), address_, constant);
        break;
      default:
        b.Emit(store ? StoreOp(type, AddressForm::kIndexed) : LoadOp(type, AddressForm::kIndexed),
               Any(), base_, window_);
        break;
    }
  }
  void Branch(FunctionBuilder& b) {
    const Label over = b.NewLabel();
    switch (Below(3)) {
      case 0:
        b.JumpIf(Any(), over);
        break;
      case 1:
        b.JumpIfNot(Any(), over);
        break;
      default:
        b.JumpCompare(static_cast<Op>(static_cast<uint32_t>(Op::kJumpEq) + Below(6)), Any(), Any(),
                      over);
        break;
    }
    for (uint32_t k = 1 + Below(4); k > 0; --k) Scalar(b);
    b.Bind(over);
  }
  void Call(FunctionBuilder& b, uint32_t callee) {
    b.Emit(Op::kMove, window_, Any());
    b.Emit(Op::kMove, static_cast<uint16_t>(window_ + 1), Any());
    if (Below(2) == 0) {
      b.Emit(Op::kCall, window_, 0, static_cast<uint16_t>(callee));
    } else {
      b.Const(address_, callee);
      b.Emit(Op::kCallIndirect, window_, address_, 2);
    }
    b.Emit(Op::kMove, Any(), window_);
  }

  ClassKit& c_;
  std::mt19937_64 random_;
  std::vector<Op> ops_;
  uint16_t data_ = 0, hole_ = 0, out_ = 0;
  Reg counter_ = 0, end_ = 0, address_ = 0, mask_ = 0, base_ = 0, one_ = 0, window_ = 0;
};

class RandomOnBothBackends : public BothBackends, public ::testing::WithParamInterface<int> {};

TEST_P(RandomOnBothBackends, DoTheSame) {
  for (uint64_t k = 0; k < 6; ++k) {
    const uint64_t seed = static_cast<uint64_t>(GetParam()) * 6 + k;
    SCOPED_TRACE("seed " + std::to_string(seed));
    ProgramKit kit(1, 1, k % 2 == 0 ? Arch::kWse2 : Arch::kWse3);
    kit.get().fp16 = static_cast<FloatFormat>(k % 3);
    ClassKit c = kit.AddClass("random");
    RandomCode code(c, seed);
    const uint32_t leaf = code.Function("leaf", {}, 3, false);
    const uint32_t middle = code.Function("middle", {leaf}, 5, false);
    Options options;
    options.check_uninitialised = k % 4 != 3;
    ExpectSame(kit, c, code.Function("root", {middle, leaf}, 60, true), options);
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomOnBothBackends, ::testing::Range(0, 6));

// ---------------------------------------------------------------- calls
// f(n) = n < 2 ? n : f(n - 1) + f(n - 2), through the frame in SRAM; `limit` deep in one chain
// first.
uint32_t Recursive(ClassKit& c, bool indirect) {
  const auto self = static_cast<uint16_t>(c.get().functions.size());
  return c.Fn(
      "f",
      [&](FunctionBuilder& b) {
        const Reg n = 0;
        const Reg at = b.NewReg();
        const Reg two = b.Const(2);
        b.EmitWide(Op::kFrameAddr, at, b.NewLocal(2));
        const Label small = b.NewLabel();
        b.JumpCompare(Op::kJumpLtU, n, two, small);
        const Reg pointer = b.Const(self);
        const Reg w = b.NewReg();
        const auto call = [&](int less) {
          b.Emit(Op::kAddImmU16, w, n, static_cast<uint16_t>(0x10000 - less));
          if (indirect)
            b.Emit(Op::kCallIndirect, w, pointer, 1);
          else
            b.Emit(Op::kCall, w, 0, self);
        };
        call(1);
        b.Emit(Op::kStore16, w, at, 0);
        call(2);
        b.Emit(Op::kLoadU16, n, at, 0);
        b.Emit(Op::kAddU16, n, n, w);
        b.Bind(small);
        b.Emit(Op::kReturn, n);
      },
      {ScalarType::kU16}, true);
}

uint32_t CallOnce(ClassKit& c, uint32_t f, uint16_t argument, uint16_t out) {
  return c.Fn("main", [&](FunctionBuilder& b) {
    const Reg w = b.Const(argument);
    b.Emit(Op::kCall, w, 0, static_cast<uint16_t>(f));
    b.Emit(Op::kStoreAbs16, w, out);
  });
}

// Long enough that runs end in the middle of calls, again and again.
TEST_F(BothBackends, CallsThatOutlastManyRuns) {
  for (const bool indirect : {false, true}) {
    ProgramKit kit(1, 1);
    ClassKit c = kit.AddClass("calls");
    const uint16_t out = c.Global("out", 2);
    const uint32_t f = Recursive(c, indirect);
    ExpectSame(kit, c, CallOnce(c, f, 21, out));
  }
}

// A chain of calls deeper than compiled code nests on the host's stack, and one that is deeper than
// a PE allows.
TEST_F(BothBackends, DeepCallsAndTooDeepOnes) {
  for (const uint16_t depth : {uint16_t{100}, uint16_t{980}, uint16_t{2000}}) {
    ProgramKit kit(1, 1);
    ClassKit c = kit.AddClass("deep");
    const uint16_t out = c.Global("out", 2);
    const auto self = static_cast<uint16_t>(c.get().functions.size());
    const uint32_t f = c.Fn(
        "down",
        [&](FunctionBuilder& b) {
          const Label end = b.NewLabel();
          b.JumpIfNot(0, end);
          const Reg kept = b.NewReg();
          b.Emit(Op::kMove, kept, 0);
          const Reg w = b.NewReg();
          b.Emit(Op::kAddImmU16, w, 0, 0xffff);
          b.Emit(Op::kCall, w, 0, self);
          b.Emit(Op::kAddU16, 0, kept, w);
          b.Bind(end);
          b.Emit(Op::kReturn, 0);
        },
        {ScalarType::kU16}, true);
    ExpectSame(kit, c, CallOnce(c, f, depth, out));
  }
  ProgramKit kit(1, 1);
  ClassKit c = kit.AddClass("wide");  // the stack in SRAM ends first
  const uint16_t out = c.Global("out", 2);
  const auto self = static_cast<uint16_t>(c.get().functions.size());
  const uint32_t f = c.Fn(
      "down",
      [&](FunctionBuilder& b) {
        b.NewLocal(3000);
        const Reg w = b.NewReg();
        b.Emit(Op::kCall, w, 0, self);
        b.Emit(Op::kReturn, w);
      },
      {ScalarType::kU16}, true);
  ExpectSame(kit, c, CallOnce(c, f, 1, out));
}

TEST_F(BothBackends, BadCalls) {
  for (const int64_t pointer :
       {int64_t{1}, int64_t{2}, int64_t{77}, int64_t{-1}}) {  // one argument, none, no function
    ProgramKit kit(1, 1);
    ClassKit c = kit.AddClass("bad");
    const uint16_t out = c.Global("out", 2);
    const uint32_t f = c.Fn("main", [&](FunctionBuilder& b) {
      const Reg p = b.Const(pointer);
      const Reg w = b.Const(5);
      b.Emit(Op::kCallIndirect, w, p, 1);
      b.Emit(Op::kStoreAbs16, w, out);
    });
    c.Fn("same", [](FunctionBuilder& b) { b.Emit(Op::kReturn, 0); }, {ScalarType::kU16}, true);
    c.Fn("none", [](FunctionBuilder&) {});
    ExpectSame(kit, c, f);
  }
}

// A function that is too large for LLVM runs by bytecode, called from compiled code and calling it.
TEST_F(BothBackends, LargeFunctionsStayBytecode) {
  ProgramKit kit(1, 1);
  ClassKit c = kit.AddClass("large");
  const uint16_t out = c.Global("out", 2);
  const uint32_t leaf = c.Fn(
      "leaf",
      [](FunctionBuilder& b) {
        b.Emit(Op::kAddImmU16, 0, 0, 3);
        b.Emit(Op::kReturn, 0);
      },
      {ScalarType::kU16}, true);
  const uint32_t large = c.Fn(
      "large",
      [&](FunctionBuilder& b) {
        for (int k = 0; k < 3100; ++k) b.Emit(Op::kAddImmU16, 0, 0, 1);
        b.Emit(Op::kCall, 0, 0, static_cast<uint16_t>(leaf));
        b.Emit(Op::kReturn, 0);
      },
      {ScalarType::kU16}, true);
  ExpectSame(kit, c, c.Fn("main", [&](FunctionBuilder& b) {
    const Reg i = b.Const(0);
    const Reg n = b.Const(200);
    const Reg w = b.NewReg();
    const Label top = b.NewLabel();
    b.Bind(top);
    b.Emit(Op::kMove, w, i);
    b.Emit(Op::kCall, w, 0, static_cast<uint16_t>(large));
    b.Emit(Op::kStoreAbs16, w, out);
    b.Emit(Op::kAddImmU16, i, i, 1);
    b.JumpCompare(Op::kJumpLtU, i, n, top);
  }));
}

// A register that the program reads before it writes it is 0, whatever ran before.
// No compiler asks for the result of such a function, but an image may.
TEST_F(BothBackends, WhatReturnsNothingGivesZero) {
  ProgramKit kit(1, 1);
  ClassKit c = kit.AddClass("void");
  const uint16_t out = c.Words("out", {9});
  const uint32_t nothing = c.Fn(
      "nothing", [&](FunctionBuilder& b) { b.Emit(Op::kAddImmU16, 0, 0, 5); }, {ScalarType::kU16});
  const uint32_t f = c.Fn("main", [&](FunctionBuilder& b) {
    const Reg call = b.NewReg();
    b.Const(call, 1);
    b.Emit(Op::kCall, call, 0, static_cast<uint16_t>(nothing));
    b.Emit(Op::kStoreAbs16, call, out);
  });
  c.Task(TaskKind::kLocal, 9, f);
  c.get().initially_active = 1u << 9;
  kit.PlaceAll(c);
  const auto difference = CompareBackends(kit.Build(), {});
  ASSERT_TRUE(difference) << difference.error().ToString();
  EXPECT_EQ(*difference, "");
  auto fabric = Fabric::Create(kit.Build(), {});
  ASSERT_TRUE((*fabric)->RunUntilIdle());
  EXPECT_EQ((*fabric)->ReadSymbol(0, 0, "out").value(), (std::vector<uint8_t>{0, 0}));
}

TEST_F(BothBackends, RegistersStartAsZero) {
  ProgramKit kit(1, 1);
  ClassKit c = kit.AddClass("zero");
  const uint16_t out = c.Words("out", {9, 9, 9});
  const uint32_t unset = c.Fn(
      "unset",
      [&](FunctionBuilder& b) {
        const Reg r = b.NewReg();
        b.Emit(Op::kAddU16, 0, r, 0);
        b.Emit(Op::kReturn, 0);
      },
      {ScalarType::kU16}, true);
  const uint32_t busy = c.Fn(
      "busy",
      [&](FunctionBuilder& b) {
        for (int k = 0; k < 8; ++k) b.Const(77);
        b.Emit(Op::kReturn, 3);
      },
      {ScalarType::kU16}, true);
  const uint32_t f = c.Fn("main", [&](FunctionBuilder& b) {
    const Reg w = b.NewReg();
    const Reg never = b.NewReg();
    b.Emit(Op::kStoreAbs16, never, static_cast<uint16_t>(out + 4));
    const Reg call = b.NewRegs(2);
    for (const uint32_t callee : {busy, unset, busy, unset}) {
      b.Const(call, 1);
      b.Emit(Op::kCall, call, 0, static_cast<uint16_t>(callee));
      b.Emit(Op::kStoreAbs16, call, static_cast<uint16_t>(callee == busy ? out : out + 2));
    }
    b.Emit(Op::kMove, w, call);
  });
  ExpectSame(kit, c, f);
  Options options;
  options.backend = Backend::kNative;
  auto fabric = Fabric::Create(kit.Build(), options).value();
  ASSERT_TRUE(fabric->RunUntilIdle());
  EXPECT_EQ(fabric->ReadMemory(0, 0, out, 6), (std::vector<uint8_t>{77, 0, 1, 0, 0, 0}));
}

// Registers by address are read in global order: the load is run again when the clock has caught
// up.
TEST_F(BothBackends, RegistersByAddressInALoop) {
  ProgramKit kit(1, 1);
  kit.Route(0, 0, 3, {Direction::kRamp}, {Direction::kRamp});
  ClassKit c = kit.AddClass("raw");
  const uint16_t out = c.Global("out", 2);
  const uint32_t f = c.Fn("main", [&](FunctionBuilder& b) {
    const Reg at = b.Const(2 * (0x7f20 + 3));
    const Reg i = b.Const(0);
    const Reg n = b.Const(300);
    const Reg sum = b.Const(0);
    const Reg r = b.NewReg();
    const Label top = b.NewLabel();
    b.Bind(top);
    b.Emit(Op::kLoadU16, r, at, 0);
    b.Emit(Op::kStore16, r, at, 0);
    b.Emit(Op::kAddU16, sum, sum, r);
    b.Emit(Op::kAddImmU16, i, i, 1);
    b.JumpCompare(Op::kJumpLtU, i, n, top);
    b.Emit(Op::kStoreAbs16, sum, out);
  });
  ExpectSame(kit, c, f);
}

// A class that runs long enough is compiled in mid course; a short one never is.
TEST(Backend, AutoCompilesWhatRunsLong) {
  if (const std::string why = WhyNoNativeBackend(); !why.empty()) GTEST_SKIP() << why;
  for (const uint32_t turns : {1000u, 20'000'000u}) {
    ProgramKit kit(1, 1);
    ClassKit c = kit.AddClass("loop");
    const uint16_t out = c.Global("out", 4);
    const uint32_t f = c.Fn("main", [&](FunctionBuilder& b) {
      const Reg i = b.Const(0);
      const Reg n = b.Const(turns);
      const Label top = b.NewLabel();
      b.Bind(top);
      b.Emit(Op::kAddImmU32, i, i, 1);
      b.JumpCompare(Op::kJumpLtU, i, n, top);
      b.Emit(Op::kStoreAbs32, i, out);
    });
    c.Task(TaskKind::kLocal, 26, f);
    c.get().initially_active = uint64_t{1} << 26;
    kit.PlaceAll(c);
    std::vector<uint64_t> cycles;
    for (const Backend backend : {Backend::kBytecode, Backend::kAuto}) {
      Options options;
      options.backend = backend;
      auto fabric = Fabric::Create(kit.Build(), options).value();
      ASSERT_TRUE(fabric->RunUntilIdle());
      EXPECT_EQ(fabric->CompiledFunctions(), backend == Backend::kAuto && turns > 1000 ? 1u : 0u);
      cycles.push_back(fabric->now());
      uint32_t value = 0;
      std::memcpy(&value, fabric->ReadMemory(0, 0, out, 4).data(), 4);
      EXPECT_EQ(value, turns);
    }
    EXPECT_EQ(cycles[0], cycles[1]);
  }
}

}  // namespace
}  // namespace szarena::fabric
