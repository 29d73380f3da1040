// SPDX-License-Identifier: Apache-2.0
// Calls of libraries whose results the generator knows.
#include <fmt/format.h>

#include <cmath>

#include "vector.h"

namespace szarena::csl_fuzz {
namespace {

class Library {
 public:
  Library(Build& b, const std::string& p) : b_(b), c_(b.c), p_(p) {}

  std::string Text() {
    const int count = c_.Between(1, 5);
    for (int i = 0; i < count; ++i) {
      switch (c_.Below(8)) {
        case 0:
        case 1:
          Math();
          break;
        case 2:
          Control();
          break;
        case 3:
          Heap();
          break;
        case 4:
          Random();
          break;
        case 5:
          Complex();
          break;
        case 6:
          Time();
          break;
        default:
          Records();
          break;
      }
    }
    std::string imports;
    for (const std::string& name : imports_)
      imports += fmt::format("const {0} = @import_module(\"<{0}>\"{1});\n", name,
                             name == "malloc"  ? ", .{ .buffer_num_words = 64 }"
                             : name == "debug" ? ", .{ .key = \"values\", .buffer_size = 100 }"
                                               : "");
    return imports + head_ + "fn start() void {\n" + body_ + "  @activate(next_id);\n}\n";
  }

 private:
  std::string Name(const char* what) { return fmt::format("{}{}{}", p_, what, names_++); }
  void Use(const char* library) { imports_.insert(library); }
  std::string Variable(Type type, Bits value) {
    const std::string name = Name("v");
    head_ += fmt::format("var {}: {} = {};\n", name, type.Name(), Literal(type, value));
    return name;
  }
  // Known when compiled, or not.
  std::string Argument(Type type, Bits value) {
    return c_.Chance(50) ? Variable(type, value) : Typed(type, value);
  }
  void Result(Type type, const std::string& expression, Bits value) {
    const std::string name = Name("r");
    head_ += fmt::format("export var {}: {} = {};\n", name, type.Name(), Literal(type, 0));
    body_ += fmt::format("  {} = {};\n", name, expression);
    b_.ExpectEverywhere(name, type, {value});
  }

  void Math() {
    Use("math");
    const std::vector<Type> types = {kF32, b_.HalfType(), Int(16), Int(32)};
    const Type type = c_.Pick(types);
    const Bits x = SmallValue(c_, type), y = SmallValue(c_, type), zero = Convert(Int(16), type, 0);
    const bool negative = Apply(Op::kLt, type, x, zero) != 0;
    switch (c_.Below(type.kind == Kind::kFloat ? 7 : 3)) {
      case 0:
        Result(type, fmt::format("math.abs({})", Argument(type, x)),
               negative ? Negate(type, x)
               : type.kind == Kind::kFloat
                   ? Apply(Op::kAnd, Uint(type.bits), x, (Bits{1} << (type.bits - 1)) - 1)
                   : x);
        break;
      case 1:
        Result(type, fmt::format("math.max({}, {})", Argument(type, x), Argument(type, y)),
               Apply(Op::kLt, type, x, y) != 0 ? y : x);
        break;
      case 2:
        Result(type, fmt::format("math.min({}, {})", Argument(type, x), Argument(type, y)),
               Apply(Op::kLt, type, x, y) != 0 ? x : y);
        break;
      case 3: {
        // Whole numbers towards zero, then one up or down.
        const Bits whole = Convert(Int(32), type, Convert(type, Int(32), x));
        const Bits one = Convert(Int(16), type, 1);
        const bool up = Apply(Op::kLt, type, whole, x) != 0,
                   down = Apply(Op::kGt, type, whole, x) != 0;
        const bool ceil = c_.Chance(50);
        Bits v = ceil && up      ? Apply(Op::kAdd, type, whole, one)
                 : !ceil && down ? Apply(Op::kSub, type, whole, one)
                                 : whole;
        if (Apply(Op::kEq, type, v, zero) != 0) return;  // its sign is another matter
        Result(type, fmt::format("math.{}({})", ceil ? "ceil" : "floor", Argument(type, x)), v);
        break;
      }
      case 4: {
        const Bits n = c_.Below(12);
        Result(type, fmt::format("math.sqrt({})", Argument(type, Convert(Int(16), type, n * n))),
               Convert(Int(16), type, n));
        break;
      }
      case 5:
        Result(kBool,
               fmt::format("math.isFinite({0}) and !math.isNaN({0}) and math.isNaN(math.NaN({1}))",
                           Argument(type, x), type.Name()),
               1);
        break;
      default:
        Result(kBool, fmt::format("math.signbit({})", Argument(type, x)), x >> (type.bits - 1) & 1);
        break;
    }
  }

  void Control() {
    Use("control");
    static const char* const kOps[] = {"NOP", "SWITCH_ADV", "SWITCH_RST", "TEARDOWN"};
    const Bits op = c_.Below(4), ignore = c_.Below(2), id = c_.Below(64), data = c_.Below(65536);
    Result(
        Uint(32),
        fmt::format(
            "{}control.encode_single_payload(control.opcode.{}, {}, @get_control_task_id({}), {})",
            c_.Chance(50) ? "comptime " : "", kOps[op], ignore != 0, id, data),
        id << 16 | op << 22 | ignore << 24 | data);
  }

  void Heap() {
    Use("malloc");
    const std::vector<Type> types = {Int(16), Uint(16), Int(32), Uint(32), kF32};
    const Type type = c_.Pick(types);
    if (++heaps_ > 4) return;
    const int n = c_.Between(1, 4), at = c_.Between(0, n - 1);
    const Bits v = SmallValue(c_, type);
    const std::string q = Name("q");
    body_ += fmt::format(
        "  const {0} = malloc.malloc({1}, {2});\n  for (@range(u16, {2})) |i| {{ {0}[i] = {3}; "
        "}}\n  {0}[{4}] = {5};\n",
        q, type.Name(), n, Literal(type, 0), at, Literal(type, v));
    Result(type, fmt::format("{}[{}]", q, at), v);
  }

  void Random() {
    Use("random");
    const std::string r = Name("r");
    head_ += fmt::format("export var {}: u16 = 0;\n", r);
    body_ += fmt::format(
        "  random.set_global_prng_seed({1});\n  for (@range(u16, {2})) |_| {{\n    const {0}v: f32 "
        "= random.random_f32(-2.0, 3.0);\n    if ({0}v < -2.0 or {0}v >= 3.0) {0} += 1;\n"
        "    if (random.random_pow_u32(5) >= 32) {0} += 1;\n  }}\n",
        r, c_.Below(60000), c_.Between(1, 9));
    b_.ExpectEverywhere(r, Uint(16), {0});
  }

  void Complex() {
    Use("complex");
    const Type t = c_.Chance(50) ? kF32 : b_.HalfType();
    const Bits a = SmallValue(c_, t), b = SmallValue(c_, t), d = SmallValue(c_, t),
               e = SmallValue(c_, t);
    const std::string z = Name("z");
    const bool add = c_.Chance(50);
    body_ += fmt::format(
        "  const {0} = complex.{1}_complex(complex.get_complex({2}, {3}), complex.get_complex({4}, "
        "{5}));\n",
        z, add ? "add" : "subtract", Typed(t, a), Variable(t, b), Variable(t, d), Typed(t, e));
    Result(t, z + ".real", Apply(add ? Op::kAdd : Op::kSub, t, a, d));
    Result(t, z + ".imag", Apply(add ? Op::kAdd : Op::kSub, t, b, e));
  }

  void Time() {
    Use("time");
    const std::string t = Name("t");
    head_ += fmt::format(
        "var {0}a = @zeros([time.tsc_size_words]u16);\nvar {0}b = "
        "@zeros([time.tsc_size_words]u16);\n",
        t);
    body_ += fmt::format(
        "  time.enable_tsc();\n  time.get_timestamp(&{0}a);\n  time.get_timestamp(&{0}b);\n", t);
    // The sum of nothing: only that the second is not before the first.
    Result(Uint(16),
           fmt::format("if ({0}b[2] > {0}a[2] or {0}b[1] > {0}a[1] or {0}b[0] >= {0}a[0]) 1 else 0",
                       t),
           1);
  }

  void Records() {
    if (c_.Chance(50)) {
      Use("simprint");
      const Bits v = SmallValue(c_, Int(16));
      body_ += fmt::format(
          "  simprint.fmt(\"a {{d}} {{x}} {{f}}\", .{{ {}, @as(u16, {}), @as(f32, {}.5) }});\n",
          Argument(Int(16), v), c_.Below(65536), c_.Below(100));
      return;
    }
    Use("debug");
    body_ += fmt::format(
        "  debug.trace({});\n  debug.trace_string(\"end\");\n  debug.trace_timestamp();\n",
        Argument(Int(16), SmallValue(c_, Int(16))));
  }

  Build& b_;
  Choices& c_;
  std::string p_, head_, body_;
  std::set<std::string> imports_;
  int names_ = 0, heaps_ = 0;
};

}  // namespace

std::string LibraryPart(Build& b, const std::string& p) { return Library(b, p).Text(); }

}  // namespace szarena::csl_fuzz
