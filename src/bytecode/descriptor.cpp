// SPDX-License-Identifier: Apache-2.0
// Encoding of descriptors and their printed form.
#include "bytecode/descriptor.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace szarena::bytecode {

void Encode(const Descriptor& d, std::span<uint8_t, kDescriptorBytes> out) {
  uint8_t* p = out.data();
  p[0] = static_cast<uint8_t>(d.kind);
  p[1] = d.elem_size;
  const unsigned flags = (d.wavelet_index_offset ? 1u : 0u) | (d.control ? 2u : 0u) |
                         (d.zero_first_source ? 4u : 0u) | (d.zero_second_source ? 8u : 0u) |
                         (d.advance_switch ? 16u : 0u) | (d.control_transform ? 32u : 0u) |
                         static_cast<unsigned>(d.simd) << 8 |
                         static_cast<unsigned>(d.priority) << 10;
  StoreLe<uint16_t>(p + 2, static_cast<uint16_t>(flags));
  StoreLe<uint16_t>(p + 4, d.base);
  for (size_t k = 0; k < 4; ++k) {
    StoreLe<uint16_t>(p + 6 + 2 * k, d.extent[k]);
    StoreLe<int16_t>(p + 14 + 2 * k, d.stride[k]);
  }
  StoreLe<uint16_t>(p + 22, d.lo);
  StoreLe<uint16_t>(p + 24, d.hi);
  p[26] = d.color;
  p[27] = d.queue;
  StoreLe<uint16_t>(p + 28, d.wrap);
  p[30] = d.rank;
  p[31] = d.position;
}

Descriptor Decode(std::span<const uint8_t, kDescriptorBytes> in) {
  const uint8_t* p = in.data();
  Descriptor d;
  d.kind = static_cast<DsdKind>(p[0]);
  d.elem_size = p[1];
  const unsigned flags = LoadLe<uint16_t>(p + 2);
  d.wavelet_index_offset = (flags & 1) != 0;
  d.control = (flags & 2) != 0;
  d.zero_first_source = (flags & 4) != 0;
  d.zero_second_source = (flags & 8) != 0;
  d.advance_switch = (flags & 16) != 0;
  d.control_transform = (flags & 32) != 0;
  d.simd = static_cast<SimdMode>(flags >> 8 & 3);
  d.priority = static_cast<Priority>(flags >> 10 & 3);
  d.base = LoadLe<uint16_t>(p + 4);
  for (size_t k = 0; k < 4; ++k) {
    d.extent[k] = LoadLe<uint16_t>(p + 6 + 2 * k);
    d.stride[k] = LoadLe<int16_t>(p + 14 + 2 * k);
  }
  d.lo = LoadLe<uint16_t>(p + 22);
  d.hi = LoadLe<uint16_t>(p + 24);
  d.color = p[26];
  d.queue = p[27];
  d.wrap = LoadLe<uint16_t>(p + 28);
  d.rank = p[30];
  d.position = p[31];
  return d;
}

bool IsDsdField(uint16_t offset) {
  return offset <= 1 || (offset <= 24 && offset % 2 == 0) || offset == 26 || offset == 27 ||
         offset == 28 || offset == 30;
}

std::string Descriptor::ToString() const {
  static constexpr const char* kNames[] = {"none", "mem1d", "mem4d", "circbuf", "fabin", "fabout"};
  const auto k = static_cast<size_t>(kind);
  if (k >= std::size(kNames)) return fmt::format("dsd(kind {})", k);
  std::string s = fmt::format("{}(", kNames[k]);
  if (is_fabric()) {
    s += fmt::format("extent {}, color {}, queue {}", extent[0], color, queue);
    if (control) s += ", control";
    if (advance_switch) s += ", advance_switch";
  } else {
    s += fmt::format("base 0x{:04x}, elem {}, loops", base, elem_size);
    for (size_t i = 0; i < rank && i < 4; ++i) s += fmt::format(" {}*{}", extent[i], stride[i]);
    if (kind == DsdKind::kCircbuf) s += fmt::format(", wrap {}", wrap);
    if (lo != hi) s += fmt::format(", in [0x{:04x}, 0x{:04x})", lo, hi);
  }
  if (wavelet_index_offset) s += ", wavelet_index_offset";
  return s + ")";
}

}  // namespace szarena::bytecode
