// SPDX-License-Identifier: Apache-2.0
// Every scalar instruction against plain C++ arithmetic, control flow, memory, traps, natives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "fabric/testing/lone_pe.h"

namespace szarena::fabric {
namespace {
using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ScalarType kInts[] = {ScalarType::kI8,  ScalarType::kI16, ScalarType::kI32,
                                ScalarType::kI64, ScalarType::kU8,  ScalarType::kU16,
                                ScalarType::kU32, ScalarType::kU64};

uint64_t Extend(__int128 v, ScalarType t) {
  const int bits = SizeOf(t) * 8;
  const auto low = static_cast<uint64_t>(v);
  return IsSigned(t) ? static_cast<uint64_t>(SignExtend(low, bits)) : ZeroExtend(low, bits);
}
__int128 Value(uint64_t bits, ScalarType t) {
  return IsSigned(t) ? static_cast<__int128>(static_cast<int64_t>(bits))
                     : static_cast<__int128>(bits);
}

uint64_t Sample(std::mt19937_64& random, ScalarType t) {
  switch (random() % 5) {
    case 0:
      return Extend(static_cast<__int128>(random() % 5) - 2, t);
    case 1:
      return Extend(static_cast<__int128>(1) << (SizeOf(t) * 8 - 1), t);
    case 2:
      return Extend((static_cast<__int128>(1) << (SizeOf(t) * 8 - 1)) - 1, t);
    default:
      return Extend(static_cast<__int128>(random()), t);
  }
}

struct IntCase {
  const char* name;
  Op i8;
  std::function<__int128(__int128, __int128, ScalarType)> want;
  bool shift = false;
  bool divides = false;
};

TEST(Interp, IntegerArithmeticOfEveryTypeWraps) {
  const IntCase cases[] = {
      {"add", Op::kAddI8, [](auto a, auto b, auto) { return a + b; }},
      {"sub", Op::kSubI8, [](auto a, auto b, auto) { return a - b; }},
      {"mul", Op::kMulI8,
       [](auto a, auto b, auto) {
         return static_cast<__int128>(static_cast<unsigned __int128>(a) *
                                      static_cast<unsigned __int128>(b));
       }},
      {"div", Op::kDivI8, [](auto a, auto b, auto) { return a / b; }, false, true},
      {"rem", Op::kRemI8, [](auto a, auto b, auto) { return a % b; }, false, true},
      {"shl", Op::kShlI8,
       [](auto a, auto b, auto t) {
         return b >= SizeOf(t) * 8 ? 0
                                   : static_cast<__int128>(static_cast<unsigned __int128>(a) << b);
       },
       true},
      {"shr", Op::kShrI8,
       [](auto a, auto b, auto) { return a >> (b > 100 ? 100 : static_cast<int>(b)); }, true},
      {"neg", Op::kNegI8, [](auto a, auto, auto) { return -a; }},
      {"not", Op::kNotI8, [](auto a, auto, auto) { return ~a; }},
      {"convert", Op::kConvertI8, [](auto a, auto, auto) { return a; }},
  };
  std::mt19937_64 random(1);
  for (const IntCase& c : cases) {
    for (const ScalarType t : kInts) {
      LonePe pe;
      const uint32_t f = pe.code().Fn(
          "f",
          [&](FunctionBuilder& b) {
            const Op op = TypedOp(c.i8, t);
            b.Emit(op, 0, 0, InfoOf(op).operands[2] == 's' ? 1 : 0);
            b.Emit(Op::kReturn, 0);
          },
          {t, t}, true);
      pe.Load();
      for (int i = 0; i < 60; ++i) {
        const uint64_t a = Sample(random, t);
        uint64_t b = c.shift ? random() % 70 : Sample(random, t);
        if (c.divides && b == 0) b = 1;
        const uint64_t want =
            Extend(c.want(Value(a, t), c.shift ? static_cast<__int128>(b) : Value(b, t), t), t);
        ASSERT_EQ(pe.Call(f, {a, b}), want)
            << c.name << " " << ScalarTypeName(t) << " " << a << " " << b;
      }
    }
  }
}

TEST(Interp, AddImmediateAndWidths) {
  for (const ScalarType t : kInts) {
    LonePe pe;
    EXPECT_EQ(pe.Eval(
                  [&](FunctionBuilder& b) {
                    b.Emit(TypedOp(Op::kAddImmI8, t), 0, 0, static_cast<uint16_t>(-3));
                    return Reg{0};
                  },
                  {Extend(1, t)}),
              Extend(-2, t));
  }
  LonePe pe;
  EXPECT_EQ(pe.Eval(
                [](FunctionBuilder& b) {
                  b.Emit(Op::kSignExtend, 0, 0, 5);
                  return Reg{0};
                },
                {0x1f}),
            ~uint64_t{0});
  EXPECT_EQ(pe.Eval(
                [](FunctionBuilder& b) {
                  b.Emit(Op::kZeroExtend, 0, 0, 5);
                  return Reg{0};
                },
                {~uint64_t{0}}),
            31u);
}

TEST(Interp, LogicAndComparison) {
  const auto two = [](Op op, uint64_t x, uint64_t y) {
    LonePe pe;
    return pe.Eval(
        [&](FunctionBuilder& b) {
          b.Emit(op, 0, 0, 1);
          return Reg{0};
        },
        {x, y});
  };
  EXPECT_EQ(two(Op::kAnd, 12, 10), 8u);
  EXPECT_EQ(two(Op::kOr, 12, 10), 14u);
  EXPECT_EQ(two(Op::kXor, 12, 10), 6u);
  const uint64_t minus = ~uint64_t{0};
  EXPECT_EQ(two(Op::kLtS, minus, 1), 1u);
  EXPECT_EQ(two(Op::kLtU, minus, 1), 0u);
  EXPECT_EQ(two(Op::kLeS, 1, 1), 1u);
  EXPECT_EQ(two(Op::kLeU, 2, 1), 0u);
  EXPECT_EQ(two(Op::kEq, 2, 2), 1u);
  EXPECT_EQ(two(Op::kNe, 2, 2), 0u);
  LonePe pe;
  EXPECT_EQ(pe.Eval(
                [](FunctionBuilder& b) {
                  b.Emit(Op::kLogicalNot, 0, 0);
                  return Reg{0};
                },
                {0}),
            1u);
  EXPECT_EQ(pe.Eval(
                [](FunctionBuilder& b) {
                  b.Emit(Op::kSelect, 0, 1, 2);
                  return Reg{0};
                },
                {1, 5, 6}),
            5u);
  EXPECT_EQ(pe.Eval(
                [](FunctionBuilder& b) {
                  b.Emit(Op::kSelect, 0, 1, 2);
                  return Reg{0};
                },
                {0, 5, 6}),
            6u);
}

TEST(Interp, Floats) {
  const auto bits = [](float v) { return static_cast<uint64_t>(std::bit_cast<uint32_t>(v)); };
  const auto two = [](Op op, uint64_t x, uint64_t y) {
    LonePe pe;
    const bool binary = InfoOf(op).operands[2] == 's';
    return pe.Eval(
        [&](FunctionBuilder& b) {
          b.Emit(op, 0, 0, binary ? 1 : 0);
          return Reg{0};
        },
        {x, y});
  };
  EXPECT_EQ(two(Op::kAddF32, bits(1.5f), bits(2.25f)), bits(3.75f));
  EXPECT_EQ(two(Op::kSubF32, bits(1.5f), bits(2.25f)), bits(-0.75f));
  EXPECT_EQ(two(Op::kMulF32, bits(1.5f), bits(-2.0f)), bits(-3.0f));
  EXPECT_EQ(two(Op::kDivF32, bits(1.0f), bits(3.0f)), bits(1.0f / 3.0f));
  EXPECT_EQ(two(Op::kDivF32, bits(0.0f), bits(0.0f)), 0x7fc00000u);
  EXPECT_EQ(two(Op::kNegF32, bits(0.0f), 0), 0x80000000u);
  const uint64_t nan = 0x7fc00000;
  EXPECT_EQ(two(Op::kEqF32, nan, nan), 0u);
  EXPECT_EQ(two(Op::kNeF32, nan, nan), 1u);
  EXPECT_EQ(two(Op::kLtF32, bits(-1.0f), bits(0.0f)), 1u);
  EXPECT_EQ(two(Op::kLeF32, nan, bits(0.0f)), 0u);
  EXPECT_EQ(two(Op::kAddF16, 0x3c00, 0x4000), 0x4200u);
  EXPECT_EQ(two(Op::kSubF16, 0x3c00, 0x4000), 0xbc00u);
  EXPECT_EQ(two(Op::kMulF16, 0x4000, 0x4200), 0x4600u);
  EXPECT_EQ(two(Op::kDivF16, 0x3c00, 0x4000), 0x3800u);
  EXPECT_EQ(two(Op::kNegF16, 0x3c00, 0), 0xbc00u);
  EXPECT_EQ(two(Op::kLtF16, 0xbc00, 0x3c00), 1u);
  EXPECT_EQ(two(Op::kLeF16, 0x3c00, 0x3c00), 1u);
  EXPECT_EQ(two(Op::kEqF16, 0x8000, 0x0000), 1u);
  EXPECT_EQ(two(Op::kNeF16, 0x7e00, 0x7e00), 1u);
  EXPECT_EQ(two(Op::kF32FromS, ~uint64_t{4}, 0), bits(-5.0f));
  EXPECT_EQ(two(Op::kF32FromU, 16777217, 0), bits(16777216.0f));
  EXPECT_EQ(two(Op::kF16FromS, ~uint64_t{0}, 0), 0xbc00u);
  EXPECT_EQ(two(Op::kF16FromU, 3, 0), 0x4200u);
  EXPECT_EQ(two(Op::kF16FromF32, bits(1.0f), 0), 0x3c00u);
  EXPECT_EQ(two(Op::kF32FromF16, 0xc000, 0), bits(-2.0f));
  EXPECT_EQ(two(Op::kBoolFromF32, nan, 0), 1u);
  EXPECT_EQ(two(Op::kBoolFromF16, 0x8000, 0), 0u);
  for (const ScalarType t : kInts) {
    EXPECT_EQ(two(TypedOp(Op::kFromF32I8, t), bits(-7.9f), 0), IsSigned(t) ? Extend(-7, t) : 0u);
    EXPECT_EQ(two(TypedOp(Op::kFromF32I8, t), bits(100.9f), 0), 100u);
    EXPECT_EQ(two(TypedOp(Op::kFromF16I8, t), 0x4500, 0), 5u);
  }
  LonePe bf(Arch::kWse2, FloatFormat::kBf16);
  EXPECT_EQ(bf.Eval(
                [](FunctionBuilder& b) {
                  b.Emit(Op::kAddF16, 0, 0, 1);
                  return Reg{0};
                },
                {0x3f80, 0x3f80}),
            0x4000u);
}

TEST(Interp, ConstantsOfEveryWidth) {
  LonePe pe;
  for (const int64_t v :
       {int64_t{0}, int64_t{-1}, int64_t{0x7fffffff}, int64_t{0x80000000}, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(pe.Eval([&](FunctionBuilder& b) { return b.Const(v); }), static_cast<uint64_t>(v));
  }
}

TEST(Interp, LoopsAndJumps) {
  LonePe pe;
  const auto sum = [](FunctionBuilder& b) {  // sum of 0..n-1
    const Reg s = b.Const(0);
    const Reg i = b.Const(0);
    const Label top = b.NewLabel();
    const Label end = b.NewLabel();
    b.Bind(top);
    b.JumpCompare(Op::kJumpLeU, 0, i, end);
    b.Emit(Op::kAddU32, s, s, i);
    b.Emit(Op::kAddImmU16, i, i, 1);
    b.Jump(top);
    b.Bind(end);
    return s;
  };
  EXPECT_EQ(pe.Eval(sum, {1000}), 499500u);
  EXPECT_EQ(pe.Eval(sum, {0}), 0u);
  const auto taken = [&](Op op, uint64_t x, uint64_t y) {
    return pe.Eval(
        [&](FunctionBuilder& b) {
          const Label yes = b.NewLabel();
          b.JumpCompare(op, 0, 1, yes);
          b.Emit(Op::kReturn, b.Const(0));
          b.Bind(yes);
          return b.Const(1);
        },
        {x, y});
  };
  const uint64_t minus = ~uint64_t{0};
  EXPECT_EQ(taken(Op::kJumpEq, 1, 1), 1u);
  EXPECT_EQ(taken(Op::kJumpNe, 1, 1), 0u);
  EXPECT_EQ(taken(Op::kJumpLtS, minus, 0), 1u);
  EXPECT_EQ(taken(Op::kJumpLtU, minus, 0), 0u);
  EXPECT_EQ(taken(Op::kJumpLeS, minus, minus), 1u);
  EXPECT_EQ(taken(Op::kJumpLeU, 2, 1), 0u);
  for (uint64_t v : {0u, 1u}) {
    EXPECT_EQ(pe.Eval(
                  [&](FunctionBuilder& b) {
                    const Label yes = b.NewLabel();
                    b.JumpIfNot(0, yes);
                    b.Emit(Op::kReturn, b.Const(0));
                    b.Bind(yes);
                    return b.Const(1);
                  },
                  {v}),
              1 - v);
  }
}

TEST(Interp, SwitchPicksTheCaseOrElse) {
  LonePe pe;
  const auto pick = [&](int64_t v) {
    return pe.Eval(
        [&](FunctionBuilder& b) {
          const Label a = b.NewLabel();
          const Label c = b.NewLabel();
          const Label other = b.NewLabel();
          b.Switch(0, {{7, a}, {-3, c}}, other);
          b.Bind(a);
          b.Emit(Op::kReturn, b.Const(70));
          b.Bind(c);
          b.Emit(Op::kReturn, b.Const(30));
          b.Bind(other);
          return b.Const(1);
        },
        {static_cast<uint64_t>(v)});
  };
  EXPECT_EQ(pick(7), 70u);
  EXPECT_EQ(pick(-3), 30u);
  EXPECT_EQ(pick(6), 1u);
}

TEST(Interp, CallsNestAndRecurse) {
  LonePe pe;
  // fib(n) by recursion: function 0 calls itself.
  const uint32_t fib = pe.code().Fn(
      "fib",
      [](FunctionBuilder& b) {
        const Label more = b.NewLabel();
        const Reg two = b.Const(2);
        b.JumpCompare(Op::kJumpLeU, two, 0, more);
        b.Emit(Op::kReturn, 0);
        b.Bind(more);
        const Reg x = b.NewReg();
        const Reg w = b.NewReg();
        b.Emit(Op::kAddImmU16, w, 0, static_cast<uint16_t>(-1));
        b.Emit(Op::kCall, w, 0, 0);
        b.Emit(Op::kMove, x, w);
        b.Emit(Op::kAddImmU16, w, 0, static_cast<uint16_t>(-2));
        b.Emit(Op::kCall, w, 0, 0);
        b.Emit(Op::kAddU32, x, x, w);
        b.Emit(Op::kReturn, x);
      },
      {ScalarType::kU16}, true);
  pe.Load();
  EXPECT_EQ(pe.Call(fib, {20}), 6765u);
  EXPECT_EQ(pe.Eval([&](FunctionBuilder& b) {
    const Reg f = b.Const(fib);
    const Reg w = b.Const(10);
    b.Emit(Op::kCallIndirect, w, f, 1);
    return w;
  }),
            55u);
}

TEST(Interp, FramesAreSeparateAndBeginUnwritten) {
  LonePe pe;
  const uint32_t leaf = pe.code().Fn(
      "leaf",
      [](FunctionBuilder& b) {
        const Reg p = b.NewReg();
        b.EmitWide(Op::kFrameAddr, p, b.NewLocal(8));
        const Reg v = b.Const(99);
        b.Emit(Op::kStore16, v, p, 2);
        b.Emit(Op::kReturn, p);
      },
      {}, true);
  EXPECT_EQ(pe.Eval([&](FunctionBuilder& b) {
    const Reg p = b.NewReg();
    b.EmitWide(Op::kFrameAddr, p, b.NewLocal(8));
    const Reg v = b.Const(5);
    b.Emit(Op::kStore16, v, p, 2);
    const Reg w = b.NewReg();
    b.Emit(Op::kCall, w, 0, static_cast<uint16_t>(leaf));
    b.Emit(Op::kSubU16, w, w, p);   // the callee's frame is 8 bytes further
    b.Emit(Op::kLoadU16, v, p, 2);  // ours is untouched
    const Reg ten = b.Const(10);
    b.Emit(Op::kMulU16, w, w, ten);
    b.Emit(Op::kAddU16, v, v, w);
    return v;
  }),
            85u);
  EXPECT_TRUE(pe.traps.empty());
  pe.Eval([&](FunctionBuilder& b) {
    const Reg p = b.NewReg();
    b.EmitWide(Op::kFrameAddr, p, b.NewLocal(8));
    b.Emit(Op::kLoadU16, p, p, 2);
    return p;
  });
  ASSERT_EQ(pe.traps.size(), 1u);
  EXPECT_EQ(pe.traps[0].first, TrapKind::kUninitialisedRead);
}

TEST(Interp, LoadsAndStoresOfEveryTypeAndForm) {
  std::mt19937_64 random(4);
  for (const ScalarType t : kInts) {
    for (const AddressForm form :
         {AddressForm::kOffset, AddressForm::kAbsolute, AddressForm::kIndexed}) {
      LonePe pe;
      const uint16_t base = pe.code().Global("g", 64);
      const uint64_t v = Sample(random, t);
      EXPECT_EQ(pe.Eval(
                    [&](FunctionBuilder& b) {
                      const auto at = static_cast<uint16_t>(base + 2 * SizeOf(t));
                      const Reg p = b.Const(base);
                      const Reg i = b.Const(2);
                      const Reg out = b.NewReg();
                      switch (form) {
                        case AddressForm::kOffset:
                          b.Emit(StoreOp(t), 0, p, static_cast<uint16_t>(2 * SizeOf(t)));
                          b.Emit(LoadOp(t), out, p, static_cast<uint16_t>(2 * SizeOf(t)));
                          break;
                        case AddressForm::kAbsolute:
                          b.Emit(StoreOp(t, form), 0, at);
                          b.Emit(LoadOp(t, form), out, at);
                          break;
                        case AddressForm::kIndexed:
                          b.Emit(StoreOp(t, form), 0, p, i);
                          b.Emit(LoadOp(t, form), out, p, i);
                          break;
                      }
                      return out;
                    },
                    {v}),
                v)
          << ScalarTypeName(t);
      EXPECT_TRUE(pe.traps.empty());
    }
  }
}

TEST(Interp, BlocksAreCopiedFilledAndZeroed) {
  LonePe pe;
  const uint16_t a = pe.code().Words("a", {1, 2, 3, 4});
  const uint16_t z = pe.code().Global("z", 8);
  pe.Eval([&](FunctionBuilder& b) {
    const Reg pa = b.Const(a);
    const Reg pa2 = b.Const(a + 2);
    const Reg pz = b.Const(z);
    const Reg n = b.Const(4);
    b.Emit(Op::kCopyMem, pz, pa, 8);
    b.Emit(Op::kCopyMemR, pa2, pa, n);  // overlaps
    const Reg v = b.Const(0x5a);
    b.Emit(Op::kFillMem, pz, v, 2);
    const Reg pz6 = b.Const(z + 6);
    b.EmitWide(Op::kZeroMem, pz6, 2);
    return pa;
  });
  EXPECT_THAT(pe.Words(a, 4), ElementsAre(1, 1, 2, 4));
  EXPECT_THAT(pe.Words(z, 4), ElementsAre(0x5a5a, 2, 3, 0));
}

TEST(Interp, TrapsHaveTheirNames) {
  const auto trap = [](auto body, std::vector<uint64_t> args = {}) {
    LonePe pe;
    pe.Eval(body, std::move(args));
    return pe.traps.empty() ? std::string("none") : std::string(TrapName(pe.traps[0].first));
  };
  EXPECT_EQ(trap(
                [](FunctionBuilder& b) {
                  b.Emit(Op::kDivI16, 0, 0, 1);
                  return Reg{0};
                },
                {5, 0}),
            "divide-by-zero");
  EXPECT_EQ(trap(
                [](FunctionBuilder& b) {
                  b.Emit(Op::kRemU32, 0, 0, 1);
                  return Reg{0};
                },
                {5, 0}),
            "divide-by-zero");
  EXPECT_EQ(trap(
                [](FunctionBuilder& b) {
                  b.Emit(Op::kLoadU16, 0, 0, 0);
                  return Reg{0};
                },
                {3}),
            "misaligned");
  EXPECT_EQ(trap(
                [](FunctionBuilder& b) {
                  b.EmitWide(Op::kCheckIndex, 0, 4);
                  return Reg{0};
                },
                {4}),
            "index-out-of-bounds");
  EXPECT_EQ(trap(
                [](FunctionBuilder& b) {
                  b.EmitWide(Op::kCheckIndex, 0, 4);
                  return Reg{0};
                },
                {3}),
            "none");
  EXPECT_EQ(trap(
                [](FunctionBuilder& b) {
                  b.Emit(Op::kCallIndirect, 0, 0, 1);
                  return Reg{0};
                },
                {999}),
            "bad-call");
  EXPECT_EQ(trap(
                [](FunctionBuilder& b) {
                  b.EmitWide(Op::kAssert, 0, InternString(b.code_class(), "no"));
                  return Reg{0};
                },
                {0}),
            "assertion-failed");
  EXPECT_EQ(trap(
                [](FunctionBuilder& b) {
                  b.EmitWide(Op::kTrap, 0, InternString(b.code_class(), "no"));
                  return Reg{0};
                },
                {0}),
            "program-trap");
  EXPECT_EQ(trap([](FunctionBuilder& b) {
              b.Emit(Op::kActivate, 13);
              return b.Const(0);
            }),
            "unbound-task");
  LonePe pe;
  const uint32_t endless =
      pe.code().Fn("endless", [](FunctionBuilder& b) { b.Emit(Op::kCall, b.NewReg(), 0, 0); });
  pe.Load();
  pe.Call(endless);
  ASSERT_FALSE(pe.traps.empty());
  EXPECT_EQ(pe.traps[0].first, TrapKind::kStackOverflow);
}

TEST(Interp, TaskBits) {
  LonePe pe;
  const uint32_t f = pe.code().Fn("f", [](FunctionBuilder& b) {
    b.Emit(Op::kActivate, 9);
    b.Emit(Op::kBlock, 9);
    b.Emit(Op::kBlock, 10);
    b.Emit(Op::kUnblock, 10);
    const Reg id = b.Const(11);
    b.Emit(Op::kActivateR, id);
    b.Emit(Op::kBlockR, id);
    const Reg other = b.Const(12);
    b.Emit(Op::kBlockR, other);
    b.Emit(Op::kUnblockR, other);
  });
  pe.code().Task(TaskKind::kLocal, 9, f);
  pe.code().Task(TaskKind::kLocal, 11, f);
  pe.Load();
  pe.Call(f);
  EXPECT_EQ(pe.pe().active, (uint64_t{1} << 9) | (uint64_t{1} << 11));
  EXPECT_EQ(pe.pe().blocked, (uint64_t{1} << 9) | (uint64_t{1} << 11));
}

TEST(Interp, DescriptorInstructions) {
  LonePe pe;
  Descriptor d = Mem(16, 5, 2);
  d.lo = 16;
  d.hi = 26;
  const uint16_t at = pe.code().Dsd({});
  pe.Eval([&](FunctionBuilder& b) {
    const Reg p = b.Const(at);
    b.EmitWide(Op::kDsdConst, p, InternDescriptor(b.code_class(), d));
    b.Emit(Op::kDsdIncOffset, p, b.Const(-3), 2);
    b.Emit(Op::kDsdSetLength, p, b.Const(7));
    b.Emit(Op::kDsdSetStride, p, b.Const(-1));
    return p;
  });
  Descriptor got = ReadDescriptor(pe.pe().memory, at);
  EXPECT_EQ(got.base, 10);
  EXPECT_EQ(got.extent[0], 7);
  EXPECT_EQ(got.stride[0], -1);
  EXPECT_EQ(got.hi, 26);
  pe.Eval([&](FunctionBuilder& b) {
    const Reg p = b.Const(at);
    b.EmitWide(Op::kDsdConst, p, InternDescriptor(b.code_class(), d));
    b.Emit(Op::kDsdSetBase, p, b.Const(100), 4);
    b.Emit(Op::kDsdSet, p, b.Const(12), static_cast<uint16_t>(DsdField::kColor));
    b.Emit(Op::kDsdSet, p, b.Const(300), static_cast<uint16_t>(DsdField::kHi));
    return p;
  });
  got = ReadDescriptor(pe.pe().memory, at);
  EXPECT_EQ(got.base, 100);
  EXPECT_EQ(got.elem_size, 4);
  EXPECT_EQ(got.color, 12);
  EXPECT_EQ(got.lo, 0);
  EXPECT_EQ(got.hi, 300);
}

uint64_t CallNativeOf(LonePe& pe, Native n, std::vector<uint64_t> args) {
  return pe.Eval(
      [&](FunctionBuilder& b) {
        const Reg w = b.NewRegs(static_cast<int>(std::max<size_t>(args.size(), 1)));
        for (size_t i = 0; i < args.size(); ++i)
          b.Emit(Op::kMove, static_cast<uint16_t>(w + i), static_cast<uint16_t>(i));
        b.Emit(Op::kNative, w, 0, static_cast<uint16_t>(n));
        return w;
      },
      args);
}

TEST(Natives, MathIsRoundedOnce) {
  LonePe pe;
  const auto f32 = [&](Native n, float x, float y = 0) {
    return std::bit_cast<float>(static_cast<uint32_t>(
        CallNativeOf(pe, n, {std::bit_cast<uint32_t>(x), std::bit_cast<uint32_t>(y)})));
  };
  EXPECT_EQ(f32(Native::k_sqrt_f32, 42.0f), std::sqrt(42.0f));
  EXPECT_EQ(f32(Native::k_invsqrt_f32, 4.0f), 0.5f);
  EXPECT_EQ(f32(Native::k_inv_f32, 8.0f), 0.125f);
  EXPECT_EQ(f32(Native::k_exp_f32, 1.0f), static_cast<float>(std::exp(1.0)));
  EXPECT_EQ(f32(Native::k_log_f32, 10.0f), static_cast<float>(std::log(10.0)));
  EXPECT_EQ(f32(Native::k_sin_f32, 1.0f), static_cast<float>(std::sin(1.0)));
  EXPECT_EQ(f32(Native::k_cos_f32, 1.0f), static_cast<float>(std::cos(1.0)));
  EXPECT_EQ(f32(Native::k_tanh_f32, 1.0f), static_cast<float>(std::tanh(1.0)));
  EXPECT_EQ(f32(Native::k_sig_f32, 0.0f), 0.5f);
  EXPECT_EQ(f32(Native::k_pow_f32, 2.0f, 10.0f), 1024.0f);
  EXPECT_EQ(f32(Native::k_floor_f32, -1.5f), -2.0f);
  EXPECT_EQ(f32(Native::k_ceil_f32, -1.5f), -1.0f);
  EXPECT_EQ(CallNativeOf(pe, Native::k_fscale_f32,
                         {std::bit_cast<uint32_t>(3.0f), static_cast<uint64_t>(-1)}),
            std::bit_cast<uint32_t>(1.5f));
  EXPECT_EQ(CallNativeOf(pe, Native::k_sqrt_f16, {0x4400, 0}), 0x4000u);
  EXPECT_EQ(CallNativeOf(pe, Native::k_fscale_f16, {0x3c00, 3}), 0x4800u);
  EXPECT_EQ(CallNativeOf(pe, Native::k_floor_f16, {0x3e00, 0}), 0x3c00u);
}

TEST(Natives, ClockCountsOnlyWhileItIsOn) {
  LonePe pe;
  const uint16_t t = pe.code().Global("t", 12);
  const auto native = [](FunctionBuilder& b, Native n, Reg w) {
    b.Emit(Op::kNative, w, 0, static_cast<uint16_t>(n));
  };
  pe.Eval(
      [&](FunctionBuilder& b) {
        const Reg w = b.NewReg();
        native(b, Native::k_tsc_enable, w);
        b.Const(w, t);
        native(b, Native::k_tsc_read, w);
        for (int i = 0; i < 100; ++i) b.Emit(Op::kAddU16, 0, 0, 0);
        b.Const(w, t + 6);
        native(b, Native::k_tsc_read, w);
        return w;
      },
      {1});
  const auto words = pe.Words(t, 6);
  const uint16_t difference = static_cast<uint16_t>(words[3] - words[0]);
  EXPECT_EQ(difference, 100 + 1 + pe.core().cost->native[static_cast<size_t>(Native::k_tsc_read)]);
}

TEST(Natives, RandomIsTheDocumentedRegister) {
  // The bit sequence of x^23 + x^18 + 1 itself: 23 bits of 0xdeadbeef, oldest first; a number is 16
  // bits, 128 further each time.
  std::vector<int> bits;
  for (int i = 0; i < 23; ++i) bits.push_back(0xdeadbeefu >> i & 1);
  for (size_t n = 0; n < 1000; ++n) bits.push_back(bits[n] ^ bits[n + 18]);
  LonePe pe;
  const uint32_t f = pe.code().Fn(
      "f",
      [](FunctionBuilder& b) {
        const Reg w = b.NewReg();
        b.Emit(Op::kNative, w, 0, static_cast<uint16_t>(Native::k_random16));
        b.Emit(Op::kReturn, w);
      },
      {}, true);
  pe.Load();
  for (size_t n = 1; n <= 5; ++n) {
    uint64_t want = 0;
    for (size_t i = 0; i < 16; ++i) want |= static_cast<uint64_t>(bits[128 * n + i]) << i;
    EXPECT_EQ(pe.Call(f), want);
  }
}

TEST(Natives, PrintAndTrace) {
  LonePe pe;
  const uint32_t hello = InternString(pe.code().get(), "x = ");
  const uint32_t newline = InternString(pe.code().get(), "\n");
  const uint32_t key = InternString(pe.code().get(), "key");
  const auto native = [](FunctionBuilder& b, Native n, std::vector<int64_t> args) {
    const Reg w = b.NewRegs(4);
    for (size_t i = 0; i < args.size(); ++i) b.Const(static_cast<Reg>(w + i), args[i]);
    b.Emit(Op::kNative, w, 0, static_cast<uint16_t>(n));
  };
  const auto type = [](ScalarType t) { return static_cast<int64_t>(t); };
  pe.Eval([&](FunctionBuilder& b) {
    native(b, Native::k_print_coords, {});
    native(b, Native::k_print_string, {hello});
    native(b, Native::k_print_value, {type(ScalarType::kI16), 'd', 0, -5});
    native(b, Native::k_print_value, {type(ScalarType::kU16), 'x', 4, 0xab});
    native(b, Native::k_print_string, {newline});
    native(b, Native::k_trace_value, {key, type(ScalarType::kU16), 12});
    native(b, Native::k_trace_string, {key, hello});
    return b.Const(0);
  });
  EXPECT_THAT(pe.lines, ElementsAre("PE(0,0): x = -500AB"));
  const auto& records = pe.pe().debug->traces.at("key");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].value, 12u);
  EXPECT_EQ(records[1].kind, TraceRecord::Kind::kString);
}

TEST(Natives, RawRegistersTrap) {
  LonePe pe;
  CallNativeOf(pe, Native::k_config_set, {0x7000, 1});
  ASSERT_FALSE(pe.traps.empty());
  EXPECT_EQ(pe.traps[0].first, TrapKind::kRawRegister);
}

}  // namespace
}  // namespace szarena::fabric
