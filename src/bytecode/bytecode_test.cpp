// SPDX-License-Identifier: Apache-2.0
// Builder, descriptors, verifier, image file, disassembler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/bytes.h"
#include "bytecode/builder.h"
#include "bytecode/disasm.h"
#include "bytecode/image.h"
#include "bytecode/verify.h"

namespace szarena::bytecode {
namespace {

// A program with something in most tables.
Program Sample() {
  Program p;
  p.name = "layout.csl";
  p.width = 2;
  p.height = 1;
  p.files = {"pe.csl"};
  p.routers.resize(2);
  p.routers[1].colors.push_back(
      {.color = 3, .rx = BitOf(Direction::kRamp), .tx = BitOf(Direction::kEast)});
  p.exports.push_back({.name = "main", .type = "fn()void", .kind = ExportKind::kFunction});
  CodeClass& c = p.classes.emplace_back();
  c.name = "pe.csl";
  c.stack_base = 64;
  c.image.push_back({0, {1, 2, 3, 4}});
  FunctionBuilder b(c, "main", {});
  b.At(0, 7);
  const Reg i = b.Const(0);
  const Reg n = b.Const(int64_t{1} << 40);
  const Label top = b.NewLabel();
  const Label end = b.NewLabel();
  b.Bind(top);
  b.JumpCompare(Op::kJumpLeU, n, i, end);
  b.Emit(Op::kAddImmU16, i, i, 1);
  b.Jump(top);
  b.Bind(end);
  const Reg d = b.NewReg();
  b.EmitWide(Op::kFrameAddrD, d, b.NewDescriptorLocal());
  b.EmitWide(
      Op::kDsdConst, d,
      InternDescriptor(
          c, {.kind = DsdKind::kMem1d, .base = 4, .extent = {3, 1, 1, 1}, .stride = {1, 0, 0, 0}}));
  c.dsd_ops.push_back({.op = DsdOp::kMov16,
                       .dest = {OperandKind::kDescriptor, ScalarType::kU16, d},
                       .src = {{OperandKind::kScalar, ScalarType::kU16, i}}});
  b.EmitWide(Op::kDsd, i, 0);
  b.Switch(i, {{5, end}, {1, top}}, end);
  const uint32_t f = b.FinishInto().value();
  c.tasks.push_back({TaskKind::kLocal, 9, f});
  c.exports.push_back({.export_id = 0, .is_function = true, .function = f});
  c.symbols.push_back({"x", "[2]u16", 0, 4});
  p.pes = {{0, 1}, {0, 0}};
  return p;
}

TEST(Builder, SampleVerifiesAndDisassembles) {
  const Program p = Sample();
  ASSERT_TRUE(Verify(p)) << Verify(p).error().ToString();
  const std::string text = Disassemble(p);
  EXPECT_THAT(text, testing::HasSubstr("JumpLeU       r1, r0, ->5"));
  EXPECT_THAT(text, testing::HasSubstr("@mov16(dsd[r2], r0:u16)"));
  EXPECT_THAT(text, testing::HasSubstr("; pe.csl:7"));
  EXPECT_THAT(text, testing::HasSubstr("1->2 5->5 else->5"));
}

TEST(Builder, ShortJumpTooFarIsAnError) {
  CodeClass c;
  FunctionBuilder b(c, "far", {ScalarType::kU16});
  const Label end = b.NewLabel();
  b.JumpCompare(Op::kJumpEq, 0, 0, end);
  for (int i = 0; i < 40000; ++i) b.Emit(Op::kNop);
  b.Bind(end);
  EXPECT_FALSE(b.Finish());
}

TEST(Builder, ReturnIsAddedWhereControlFallsOut) {
  CodeClass c;
  FunctionBuilder b(c, "f", {});
  b.Emit(Op::kNop);
  const Function f = b.Finish().value();
  EXPECT_EQ(static_cast<Op>(f.code.back().op), Op::kReturnVoid);
  FunctionBuilder g(c, "g", {}, true);
  EXPECT_EQ(static_cast<Op>(g.Finish().value().code.back().op), Op::kTrap);
}

TEST(Descriptor, EncodeDecodeRoundTripAndFieldOffsets) {
  Descriptor d{.kind = DsdKind::kFabout,
               .elem_size = 4,
               .control = true,
               .advance_switch = true,
               .simd = SimdMode::kSimd64,
               .priority = Priority::kMedium,
               .base = 0x1234,
               .extent = {1, 2, 3, 4},
               .stride = {-1, 2, -3, 4},
               .lo = 2,
               .hi = 8,
               .color = 5,
               .queue = 6,
               .wrap = 7,
               .rank = 3};
  std::array<uint8_t, kDescriptorBytes> bytes;
  Encode(d, bytes);
  EXPECT_EQ(Decode(bytes), d);
  EXPECT_EQ(bytes[static_cast<size_t>(DsdField::kBase)], 0x34);
  EXPECT_EQ(bytes[static_cast<size_t>(DsdField::kExtent2)], 3);
  EXPECT_EQ(bytes[static_cast<size_t>(DsdField::kStride0)], 0xff);
  EXPECT_EQ(bytes[static_cast<size_t>(DsdField::kQueue)], 6);
  EXPECT_EQ(d.length(), 6u);
}

TEST(Image, RoundTripIsTheSameBytes) {
  const std::vector<uint8_t> bytes = ToBytes(Sample());
  const auto p = FromBytes(bytes);
  ASSERT_TRUE(p) << p.error().ToString();
  EXPECT_EQ(ToBytes(*p), bytes);
  EXPECT_EQ(p->classes[0].functions[0].name, "main");
}

TEST(Image, EveryFlippedByteAndEveryCutIsRefused) {
  const std::vector<uint8_t> bytes = ToBytes(Sample());
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i >= 12 && i < 16) continue;  // reserved
    std::vector<uint8_t> bad = bytes;
    bad[i] ^= 0x41;
    EXPECT_FALSE(FromBytes(bad)) << i;
  }
  for (size_t n = 0; n < bytes.size(); n += 7) EXPECT_FALSE(FromBytes(std::span(bytes).first(n)));
}

TEST(Image, FileIsWrittenWholeOrNotAtAll) {
  const std::string dir = testing::TempDir();
  const std::string path = dir + "/sample.szcsl";
  ASSERT_TRUE(SaveImage(Sample(), path));
  EXPECT_TRUE(LoadImage(path));
  EXPECT_FALSE(SaveImage(Sample(), dir + "/no/such/dir/x"));
  EXPECT_FALSE(LoadImage(dir + "/nothing.szcsl"));
  std::filesystem::remove(path);
}

TEST(Verify, MalformedInstructionsAreNamed) {
  const auto broken = [](auto&& change) {
    Program p = Sample();
    change(p, p.classes[0].functions[0]);
    const auto r = Verify(p);
    return r ? std::string("accepted") : r.error().message;
  };
  using testing::HasSubstr;
  EXPECT_THAT(broken([](Program&, Function& f) { f.code[0].op = 9999; }),
              HasSubstr("unknown opcode"));
  EXPECT_THAT(broken([](Program&, Function& f) { f.code[0].a = 77; }), HasSubstr("register 77"));
  EXPECT_THAT(broken([](Program&, Function& f) { f.code[2].c = 1000; }),
              HasSubstr("leaves the function"));
  EXPECT_THAT(broken([](Program&, Function& f) {
                f.code.pop_back();
                f.switches.clear();
              }),
              HasSubstr("off the end"));
  EXPECT_THAT(broken([](Program& p, Function&) {
                p.classes[0].dsd_ops[0].src[1] = p.classes[0].dsd_ops[0].src[0];
              }),
              HasSubstr("has 1 sources"));
  EXPECT_THAT(broken([](Program& p, Function&) { p.pes.pop_back(); }), HasSubstr("width * height"));
  EXPECT_THAT(broken([](Program& p, Function&) { p.routers[1].colors[0].color = 24; }),
              HasSubstr("colour 24"));
  EXPECT_THAT(broken([](Program& p, Function&) { p.classes[0].tasks[0].function = 8; }),
              HasSubstr("function 8"));
}

TEST(Verify, TablesOfAnImageAreChecked) {
  const auto broken = [](auto&& change) {
    Program p = Sample();
    change(p, p.classes[0]);
    const auto r = Verify(p);
    return r ? std::string("accepted") : r.error().message;
  };
  using testing::HasSubstr;
  EXPECT_THAT(broken([](Program& p, CodeClass&) {
                p.width = p.height = 0;
                p.pes.clear();
              }),
              HasSubstr("no PEs"));
  EXPECT_THAT(broken([](Program& p, CodeClass&) { p.host_in_colors = 1u << 24; }),
              HasSubstr("host stream"));
  EXPECT_THAT(broken([](Program& p, CodeClass&) {
                p.exports.push_back({.name = "s", .kind = ExportKind::kStream, .color = 24});
              }),
              HasSubstr("colour 24"));
  EXPECT_THAT(
      broken([](Program& p, CodeClass&) { p.exports[0].params = {static_cast<ScalarType>(11)}; }),
      HasSubstr("unknown type"));
  EXPECT_THAT(broken([](Program& p, CodeClass&) { p.exports[0].param_names = {"x"}; }),
              HasSubstr("more names"));
  EXPECT_THAT(broken([](Program& p, CodeClass&) { p.exports[0].kind = ExportKind::kVariable; }),
              HasSubstr("something else"));
  EXPECT_THAT(broken([](Program& p, CodeClass& c) {
                p.exports[0].kind = ExportKind::kVariable;
                c.exports[0] = {
                    .export_id = 0, .constant = true, .value = 0xfff0, .target_bytes = 4};
              }),
              HasSubstr("beyond the memory"));
  EXPECT_THAT(broken([](Program&, CodeClass& c) { c.functions[0].params.resize(3); }),
              HasSubstr("3 parameters"));
  EXPECT_THAT(broken([](Program&, CodeClass& c) {
                c.queues.push_back({.priority = static_cast<Priority>(4)});
              }),
              HasSubstr("priority"));
  EXPECT_THAT(broken([](Program&, CodeClass& c) {
                c.fifos.push_back({.capacity = 2, .empty_action = static_cast<FifoAction>(4)});
              }),
              HasSubstr("action"));
  EXPECT_THAT(broken([](Program&, CodeClass& c) {
                c.fifos.push_back({.capacity = 2, .priority = static_cast<Priority>(9)});
              }),
              HasSubstr("priority"));
  EXPECT_THAT(broken([](Program&, CodeClass& c) {
                c.dsd_ops[0].src[0] = {OperandKind::kDescriptorConst, ScalarType::kU16, 0xffffffff};
              }),
              HasSubstr("descriptor address"));
  EXPECT_THAT(broken([](Program&, CodeClass& c) {
                c.dsd_ops[0].op = DsdOp::kDfilt;
                c.dsd_ops[0].dest = {};
              }),
              HasSubstr("@dfilt"));
  EXPECT_THAT(broken([](Program&, CodeClass& c) {
                c.maps.emplace_back();
                c.functions[0].code.insert(c.functions[0].code.end() - 1,
                                           MakeInstr(Op::kMapNext, 0, static_cast<uint16_t>(-2)));
              }),
              HasSubstr("backwards"));
}

// A count that the file cannot hold asks for no memory.
TEST(Image, ACountIsNoMoreThanTheFileHolds) {
  Program p = Sample();
  p.classes.clear();
  p.pes = {{kNoIndex, 0}, {kNoIndex, 0}};
  std::vector<uint8_t> bytes = ToBytes(p);
  // Wherever a number is made as large as the rest of the file, the checksum right: refused, or
  // another program.
  bytes.resize(bytes.size() + 4096);
  StoreLe<uint64_t>(bytes.data() + 16, bytes.size() - 32);
  for (size_t at = 32; at + 4 < bytes.size() - 4096; ++at) {
    std::vector<uint8_t> bad = bytes;
    StoreLe<uint32_t>(bad.data() + at, static_cast<uint32_t>(bad.size() - at - 4));
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 32; i < bad.size(); ++i) sum = (sum ^ bad[i]) * 0x100000001b3u;
    StoreLe<uint64_t>(bad.data() + 24, sum);
    EXPECT_FALSE(FromBytes(bad)) << at;
  }
}

TEST(Tables, OperandLettersFillTheInstruction) {
  for (int i = 0; i < kOpCount; ++i) {
    const OpInfo& info = InfoOf(static_cast<Op>(i));
    int width = 0;
    for (const char* p = info.operands; *p != 0; ++p) width += *p >= 'A' && *p <= 'Z' ? 2 : 1;
    EXPECT_EQ(width, 3) << info.name;
  }
  EXPECT_EQ(TypedOp(Op::kAddI8, ScalarType::kU64), Op::kAddU64);
  EXPECT_EQ(LoadOp(ScalarType::kF32, AddressForm::kIndexed), Op::kLoadIdxU32);
  EXPECT_EQ(StoreOp(ScalarType::kF16), Op::kStore16);
  EXPECT_EQ(NativeByName("sqrt_f32"), Native::k_sqrt_f32);
  EXPECT_EQ(NativeByName("nothing"), Native::kCount);
}

}  // namespace
}  // namespace szarena::bytecode
