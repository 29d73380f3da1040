// SPDX-License-Identifier: Apache-2.0
// The disassembler: one line an instruction, with what its indices mean behind it.
#include "bytecode/disasm.h"

#include <fmt/format.h>

#include <cstring>

namespace szarena::bytecode {
namespace {

std::string OperandText(const Operand& o) {
  switch (o.kind) {
    case OperandKind::kNone:
      return "-";
    case OperandKind::kDescriptor:
      return fmt::format("dsd[r{}]", o.value);
    case OperandKind::kDescriptorConst:
      return fmt::format("dsd[0x{:04x}]", o.value);
    case OperandKind::kDsr:
      return fmt::format("{}{}", (const char*[]){"dest", "src0_", "src1_"}[o.value >> 8 & 3],
                         o.value & 0xff);
    case OperandKind::kFifo:
      return fmt::format("fifo{}", o.value);
    case OperandKind::kScalar:
      return fmt::format("r{}:{}", o.value, ScalarTypeName(o.type));
    case OperandKind::kPointer:
      return fmt::format("*r{}:{}", o.value, ScalarTypeName(o.type));
  }
  return "?";
}

std::string SignalText(const char* what, const Signal& s) {
  if (s.kind == SignalKind::kNone) return {};
  return fmt::format(" {}{} {}{}", what, s.kind == SignalKind::kActivate ? "activate" : "unblock",
                     s.in_register ? "r" : "", s.id);
}

std::string DsdText(const DsdOpInfo& d) {
  std::string s = fmt::format("@{}({}", FactsOf(d.op).name, OperandText(d.dest));
  for (const Operand& o : d.src) {
    if (o.kind != OperandKind::kNone) s += ", " + OperandText(o);
  }
  s += ")";
  if (d.settings.async) s += " async";
  s += SignalText("", d.settings.on_done) + SignalText("on_control ", d.settings.on_control);
  if (d.settings.on_control_terminate) s += " on_control terminate";
  if (d.has_index) s += fmt::format(" index {}{}", d.index_in_register ? "r" : "", d.index);
  return s;
}

std::string Comment(const CodeClass& c, const Instr& i, char letter) {
  switch (letter) {
    case 'K':
      return i.bc() < c.constants.size() ? fmt::format("0x{:x}", c.constants[i.bc()]) : "";
    case 'S':
      return i.bc() < c.strings.size() ? fmt::format("\"{}\"", c.strings[i.bc()]) : "";
    case 'D':
      return i.bc() < c.dsd_ops.size() ? DsdText(c.dsd_ops[i.bc()]) : "";
    case 'P':
      return i.bc() < c.descriptors.size() ? c.descriptors[i.bc()].ToString() : "";
    case 'f':
      return i.c < c.functions.size() ? c.functions[i.c].name : "";
    case 'n':
      return i.c < static_cast<int>(Native::kCount) ? InfoOf(static_cast<Native>(i.c)).name : "";
    default:
      return {};
  }
}

}  // namespace

std::string Disassemble(const CodeClass& c, const Instr& i, uint32_t pc) {
  if (i.op >= kOpCount) return fmt::format("{:5}  .bad {} {} {} {}", pc, i.op, i.a, i.b, i.c);
  const OpInfo& info = InfoOf(static_cast<Op>(i.op));
  std::string s = fmt::format("{:5}  {:<14}", pc, info.name);
  std::string comment;
  const uint16_t field[3] = {i.a, i.b, i.c};
  for (int k = 0; info.operands[k] != 0; ++k) {
    const char letter = info.operands[k];
    if (letter == '-') continue;
    if (s.back() != ' ') s += ", ";
    switch (letter) {
      case 'd':
      case 's':
      case 'x':
        s += fmt::format("r{}", field[k]);
        break;
      case 'w':
        s += fmt::format("r{}..", field[k]);
        break;
      case 'i':
        s += fmt::format("{}", static_cast<int16_t>(field[k]));
        break;
      case 'j':
        s += fmt::format("->{}", static_cast<int64_t>(pc) + 1 + static_cast<int16_t>(field[k]));
        break;
      case 'I':
        s += fmt::format("{}", static_cast<int32_t>(i.bc()));
        break;
      case 'J':
        s += fmt::format("->{}", i.bc());
        break;
      case 'u':
      case 'f':
      case 'm':
      case 'n':
        s += fmt::format("{}", field[k]);
        break;
      default:
        s += fmt::format("#{}", i.bc());
        break;
    }
    if (std::string text = Comment(c, i, letter); !text.empty()) comment = std::move(text);
  }
  if (!comment.empty()) s = fmt::format("{:<44}; {}", s, comment);
  return s;
}

std::string Disassemble(const Program& p, const CodeClass& c, const Function& f) {
  std::string s = fmt::format("fn {}(", f.name);
  for (size_t i = 0; i < f.params.size(); ++i)
    s += fmt::format("{}{}", i > 0 ? ", " : "", ScalarTypeName(f.params[i]));
  s += fmt::format("){}  ; {} registers, frame {} + {} bytes\n", f.returns_value ? " value" : "",
                   f.register_count, f.frame_bytes, f.descriptor_frame_bytes);
  size_t line = 0;
  for (uint32_t pc = 0; pc < f.code.size(); ++pc) {
    for (; line < f.lines.size() && f.lines[line].pc <= pc; ++line) {
      if (f.lines[line].file < p.files.size())
        s += fmt::format("  ; {}:{}\n", p.files[f.lines[line].file], f.lines[line].line);
    }
    s += Disassemble(c, f.code[pc], pc) + "\n";
  }
  for (size_t i = 0; i < f.switches.size(); ++i) {
    s += fmt::format("  switch #{}:", i);
    for (const auto& [value, pc] : f.switches[i].cases) s += fmt::format(" {}->{}", value, pc);
    s += fmt::format(" else->{}\n", f.switches[i].otherwise);
  }
  return s;
}

std::string Disassemble(const Program& p) {
  std::string s =
      fmt::format("program '{}' {} {}x{} at ({}, {}) of {}x{}, fp16 {}\n", p.name,
                  p.arch == Arch::kWse2 ? "wse2" : "wse3", p.width, p.height, p.offset_x,
                  p.offset_y, p.fabric_width, p.fabric_height, FloatFormatName(p.fp16));
  for (size_t i = 0; i < p.exports.size(); ++i)
    s += fmt::format("export {} '{}' {}\n", i, p.exports[i].name, p.exports[i].type);
  for (const CodeClass& c : p.classes) {
    s += fmt::format("\nclass '{}'\n", c.name);
    for (const TaskBinding& t : c.tasks) {
      s += fmt::format("  {} task {}: {}\n",
                       (const char*[]){"data", "local", "control"}[static_cast<size_t>(t.kind) % 3],
                       t.id, t.function < c.functions.size() ? c.functions[t.function].name : "?");
    }
    for (const Symbol& y : c.symbols)
      s += fmt::format("  symbol '{}' {} at 0x{:04x}, {} bytes\n", y.name, y.type, y.address,
                       y.size);
    for (const FifoInfo& f : c.fifos)
      s += fmt::format("  fifo '{}' at 0x{:04x}, {} x {} bytes\n", f.name, f.address, f.capacity,
                       f.elem_size);
    for (const Function& f : c.functions) s += "\n" + Disassemble(p, c, f);
  }
  return s;
}

}  // namespace szarena::bytecode
