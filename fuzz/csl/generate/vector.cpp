// SPDX-License-Identifier: Apache-2.0
#include "vector.h"

#include <fmt/format.h>

#include <algorithm>

namespace szarena::csl_fuzz {

std::vector<VectorOp> VectorOps(Type half, bool with_fma) {
  const Type u = Uint(16), i = Int(16), w = Uint(32), f = kF32, h = half;
  std::vector<VectorOp> ops = {
      {"mov16", u, {u}},    {"mov32", w, {w}},    {"add16", i, {i, i}}, {"sub16", i, {i, i}},
      {"and16", u, {u, u}}, {"or16", u, {u, u}},  {"xor16", u, {u, u}}, {"sll16", u, {u, u}},
      {"slr16", u, {u, u}}, {"sar16", i, {i, u}}, {"clz", u, {u}},      {"ctz", u, {u}},
      {"popcnt", u, {u}},   {"fmovs", f, {f}},    {"fnegs", f, {f}},    {"fabss", f, {f}},
      {"fadds", f, {f, f}}, {"fsubs", f, {f, f}}, {"fmuls", f, {f, f}}, {"fmaxs", f, {f, f}},
      {"fmovh", h, {h}},    {"fnegh", h, {h}},    {"fabsh", h, {h}},    {"faddh", h, {h, h}},
      {"fsubh", h, {h, h}}, {"fmulh", h, {h, h}}, {"fmaxh", h, {h, h}}, {"faddhs", f, {f, h}},
      {"fh2s", f, {h}},     {"fs2h", h, {f}},     {"fh2xp16", i, {h}},  {"fs2xp16", i, {f}},
      {"xp162fh", h, {i}},  {"xp162fs", f, {i}},
  };
  if (with_fma) {
    ops.push_back({"fmacs", f, {f, f, f}, true});
    ops.push_back({"fmach", h, {h, h, h}, true});
    ops.push_back({"fmachs", f, {f, h, h}, true});
  }
  return ops;
}

Bits ApplyVector(const VectorOp& op, const std::vector<Bits>& s) {
  const std::string& n = op.name;
  const Type t = op.sources[0], d = op.dest;
  if (op.is_fma)
    return Fma(d, Convert(op.sources[1], d, s[1]), Convert(op.sources[2], d, s[2]), s[0]);
  if (n == "mov16" || n == "mov32" || n == "fmovs" || n == "fmovh") return s[0];
  if (n == "faddhs") return Apply(Op::kAdd, d, s[0], Convert(op.sources[1], d, s[1]));
  if (n.starts_with("fadd") || n == "add16") return Apply(Op::kAdd, d, s[0], s[1]);
  if (n.starts_with("fsub") || n == "sub16") return Apply(Op::kSub, d, s[0], s[1]);
  if (n.starts_with("fmul")) return Apply(Op::kMul, d, s[0], s[1]);
  if (n.starts_with("fmax")) return Max(d, s[0], s[1]);
  if (n.starts_with("fneg")) return Negate(d, s[0]);
  if (n.starts_with("fabs"))
    return Apply(Op::kAnd, Uint(d.bits), s[0], (Bits{1} << (d.bits - 1)) - 1);
  if (n == "and16") return Apply(Op::kAnd, d, s[0], s[1]);
  if (n == "or16") return Apply(Op::kOr, d, s[0], s[1]);
  if (n == "xor16") return Apply(Op::kXor, d, s[0], s[1]);
  if (n == "sll16") return Apply(Op::kShl, d, s[0], s[1]);
  if (n == "slr16" || n == "sar16") return Apply(Op::kShr, d, s[0], s[1]);
  if (n == "clz" || n == "ctz" || n == "popcnt") {
    int leading = 0, trailing = 0, ones = 0;
    while (leading < 16 && (s[0] >> (15 - leading) & 1) == 0) ++leading;
    while (trailing < 16 && (s[0] >> trailing & 1) == 0) ++trailing;
    for (int k = 0; k < 16; ++k) ones += static_cast<int>(s[0] >> k & 1);
    return static_cast<Bits>(n == "clz" ? leading : n == "ctz" ? trailing : ones);
  }
  if (n.ends_with("2xp16")) return ToInt16Nearest(t, s[0]);
  return Convert(t, d, s[0]);
}

Bits SmallValue(Choices& c, Type type) {
  if (type.kind == Kind::kInt) {
    const Bits mask = type.bits == 64 ? ~Bits{0} : (Bits{1} << type.bits) - 1;
    return (c.Chance(70) ? Bits{c.Below(40)} - (type.is_signed ? 20 : 0) : c.Bits()) & mask;
  }
  const Bits eighths = Convert(Int(16), type, c.Below(400));
  const Bits v = Apply(Op::kMul, type, eighths, Convert(kF32, type, 0x3e000000));
  return c.Chance(40) ? Negate(type, v) : v;
}

std::string Typed(Type type, Bits value) {
  return fmt::format("@as({}, {})", type.Name(), Literal(type, value));
}

std::string ArrayText(Type type, const std::vector<Bits>& values) {
  std::string text;
  for (const Bits v : values) text += (text.empty() ? "" : ", ") + Literal(type, v);
  return fmt::format("[{}]{}{{ {} }}", values.size(), type.Name(), text);
}

Array MakeArray(Choices& c, const std::string& name, Type type, int least) {
  Array a;
  a.name = name;
  a.type = type;
  int size = least + c.Between(0, 6);
  if (c.Chance(40)) {
    a.columns = c.Between(1, 4);
    a.rows = (size + a.columns - 1) / a.columns;
    size = a.rows * a.columns;
  }
  for (int i = 0; i < size; ++i) a.values.push_back(SmallValue(c, type));
  return a;
}

std::string DeclarationOf(const Array& a) {
  std::string text = ArrayText(a.type, a.values);
  if (a.rows > 0)
    text =
        fmt::format("[{}, {}]{}{}", a.rows, a.columns, a.type.Name(), text.substr(text.find('{')));
  return fmt::format("export var {} = {};\n", a.name, text);
}

int LengthFor(Choices& c, const Array& a) { return c.Between(1, a.size()); }

View MakeView(Choices& c, const Array& a, int length, bool distinct) {
  View view;
  if (a.rows > 0) {
    // A block of a matrix, row by row or column by column.
    std::vector<std::pair<int, int>> blocks;
    for (int r = 1; r <= a.rows; ++r) {
      if (length % r == 0 && length / r <= a.columns) blocks.push_back({r, length / r});
    }
    if (!blocks.empty() && c.Chance(70)) {
      const auto [r, k] = c.Pick(blocks);
      const int r0 = c.Between(0, a.rows - r), k0 = c.Between(0, a.columns - k);
      const bool turned = c.Chance(40);
      for (int outer = 0; outer < (turned ? k : r); ++outer) {
        for (int inner = 0; inner < (turned ? r : k); ++inner) {
          view.elements.push_back(((turned ? inner : outer) + r0) * a.columns +
                                  (turned ? outer : inner) + k0);
        }
      }
      view.is_4d = true;
      view.text = fmt::format(
          "@get_dsd(mem4d_dsd, .{{ .tensor_access = |i, j|{{{}, {}}} -> {}[{} + {}, {} + {}] }})",
          turned ? k : r, turned ? r : k, a.name, turned ? "j" : "i", r0, turned ? "i" : "j", k0);
      return view;
    }
  }
  // offset + stride * i, inside of the array.
  int stride = 0, offset = 0;
  for (int tries = 0; tries < 6; ++tries) {
    stride = c.Between(distinct && length > 1 ? 1 : 0, 3) * (c.Chance(25) ? -1 : 1);
    const int reach = stride * (length - 1), low = std::max(0, -reach),
              high = a.size() - 1 - std::max(0, reach);
    if (high < low) {
      stride = 1;
      offset = 0;
      continue;
    }
    offset = c.Between(low, high);
    break;
  }
  if (offset + stride * (length - 1) >= a.size() || offset + stride * (length - 1) < 0)
    stride = 1, offset = 0;
  for (int i = 0; i < length; ++i) view.elements.push_back(offset + stride * i);
  const std::string type = a.type.Name();
  const std::string plain = fmt::format(
      "@get_dsd(mem1d_dsd, .{{ .base_address = &{}, .extent = {}, .stride = {}, .offset = {} }})",
      a.name, length, stride, offset);
  switch (c.Below(6)) {
    case 0:
    case 1:
      if (a.rows == 0) {
        view.text =
            fmt::format("@get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{}}} -> {}[{} * i + {}] }})",
                        length, a.name, stride, offset);
        break;
      }
      view.text = plain;
      break;
    case 2:
      view.text = fmt::format(
          "@set_dsd_length(@increment_dsd_offset(@get_dsd(mem1d_dsd, .{{ .base_address = &{}, "
          ".extent = 1, .stride = {} }}), {}, {}), {})",
          a.name, stride, offset, type, length);
      break;
    case 3:
      view.text = fmt::format(
          "@set_dsd_stride(@get_dsd(mem1d_dsd, .{{ .base_address = &{}, .extent = {}, .offset = {} "
          "}}), {})",
          a.name, length, offset, stride);
      break;
    default:
      view.text = plain;
      break;
  }
  return view;
}

}  // namespace szarena::csl_fuzz
