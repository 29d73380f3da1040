// SPDX-License-Identifier: Apache-2.0
// Vector operations on memory: every operation, views of every kind, scalars, registers, running
// reductions, @map.
#include <fmt/format.h>

#include "vector.h"

namespace szarena::csl_fuzz {
namespace {

class Vectors {
 public:
  Vectors(Build& b, const std::string& p) : b_(b), c_(b.c), p_(p) {}

  std::string Text() {
    const int count = c_.Between(1, 8);
    for (int i = 0; i < count; ++i) {
      const uint32_t kind = c_.Below(10);
      if (kind == 0)
        Map();
      else if (kind == 1)
        Reduction();
      else
        Operation();
    }
    std::string text = head_;
    for (const Array& a : arrays_) {
      text += first_[static_cast<size_t>(&a - arrays_.data())];
      b_.ExpectEverywhere(a.name, a.type, a.values);
    }
    if (!loads_.empty()) text += "comptime {\n" + loads_ + "}\n";
    return text + "fn start() void {\n" + body_ + "  @activate(next_id);\n}\n";
  }

 private:
  // An array of the type with room for `least` elements.
  size_t ArrayOf(Type type, int least) {
    std::vector<size_t> fit;
    for (size_t i = 0; i < arrays_.size(); ++i) {
      if (arrays_[i].type == type && arrays_[i].size() >= least) fit.push_back(i);
    }
    if (!fit.empty() && c_.Chance(70)) return c_.Pick(fit);
    return NewArray(type, least);
  }
  size_t NewArray(Type type, int least) {
    arrays_.push_back(MakeArray(c_, fmt::format("{}a{}", p_, arrays_.size()), type, least));
    first_.push_back(DeclarationOf(arrays_.back()));
    return arrays_.size() - 1;
  }

  // The descriptor as an operand: in place, a constant, a variable, or in a register.
  std::string Operand(const View& view, int file) {
    switch (c_.Below(6)) {
      case 0: {
        const std::string name = fmt::format("{}d{}", p_, names_++);
        head_ += fmt::format("const {} = {};\n", name, view.text);
        return name;
      }
      case 1: {
        const std::string name = fmt::format("{}d{}", p_, names_++);
        head_ += fmt::format("var {} = {};\n", name, view.text);
        return name;
      }
      case 2: {
        if (view.is_4d) return view.text;
        const int dsr = b_.take.Dsr(file);
        if (dsr < 0) return view.text;
        static const char* const kFiles[] = {"dsr_dest", "dsr_src0", "dsr_src1"};
        const std::string name = fmt::format("{}r{}", p_, names_++);
        head_ += fmt::format("const {} = @get_dsr({}, {});\n", name, kFiles[file], dsr);
        const std::string load = fmt::format("  @load_to_dsr({}, {});\n", name, view.text);
        (c_.Chance(50) ? loads_ : body_) += load;
        return name;
      }
      default:
        return view.text;
    }
  }

  void Operation() {
    const std::vector<VectorOp> ops = VectorOps(b_.HalfType(), true);
    const VectorOp& op = c_.Pick(ops);
    const int length = c_.Between(1, 9);
    const size_t dest = ArrayOf(op.dest, length);
    const View to = MakeView(c_, arrays_[dest], length, true);
    std::vector<std::string> operands;
    std::vector<std::vector<Bits>> values;
    bool has_vector = false;
    for (size_t k = 0; k < op.sources.size(); ++k) {
      const Type type = op.sources[k];
      const bool is_last_scalar = op.is_fma && k == 2;
      const bool needs_vector = !has_vector && k + 1 == (op.is_fma ? 2 : op.sources.size());
      const bool may_be_scalar = !needs_vector && !op.is_fma && !(op.name == "sub16" && k == 0);
      if (is_last_scalar || (may_be_scalar && c_.Chance(35))) {
        Bits v = SmallValue(c_, type);
        if ((op.name == "sll16" || op.name == "slr16" || op.name == "sar16") && k == 1)
          v = c_.Below(16);
        values.push_back(std::vector<Bits>(static_cast<size_t>(length), v));
        if (c_.Chance(40)) {
          const std::string name = fmt::format("{}s{}", p_, names_++);
          head_ += fmt::format("var {}: {} = {};\n", name, type.Name(), Literal(type, v));
          operands.push_back(name);
        } else {
          operands.push_back(Typed(type, v));
        }
        continue;
      }
      has_vector = true;
      // Other elements of the destination would be read while they are written: the same view, or
      // another array.
      const bool shift = (op.name == "sll16" || op.name == "slr16" || op.name == "sar16") && k == 1;
      size_t from = ArrayOf(type, length);
      if (shift && from == dest) from = NewArray(type, length);  // it will be masked
      View view;
      if (from == dest) {
        view = to;
      } else {
        view = MakeView(c_, arrays_[from], length, false);
      }
      std::vector<Bits> elements;
      for (const int e : view.elements)
        elements.push_back(arrays_[from].values[static_cast<size_t>(e)]);
      if (shift) {
        // Amounts below 16 only: masked first, in place.
        body_ += fmt::format("  @and16({0}, {0}, 15);\n", view.text);
        std::vector<bool> done(arrays_[from].values.size());
        for (size_t i = 0; i < elements.size(); ++i) {
          Bits& element = arrays_[from].values[static_cast<size_t>(view.elements[i])];
          element &= 15;
          elements[i] = element;
        }
        // A first operand of the same array has been read as it is now.
        for (size_t j = 0; j < operands.size(); ++j) {
          if (sources_[j] == from) {
            for (size_t i = 0; i < values[j].size(); ++i)
              values[j][i] = arrays_[from].values[static_cast<size_t>(views_[j].elements[i])];
          }
        }
      }
      values.push_back(std::move(elements));
      sources_[k] = from;
      views_[k] = view;
      operands.push_back(Operand(view, op.sources.size() == 1 || k == 1 ? 2 : 1));
    }
    const std::string target = Operand(to, 0);
    std::string call = fmt::format("@{}({}", op.name, target);
    for (const std::string& o : operands) call += ", " + o;
    body_ += "  " + call + ");\n";
    for (size_t i = 0; i < static_cast<size_t>(length); ++i) {
      std::vector<Bits> s;
      for (const auto& v : values) s.push_back(v[i]);
      arrays_[dest].values[static_cast<size_t>(to.elements[i])] = ApplyVector(op, s);
    }
    sources_ = {~size_t{0}, ~size_t{0}, ~size_t{0}};
  }

  // @fadds(&sum, sum, dsd) and its like.
  void Reduction() {
    static const char* const kNames[] = {"fadds", "faddh", "fmaxs", "fmaxh", "fsubs", "fmuls"};
    const std::string name = kNames[c_.Below(6)];
    for (const VectorOp& op : VectorOps(b_.HalfType(), false)) {
      if (op.name != name) continue;
      const int length = c_.Between(1, 9);
      const size_t from = ArrayOf(op.sources[1], length);
      const View view = MakeView(c_, arrays_[from], length, false);
      Bits v = SmallValue(c_, op.dest);
      const std::string sum = fmt::format("{}t{}", p_, names_++);
      head_ += fmt::format("export var {}: {} = {};\n", sum, op.dest.Name(), Literal(op.dest, v));
      for (const int e : view.elements)
        v = ApplyVector(op, {v, arrays_[from].values[static_cast<size_t>(e)]});
      body_ += fmt::format("  @{}(&{}, {}, {});\n", name, sum, sum, Operand(view, 2));
      b_.ExpectEverywhere(sum, op.dest, {v});
    }
  }

  void Map() {
    const std::vector<Type> types = {Int(16), Uint(16), kF32, b_.HalfType(), Int(32)};
    const Type type = c_.Pick(types);
    const int length = c_.Between(1, 8);
    const size_t from = ArrayOf(type, length), to = ArrayOf(type, length);
    const View source = MakeView(c_, arrays_[from], length, false);
    const View dest = from == to ? source : MakeView(c_, arrays_[to], length, true);
    const std::string f = fmt::format("{}m{}", p_, names_++);
    const bool two = c_.Chance(50);
    const Bits by = SmallValue(c_, type);
    static const Op kOps[] = {Op::kAdd, Op::kSub, Op::kMul};
    const Op op = kOps[c_.Below(3)];
    const std::string t = type.Name();
    head_ +=
        two ? fmt::format("fn {}(v: {}, w: {}) {} {{ return v {} w; }}\n", f, t, t, t, Spelling(op))
            : fmt::format("fn {}(v: {}) {} {{ return v {} v; }}\n", f, t, t, Spelling(op));
    if (from == to && !Distinct(source)) return;
    body_ += fmt::format("  @map({}, {}, {}{});\n", f, source.text,
                         two ? Typed(type, by) + ", " : "", dest.text);
    for (size_t i = 0; i < static_cast<size_t>(length); ++i) {
      const Bits v = arrays_[from].values[static_cast<size_t>(source.elements[i])];
      arrays_[to].values[static_cast<size_t>(dest.elements[i])] = Apply(op, type, v, two ? by : v);
    }
  }

  static bool Distinct(const View& v) {
    return std::set<int>(v.elements.begin(), v.elements.end()).size() == v.elements.size();
  }

  Build& b_;
  Choices& c_;
  std::string p_;
  std::vector<Array> arrays_;
  std::vector<std::string> first_;  // declarations, by array
  std::string head_, body_, loads_;
  std::vector<size_t> sources_ = {~size_t{0}, ~size_t{0}, ~size_t{0}};
  std::vector<View> views_ = std::vector<View>(3);
  int names_ = 0;
};

}  // namespace

std::string VectorPart(Build& b, const std::string& p) { return Vectors(b, p).Text(); }

}  // namespace szarena::csl_fuzz
