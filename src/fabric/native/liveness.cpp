// SPDX-License-Identifier: Apache-2.0
// See liveness.h.
#include "fabric/native/liveness.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace szarena::fabric::native {
using namespace bytecode;
namespace {

void UseOperand(const Operand& o, Effects& e) {
  if (o.kind == OperandKind::kDescriptor || o.kind == OperandKind::kScalar ||
      o.kind == OperandKind::kPointer) {
    e.uses.push_back(static_cast<uint16_t>(o.value));
  }
}
void UseRange(uint32_t first, size_t count, Effects& e) {
  for (size_t k = 0; k < count; ++k) e.uses.push_back(static_cast<uint16_t>(first + k));
}

}  // namespace

Effects EffectsOf(const CodeClass& code, const Instr& i) {
  Effects e;
  const Op op = static_cast<Op>(i.op);
  const uint16_t field[3] = {i.a, i.b, i.c};
  const char* letters = InfoOf(op).operands;
  for (size_t k = 0; k < 3 && letters[k] != 0; ++k) {
    if (letters[k] == 's' || letters[k] == 'x') e.uses.push_back(field[k]);
    if (letters[k] == 'd' || letters[k] == 'x') e.defs.push_back(field[k]);
  }
  switch (op) {
    case Op::kCall:
      UseRange(i.a, code.functions[i.c].params.size(), e);
      e.defs.push_back(i.a);
      break;
    case Op::kCallIndirect:
      UseRange(i.a, i.c, e);
      e.defs.push_back(i.a);
      break;
    case Op::kNative: {
      const NativeInfo& native = InfoOf(static_cast<Native>(i.c));
      const size_t args = std::strlen(native.args);
      UseRange(i.a, args, e);
      if (args > 0 || native.result != 'v') e.defs.push_back(i.a);
      break;
    }
    case Op::kDsd: {
      const DsdOpInfo& d = code.dsd_ops[i.bc()];
      UseOperand(d.dest, e);
      for (const Operand& o : d.src) UseOperand(o, e);
      for (const Signal* s : {&d.settings.on_done, &d.settings.on_control}) {
        if (s->in_register) e.uses.push_back(static_cast<uint16_t>(s->id));
      }
      if (d.has_index && d.index_in_register) e.uses.push_back(static_cast<uint16_t>(d.index));
      break;
    }
    case Op::kMapStart: {
      const MapInfo& m = code.maps[i.c];
      for (const Operand& o : m.inputs) UseOperand(o, e);
      UseOperand(m.output, e);
      break;
    }
    case Op::kMapNext: {
      const MapInfo& m = code.maps[i.c];
      for (size_t k = 0; k < m.inputs.size(); ++k) {
        UseOperand(m.inputs[k], e);
        // Written only where there was an element; as a use they stay what they were on the way
        // out.
        e.uses.push_back(static_cast<uint16_t>(i.a + k));
        e.defs.push_back(static_cast<uint16_t>(i.a + k));
      }
      break;
    }
    default:
      break;
  }
  return e;
}

std::vector<uint32_t> SuccessorsOf(const Function& f, uint32_t pc) {
  const Instr& i = f.code[pc];
  const auto near = [&](uint16_t distance) {
    return static_cast<uint32_t>(static_cast<int64_t>(pc) + 1 + static_cast<int16_t>(distance));
  };
  switch (static_cast<Op>(i.op)) {
    case Op::kJump:
      return {i.bc()};
    case Op::kJumpIf:
    case Op::kJumpIfNot:
      return {pc + 1, i.bc()};
    case Op::kJumpEq:
    case Op::kJumpNe:
    case Op::kJumpLtS:
    case Op::kJumpLeS:
    case Op::kJumpLtU:
    case Op::kJumpLeU:
      return {pc + 1, near(i.c)};
    case Op::kMapNext:
      return {pc + 1, near(i.b)};
    case Op::kReturn:
    case Op::kReturnVoid:
    case Op::kTrap:
      return {};
    case Op::kSwitch: {
      const SwitchTable& table = f.switches[i.bc()];
      std::vector<uint32_t> to = {table.otherwise};
      for (const auto& [value, target] : table.cases) to.push_back(target);
      return to;
    }
    default:
      return {pc + 1};
  }
}

bool LooksAtMemory(Op op) {
  switch (InfoOf(op).group) {
    case CostGroup::kCopy:
    case CostGroup::kTask:
    case CostGroup::kDsdMake:
    case CostGroup::kDsdInc:
    case CostGroup::kDsd:
    case CostGroup::kDsrLoad:
    case CostGroup::kMap:
    case CostGroup::kNative:
    case CostGroup::kCall:
      return true;
    default:
      return false;
  }
}

Liveness::Liveness(const CodeClass& code, const Function& f)
    : words_((f.register_count + 63u) / 64),
      live_(f.code.size() * words_),
      observed_(f.code.size() * words_) {
  const auto size = static_cast<uint32_t>(f.code.size());
  std::vector<Effects> effects;
  std::vector<std::vector<uint32_t>> successors;
  for (uint32_t pc = 0; pc < size; ++pc) {
    effects.push_back(EffectsOf(code, f.code[pc]));
    successors.push_back(SuccessorsOf(f, pc));
  }
  // Backwards until nothing changes: what the successors want, less what is written here, and what
  // `add` puts to it.
  const auto solve = [&](std::vector<uint64_t>& bits, auto add) {
    std::vector<uint64_t> now(words_);
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t pc = size; pc-- > 0;) {
        std::fill(now.begin(), now.end(), 0);
        for (const uint32_t next : successors[pc]) {
          for (size_t w = 0; w < words_; ++w) now[w] |= bits[next * words_ + w];
        }
        for (const uint16_t r : effects[pc].defs) now[r / 64] &= ~(uint64_t{1} << (r % 64));
        add(pc, now);
        for (size_t w = 0; w < words_; ++w) {
          changed |= bits[pc * words_ + w] != now[w];
          bits[pc * words_ + w] = now[w];
        }
      }
    }
  };
  solve(live_, [&](uint32_t pc, std::vector<uint64_t>& now) {
    for (const uint16_t r : effects[pc].uses) now[r / 64] |= uint64_t{1} << (r % 64);
  });
  solve(observed_, [&](uint32_t pc, std::vector<uint64_t>& now) {
    if (!LooksAtMemory(static_cast<Op>(f.code[pc].op))) return;
    for (size_t w = 0; w < words_; ++w) now[w] |= live_[pc * words_ + w];
  });
}

std::vector<uint16_t> Liveness::LiveAt(uint32_t pc) const {
  std::vector<uint16_t> regs;
  for (size_t w = 0; w < words_; ++w) {
    for (uint64_t bits = live_[pc * words_ + w]; bits != 0; bits &= bits - 1)
      regs.push_back(static_cast<uint16_t>(w * 64 + static_cast<size_t>(std::countr_zero(bits))));
  }
  return regs;
}

}  // namespace szarena::fabric::native
