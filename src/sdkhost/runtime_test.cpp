// SPDX-License-Identifier: Apache-2.0
// Host orders, broadcasts, widths and arguments against a program that does nothing but hold an
// array.
#include "sdkhost/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "fabric/testing/program_kit.h"

namespace szarena::sdkhost {
namespace {

using namespace fabric::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 3 x 2 PEs with an array of 4 words and of 4 halves, and a function of an i16 that writes it to
// the array of halves.
std::unique_ptr<Runtime> Make() {
  ProgramKit kit(3, 2);
  ClassKit c = kit.AddClass("pe");
  c.ExportPointer("words", c.Global("words", 16, 4), 4);
  const uint16_t halves = c.Global("halves", 8, 2);
  c.ExportPointer("halves", halves, 2);
  const uint32_t set = c.Fn("set", [&](FunctionBuilder& b) { EmitUnblock(b); }, {ScalarType::kI16});
  c.ExportFunction("set", set);
  kit.PlaceAll(c);
  auto program = std::make_shared<bytecode::Program>(kit.get());
  for (auto& e : program->exports) {
    if (e.name == "set") e.params = {ScalarType::kI16};
  }
  auto runtime = Runtime::FromProgram(program, {}).value();
  EXPECT_TRUE(runtime->Load());
  return runtime;
}

std::vector<uint32_t> Numbers(size_t n) {
  std::vector<uint32_t> v(n);
  std::iota(v.begin(), v.end(), 100u);
  return v;
}

std::vector<uint32_t> ReadBack(Runtime& r, const std::string& name, const CopyShape& shape,
                               size_t n) {
  std::vector<uint32_t> out(n);
  const auto ticket = r.CopyOut(r.SymbolId(name).value(), out, shape);
  EXPECT_TRUE(ticket);
  EXPECT_TRUE(r.Wait(*ticket));
  return out;
}

TEST(Runtime, OrdersAreInverseOfEachOther) {
  for (const Order in : {Order::kRowMajor, Order::kColMajor}) {
    for (const Order out : {Order::kRowMajor, Order::kColMajor}) {
      auto r = Make();
      const auto data = Numbers(2 * 2 * 3);
      const CopyShape shape{{1, 0, 2, 2}, 3, false, Width::k32Bit, in};
      ASSERT_TRUE(r->CopyIn(r->SymbolId("words").value(), data, shape, Broadcast::kNone));
      CopyShape back = shape;
      back.order = out;
      const auto got = ReadBack(*r, "words", back, data.size());
      for (size_t y = 0; y < 2; ++y) {
        for (size_t x = 0; x < 2; ++x) {
          for (size_t k = 0; k < 3; ++k) {
            const size_t row = (y * 2 + x) * 3 + k;
            const size_t col = (k * 2 + x) * 2 + y;
            EXPECT_EQ(got[out == Order::kRowMajor ? row : col],
                      data[in == Order::kRowMajor ? row : col]);
          }
        }
      }
    }
  }
}

TEST(Runtime, ACopyFromAPeWithoutTheSymbolIsRefused) {
  ProgramKit kit(2, 1);
  ClassKit c = kit.AddClass("pe");
  c.ExportPointer("words", c.Global("words", 16, 4), 4);
  kit.Place(0, 0, c);
  auto r = Runtime::FromProgram(std::make_shared<bytecode::Program>(kit.get()), {}).value();
  ASSERT_TRUE(r->Load());
  std::vector<uint32_t> out(2);
  const auto ticket = r->CopyOut(r->SymbolId("words").value(), out, {{0, 0, 2, 1}, 1});
  ASSERT_TRUE(ticket);
  const auto status = r->Wait(*ticket);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("trap host-symbol at PE (1, 0)"));
  EXPECT_THAT(status.error().message, HasSubstr("'words'"));
}

TEST(Runtime, BroadcastsReachEveryPeOfAColumnOrRow) {
  auto r = Make();
  const CopyShape shape{{0, 0, 3, 2}, 1, false, Width::k32Bit, Order::kRowMajor};
  ASSERT_TRUE(r->CopyIn(0, std::vector<uint32_t>{1, 2, 3}, shape, Broadcast::kColumn));
  EXPECT_THAT(ReadBack(*r, "words", shape, 6), ElementsAre(1, 2, 3, 1, 2, 3));
  ASSERT_TRUE(r->CopyIn(0, std::vector<uint32_t>{7, 8}, shape, Broadcast::kRow));
  EXPECT_THAT(ReadBack(*r, "words", shape, 6), ElementsAre(7, 7, 7, 8, 8, 8));
}

TEST(Runtime, SixteenBitElementsUseTheLowHalf) {
  auto r = Make();
  const CopyShape shape{{2, 1, 1, 1}, 4, false, Width::k16Bit, Order::kRowMajor};
  ASSERT_TRUE(r->CopyIn(r->SymbolId("halves").value(),
                        std::vector<uint32_t>{0xabcd0001, 2, 0xffff, 4}, shape, Broadcast::kNone));
  EXPECT_THAT(ReadBack(*r, "halves", shape, 4), ElementsAre(1, 2, 0xffff, 4));
}

TEST(Runtime, SaysWhatIsWrong) {
  auto r = Make();
  const CopyShape shape{{0, 0, 4, 1}, 1, false, Width::k32Bit, Order::kRowMajor};
  EXPECT_THAT(r->CopyIn(0, Numbers(4), shape, Broadcast::kNone).error().message,
              HasSubstr("not inside of the program's 3 x 2"));
  CopyShape small = shape;
  small.region.width = 2;
  EXPECT_THAT(r->CopyIn(0, Numbers(3), small, Broadcast::kNone).error().message,
              HasSubstr("the copy needs 2"));
  EXPECT_THAT(r->SymbolId("nothing").error().message, HasSubstr("words, halves, set"));
  EXPECT_THAT(r->Launch("set", {}).error().message, HasSubstr("takes 1 arguments"));
  EXPECT_THAT(r->Launch("set", {{0, "float32"}}).error().message,
              HasSubstr("of type 'float32', the function takes 'i16'"));
  EXPECT_THAT(r->Launch("words", {}).error().message, HasSubstr("not an exported function"));
  EXPECT_TRUE(r->Launch("set", {{5, "int16"}}));
  EXPECT_TRUE(r->Launch("set", {Argument(std::variant<int64_t, double>(int64_t{-5}))}));
  EXPECT_THAT(
      r->Launch("set", {Argument(std::variant<int64_t, double>(int64_t{40000}))}).error().message,
      HasSubstr("is 40000, the type holds -32768 to 32767: the function takes 'i16'"));
  EXPECT_THAT(r->Launch("set", {Argument(std::variant<int64_t, double>(1.5))}).error().message,
              HasSubstr("is a float; write it as an integer: the function takes 'i16'"));
  EXPECT_FALSE(r->Load());
  EXPECT_TRUE(r->Stop());
  EXPECT_EQ(Runtime::Open("/nonexistent", {}).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace szarena::sdkhost
