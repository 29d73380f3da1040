// SPDX-License-Identifier: Apache-2.0
// The code class under construction: hands out memory of the PE and knows what takes it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "bytecode/program.h"

namespace szarena::csl {

class ClassBuilder {
 public:
  ClassBuilder() = default;
  ClassBuilder(const ClassBuilder&) = delete;
  ClassBuilder& operator=(const ClassBuilder&) = delete;

  bytecode::CodeClass& code() { return code_; }

  // An address for `bytes` bytes in SRAM, or in descriptor space; nothing where the space is full.
  // `name` and `what` go to the memory report.
  std::optional<uint16_t> Allocate(const std::string& name, const std::string& what, uint32_t bytes,
                                   uint32_t align, bool in_descriptor_space);

  // Memory that starts at `section_start` and belongs to a linker section; `next` is what is free
  // in it.
  std::optional<uint16_t> AllocateInSection(const std::string& name, const std::string& what,
                                            uint32_t bytes, uint32_t align, uint32_t section_start);

  // "A (4096 bytes), B (…)": for the message about a full memory.
  std::string LargestItems() const;

  // Stack bases, sizes of stack and code in the memory report. Call when all functions are there.
  void Finish();

  bool out_of_memory_reported = false;

 private:
  bytecode::CodeClass code_;
  uint32_t next_ = 0;
  std::map<uint32_t, uint32_t> sections_;  // start of a section to its first free byte
  uint32_t next_descriptor_ = bytecode::kDescriptorBase;
};

}  // namespace szarena::csl
