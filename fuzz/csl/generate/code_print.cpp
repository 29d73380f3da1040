// SPDX-License-Identifier: Apache-2.0
// Prints generated code as CSL.
#include <fmt/format.h>

#include "code.h"

namespace szarena::csl_fuzz {
namespace {

std::string Pad(int indent) { return std::string(static_cast<size_t>(2 * indent), ' '); }

std::string List(const std::vector<const Expr*>& exprs) {
  std::string text;
  for (const Expr* e : exprs) text += (text.empty() ? "" : ", ") + Print(*e);
  return text;
}

std::string Print(const Place& p) {
  const Variable& v = *p.variable;
  std::string text = v.name;
  if (v.pointer != Variable::Pointer::kNone && p.index.empty()) return text + ".*";
  if (!p.index.empty()) text += "[" + List(p.index) + "]";
  if (p.field >= 0) text += "." + v.shape->fields[static_cast<size_t>(p.field)].name;
  return text;
}

std::string Print(const Stmt& s, int indent);

std::string Braces(const std::vector<const Stmt*>& body, int indent) {
  return "{\n" + PrintBody(body, indent + 1) + Pad(indent) + "}";
}

std::string Range(const Stmt& s) {
  const std::string type = s.variable->type.Name();
  if (s.plain_range) return fmt::format("@range({}, {})", type, s.stop);
  return fmt::format("@range({}, {}, {}, {})", type, s.start, s.stop, s.step);
}

std::string Print(const Stmt& s, int indent) {
  const std::string pad = Pad(indent), label = s.label.empty() ? "" : s.label + ": ";
  switch (s.kind) {
    case Stmt::Kind::kText:
      return pad + s.text + "\n";
    case Stmt::Kind::kAssign:
      return fmt::format("{}{} {}= {};\n", pad, Print(s.place), s.compound ? Spelling(s.op) : "",
                         csl_fuzz::Print(*s.value));
    case Stmt::Kind::kDeclare: {
      const Variable& v = *s.variable;
      return fmt::format("{}{} {}: {} = {};\n", pad, v.is_const ? "const" : "var", v.name,
                         v.TypeName(), csl_fuzz::Print(*s.value));
    }
    case Stmt::Kind::kDeclareArray:
      return fmt::format("{}{} {} = {};\n", pad, s.variable->is_const ? "const" : "var",
                         s.variable->name, Initialiser(*s.variable, s.values));
    case Stmt::Kind::kCopy:
      return fmt::format("{}{} = {};\n", pad, s.place.variable->name, s.variable->name);
    case Stmt::Kind::kIf: {
      std::string text =
          fmt::format("{}if ({}) {}", pad, csl_fuzz::Print(*s.value), Braces(s.bodies[0], indent));
      if (!s.bodies[1].empty()) text += " else " + Braces(s.bodies[1], indent);
      return text + "\n";
    }
    case Stmt::Kind::kFor:
      return fmt::format("{}{}for ({}) |{}| {}\n", pad, label, Range(s), s.variable->name,
                         Braces(s.bodies[0], indent));
    case Stmt::Kind::kInlineFor:
      return fmt::format("{}{}inline for ({}) |{}| {}\n", pad, label, Range(s), s.variable->name,
                         Braces(s.bodies[0], indent));
    case Stmt::Kind::kForArray:
      // The index is a comptime_int where the function is called at compile time.
      return fmt::format(
          "{0}{1}for ({2}) |{3}, {4}_at| {{\n{0}  const {4}: u16 = {4}_at;\n{5}{0}}}\n", pad, label,
          s.source->name, s.variable->name, s.second->name, PrintBody(s.bodies[0], indent + 1));
    case Stmt::Kind::kWhile:
      return fmt::format("{}var {}: {} = 0;\n{}{}while ({} < {}) : ({} += 1) {}\n", pad,
                         s.variable->name, s.variable->type.Name(), pad, label, s.variable->name,
                         s.stop, s.variable->name, Braces(s.bodies[0], indent));
    case Stmt::Kind::kSwitch: {
      std::string text = fmt::format("{}switch ({}) {{\n", pad, csl_fuzz::Print(*s.value));
      for (size_t i = 0; i < s.values.size(); ++i) {
        text += fmt::format("{}{} => {},\n", Pad(indent + 1), csl_fuzz::Print(*s.values[i]),
                            Braces(s.bodies[i], indent + 1));
      }
      return text + fmt::format("{}else => {},\n{}}}\n", Pad(indent + 1),
                                Braces(s.bodies.back(), indent + 1), pad);
    }
    case Stmt::Kind::kBlock:
      return fmt::format("{}{}{}\n", pad, label, Braces(s.bodies[0], indent));
    case Stmt::Kind::kBreak:
      return fmt::format("{}break{};\n", pad, s.label.empty() ? "" : " :" + s.label);
    case Stmt::Kind::kContinue:
      return fmt::format("{}continue{};\n", pad, s.label.empty() ? "" : " :" + s.label);
    case Stmt::Kind::kCall:
      return pad + csl_fuzz::Print(*s.value) + ";\n";
    case Stmt::Kind::kReturn:
      return s.value != nullptr ? fmt::format("{}return {};\n", pad, csl_fuzz::Print(*s.value))
                                : pad + "return;\n";
  }
  return {};
}

}  // namespace

std::string Variable::TypeName() const {
  const std::string element = shape != nullptr ? shape->name : type.Name();
  const std::string constant = is_const ? "const " : "";
  if (pointer == Pointer::kOne) return "*" + constant + element;
  if (pointer == Pointer::kMany) return "[*]" + constant + element;
  if (dims.empty()) return element;
  std::string lengths;
  for (const int d : dims) lengths += fmt::format("{}{}", lengths.empty() ? "" : ", ", d);
  return "[" + lengths + "]" + element;
}

std::string Initialiser(const Variable& v, const std::vector<const Expr*>& values) {
  std::vector<std::string> elements;
  const size_t width = v.shape != nullptr ? v.shape->fields.size() : 1;
  for (size_t i = 0; i < values.size(); i += width) {
    if (v.shape == nullptr) {
      elements.push_back(Print(*values[i]));
      continue;
    }
    std::string text;
    for (size_t k = 0; k < width; ++k)
      text += fmt::format("{}.{} = {}", k == 0 ? "" : ", ", v.shape->fields[k].name,
                          Print(*values[i + k]));
    elements.push_back(fmt::format("{}{{ {} }}", v.shape->name, text));
  }
  if (v.dims.empty()) return elements.at(0);
  return fmt::format("{}{{ {} }}", v.TypeName(), fmt::join(elements, ", "));
}

std::string Print(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kLiteral: {
      if (!e.name.empty()) return e.name;
      const std::string text = Literal(e.type, e.value);
      if (e.type.kind == Kind::kBool) return text;
      return e.bare ? (text[0] == '-' ? "(" + text + ")" : text)
                    : fmt::format("@as({}, {})", e.type.Name(), text);
    }
    case Expr::Kind::kLoad:
      return Print(e.place);
    case Expr::Kind::kAddress:
      return "&" + Print(e.place);
    case Expr::Kind::kUnary:
      return fmt::format("({}{})", e.op == Op::kSub ? "-" : "~", Print(*e.kids[0]));
    case Expr::Kind::kNot:
      return fmt::format("!({})", Print(*e.kids[0]));
    case Expr::Kind::kAnd:
      return fmt::format("({} and {})", Print(*e.kids[0]), Print(*e.kids[1]));
    case Expr::Kind::kOr:
      return fmt::format("({} or {})", Print(*e.kids[0]), Print(*e.kids[1]));
    case Expr::Kind::kBinary:
      return fmt::format("({} {} {})", Print(*e.kids[0]), Spelling(e.op), Print(*e.kids[1]));
    case Expr::Kind::kCast:
      if (e.bare) return Print(*e.kids[0]);
      return fmt::format("@as({}, {})", e.type.Name(), Print(*e.kids[0]));
    case Expr::Kind::kIf:
      return fmt::format("(if ({}) {} else {})", Print(*e.kids[0]), Print(*e.kids[1]),
                         Print(*e.kids[2]));
    case Expr::Kind::kBlock:
      return fmt::format("({}: {{ if ({}) break :{} {}; break :{} {}; }})", e.name,
                         Print(*e.kids[0]), e.name, Print(*e.kids[1]), e.name, Print(*e.kids[2]));
    case Expr::Kind::kSwitch: {
      std::string text = fmt::format("(switch ({}) {{ ", Print(*e.kids[0]));
      for (size_t i = 1; i + 1 < e.kids.size(); i += 2)
        text += fmt::format("{} => {}, ", Print(*e.kids[i]), Print(*e.kids[i + 1]));
      return text + fmt::format("else => {} }})", Print(*e.kids.back()));
    }
    case Expr::Kind::kCall: {
      const bool by_type = e.function->generic == Function::Generic::kType;
      return fmt::format(
          "{}({}{})", e.function->name,
          by_type ? e.function->params[0]->type.Name() + (e.kids.empty() ? "" : ", ") : "",
          List(e.kids));
    }
  }
  return {};
}

std::string PrintBody(const std::vector<const Stmt*>& body, int indent) {
  std::string text;
  for (const Stmt* s : body) text += Print(*s, indent);
  return text;
}

std::string Print(const Function& f, int indent) {
  std::string params = f.generic == Function::Generic::kType ? "comptime T: type" : "";
  for (size_t i = 0; i < f.params.size(); ++i) {
    const Variable& v = *f.params[i];
    std::string type = v.TypeName();
    const bool first = i == 0;
    if (f.generic == Function::Generic::kType && v.pointer == Variable::Pointer::kNone &&
        v.type == f.params[0]->type)
      type = "T";
    if (f.generic == Function::Generic::kAnytype && first) type = "anytype";
    params += fmt::format(
        "{}{}{}: {}", params.empty() ? "" : ", ",
        f.generic == Function::Generic::kComptimeParam && first ? "comptime " : "", v.name, type);
  }
  std::string result = f.returns ? f.result.Name() : "void";
  if (f.returns && f.generic == Function::Generic::kType && f.result == f.params[0]->type)
    result = "T";
  if (f.returns && f.generic == Function::Generic::kAnytype && f.result == f.params[0]->type)
    result = fmt::format("@type_of({})", f.params[0]->name);
  return fmt::format("{}{}fn {}({}) {} {{\n{}{}}}\n", Pad(indent), f.is_inline ? "inline " : "",
                     f.name, params, result, PrintBody(f.body, indent + 1), Pad(indent));
}

}  // namespace szarena::csl_fuzz
