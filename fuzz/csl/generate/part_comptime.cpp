// SPDX-License-Identifier: Apache-2.0
// What happens at compile time: structs, strings, enums, types as values, loops, recursion, imports
// with params.
#include <fmt/format.h>

#include <algorithm>

#include "vector.h"

namespace szarena::csl_fuzz {
namespace {

class Comptime {
 public:
  Comptime(Build& b, const std::string& p) : b_(b), c_(b.c), p_(p) {}

  std::string Text() {
    const int count = c_.Between(1, 6);
    for (int i = 0; i < count; ++i) {
      switch (c_.Below(10)) {
        case 0:
          Structs();
          break;
        case 1:
          Strings();
          break;
        case 2:
          Enums();
          break;
        case 3:
          Types();
          break;
        case 4:
          Loops();
          break;
        case 5:
          Recursion();
          break;
        case 6:
          Ranges();
          break;
        case 7:
          Import();
          break;
        case 8:
          Pointers();
          break;
        default:
          Packed();
          break;
      }
    }
    return head_ + "fn start() void {\n" + body_ + "  @activate(next_id);\n}\n";
  }

 private:
  std::string Name(const char* what) { return fmt::format("{}{}{}", p_, what, names_++); }

  // A result: a variable that start() sets to the expression.
  void Result(Type type, const std::string& expression, Bits value) {
    const std::string name = Name("r");
    if (c_.Chance(50)) {
      head_ += fmt::format("export var {}: {} = {};\n", name, type.Name(), Literal(type, 0));
      body_ += fmt::format("  {} = {};\n", name, expression);
    } else {
      head_ += fmt::format("export var {}: {} = {};\n", name, type.Name(), expression);
      // Only what code names has memory.
      body_ += fmt::format("  {0} = {0};\n", name);
    }
    b_.ExpectEverywhere(name, type, {value});
  }

  void Structs() {
    const Bits a = c_.Below(100), d = c_.Below(100), e = c_.Below(100);
    const std::string s = Name("c");
    head_ += fmt::format(
        "const {} = @concat_structs(.{{ .a = {}, .b = .{{ .d = {} }} }}, .{{ .t = .{{ {}, \"text\" "
        "}} }});\n",
        s, a, d, e);
    Result(Uint(16), fmt::format("{0}.a + {0}.b.d * {0}.t[0]", s), (a + d * e) & 0xffff);
    Result(
        Uint(16),
        fmt::format(
            "if (@has_field({0}, \"b\") and !@has_field({0}, \"z\")) @field({0}, \"a\") else 0", s),
        a);
  }

  void Strings() {
    std::string text;
    const int n = c_.Between(0, 6);
    for (int i = 0; i < n; ++i) text += static_cast<char>('a' + c_.Below(26));
    const std::string s = Name("c");
    head_ +=
        fmt::format("const {} = @strcat(\"{}\", \"xy\", @get_string_from_byte(122));\n", s, text);
    Result(Uint(16), fmt::format("@strlen({})", s), static_cast<Bits>(n + 3));
    const std::string all = text + "xyz";
    const size_t at = c_.Below(static_cast<uint32_t>(all.size()));
    Result(Uint(16), fmt::format("@get_array({})[{}]", s, at), static_cast<Bits>(all[at]));
  }

  void Enums() {
    const std::string e = Name("E");
    const Bits b = c_.Between(1, 60);
    head_ += fmt::format("const {} = enum(u16) {{ A, B = {}, C, D }};\n", e, b);
    // Elements without a number take the smallest unused from 0.
    std::vector<Bits> values = {0, b};
    for (Bits v = 1; values.size() < 4; ++v) {
      if (v != b) values.push_back(v);
    }
    static const char* const kNames[] = {"A", "B", "C", "D"};
    const size_t k = c_.Below(4);
    Result(Uint(16), fmt::format("@as(u16, {}.{})", e, kNames[k]), values[k]);
    const std::string v = Name("v");
    head_ += fmt::format("var {}: {} = {}.{};\n", v, e, e, kNames[k]);
    Result(Int(16), "0", 0);
    const std::string r = Name("r");
    head_ += fmt::format("export var {}: i16 = 0;\n", r);
    body_ += fmt::format(
        "  {0} = switch ({1}) {{ {2}.A => 10, {2}.B, {2}.C => 20, else => 30 }};\n", r, v, e);
    b_.ExpectEverywhere(r, Int(16), {k == 0 ? Bits{10} : k < 3 ? Bits{20} : Bits{30}});
  }

  void Types() {
    const int n = c_.Between(1, 5), m = c_.Between(1, 4);
    const std::string t = Name("T"), f = Name("f");
    head_ += fmt::format(
        "fn {}(comptime T: type, comptime n: u16) type {{ return if (n > 3) [n]T else [n, {}]T; "
        "}}\nconst {} = {}(u16, {});\n",
        f, m, t, f, n);
    Result(Uint(16), fmt::format("@rank({})", t), n > 3 ? 1 : 2);
    Result(Uint(16), fmt::format("@element_count({})", t), static_cast<Bits>(n > 3 ? n : n * m));
    Result(Uint(16), fmt::format("@dimensions({})[0]", t), static_cast<Bits>(n));
    Result(Uint(16),
           fmt::format(
               "@as(u16, @is_same_type(@element_type({}), u16) and !@is_same_type({}, u16))", t, t),
           1);
    Result(Uint(16), fmt::format("@as(u16, @is_arch(\"{}\"))", c_.Chance(50) ? "wse2" : "wse3"), 0);
    b_.program.expected.resize(
        b_.program.expected.size() -
        static_cast<size_t>(b_.width() * b_.height()));  // checked by the next
    Result(Uint(16), "if (@is_arch(\"wse3\")) 3 else 2", b_.wse3() ? 3 : 2);
  }

  void Loops() {
    const int n = c_.Between(1, 12);
    const Bits step = c_.Below(9);
    const std::string f = Name("f"), t = Name("t");
    head_ += fmt::format(
        "fn {0}(comptime n: u16) [n]u16 {{\n  var t = @zeros([n]u16);\n  var i: u16 = 0;\n  while "
        "(i < n) : (i += 1) {{\n    if (i == 7) break;\n    if (i % 3 == 1) continue;\n"
        "    t[i] = i * {1} + 1;\n  }}\n  return t;\n}}\nexport var {2} = {0}({3});\n",
        f, step, t, n);
    body_ += fmt::format("  {0}[0] = {0}[0];\n", t);
    std::vector<Bits> values(static_cast<size_t>(n), 0);
    for (Bits i = 0; i < static_cast<Bits>(n) && i < 7; ++i) {
      if (i % 3 != 1) values[i] = i * step + 1;
    }
    b_.ExpectEverywhere(t, Uint(16), values);
    const std::string r = Name("r");
    head_ += fmt::format("export var {}: u16 = 0;\n", r);
    body_ += fmt::format(
        "  comptime var {0}k = {1};\n  inline for (@range(u16, {2})) |i| {{ {0}k += i; {0} += "
        "{0}k; }}\n",
        r, step, n);
    Bits k = step, sum = 0;
    for (Bits i = 0; i < static_cast<Bits>(n); ++i) sum += k += i;
    b_.ExpectEverywhere(r, Uint(16), {sum & 0xffff});
  }

  void Recursion() {
    const Bits n = c_.Below(15);
    const std::string f = Name("f");
    head_ += fmt::format(
        "fn {0}(n: comptime_int) comptime_int {{ return if (n < 2) n else {0}(n - 1) + {0}(n - 2); "
        "}}\n",
        f);
    Bits a = 0, b = 1;
    for (Bits i = 0; i < n; ++i) {
      const Bits next = a + b;
      a = b;
      b = next;
    }
    Result(Uint(32), fmt::format("{}({})", f, n), a);
    const std::string g = Name("f");
    head_ +=
        fmt::format("fn {0}(n: u32) u32 {{ if (n == 0) return 1; return n * {0}(n - 1); }}\n", g);
    Bits product = 1;
    for (Bits i = 1; i <= n; ++i) product = product * i & 0xffffffff;
    Result(Uint(32), fmt::format("{}({})", g, n), product);
  }

  void Ranges() {
    const int start = c_.Between(-9, 9), step = c_.Between(1, 4) * (c_.Chance(40) ? -1 : 1),
              stop = c_.Between(-12, 12);
    const std::string r = Name("r");
    head_ += fmt::format("export var {} = @zeros([2]i16);\n", r);
    const std::string range = fmt::format("@range(i16, {}, {}, {})", start, stop, step);
    body_ += fmt::format("  for ({1}) |v| {{ {0}[0] += v; {0}[1] += 1; }}\n", r, range);
    int sum = 0, count = 0;
    for (int i = start; step > 0 ? i < stop : i > stop; i += step) {
      sum += i;
      ++count;
    }
    b_.ExpectEverywhere(r, Int(16), {static_cast<Bits>(sum) & 0xffff, static_cast<Bits>(count)});
    Result(Int(16), fmt::format("@range_stop({}) + @range_step({})", range, range),
           static_cast<Bits>(stop + step) & 0xffff);
  }

  // A module imported twice: two instances.
  void Import() {
    const std::string file = fmt::format("{}m{}.csl", p_, names_);
    const std::string a = Name("m"), b = Name("m");
    const Bits step = c_.Below(50), other = c_.Below(50);
    b_.program.files.push_back({file,
                                "param step: u16;\nparam extra: u16 = 1;\nvar n: u16 = 0;\nfn "
                                "next() u16 {\n  n += step + extra;\n  return n;\n}\n"});
    head_ += fmt::format(
        "const {} = @import_module(\"{}\", .{{ .step = {} }});\nconst {} = @import_module(\"{}\", "
        ".{{ .extra = 5, .step = {} }});\n",
        a, file, step, b, file, other);
    const std::string r = Name("r");
    head_ += fmt::format("export var {} = @zeros([3]u16);\n", r);
    body_ += fmt::format(
        "  {0}[0] = {1}.next();\n  {0}[1] = {2}.next();\n  {0}[2] = {1}.next() + {1}.n + "
        "{2}.step;\n",
        r, a, b);
    b_.ExpectEverywhere(r, Uint(16), {step + 1, other + 5, 4 * (step + 1) + other});
  }

  void Pointers() {
    const int n = c_.Between(2, 6);
    const std::string a = Name("a"), q = Name("q"), f = Name("f"), g = Name("g"), r = Name("r");
    std::vector<Bits> values;
    for (int i = 0; i < n; ++i) values.push_back(SmallValue(c_, Int(16)));
    const size_t at = c_.Below(static_cast<uint32_t>(n));
    head_ +=
        fmt::format("export var {} = {};\nvar {}: [*]i16 = &{};\nexport var {} = @zeros([2]i16);\n",
                    a, ArrayText(Int(16), values), q, a, r);
    head_ += fmt::format(
        "fn {0}(v: i16) i16 {{ return v + 1; }}\nfn {1}(v: i16) i16 {{ return v * 2; }}\nvar {0}p: "
        "*const fn(i16) i16 = &{0};\n",
        f, g);
    const bool swap = c_.Chance(50);
    body_ += fmt::format("  const {0}p = &{0}[{1}];\n  {0}p.* += 3;\n  {2}[{1}] += 4;\n", a, at, q);
    if (swap) body_ += fmt::format("  {}p = &{};\n", f, g);
    body_ += fmt::format(
        "  {0}[0] = {1}p({2}[{3}]);\n  const {0}f: *const fn(i16) i16 = if ({0}[0] > 5) &{1} else "
        "&{4};\n  {0}[1] = {0}f(7);\n",
        r, f, a, at, g);
    values[at] = (values[at] + 7) & 0xffff;
    const Bits first = (swap ? values[at] * 2 : values[at] + 1) & 0xffff;
    b_.ExpectEverywhere(a, Int(16), values);
    b_.ExpectEverywhere(r, Int(16), {first, Signed(Int(16), first) > 5 ? Bits{8} : Bits{14}});
  }

  void Packed() {
    const int low = c_.Between(1, 9), high = c_.Between(1, 16 - low - 1);
    const std::string s = Name("S"), v = Name("v"), r = Name("r");
    const Bits a = c_.Bits() & ((Bits{1} << low) - 1), b = c_.Bits() & ((Bits{1} << high) - 1),
               rest = c_.Below(2);
    head_ += fmt::format("const {} = packed struct {{ a: u{}, b: u{}, on: bool, rest: u{} }};\n", s,
                         low, high, 32 - low - high - 1);
    head_ += fmt::format(
        "var {} = {}{{ .a = {}, .b = 0, .on = {}, .rest = 1 }};\nexport var {}: u32 = 0;\n", v, s,
        a, rest != 0, r);
    body_ += fmt::format("  {0}.b = {1};\n  {2} = @bitcast(u32, {0});\n", v, b, r);
    b_.ExpectEverywhere(
        r, Uint(32),
        {(a | b << low | rest << (low + high) | Bits{1} << (low + high + 1)) & 0xffffffff});
  }

  Build& b_;
  Choices& c_;
  std::string p_, head_, body_;
  int names_ = 0;
};

}  // namespace

std::string ComptimePart(Build& b, const std::string& p) { return Comptime(b, p).Text(); }

}  // namespace szarena::csl_fuzz
