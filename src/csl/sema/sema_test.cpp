// SPDX-License-Identifier: Apache-2.0
// Types, values and compile-time numbers without a program around them.
#include <gtest/gtest.h>

#include <limits>

#include "csl/sema/json_value.h"
#include "csl/sema/number.h"
#include "csl/sema/suggest.h"
#include "csl/sema/value.h"

namespace szarena::csl {
namespace {

TEST(Types, AreInternedByWhatTheyAre) {
  TypeTable types;
  EXPECT_EQ(types.Int(16, true), *types.FromName("i16"));
  EXPECT_EQ(types.Array({2, 3}, types.f32()), types.Array({2, 3}, types.f32()));
  EXPECT_NE(types.Array({6}, types.f32()), types.Array({2, 3}, types.f32()));
  EXPECT_EQ(types.Name(types.Array({2, 3}, types.f32())), "[2,3]f32");
  EXPECT_EQ(types.Name(types.Pointer(types.i16(), true, true)), "[*]const i16");
  EXPECT_EQ(types.Name(types.Fn({types.f32(), types.i16()}, types.void_type())),
            "fn(f32, i16) void");
  EXPECT_EQ(types.AnonymousStruct({{"a", types.i16()}}, false),
            types.AnonymousStruct({{"a", types.i16()}}, false));
  EXPECT_NE(types.Struct("10", "S", Packing::kAuto, {{"a", types.i16()}}, {}),
            types.Struct("11", "S", Packing::kAuto, {{"a", types.i16()}}, {}));
  EXPECT_FALSE(types.FromName("i016"));
  EXPECT_FALSE(types.FromName("u65"));
  EXPECT_FALSE(types.FromName("u0"));
}

TEST(Types, LieInMemoryInDeclarationOrderWithNaturalAlignment) {
  TypeTable types;
  const TypeId byte = types.Int(8, false);
  const TypeId s = types.Struct("1", "S", Packing::kExtern,
                                {{"a", byte}, {"b", types.f32()}, {"c", types.i16()}}, {});
  EXPECT_EQ(types.FieldOffset(s, 1), 4);
  EXPECT_EQ(types.FieldOffset(s, 2), 8);
  EXPECT_EQ(types.SizeOf(s), 12);
  EXPECT_EQ(types.SizeOf(types.Array({5, 2}, types.i16())), 20);
  EXPECT_EQ(types.SizeOf(types.Union("2", "U", Packing::kAuto, {{"a", byte}, {"b", types.u32()}})),
            4);
  const TypeId packed = types.Struct(
      "3", "P", Packing::kPacked,
      {{"a", types.Int(3, false)}, {"b", types.bool_type()}, {"c", types.Int(9, true)}}, {});
  EXPECT_EQ(types.BitWidth(packed), 13);
  EXPECT_EQ(types.BitOffset(packed, 2), 4);
  EXPECT_EQ(types.SizeOf(packed), 2);
  EXPECT_TRUE(types.InDescriptorSpace(types.Array({2}, types.Dsd(DsdKind::kMem1d))));
  EXPECT_FALSE(types.InDescriptorSpace(packed));
}

TEST(Types, WrapAsTheMachineDoes) {
  TypeTable types;
  EXPECT_EQ(TypeTable::Wrap(types[types.i16()], 32768), -32768);
  EXPECT_EQ(TypeTable::Wrap(types[types.u16()], -1), 65535);
  EXPECT_EQ(TypeTable::Wrap(types[types.Int(3, true)], 4), -4);
  EXPECT_EQ(TypeTable::MaxOf(types[types.Int(64, false)]),
            Int128{std::numeric_limits<uint64_t>::max()});
}

TEST(Values, RangesCountTheirElements) {
  EXPECT_EQ((RangeValue{0, 10, 3}).Count(), 4);
  EXPECT_EQ((RangeValue{5, 5, 1}).Count(), 0);
  EXPECT_EQ((RangeValue{5, 0, -2}).Count(), 3);
  EXPECT_EQ((RangeValue{0, 5, -1}).Count(), 0);
}

TEST(Values, KeysTellTypesAndContentsApart) {
  TypeTable types;
  const Value one = MakeInt(types.i16(), 1);
  EXPECT_EQ(ValueKey(one), ValueKey(MakeInt(types.i16(), 1)));
  EXPECT_NE(ValueKey(one), ValueKey(MakeInt(types.u16(), 1)));
  EXPECT_NE(ValueKey(MakeFloat(types.f32(), 0.0)), ValueKey(MakeFloat(types.f32(), -0.0)));
  const TypeId pair =
      types.AnonymousStruct({{"", types.comptime_string()}, {"", types.comptime_string()}}, true);
  const auto text = [&](const char* a, const char* b) {
    return MakeAggregate(
        pair, {MakeText(types.comptime_string(), a), MakeText(types.comptime_string(), b)});
  };
  EXPECT_NE(ValueKey(text("a,", "b")), ValueKey(text("a", ",b")));
}

TEST(Values, CopiesOfAggregatesAreApart) {
  TypeTable types;
  Value a = MakeAggregate(types.Array({2}, types.i16()),
                          {MakeInt(types.i16(), 1), MakeInt(types.i16(), 2)});
  Value b = a;
  b.MutableElements()[0] = MakeInt(types.i16(), 9);
  EXPECT_EQ(*(*a.as_elements())[0].as_int(), 1);
  EXPECT_EQ(*(*b.as_elements())[0].as_int(), 9);
}

Int128 Fold(TypeTable& types, TypeId type, BinaryOp op, Int128 a, Int128 b,
            FoldStatus expected = FoldStatus::kOk) {
  Value out;
  EXPECT_EQ(FoldBinary(types, op, MakeInt(type, a), MakeInt(type, b), type, out), expected);
  return expected == FoldStatus::kOk ? *out.as_int() : Int128{0};
}

TEST(Numbers, FixedWidthWrapsAndComptimeIntsDoNot) {
  TypeTable types;
  EXPECT_EQ(Fold(types, types.i16(), BinaryOp::kAdd, 32767, 1), -32768);
  EXPECT_EQ(Fold(types, types.u16(), BinaryOp::kSub, 0, 1), 65535);
  EXPECT_EQ(Fold(types, types.u32(), BinaryOp::kMul, 0xffffffff, 0xffffffff), 1);
  EXPECT_EQ(Fold(types, types.i16(), BinaryOp::kDiv, -7, 2), -3);
  EXPECT_EQ(Fold(types, types.i16(), BinaryOp::kMod, -7, 2), -1);
  EXPECT_EQ(Fold(types, types.i16(), BinaryOp::kShl, 1, 16), 0);
  EXPECT_EQ(Fold(types, types.i16(), BinaryOp::kShr, -8, 20), -1);
  const Int128 big = Int128{1} << 126;
  Fold(types, types.comptime_int(), BinaryOp::kAdd, big, big, FoldStatus::kOverflow);
  Fold(types, types.comptime_int(), BinaryOp::kMul, big, 4, FoldStatus::kOverflow);
  Fold(types, types.comptime_int(), BinaryOp::kShl, 1, 127, FoldStatus::kOverflow);
  Fold(types, types.comptime_int(), BinaryOp::kDiv, 1, 0, FoldStatus::kDivideByZero);
  Fold(types, types.i16(), BinaryOp::kShl, 1, -1, FoldStatus::kBadShift);
  EXPECT_EQ(Int128ToString(-big), "-85070591730234615865843651857942052864");
}

TEST(Numbers, FloatsRoundOnceToTheirFormat) {
  TypeTable types;
  EXPECT_EQ(RoundTo(types, types.f32(), 0.1), static_cast<double>(0.1F));
  EXPECT_EQ(RoundTo(types, types.f16(), 0.1), 0.0999755859375);
  Value out;
  ASSERT_EQ(FoldBinary(types, BinaryOp::kAdd, MakeFloat(types.f16(), 2048),
                       MakeFloat(types.f16(), 1), types.f16(), out),
            FoldStatus::kOk);
  EXPECT_EQ(*out.as_float(), 2048);  // tie to even
  EXPECT_EQ(*CastNumber(types, MakeFloat(types.f32(), -10.8), types.i16()).as_int(), -10);
  EXPECT_EQ(*CastNumber(types, MakeFloat(types.f32(), 1e9), types.i16()).as_int(), 32767);
  EXPECT_EQ(*CastNumber(types, MakeFloat(types.f32(), std::numeric_limits<double>::quiet_NaN()),
                        types.bool_type())
                 .as_int(),
            1);
}

TEST(Json, BecomesValues) {
  TypeTable types;
  std::string why;
  const auto value = ReadJson(types, R"({"n": [1, 2.5, true], "s": "a\nb"})", why);
  ASSERT_TRUE(value) << why;
  EXPECT_EQ(FormatValue(types, *value), ".{ .n = .{ 1, 2.5, true }, .s = a\nb }");
  const auto text = ReadJson(types, R"("\u00e9\u20ac\ud83d\udc4d")", why);
  ASSERT_TRUE(text) << why;
  EXPECT_EQ(FormatValue(types, *text), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x91\x8d") << "UTF-8";
  for (const char* bad :
       {"", "{", "[1,]", "{\"a\":1,\"a\":2}", "null", "1 2", "\"x", "{\"a\" 1}",
        "99999999999999999999", R"("\ud83d")", R"("\udc4d")", R"("\ud83dx")", R"("\u12")"}) {
    EXPECT_FALSE(ReadJson(types, bad, why)) << bad;
    EXPECT_FALSE(why.empty()) << bad;
  }
}

TEST(Suggestions, NameTheNearestCandidate) {
  EXPECT_EQ(DidYouMean("countr", {"counter", "count_down"}), ", did you mean 'counter'?");
  EXPECT_EQ(DidYouMean("x", {"elephant"}), "");
}

}  // namespace
}  // namespace szarena::csl
