// SPDX-License-Identifier: Apache-2.0
// Vectors over the fabric: one sender, a path, receivers at its end and perhaps on the way; or PEs
// in a chain, each working on what passes. Synchronous, asynchronous, in registers, in SIMD mode;
// the operations compute as they send and receive.
#include <fmt/format.h>

#include <algorithm>

#include "route.h"
#include "vector.h"

namespace szarena::csl_fuzz {
namespace {

// "mov16": what of a wavelet arrives, by the width of its elements.
const VectorOp& PickOp(Build& b, const std::vector<VectorOp>& ops, Type carried, bool sends) {
  std::vector<const VectorOp*> fit;
  for (const VectorOp& op : ops) {
    const Type end = sends ? op.dest : op.sources[0];
    if (end.bits == carried.bits && (end.kind == carried.kind || op.sources.size() == 1) &&
        op.sources.size() <= 2 && (end == carried || op.name.starts_with("mov")))
      fit.push_back(&op);
  }
  return *b.c.Pick(fit);
}

struct Half {
  std::string declarations, setup, code;  // code: the operation, without what follows it
  bool ends_by_itself = true;             // false: a signal activates next_id
};

class Stream {
 public:
  Stream(Build& b, const std::string& p)
      : b_(b), c_(b.c), p_(p), ops_(VectorOps(b.HalfType(), false)) {}

  std::string Text() {
    color_ = b_.take.Color();
    out_ = b_.take.OutputQueue();
    in_ = b_.take.InputQueue();
    if (color_ < 0 || out_ < 0 || in_ < 0) return {};
    const std::vector<Type> carried = {Uint(16), Int(16), b_.HalfType(), kF32, Uint(32)};
    carried_ = c_.Pick(carried);
    length_ = c_.Between(1, 12);
    simd_ = carried_.bits == 16 && c_.Chance(25);
    if (simd_) length_ += length_ % 2;
    path_ = RandomPath(b_);
    std::vector<bool> drop(path_.size(), false);
    for (size_t i = 1; i + 1 < path_.size(); ++i) drop[i] = c_.Chance(40);
    RouteAlong(b_, color_, path_, drop);

    // What travels, and how it is made.
    const VectorOp& op = PickOp(b_, ops_, carried_, true);
    const std::vector<Bits> sent = Sender(op);
    std::vector<Spot> receivers = {path_.back()};
    for (size_t i = 1; i + 1 < path_.size(); ++i) {
      if (drop[i]) receivers.push_back(path_[i]);
    }
    Receiver(PickOp(b_, ops_, carried_, false), sent, receivers);

    const bool alone = path_.size() == 1;
    std::string at_receiver;
    for (const Spot& r : receivers) at_receiver += (at_receiver.empty() ? "" : " or ") + Is(r);
    std::string text =
        fmt::format("const is_sender = {};\nconst is_receiver = {};\n", Is(path_[0]), at_receiver);
    text += send_.declarations + receive_.declarations;
    text += "comptime {\n";
    if (!send_.setup.empty()) text += "  if (is_sender) {\n" + send_.setup + "  }\n";
    if (!receive_.setup.empty()) text += "  if (is_receiver) {\n" + receive_.setup + "  }\n";
    text += "}\nfn start() void {\n";
    if (alone) {
      // The sender must not wait for its own receiver: it sends in the background.
      text += "  " + send_.code + "\n  " + receive_.code + "\n" +
              (receive_.ends_by_itself ? "  @activate(next_id);\n" : "") + "}\n";
      return text;
    }
    text += "  if (is_sender) {\n    " + send_.code + "\n" +
            (send_.ends_by_itself ? "    @activate(next_id);\n" : "");
    text += "  } else if (is_receiver) {\n    " + receive_.code + "\n" +
            (receive_.ends_by_itself ? "    @activate(next_id);\n" : "");
    return text + "  } else {\n    @activate(next_id);\n  }\n}\n";
  }

 private:
  std::string Simd() const { return simd_ ? ", .simd_mode = .{ .simd_32 = true }" : ""; }
  // WSE-3: a microthread of its own, sometimes.
  std::string UtId() {
    return b_.wse3() && c_.Chance(40)
               ? fmt::format(", .ut_id = @get_ut_id({})", c_.Between(b_.program.memcpy ? 2 : 0, 7))
               : "";
  }

  // Sources other than the fabric: an array of its own for each.
  std::string SourceOf(Type type, const std::string& name, std::vector<Bits>& values,
                       std::string& declarations, bool may_be_scalar) {
    if (may_be_scalar && c_.Chance(35)) {
      values.assign(static_cast<size_t>(length_), SmallValue(c_, type));
      return Typed(type, values[0]);
    }
    const Array a = MakeArray(c_, p_ + name, type, length_);
    declarations += DeclarationOf(a).substr(7);  // without "export"
    const View view = MakeView(c_, a, length_, false);
    for (const int e : view.elements) values.push_back(a.values[static_cast<size_t>(e)]);
    return view.text;
  }

  std::vector<Bits> Sender(const VectorOp& op) {
    std::vector<std::vector<Bits>> sources(op.sources.size());
    std::string operands;
    for (size_t k = 0; k < op.sources.size(); ++k) {
      const bool shift = (op.name == "sll16" || op.name == "slr16" || op.name == "sar16") && k == 1;
      if (shift) {
        sources[k].assign(static_cast<size_t>(length_), c_.Below(16));
        operands += ", " + Typed(op.sources[k], sources[k][0]);
      } else {
        operands += ", " + SourceOf(op.sources[k], fmt::format("s{}", k), sources[k],
                                    send_.declarations, k > 0);
      }
    }
    std::vector<Bits> sent;
    for (int i = 0; i < length_; ++i) {
      std::vector<Bits> s;
      for (const auto& v : sources) s.push_back(v[static_cast<size_t>(i)]);
      sent.push_back(ApplyVector(op, s));
    }
    const std::string dsd = fmt::format(
        "@get_dsd(fabout_dsd, .{{ .extent = {}, .fabric_color = @get_color({}), .output_queue = "
        "@get_output_queue({}){} }})",
        length_, color_, out_, Simd());
    send_.declarations += fmt::format("const {}out = {};\n", p_, dsd);
    if (const std::string init = InitOutput(b_, out_, color_); !init.empty())
      send_.setup += "    " + init + "\n";
    std::string settings;
    if (path_.size() == 1) {
      settings = ", .{ .async = true }";
    } else if (c_.Chance(60)) {
      const Signal signal = MakeSignal(b_, p_, "sent");
      send_.declarations += signal.declarations;
      send_.setup += signal.binds;
      settings = fmt::format(", .{{ {}{} }}", signal.settings, UtId());
      send_.code = signal.before;
      send_.ends_by_itself = false;
    }
    std::string dest = p_ + "out";
    // A register carries the settings of its own load.
    const int dsr = settings.empty() && c_.Chance(30) ? b_.take.Dsr(0) : -1;
    if (dsr >= 0) {
      send_.declarations +=
          fmt::format("const {}out_register = @get_dsr(dsr_dest, {});\n", p_, dsr);
      send_.setup += fmt::format("    @load_to_dsr({0}out_register, {0}out);\n", p_);
      dest = p_ + "out_register";
    }
    send_.code += fmt::format("@{}({}{}{});", op.name, dest, operands, settings);
    return sent;
  }

  void Receiver(const VectorOp& op, const std::vector<Bits>& sent,
                const std::vector<Spot>& receivers) {
    std::string operands;
    std::vector<Bits> second(static_cast<size_t>(length_), 0);
    if (op.sources.size() == 2) {
      second.clear();
      if (op.name == "sll16" || op.name == "slr16" || op.name == "sar16") {
        second.assign(static_cast<size_t>(length_), c_.Below(16));
        operands = ", " + Typed(op.sources[1], second[0]);
      } else {
        operands = ", " + SourceOf(op.sources[1], "b", second, receive_.declarations, true);
      }
    }
    Array result = MakeArray(c_, p_ + "result", op.dest, length_);
    receive_.declarations += DeclarationOf(result);
    const View view = MakeView(c_, result, length_, true);
    const std::vector<Bits> untouched = result.values;
    for (size_t i = 0; i < sent.size(); ++i) {
      std::vector<Bits> s = {sent[i]};
      if (op.sources.size() == 2) s.push_back(second[i]);
      result.values[static_cast<size_t>(view.elements[i])] = ApplyVector(op, s);
    }
    for (int y = 0; y < b_.height(); ++y) {
      for (int x = 0; x < b_.width(); ++x) {
        const bool here =
            std::find(receivers.begin(), receivers.end(), Spot{x, y}) != receivers.end();
        b_.Expect(x, y, result.name, op.dest, here ? result.values : untouched);
      }
    }
    receive_.declarations += fmt::format(
        "const {}in = @get_dsd(fabin_dsd, .{{ .extent = {}, .fabric_color = @get_color({}), "
        ".input_queue = @get_input_queue({}){} }});\n",
        p_, length_, color_, in_, Simd());
    std::string settings;
    // Queues of one number share a microthread.
    if (c_.Chance(60) && (path_.size() > 1 || in_ != out_)) {
      const Signal signal = MakeSignal(b_, p_, "received");
      receive_.declarations += signal.declarations;
      receive_.setup += signal.binds;
      settings = fmt::format(", .{{ {}{} }}", signal.settings, path_.size() == 1 ? "" : UtId());
      receive_.code = signal.before;
      receive_.ends_by_itself = false;
    }
    std::string source = p_ + "in";
    const int dsr = c_.Chance(30) ? b_.take.Dsr(op.sources.size() == 1 ? 2 : 1) : -1;
    if (dsr >= 0) {
      receive_.declarations += fmt::format("const {}in_register = @get_dsr({}, {});\n", p_,
                                           op.sources.size() == 1 ? "dsr_src1" : "dsr_src0", dsr);
      receive_.setup += "    " + InitInput(b_, in_, color_, true) + "\n";
      receive_.setup += fmt::format("    @load_to_dsr({0}in_register, {0}in{1});\n", p_, settings);
      source = p_ + "in_register";
      settings.clear();
    } else if (const std::string init = InitInput(b_, in_, color_, c_.Chance(30)); !init.empty()) {
      receive_.setup += "    " + init + "\n";
    }
    receive_.code +=
        fmt::format("@{}({}, {}{}{});", op.name, view.text, source, operands, settings);
  }

  Build& b_;
  Choices& c_;
  std::string p_;
  std::vector<VectorOp> ops_;
  int color_ = 0, out_ = 0, in_ = 0, length_ = 0;
  bool simd_ = false;
  Type carried_;
  std::vector<Spot> path_;
  Half send_, receive_;
};

}  // namespace

std::string StreamPart(Build& b, const std::string& p) { return Stream(b, p).Text(); }

}  // namespace szarena::csl_fuzz
