// SPDX-License-Identifier: Apache-2.0
// Memory of a code class: globals from the bottom, then the stack; the report of what takes how
// much.
#include "csl/emit/class_builder.h"

#include <fmt/format.h>

#include <algorithm>

namespace szarena::csl {

namespace {

// Bytes of native code that one instruction of the bytecode stands for (docs/csl/decisions.md,
// "Size of code"): an estimate, labelled so in the report.
constexpr uint32_t kCodeBytesPerInstruction = 4;

uint32_t AlignUp(uint32_t offset, uint32_t align) { return (offset + align - 1) / align * align; }

}  // namespace

std::optional<uint16_t> ClassBuilder::Allocate(const std::string& name, const std::string& what,
                                               uint32_t bytes, uint32_t align,
                                               bool in_descriptor_space) {
  uint32_t& next = in_descriptor_space ? next_descriptor_ : next_;
  const uint32_t limit = in_descriptor_space ? bytecode::kRegisterBase : bytecode::kSramBytes;
  // Vectors begin in the first of the 8 memory banks. (A public program also negates a few elements
  // behind a short array and back: harmless where the padding is.)
  constexpr uint32_t kBankRow = 16;
  if (!in_descriptor_space && what.starts_with("[") && bytes >= 8)
    align = std::max(align, kBankRow);
  uint32_t address = AlignUp(next, std::max<uint32_t>(align, 1));
  if (!in_descriptor_space) {
    for (const auto& [start, end] : sections_) {  // sorted: one pass steps over all in the way
      if (address < end && address + bytes > start)
        address = AlignUp(end, std::max<uint32_t>(align, 1));
    }
  }
  if (address > limit || bytes > limit - address) {
    if (!in_descriptor_space) code_.memory.push_back({name, what, bytes});
    return std::nullopt;
  }
  next = address + bytes;
  if (!in_descriptor_space) code_.memory.push_back({name, what, bytes});
  // A place of no bytes at the very end still needs an address that fits.
  return static_cast<uint16_t>(std::min<uint32_t>(address, limit - 1));
}

std::optional<uint16_t> ClassBuilder::AllocateInSection(const std::string& name,
                                                        const std::string& what, uint32_t bytes,
                                                        uint32_t align, uint32_t section_start) {
  uint32_t& free = sections_.try_emplace(section_start, section_start).first->second;
  const uint32_t address = AlignUp(free, std::max<uint32_t>(align, 1));
  bool is_free = address >= next_ && address <= bytecode::kSramBytes &&
                 bytes <= bytecode::kSramBytes - address;
  const auto following = sections_.upper_bound(section_start);
  if (following != sections_.end() && address + bytes > following->first) is_free = false;
  if (!is_free) return std::nullopt;
  free = address + bytes;
  code_.memory.push_back({name, what, bytes});
  return static_cast<uint16_t>(std::min<uint32_t>(address, bytecode::kSramBytes - 1));
}

std::string ClassBuilder::LargestItems() const {
  std::vector<bytecode::MemoryItem> items = code_.memory;
  std::stable_sort(items.begin(), items.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  constexpr size_t kShown = 5;
  std::string out;
  for (size_t i = 0; i < items.size() && i < kShown; ++i) {
    out += fmt::format("{}'{}' {} bytes", i == 0 ? "" : ", ", items[i].name, items[i].bytes);
  }
  return out;
}

void ClassBuilder::Finish() {
  // The stack grows upwards: it starts above everything.
  uint32_t top = next_;
  for (const auto& [start, end] : sections_) top = std::max(top, end);
  code_.stack_base = static_cast<uint16_t>(std::min(AlignUp(top, 4), bytecode::kSramBytes - 1));
  code_.descriptor_stack_base =
      static_cast<uint16_t>(std::min(AlignUp(next_descriptor_, 32), uint32_t{0xffff}));
  uint32_t instructions = 0;
  uint32_t frame = 0;
  for (const bytecode::Function& function : code_.functions) {
    instructions += static_cast<uint32_t>(function.code.size());
    frame = std::max<uint32_t>(frame, function.frame_bytes);
  }
  code_.memory.push_back({"(code)", "code (estimated)", instructions * kCodeBytesPerInstruction});
  if (frame != 0) code_.memory.push_back({"(largest frame)", "stack", frame});
  std::stable_sort(code_.memory.begin(), code_.memory.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
}

}  // namespace szarena::csl
