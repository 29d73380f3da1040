// SPDX-License-Identifier: Apache-2.0
// @map: a loop over the elements of its operands; the callback is called by the bytecode between
// Next and Put.
#include <algorithm>

#include "fabric/interp/operand.h"

namespace szarena::fabric {
using namespace bytecode;
namespace {

char LetterOf(ScalarType t) { return SizeOf(t) >= 4 ? 'l' : 'w'; }

uint64_t Extend(uint32_t v, ScalarType t) {
  switch (t) {
    case ScalarType::kI8:
      return static_cast<uint64_t>(SignExtend(v, 8));
    case ScalarType::kI16:
      return static_cast<uint64_t>(SignExtend(v, 16));
    case ScalarType::kI32:
      return static_cast<uint64_t>(SignExtend(v, 32));
    default:
      return v;
  }
}

bool IsVisible(const OperandState& o) {
  return o.cls == OperandClass::kFabIn || o.cls == OperandClass::kFabOut ||
         o.cls == OperandClass::kFifo;
}

}  // namespace

StartResult StartMap(Core& core, Pe& pe, uint32_t map, const uint64_t* regs, Place place) {
  const MapInfo& info = pe.cls->code->maps[map];
  MapState m;
  m.map = map;
  uint32_t length = kNoIndex;
  for (const Operand& o : info.inputs) {
    OperandState s;
    if (o.kind == OperandKind::kScalar) {
      s.cls = OperandClass::kNone;  // passed on from its register: kept with the frame's registers
    } else if (!MakeOperand(core, pe, o, LetterOf(o.type), false, regs, s, nullptr, place)) {
      return {Started::kHalted};
    }
    if (s.cls == OperandClass::kMemory || s.cls == OperandClass::kFabIn) {
      if (!s.pointer) length = std::min(length, s.length());
    }
    m.inputs.push_back(s);
  }
  if (info.output.kind != OperandKind::kNone) {
    if (!MakeOperand(core, pe, info.output, LetterOf(info.output.type), true, regs, m.output,
                     nullptr, place))
      return {Started::kHalted};
    if (m.output.cls != OperandClass::kFifo && !m.output.pointer)
      length = std::min(length, m.output.length());
  }
  m.length = length == kNoIndex ? 1 : length;
  pe.thread->maps.push_back(std::move(m));
  return {};
}

MapStep NextMap(Core& core, Pe& pe, const uint64_t* regs, uint64_t* window, uint64_t clock,
                Place place) {
  MapState& m = pe.thread->maps.back();
  const MapInfo& info = pe.cls->code->maps[m.map];
  const auto end = [&] {
    for (const OperandState& o : m.inputs) SaveDsr(pe, o);
    SaveDsr(pe, m.output);
    pe.thread->maps.pop_back();
    return MapStep::kExhausted;
  };
  if (m.done == m.length && m.length != kInfiniteExtent) return end();
  for (OperandState& o : m.inputs) {
    if (!IsVisible(o)) continue;
    if (clock > core.now) return MapStep::kLater;
    const Ready ready = CanRead(core, pe, o);
    if (ready == Ready::kNo) {
      if (o.cls == OperandClass::kFifo) return end();
      return MapStep::kWait;
    }
  }
  for (size_t i = 0; i < m.inputs.size(); ++i) {
    OperandState& o = m.inputs[i];
    const Operand& operand = info.inputs[i];
    window[i] = o.cls == OperandClass::kNone ? regs[operand.value]
                                             : Extend(ReadOne(core, pe, o, place), operand.type);
  }
  ++m.done;
  ++pe.count.elements;
  return MapStep::kElement;
}

MapStep PutMap(Core& core, Pe& pe, uint64_t value, uint64_t clock) {
  MapState& m = pe.thread->maps.back();
  if (m.output.cls == OperandClass::kNone) return MapStep::kElement;
  if (IsVisible(m.output)) {
    if (clock > core.now) return MapStep::kLater;
    if (!CanWrite(core, pe, m.output, m.done == m.length)) return MapStep::kWait;
  }
  WriteOne(core, pe, m.output, static_cast<uint32_t>(value), m.done == m.length, 0);
  return MapStep::kElement;
}

}  // namespace szarena::fabric
