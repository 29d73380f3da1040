// SPDX-License-Identifier: Apache-2.0
// DSD operations on memory: every operation against Compute's independent restatement here, every
// operand form, every walk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "fabric/model/vector.h"
#include "fabric/testing/lone_pe.h"

namespace szarena::fabric {
namespace {
using namespace testing;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void RunOp(LonePe& pe, DsdOpInfo info) {
  const uint32_t f = pe.code().Fn("f", [&](FunctionBuilder& b) { EmitDsd(b, pe.code(), info); });
  pe.Load();
  pe.Call(f);
}

float F(uint32_t v) { return std::bit_cast<float>(v); }
uint32_t B(float v) { return std::isnan(v) ? 0x7fc00000u : std::bit_cast<uint32_t>(v); }
double H(uint32_t v) { return F16ToDouble(FloatFormat::kF16, static_cast<uint16_t>(v)); }
uint32_t ToH(double v) { return F16FromDouble(FloatFormat::kF16, v); }
uint32_t ToI16(double v) {
  return static_cast<uint16_t>(
      std::isnan(v) ? 0 : static_cast<int>(std::fmin(32767, std::fmax(-32768, std::nearbyint(v)))));
}

// The rule of each operation, stated again in doubles and plain integers.
uint32_t Rule(DsdOp op, uint32_t a, uint32_t b, uint32_t c) {
  const auto i = [](uint32_t v) { return static_cast<int16_t>(v); };
  switch (op) {
    case DsdOp::kAdd16:
    case DsdOp::kAddc16:
      return a + b;
    case DsdOp::kSub16:
      return a - b;
    case DsdOp::kAnd16:
      return a & b;
    case DsdOp::kOr16:
      return a | b;
    case DsdOp::kXor16:
      return a ^ b;
    case DsdOp::kSll16:
      return b > 15 ? 0 : a << b;
    case DsdOp::kSlr16:
      return b > 15 ? 0 : a >> b;
    case DsdOp::kSar16:
      return static_cast<uint32_t>(i(a) >> (b > 15 ? 15 : b));
    case DsdOp::kMov16:
    case DsdOp::kMov32:
    case DsdOp::kFmovh:
    case DsdOp::kFmovs:
      return a;
    case DsdOp::kClz: {
      uint32_t n = 0;
      while (n < 16 && (a >> (15 - n) & 1) == 0) ++n;
      return n;
    }
    case DsdOp::kCtz: {
      uint32_t n = 0;
      while (n < 16 && (a >> n & 1) == 0) ++n;
      return n;
    }
    case DsdOp::kPopcnt: {
      uint32_t n = 0;
      for (int k = 0; k < 16; ++k) n += a >> k & 1;
      return n;
    }
    case DsdOp::kFnegh:
      return a ^ 0x8000;
    case DsdOp::kFnegs:
      return a ^ 0x80000000u;
    case DsdOp::kFabsh:
      return a & 0x7fff;
    case DsdOp::kFabss:
      return a & 0x7fffffff;
    case DsdOp::kFaddh:
      return ToH(H(a) + H(b));
    case DsdOp::kFadds:
      return B(F(a) + F(b));
    case DsdOp::kFaddhs:
      return B(F(a) + static_cast<float>(H(b)));
    case DsdOp::kFsubh:
      return ToH(H(a) - H(b));
    case DsdOp::kFsubs:
      return B(F(a) - F(b));
    case DsdOp::kFmulh:
      return ToH(H(a) * H(b));
    case DsdOp::kFmuls:
      return B(F(a) * F(b));
    case DsdOp::kFmaxh:
      return ToH(std::fmax(H(a), H(b)));
    case DsdOp::kFmaxs:
      return B(std::fmax(F(a), F(b)));
    case DsdOp::kFmach:
      return F16Fma(FloatFormat::kF16, static_cast<uint16_t>(b), static_cast<uint16_t>(c),
                    static_cast<uint16_t>(a));
    case DsdOp::kFmacs:
      return B(F(b) * F(c) + F(a));
    case DsdOp::kFmachs:
      return B(static_cast<float>(H(b)) * static_cast<float>(H(c)) + F(a));
    case DsdOp::kFh2s:
      return B(static_cast<float>(H(a)));
    case DsdOp::kFs2h:
      return ToH(static_cast<double>(F(a)));
    case DsdOp::kFh2xp16:
      return ToI16(H(a));
    case DsdOp::kFs2xp16:
      return ToI16(static_cast<double>(F(a)));
    case DsdOp::kXp162fh:
      return ToH(i(a));
    case DsdOp::kXp162fs:
      return B(static_cast<float>(i(a)));
    case DsdOp::kFnormh: {
      int e = 0;
      const double v = H(a);
      return v == 0 ? a & 0x8000 : ToH(2 * std::frexp(v, &e));
    }
    case DsdOp::kFnorms: {
      int e = 0;
      const double v = static_cast<double>(F(a));
      return v == 0 ? a & 0x80000000u : B(static_cast<float>(2 * std::frexp(v, &e)));
    }
    case DsdOp::kFscaleh:
      return ToH(H(a) * std::exp2(i(b)));
    case DsdOp::kFscales:
      return B(static_cast<float>(static_cast<double>(F(a)) * std::exp2(i(b))));
    case DsdOp::kDfilt:
    case DsdOp::kCount:
      break;
  }
  return 0;
}

uint32_t SampleOf(char letter, std::mt19937& random, bool exponent) {
  if (exponent) return static_cast<uint16_t>(static_cast<int>(random() % 11) - 5);
  switch (letter) {
    case 's':
      return std::bit_cast<uint32_t>(
          static_cast<float>(static_cast<int>(random() % 20001) - 10000) / 64.0f);
    case 'h':
      return ToH(static_cast<double>(static_cast<int>(random() % 2001) - 1000) / 32.0);
    case 'l':
      return static_cast<uint32_t>(random());
    default:
      return static_cast<uint32_t>(random() % 4 == 0 ? random() % 20 : random() & 0xffff);
  }
}

// Every operation, n elements, sources and destination as DSDs of stride 1, stride -2, scalars, and
// through DSRs.
class EveryOperation : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Operations, EveryOperation,
                         ::testing::Range(0, static_cast<int>(DsdOp::kDfilt)), [](const auto& i) {
                           return std::string(FactsOf(static_cast<DsdOp>(i.param)).name);
                         });

TEST_P(EveryOperation, FollowsItsRuleInEveryOperandForm) {
  const auto op = static_cast<DsdOp>(GetParam());
  const DsdOpFacts& facts = FactsOf(op);
  const size_t sources = std::strlen(facts.sources);
  std::mt19937 engine(static_cast<uint32_t>(GetParam()));
  for (int form = 0; form < 12; ++form) {
    const uint32_t n = form < 6 ? 7 : 700;  // beyond a page and a batch
    LonePe pe;
    std::vector<std::vector<uint32_t>> values(3, std::vector<uint32_t>(n));
    DsdOpInfo info;
    info.op = op;
    std::vector<uint32_t> scalar(3);
    std::vector<bool> is_scalar(3, false);
    const int stride = form % 3 == 1 ? -2 : 1;
    const bool dsr = form % 3 == 2;
    for (size_t s = 0; s < sources; ++s) {
      const char letter = facts.sources[s];
      const uint32_t bytes = ElementBytes(letter);
      const bool exponent = (op == DsdOp::kFscaleh || op == DsdOp::kFscales) && s == 1;
      is_scalar[s] = form % 2 == 1 && s + 1 == sources && sources > 1;
      scalar[s] = SampleOf(letter, engine, exponent);
      const uint32_t span = n * bytes * static_cast<uint32_t>(std::abs(stride));
      const uint16_t at = pe.code().Global("s", span, static_cast<uint8_t>(bytes));
      Segment seg;
      seg.address = at;
      seg.bytes.resize(span);
      const uint32_t first = stride < 0 ? (n - 1) * bytes * static_cast<uint32_t>(-stride) : 0;
      for (uint32_t i = 0; i < n; ++i) {
        values[s][i] = is_scalar[s] ? scalar[s] : SampleOf(letter, engine, exponent);
        const uint32_t offset =
            static_cast<uint32_t>(static_cast<int>(first) + static_cast<int>(i * bytes) * stride);
        std::memcpy(seg.bytes.data() + offset, &values[s][i], bytes);
      }
      pe.code().get().image.push_back(seg);
      const Descriptor d = Mem(static_cast<uint16_t>(at + first), static_cast<uint16_t>(n),
                               static_cast<uint8_t>(bytes), static_cast<int16_t>(stride));
      if (is_scalar[s]) {
        info.src[s] = Scalar(static_cast<Reg>(s), bytes == 4 ? ScalarType::kF32 : ScalarType::kF16);
      } else if (dsr) {
        info.src[s] = Dsr(s == 0 ? DsrFile::kSrc0 : DsrFile::kSrc1, static_cast<uint32_t>(s));
        DsrInit init;
        init.load.handle = info.src[s].value;
        init.descriptor = d;
        pe.code().get().dsr_inits.push_back(init);
      } else {
        info.src[s] = At(pe.code().Dsd(d));
      }
    }
    const uint32_t size = ElementBytes(facts.dest);
    const uint16_t out = pe.code().Global("d", n * size * 2, static_cast<uint8_t>(size));
    info.dest = At(pe.code().Dsd(
        Mem(out, static_cast<uint16_t>(n), static_cast<uint8_t>(size), stride == 1 ? 1 : 2)));
    const uint32_t f = pe.code().Fn("f", [&](FunctionBuilder& b) { EmitDsd(b, pe.code(), info); },
                                    {ScalarType::kU32, ScalarType::kU32, ScalarType::kU32});
    pe.Load();
    for (const DsrInit& d : pe.code().get().dsr_inits) LoadDsr(pe.pe(), d.load, d.descriptor);
    pe.Call(f, {scalar[0], scalar[1], scalar[2]});
    ASSERT_TRUE(pe.traps.empty()) << pe.traps[0].second;
    uint32_t carry = 0;
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t want = Rule(op, values[0][i], values[1][i], values[2][i]);
      if (op == DsdOp::kAddc16) {
        want += carry;
        carry = want >> 16;
      }
      const uint32_t at = out + i * size * (stride == 1 ? 1 : 2);
      const uint32_t got =
          size == 4 ? pe.pe().memory.Read<uint32_t>(at) : pe.pe().memory.Read<uint16_t>(at);
      ASSERT_EQ(got, size == 4 ? want : want & 0xffff)
          << facts.name << " form " << form << " element " << i;
    }
    EXPECT_EQ(pe.pe().count.elements, n);
  }
}

TEST(Dsd, ReductionsAccumulateInOrder) {
  LonePe pe;
  const uint16_t a = pe.code().Floats("a", {1, 2, 3, 4});
  const uint16_t s = pe.code().Floats("s", {10});
  const uint16_t dest = pe.code().Dsd(Mem(s, 4, 4, 0));
  RunOp(pe, MakeDsd(DsdOp::kFadds, At(dest), {At(dest), At(pe.code().Dsd(Mem(a, 4, 4)))}));
  EXPECT_THAT(pe.Floats(s, 1), ElementsAre(20.0f));
}

TEST(Dsd, PointerDestinationIsARunningReduction) {
  LonePe pe;
  const uint16_t a = pe.code().Floats("a", {1, 5, 3});
  const uint16_t s = pe.code().Floats("s", {0});
  const uint16_t from = pe.code().Dsd(Mem(a, 3, 4));
  const uint32_t f = pe.code().Fn("f", [&](FunctionBuilder& b) {
    const Reg p = b.Const(s);
    EmitDsd(b, pe.code(),
            MakeDsd(DsdOp::kFmaxs, Pointer(p, ScalarType::kF32),
                    {Pointer(p, ScalarType::kF32), At(from)}));
  });
  pe.Load();
  pe.Call(f);
  EXPECT_THAT(pe.Floats(s, 1), ElementsAre(5.0f));
}

TEST(Dsd, ScalarPointerReductionStartsWithTheScalar) {
  // @fadds(&sum, sum, dsd) and @fmaxs(&m, m, dsd): the scalar is the value at the start.
  LonePe pe;
  const uint16_t a = pe.code().Floats("a", {1, 5, 3});
  const uint16_t s = pe.code().Floats("s", {0, 0});
  const uint16_t from = pe.code().Dsd(Mem(a, 3, 4));
  const uint32_t f = pe.code().Fn("f", [&](FunctionBuilder& b) {
    const Reg p = b.Const(s);
    const Reg q = b.Const(s + 4);
    const Reg start = b.Const(std::bit_cast<int32_t>(100.0f));
    const Reg low = b.Const(std::bit_cast<int32_t>(2.0f));
    EmitDsd(b, pe.code(),
            MakeDsd(DsdOp::kFadds, Pointer(p, ScalarType::kF32),
                    {Scalar(start, ScalarType::kF32), At(from)}));
    EmitDsd(b, pe.code(),
            MakeDsd(DsdOp::kFmaxs, Pointer(q, ScalarType::kF32),
                    {At(from), Scalar(low, ScalarType::kF32)}));
  });
  pe.Load();
  pe.Call(f);
  EXPECT_THAT(pe.Floats(s, 2), ElementsAre(109.0f, 5.0f));
}

TEST(Dsd, OverlappingCopyGoesElementByElement) {
  LonePe pe;
  const uint16_t a = pe.code().Words("a", {1, 2, 3, 4, 5});
  RunOp(pe, MakeDsd(DsdOp::kMov16, At(pe.code().Dsd(Mem(static_cast<uint16_t>(a + 2), 4, 2))),
                    {At(pe.code().Dsd(Mem(a, 4, 2)))}));
  EXPECT_THAT(pe.Words(a, 5), Each(1));
  LonePe down;
  const uint16_t d = down.code().Words("a", {1, 2, 3, 4, 5});
  RunOp(down, MakeDsd(DsdOp::kMov16, At(down.code().Dsd(Mem(d, 4, 2))),
                      {At(down.code().Dsd(Mem(static_cast<uint16_t>(d + 2), 4, 2)))}));
  EXPECT_THAT(down.Words(d, 5), ElementsAre(2, 3, 4, 5, 5));
}

TEST(Dsd, FourDimensionalWalkIsRowMajorWithTheStridesGiven) {
  LonePe pe;
  std::vector<uint16_t> all(60);
  for (uint16_t i = 0; i < 60; ++i) all[i] = i;
  const uint16_t a = pe.code().Words("a", all);  // [3][4][5]
  const uint16_t o = pe.code().Global("o", 24);
  Descriptor d;
  d.kind = DsdKind::kMem4d;
  d.rank = 3;
  d.base = static_cast<uint16_t>(a + 2 * 1);
  d.extent = {3, 2, 2, 1};
  d.stride = {20, 10, -1, 0};
  RunOp(pe, MakeDsd(DsdOp::kMov16, At(pe.code().Dsd(Mem(o, 12, 2))), {At(pe.code().Dsd(d))}));
  EXPECT_THAT(pe.Words(o, 12), ElementsAre(1, 0, 11, 10, 21, 20, 31, 30, 41, 40, 51, 50));
}

TEST(Dsd, StridesCountElementsOfTheOperation) {
  // A DSD of a 16-bit array used by a 32-bit move: pairs.
  LonePe pe;
  const uint16_t a = pe.code().Words("a", {1, 2, 3, 4, 5, 6});
  const uint16_t o = pe.code().Words("o", {0, 0, 0, 0, 0, 0});
  RunOp(pe, MakeDsd(DsdOp::kFmovs, At(pe.code().Dsd(Mem(o, 3, 2))),
                    {At(pe.code().Dsd(Mem(static_cast<uint16_t>(a + 8), 3, 2, -1)))}));
  EXPECT_THAT(pe.Words(o, 6), ElementsAre(5, 6, 3, 4, 1, 2));
}

TEST(Dsd, CircularBufferWrapsAndKeepsItsPosition) {
  LonePe pe;
  const uint16_t a = pe.code().Words("a", {1, 2, 3, 4, 5});
  const uint16_t o = pe.code().Global("o", 16);
  Descriptor ring = Mem(a, 4, 2);
  ring.kind = DsdKind::kCircbuf;
  ring.wrap = 5;
  DsrInit init;
  init.load.handle = DsrHandle(DsrFile::kSrc1, 3);
  init.descriptor = ring;
  const uint16_t o0 = pe.code().Dsd(Mem(o, 4, 2));
  const uint16_t o1 = pe.code().Dsd(Mem(static_cast<uint16_t>(o + 8), 4, 2));
  const uint32_t f = pe.code().Fn("f", [&](FunctionBuilder& b) {
    EmitDsd(b, pe.code(), MakeDsd(DsdOp::kMov16, At(o0), {Dsr(DsrFile::kSrc1, 3)}));
    EmitDsd(b, pe.code(), MakeDsd(DsdOp::kMov16, At(o1), {Dsr(DsrFile::kSrc1, 3)}));
  });
  pe.Load();
  LoadDsr(pe.pe(), init.load, init.descriptor);
  pe.Call(f);
  EXPECT_THAT(pe.Words(o, 8), ElementsAre(1, 2, 3, 4, 5, 1, 2, 3));
}

TEST(Dsd, SaveAddressGoesOnWhereTheLastOperationEnded) {
  for (const bool save : {false, true}) {
    LonePe pe;
    const uint16_t a = pe.code().Words("a", {1, 2, 3, 4});
    const uint16_t o = pe.code().Global("o", 8);
    DsrInit init;
    init.load.handle = DsrHandle(DsrFile::kSrc0, 1);
    init.load.save_address = save;
    init.descriptor = Mem(a, 2, 2);
    const uint16_t o0 = pe.code().Dsd(Mem(o, 2, 2));
    const uint16_t o1 = pe.code().Dsd(Mem(static_cast<uint16_t>(o + 4), 2, 2));
    const uint32_t f = pe.code().Fn("f", [&](FunctionBuilder& b) {
      EmitDsd(b, pe.code(), MakeDsd(DsdOp::kMov16, At(o0), {Dsr(DsrFile::kSrc0, 1)}));
      EmitDsd(b, pe.code(), MakeDsd(DsdOp::kMov16, At(o1), {Dsr(DsrFile::kSrc0, 1)}));
    });
    pe.Load();
    LoadDsr(pe.pe(), init.load, init.descriptor);
    pe.Call(f);
    if (save)
      EXPECT_THAT(pe.Words(o, 4), ElementsAre(1, 2, 3, 4));
    else
      EXPECT_THAT(pe.Words(o, 4), ElementsAre(1, 2, 1, 2));
  }
}

TEST(Dsd, LengthRule) {
  // All scalar: one element. Zero-length DSD: none. src0 decides where lengths differ, with a
  // report.
  LonePe one;
  const uint16_t s = one.code().Words("s", {0, 0});
  const uint32_t f = one.code().Fn("f", [&](FunctionBuilder& b) {
    const Reg p = b.Const(s);
    const Reg v = b.Const(7);
    EmitDsd(b, one.code(),
            MakeDsd(DsdOp::kMov16, Pointer(p, ScalarType::kU16), {Scalar(v, ScalarType::kU16)}));
  });
  one.Load();
  one.Call(f);
  EXPECT_THAT(one.Words(s, 2), ElementsAre(7, 0));
  LonePe none;
  const uint16_t a = none.code().Words("a", {1, 2, 3});
  const uint16_t o = none.code().Words("o", {0, 0, 0});
  RunOp(none, MakeDsd(DsdOp::kMov16, At(none.code().Dsd(Mem(o, 0, 2))),
                      {At(none.code().Dsd(Mem(a, 0, 2)))}));
  EXPECT_THAT(none.Words(o, 3), Each(0));
  LonePe differ;
  const uint16_t a2 = differ.code().Words("a", {1, 2, 3});
  const uint16_t o2 = differ.code().Words("o", {0, 0, 0});
  RunOp(differ, MakeDsd(DsdOp::kMov16, At(differ.code().Dsd(Mem(o2, 3, 2))),
                        {At(differ.code().Dsd(Mem(a2, 2, 2)))}));
  EXPECT_THAT(differ.Words(o2, 3), ElementsAre(1, 2, 0));
  EXPECT_TRUE(differ.traps.empty());  // a longer destination is harmless
  RunOp(differ, MakeDsd(DsdOp::kMov16, At(differ.code().Dsd(Mem(o2, 2, 2))),
                        {At(differ.code().Dsd(Mem(a2, 3, 2)))}));
  EXPECT_THAT(differ.Words(o2, 3), ElementsAre(1, 2, 3));
  ASSERT_EQ(differ.traps.size(), 1u);
  EXPECT_EQ(differ.traps[0].first, TrapKind::kLengthMismatch);
}

TEST(Dsd, IndexSettingMovesTheBase) {
  LonePe pe;
  const uint16_t o = pe.code().Words("o", {0, 0, 0, 0});
  Descriptor d = Mem(o, 1, 2);
  d.wavelet_index_offset = true;
  DsdOpInfo info = MakeDsd(DsdOp::kMov16, At(pe.code().Dsd(d)), {Scalar(0, ScalarType::kU16)});
  info.has_index = true;
  info.index_in_register = true;
  info.index = 1;
  const uint32_t f = pe.code().Fn("f", [&](FunctionBuilder& b) { EmitDsd(b, pe.code(), info); },
                                  {ScalarType::kU16, ScalarType::kU16});
  pe.Load();
  pe.Call(f, {42, 2});
  EXPECT_THAT(pe.Words(o, 4), ElementsAre(0, 0, 42, 0));
}

TEST(Dsd, Traps) {
  const auto trap = [](auto prepare) {
    LonePe pe;
    RunOp(pe, prepare(pe));
    return pe.traps.empty() ? std::string("none") : std::string(TrapName(pe.traps[0].first));
  };
  EXPECT_EQ(trap([](LonePe& pe) {
              Descriptor d = Mem(pe.code().Words("a", {1, 2, 3}), 4, 2);
              d.lo = d.base;
              d.hi = static_cast<uint16_t>(d.base + 6);
              pe.code().Global("after", 16);
              return MakeDsd(DsdOp::kMov16, At(pe.code().Dsd(d)), {Scalar(0, ScalarType::kU16)});
            }),
            "dsd-out-of-bounds");
  EXPECT_EQ(trap([](LonePe& pe) {
              const uint16_t a = pe.code().Global("a", 8);
              return MakeDsd(DsdOp::kMov16, At(pe.code().Dsd(Mem(pe.code().Global("o", 8), 4, 2))),
                             {At(pe.code().Dsd(Mem(a, 4, 2)))});
            }),
            "uninitialised-read");
  EXPECT_EQ(trap([](LonePe& pe) {
              return MakeDsd(DsdOp::kMov16, At(pe.code().Dsd({})), {Scalar(0, ScalarType::kU16)});
            }),
            "bad-descriptor");
  EXPECT_EQ(trap([](LonePe&) {
              return MakeDsd(DsdOp::kMov16, Dsr(DsrFile::kDest, 9), {Scalar(0, ScalarType::kU16)});
            }),
            "bad-dsr");
  EXPECT_EQ(trap([](LonePe& pe) {
              return MakeDsd(DsdOp::kMov16, At(pe.code().Dsd(FabOut(7, 1, 1))),
                             {Scalar(0, ScalarType::kU16)});
            }),
            "bad-queue");
  EXPECT_EQ(trap([](LonePe& pe) {
              return MakeDsd(DsdOp::kMov16, At(pe.code().Dsd(Mem(3, 1, 2))),
                             {Scalar(0, ScalarType::kU16)});
            }),
            "misaligned");
}

TEST(Dsd, CyclesFollowTheSimdTable) {
  const auto cycles = [](Arch arch, DsdOp op, int stride, uint16_t n) {
    LonePe pe(arch);
    const uint16_t o = pe.code().Global("o", 4096 * 4);
    DsdOpInfo info = MakeDsd(op, At(pe.code().Dsd(Mem(o, n, 2, static_cast<int16_t>(stride)))),
                             {Scalar(0, ScalarType::kU16)});
    if (std::strlen(FactsOf(op).sources) == 2) info.src[1] = Scalar(0, ScalarType::kU16);
    RunOp(pe, info);
    return pe.cycles;
  };
  const uint64_t base = cycles(Arch::kWse2, DsdOp::kAdd16, 1, 400);
  EXPECT_EQ(cycles(Arch::kWse2, DsdOp::kAdd16, 1, 800) - base, 100u);  // 4 a cycle
  EXPECT_EQ(cycles(Arch::kWse2, DsdOp::kSll16, 1, 400) - base, 300u);  // 1 a cycle
  EXPECT_EQ(cycles(Arch::kWse3, DsdOp::kAdd16, 1, 400), base - 50);    // 8 a cycle
  EXPECT_EQ(cycles(Arch::kWse2, DsdOp::kAdd16, 8, 400) - base, 300u);  // all in one bank
}

TEST(Fifo, SynchronousOperationsSayFalseWhenEmptyOrFull) {
  LonePe pe;
  FifoInfo fifo;
  fifo.name = "q";
  fifo.address = pe.code().Global("buffer", 8);
  fifo.capacity = 3;
  pe.code().get().fifos.push_back(fifo);
  const uint16_t a = pe.code().Words("a", {1, 2, 3, 4});
  const uint16_t o = pe.code().Words("o", {0, 0, 0, 0});
  const uint16_t from = pe.code().Dsd(Mem(a, 4, 2));
  const uint16_t to = pe.code().Dsd(Mem(o, 4, 2));
  const uint32_t push = pe.code().Fn(
      "push",
      [&](FunctionBuilder& b) {
        const Reg ok = b.NewReg();
        b.EmitWide(Op::kDsd, ok, pe.code().AddDsdOp(MakeDsd(DsdOp::kMov16, Fifo(0), {At(from)})));
        b.Emit(Op::kReturn, ok);
      },
      {}, true);
  const uint32_t pop = pe.code().Fn(
      "pop",
      [&](FunctionBuilder& b) {
        const Reg ok = b.NewReg();
        b.EmitWide(Op::kDsd, ok, pe.code().AddDsdOp(MakeDsd(DsdOp::kMov16, At(to), {Fifo(0)})));
        b.Emit(Op::kReturn, ok);
      },
      {}, true);
  pe.Load();
  EXPECT_EQ(pe.Call(push), 0u);  // three of four went in
  EXPECT_EQ(pe.Call(pop), 0u);   // three came out
  EXPECT_THAT(pe.Words(o, 4), ElementsAre(1, 2, 3, 0));
}

// A FIFO of three 16-bit elements, tasks 9 (on_pop) and 10 (on_push), and functions that move `n`
// elements in or out.
class FifoTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kPopped = uint64_t{1} << 9;
  static constexpr uint64_t kPushed = uint64_t{1} << 10;
  explicit FifoTest(Arch arch = Arch::kWse2) : pe(arch) {
    FifoInfo fifo;
    fifo.name = "q";
    fifo.address = pe.code().Global("buffer", 6);
    fifo.capacity = 3;
    fifo.on_pop = {SignalKind::kActivate, false, 9};
    fifo.on_push = {SignalKind::kActivate, false, 10};
    pe.code().get().fifos.push_back(fifo);
    const uint32_t nothing = pe.code().Fn("nothing", [](FunctionBuilder&) {});
    pe.code().Task(TaskKind::kLocal, 9, nothing);
    pe.code().Task(TaskKind::kLocal, 10, nothing);
    a = pe.code().Words("a", {1, 2, 3, 4, 5, 6, 7, 8});
    o = pe.code().Words("o", {0, 0, 0, 0, 0, 0, 0, 0});
  }
  DsdOpInfo PushOp(uint16_t n) {
    return MakeDsd(DsdOp::kMov16, Fifo(0), {At(pe.code().Dsd(Mem(a, n, 2)))});
  }
  DsdOpInfo PopOp(uint16_t n) {
    return MakeDsd(DsdOp::kMov16, At(pe.code().Dsd(Mem(o, n, 2))), {Fifo(0)});
  }
  static DsdOpInfo Async(DsdOpInfo op, uint8_t ut_id = 0xff) {
    op.settings.async = true;
    op.settings.ut_id = ut_id;
    return op;
  }
  uint32_t Does(std::vector<DsdOpInfo> ops) {
    return pe.code().Fn("does", [&](FunctionBuilder& b) {
      for (const DsdOpInfo& op : ops) EmitDsd(b, pe.code(), op);
    });
  }
  // Calls it, and returns which of the two tasks it activated.
  uint64_t Activated(uint32_t function) {
    pe.pe().active = 0;
    pe.Call(function);
    return pe.pe().active;
  }
  LonePe pe;
  uint16_t a = 0;
  uint16_t o = 0;
};

TEST_F(FifoTest, ActivatesOnlyAfterASideHasWaited) {
  const uint32_t push2 = Does({PushOp(2)});
  const uint32_t push1 = Does({PushOp(1)});
  const uint32_t pop1 = Does({PopOp(1)});
  const uint32_t pop3 = Does({PopOp(3)});
  pe.Load();
  EXPECT_EQ(Activated(push2), 0u);      // nobody found it empty before
  EXPECT_EQ(Activated(pop1), 0u);       // nor full
  EXPECT_EQ(Activated(push2), 0u);      // full now, but no push was refused
  EXPECT_EQ(Activated(push1), 0u);      // this one is
  EXPECT_EQ(Activated(pop1), kPopped);  // room again
  EXPECT_EQ(Activated(pop1), 0u);       // said once
  EXPECT_EQ(Activated(pop3), 0u);       // one comes out, then it is empty
  EXPECT_EQ(Activated(push1), kPushed);
  EXPECT_EQ(Activated(push1), 0u);
}

TEST_F(FifoTest, AsynchronousOperationsWaitForEachOther) {
  DsdOpInfo pop = Async(PopOp(8));
  pop.settings.on_done = {SignalKind::kActivate, false, 9};
  const uint32_t both = Does({Async(PushOp(8)), pop});
  pe.Load();
  EXPECT_EQ(Activated(both) & kPopped, kPopped);
  EXPECT_THAT(pe.Words(o, 8), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_TRUE(pe.traps.empty());
  EXPECT_EQ(pe.pe().fifos[0].count, 0);
  // Alone it stays, with what has come so far.
  const uint32_t three = Does({PushOp(3)});
  const uint32_t wait = Does({Async(PopOp(4))});
  pe.Load();
  pe.Call(three);
  pe.Call(wait);
  EXPECT_EQ(std::popcount(pe.pe().comm->live), 1);
  EXPECT_EQ(pe.pe().fifos[0].count, 0);
}

class Microthreads : public FifoTest {
 protected:
  Microthreads() : FifoTest(Arch::kWse3) {}
};

TEST_F(Microthreads, ABusyOneIsReportedAndTheMainThreadWaits) {
  const std::vector<uint16_t> values(400, 7);  // enough for many cycles
  const DsdOpInfo copy =
      MakeDsd(DsdOp::kMov16, At(pe.code().Dsd(Mem(pe.code().Global("to", 800), 400, 2))),
              {At(pe.code().Dsd(Mem(pe.code().Words("from", values), 400, 2)))});
  const uint32_t f = Does({Async(copy, 5), Async(PushOp(2), 5)});
  pe.Load();
  pe.Call(f);
  ASSERT_EQ(pe.traps.size(), 1u);
  EXPECT_EQ(pe.traps[0].first, TrapKind::kMicrothreadConflict);
  EXPECT_THAT(pe.traps[0].second, HasSubstr("microthread 5"));
  EXPECT_EQ(pe.pe().count.elements, 402u);
  EXPECT_EQ(pe.pe().fifos[0].count, 2);
}

TEST_F(Microthreads, BlockedOnesStandStill) {
  const auto set = [&](Op op) {
    return pe.code().Fn("set", [&](FunctionBuilder& b) {
      b.Emit(op, 5, static_cast<uint16_t>(TargetKind::kMicrothread));
    });
  };
  const uint32_t block = set(Op::kBlock);
  const uint32_t unblock = set(Op::kUnblock);
  const uint32_t move = Does({PushOp(3), Async(PopOp(3), 5)});
  pe.Load();
  pe.Call(block);
  pe.Call(move);
  EXPECT_EQ(pe.pe().fifos[0].count, 3);
  pe.Call(unblock);
  EXPECT_EQ(pe.pe().fifos[0].count, 0);
  EXPECT_THAT(pe.Words(o, 3), ElementsAre(1, 2, 3));
}

TEST_F(Microthreads, TwoReadersOfOneQueueAreReported) {
  const uint16_t in = pe.code().Dsd(FabIn(2, 4, 3));
  pe.code().Queue(false, 2, 4);
  const auto read = [&] {
    return MakeDsd(DsdOp::kMov16, At(pe.code().Dsd(Mem(o, 3, 2))), {At(in)});
  };
  for (const bool second_waits : {false, true}) {  // a microthread, or the main thread itself
    const uint32_t f = Does({Async(read(), 1), second_waits ? read() : Async(read(), 3)});
    pe.Load();
    pe.traps.clear();
    pe.Call(f);
    ASSERT_EQ(pe.traps.size(), 1u);
    EXPECT_EQ(pe.traps[0].first, TrapKind::kQueueConflict);
    EXPECT_THAT(pe.traps[0].second, HasSubstr("input queue 2"));
  }
}

TEST(Queues, AnotherColourWhileWaveletsWaitIsReported) {
  LonePe pe;
  const uint16_t o = pe.code().Words("o", {0});
  const uint16_t in = pe.code().Dsd(FabIn(2, 5, 1));
  pe.code().Queue(false, 2, 4);
  const uint32_t f = pe.code().Fn("f", [&](FunctionBuilder& b) {
    EmitDsd(b, pe.code(), MakeDsd(DsdOp::kMov16, At(pe.code().Dsd(Mem(o, 1, 2))), {At(in)}));
  });
  for (const bool waits : {false, true}) {
    pe.Load();
    pe.traps.clear();
    if (waits) CommOf(pe.core(), pe.pe()).in[2].ring.push({7, 4, false, false, 0});
    pe.Call(f);
    ASSERT_EQ(pe.traps.size(), waits ? 1u : 0u);
    if (waits) {
      EXPECT_EQ(pe.traps[0].first, TrapKind::kQueueConflict);
    }
  }
}

TEST(Registers, BlocksAndVectorsDoNotReachThem) {
  LonePe pe;
  const uint16_t a = pe.code().Words("a", {1, 2});
  const uint32_t vector = pe.code().Fn("vector", [&](FunctionBuilder& b) {
    EmitDsd(b, pe.code(),
            MakeDsd(DsdOp::kMov16, At(pe.code().Dsd(Mem(0xfe40, 2, 2))),
                    {At(pe.code().Dsd(Mem(a, 2, 2)))}));
  });
  const uint32_t block = pe.code().Fn(
      "block", [&](FunctionBuilder& b) { b.Emit(Op::kCopyMem, b.Const(0xfe40), b.Const(a), 4); });
  const uint32_t word = pe.code().Fn(
      "word", [&](FunctionBuilder& b) { b.Emit(Op::kStoreAbs32, b.Const(1), 0xfe40); });
  for (const uint32_t f : {vector, block, word}) {
    pe.Load();
    pe.traps.clear();
    pe.Call(f);
    ASSERT_EQ(pe.traps.size(), 1u);
    EXPECT_EQ(pe.traps[0].first, TrapKind::kRawRegister);
    EXPECT_THAT(pe.traps[0].second, HasSubstr("0xfe40"));
  }
}

TEST(Map, CallsTheFunctionForEachElement) {
  LonePe pe;
  const uint16_t a = pe.code().Words("a", {1, 2, 3});
  const uint16_t o = pe.code().Global("o", 6);
  MapInfo map;
  map.inputs = {At(pe.code().Dsd(Mem(a, 3, 2))), Scalar(0, ScalarType::kU16)};
  map.inputs[0].type = ScalarType::kU16;
  map.output = At(pe.code().Dsd(Mem(o, 3, 2)));
  pe.code().get().maps.push_back(map);
  const uint32_t times = pe.code().Fn(
      "times",
      [](FunctionBuilder& b) {
        b.Emit(Op::kMulU16, 0, 0, 1);
        b.Emit(Op::kReturn, 0);
      },
      {ScalarType::kU16, ScalarType::kU16}, true);
  const uint32_t f = pe.code().Fn("f",
                                  [&](FunctionBuilder& b) {
                                    const Label top = b.NewLabel();
                                    const Label end = b.NewLabel();
                                    const Reg w = b.NewRegs(2);
                                    b.Emit(Op::kMapStart, 0, 0, 0);
                                    b.Bind(top);
                                    b.MapNext(w, 0, end);
                                    b.Emit(Op::kCall, w, 0, static_cast<uint16_t>(times));
                                    b.Emit(Op::kMapPut, w, 0, 0);
                                    b.Jump(top);
                                    b.Bind(end);
                                  },
                                  {ScalarType::kU16});
  pe.Load();
  pe.Call(f, {10});
  EXPECT_THAT(pe.Words(o, 3), ElementsAre(10, 20, 30));
}

}  // namespace
}  // namespace szarena::fabric
