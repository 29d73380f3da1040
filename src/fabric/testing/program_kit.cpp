// SPDX-License-Identifier: Apache-2.0
// See program_kit.h.
#include "fabric/testing/program_kit.h"

#include <algorithm>
#include <cstring>

namespace szarena::fabric::testing {

uint16_t ClassKit::Global(const std::string& name, uint32_t bytes, uint8_t elem_size) {
  CodeClass& c = get();
  c.stack_base = static_cast<uint16_t>((c.stack_base + 3u) & ~3u);
  const uint16_t at = c.stack_base;
  c.stack_base = static_cast<uint16_t>(c.stack_base + ((bytes + 1) & ~1u));
  Symbol s;
  s.name = name;
  s.type = "array";
  s.address = at;
  s.size = bytes;
  s.elem_size = elem_size;
  c.symbols.push_back(s);
  return at;
}

uint16_t ClassKit::Words(const std::string& name, const std::vector<uint16_t>& values) {
  const uint16_t at = Global(name, static_cast<uint32_t>(values.size() * 2));
  Segment s;
  s.address = at;
  s.bytes.resize(values.size() * 2);
  std::memcpy(s.bytes.data(), values.data(), s.bytes.size());
  get().image.push_back(s);
  return at;
}

uint16_t ClassKit::Floats(const std::string& name, const std::vector<float>& values) {
  const uint16_t at = Global(name, static_cast<uint32_t>(values.size() * 4), 4);
  Segment s;
  s.address = at;
  s.bytes.resize(values.size() * 4);
  std::memcpy(s.bytes.data(), values.data(), s.bytes.size());
  get().image.push_back(s);
  return at;
}

uint16_t ClassKit::Dsd(const Descriptor& d) {
  CodeClass& c = get();
  const uint16_t at = c.descriptor_stack_base;
  c.descriptor_stack_base = static_cast<uint16_t>(c.descriptor_stack_base + kDescriptorBytes);
  Segment s;
  s.address = at;
  s.bytes.resize(kDescriptorBytes);
  Encode(d, std::span<uint8_t, kDescriptorBytes>(s.bytes.data(), kDescriptorBytes));
  c.image.push_back(s);
  return at;
}

namespace {
uint32_t ExportNamed(Program& p, const std::string& name, ExportKind kind) {
  for (uint32_t i = 0; i < p.exports.size(); ++i) {
    if (p.exports[i].name == name) return i;
  }
  Export e;
  e.name = name;
  e.kind = kind;
  p.exports.push_back(e);
  return static_cast<uint32_t>(p.exports.size() - 1);
}
}  // namespace

uint32_t ClassKit::ExportPointer(const std::string& name, uint16_t target, uint8_t elem_size) {
  const uint32_t id = ExportNamed(program_, name, ExportKind::kVariable);
  program_.exports[id].elem_size = elem_size;
  ExportBinding b;
  b.export_id = id;
  b.constant = true;
  b.value = target;
  get().exports.push_back(b);
  return id;
}

uint32_t ClassKit::ExportFunction(const std::string& name, uint32_t function) {
  const uint32_t id = ExportNamed(program_, name, ExportKind::kFunction);
  program_.exports[id].params = get().functions[function].params;
  ExportBinding b;
  b.export_id = id;
  b.is_function = true;
  b.function = function;
  get().exports.push_back(b);
  return id;
}

ProgramKit::ProgramKit(int width, int height, Arch arch) {
  program_.name = "kit";
  program_.arch = arch;
  program_.width = static_cast<uint16_t>(width);
  program_.height = static_cast<uint16_t>(height);
  program_.memcpy = true;
  program_.channels = 1;
  program_.files = {"kit.csl"};
  program_.routers.resize(1);
  program_.pes.resize(static_cast<size_t>(width) * static_cast<size_t>(height));
}

ClassKit ProgramKit::AddClass(const std::string& name) {
  program_.classes.emplace_back().name = name;
  return ClassKit(program_, static_cast<uint32_t>(program_.classes.size() - 1));
}

void ProgramKit::PlaceAll(const ClassKit& c) {
  for (Region& r : program_.pes) r.code_class = c.index();
}

uint8_t Set(std::initializer_list<Direction> directions) {
  uint8_t bits = 0;
  for (const Direction d : directions) bits = static_cast<uint8_t>(bits | BitOf(d));
  return bits;
}

ColorRoute& ProgramKit::Route(int x, int y, uint32_t color, std::initializer_list<Direction> rx,
                              std::initializer_list<Direction> tx) {
  Region& r = program_.pes[At(x, y)];
  if (r.router == 0) {
    program_.routers.emplace_back();
    r.router = static_cast<uint32_t>(program_.routers.size() - 1);
  }
  auto& colors = program_.routers[r.router].colors;
  ColorRoute route;
  route.color = static_cast<uint8_t>(color);
  route.rx = Set(rx);
  route.tx = Set(tx);
  const auto it = std::lower_bound(colors.begin(), colors.end(), color,
                                   [](const ColorRoute& a, uint32_t c) { return a.color < c; });
  return *colors.insert(it, route);
}

Descriptor Mem(uint16_t base, uint16_t extent, uint8_t elem_size, int16_t stride) {
  Descriptor d;
  d.kind = DsdKind::kMem1d;
  d.base = base;
  d.elem_size = elem_size;
  d.extent[0] = extent;
  d.stride[0] = stride;
  return d;
}

Descriptor FabIn(uint8_t queue, uint8_t color, uint16_t extent) {
  Descriptor d;
  d.kind = DsdKind::kFabin;
  d.queue = queue;
  d.color = color;
  d.extent[0] = extent;
  return d;
}

Descriptor FabOut(uint8_t queue, uint8_t color, uint16_t extent) {
  Descriptor d = FabIn(queue, color, extent);
  d.kind = DsdKind::kFabout;
  return d;
}

void EmitDsd(FunctionBuilder& b, ClassKit& c, DsdOpInfo info) {
  b.EmitWide(Op::kDsd, b.NewReg(), c.AddDsdOp(info));
}

void EmitUnblock(FunctionBuilder& b) {
  b.Emit(Op::kNative, b.NewReg(), 0, static_cast<uint16_t>(Native::k_unblock_cmd_stream));
}

}  // namespace szarena::fabric::testing
