// SPDX-License-Identifier: Apache-2.0
// Makes small programs by hand, for tests and benchmarks of the machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bytecode/builder.h"

namespace szarena::fabric::testing {

using namespace bytecode;

// One class, to which code, globals and bindings are added.
class ClassKit {
 public:
  explicit ClassKit(Program& p, uint32_t index) : program_(p), index_(index) {}
  CodeClass& get() { return program_.classes[index_]; }
  uint32_t index() const { return index_; }

  // A global array of `bytes` (unwritten), and one with values.
  uint16_t Global(const std::string& name, uint32_t bytes, uint8_t elem_size = 2);
  uint16_t Words(const std::string& name, const std::vector<uint16_t>& values);
  uint16_t Floats(const std::string& name, const std::vector<float>& values);
  // A descriptor in descriptor space; its address.
  uint16_t Dsd(const Descriptor& d);
  // Exported pointer to an address, and exported function.
  uint32_t ExportPointer(const std::string& name, uint16_t target, uint8_t elem_size);
  uint32_t ExportFunction(const std::string& name, uint32_t function);
  void Task(TaskKind kind, uint32_t id, uint32_t function, bool high = false) {
    get().tasks.push_back({kind, static_cast<uint8_t>(id), function, high});
  }
  void Queue(bool output, uint32_t queue, uint32_t color) {
    get().queues.push_back({output, static_cast<uint8_t>(queue), static_cast<uint8_t>(color),
                            Priority::kDefault, 0xff});
  }
  uint32_t AddDsdOp(DsdOpInfo info) {
    get().dsd_ops.push_back(info);
    return static_cast<uint32_t>(get().dsd_ops.size() - 1);
  }
  // A function of no arguments whose code `body` writes.
  template <typename Body>
  uint32_t Fn(const std::string& name, Body body, std::vector<ScalarType> params = {},
              bool returns_value = false) {
    FunctionBuilder b(get(), name, std::move(params), returns_value);
    b.At(0, ++line_);
    body(b);
    return b.FinishInto().value();
  }

 private:
  Program& program_;
  uint32_t index_;
  uint32_t line_ = 0;
};

class ProgramKit {
 public:
  ProgramKit(int width, int height, Arch arch = Arch::kWse2);
  ClassKit AddClass(const std::string& name);
  void Place(int x, int y, const ClassKit& c) { program_.pes[At(x, y)].code_class = c.index(); }
  void PlaceAll(const ClassKit& c);
  // A colour's routes on one PE; `more` for switches and filters.
  ColorRoute& Route(int x, int y, uint32_t color, std::initializer_list<Direction> rx,
                    std::initializer_list<Direction> tx);
  Program& get() { return program_; }
  std::shared_ptr<const Program> Build() const { return std::make_shared<const Program>(program_); }

 private:
  size_t At(int x, int y) const {
    return static_cast<size_t>(y) * program_.width + static_cast<size_t>(x);
  }
  Program program_;
};

uint8_t Set(std::initializer_list<Direction> directions);

// Descriptors.
Descriptor Mem(uint16_t base, uint16_t extent, uint8_t elem_size, int16_t stride = 1);
Descriptor FabIn(uint8_t queue, uint8_t color, uint16_t extent);
Descriptor FabOut(uint8_t queue, uint8_t color, uint16_t extent);

// Operands.
inline Operand At(uint16_t descriptor_address) {
  return {OperandKind::kDescriptorConst, ScalarType::kU16, descriptor_address};
}
inline Operand Scalar(Reg r, ScalarType t) { return {OperandKind::kScalar, t, r}; }
inline Operand Pointer(Reg r, ScalarType t) { return {OperandKind::kPointer, t, r}; }
inline Operand Dsr(DsrFile f, uint32_t i) {
  return {OperandKind::kDsr, ScalarType::kU16, DsrHandle(f, i)};
}
inline Operand Fifo(uint32_t i) { return {OperandKind::kFifo, ScalarType::kU16, i}; }

// `dest = op(src...)` as a statement.
void EmitDsd(FunctionBuilder& b, ClassKit& c, DsdOpInfo info);
inline DsdOpInfo MakeDsd(DsdOp op, Operand dest, std::initializer_list<Operand> src) {
  DsdOpInfo d;
  d.op = op;
  d.dest = dest;
  int i = 0;
  for (const Operand& o : src) d.src[i++] = o;
  return d;
}
// unblock_cmd_stream()
void EmitUnblock(FunctionBuilder& b);

}  // namespace szarena::fabric::testing
