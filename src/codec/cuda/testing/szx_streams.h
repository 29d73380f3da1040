// SPDX-License-Identifier: Apache-2.0
// SZx streams that our own writer does not make.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "codec/core/size.h"
#include "codec/szx/block.h"

namespace szarena::codec::cuda {

// A stream as a writer with another block size makes it.
template <class T>
std::vector<std::byte> WithBlockSize(const std::vector<T>& values, size_t block_values,
                                     szx::Mode mode, double eb) {
  const auto bound = szx::MakeBound<T>(eb).value();
  const size_t blocks = CeilDiv(values.size(), block_values);
  std::vector<uint8_t> sizes, states(CeilDiv(blocks, 8)), medians, coded;
  uint64_t constant = 0;
  for (size_t b = 0; b < blocks; ++b) {
    const auto* first = reinterpret_cast<const std::byte*>(values.data() + b * block_values);
    const size_t count = std::min(block_values, values.size() - b * block_values);
    const auto plan = szx::PlanBlock<T>(first, count, bound);
    if (plan.constant) {
      ++constant;
      uint8_t bytes[sizeof(T)];
      std::memcpy(bytes, &plan.median, sizeof(T));
      medians.insert(medians.end(), std::reverse_iterator(bytes + sizeof(T)),
                     std::reverse_iterator(bytes));
      continue;
    }
    std::vector<uint8_t> block(szx::MaxBlockBytes<T>(count));
    const size_t size = szx::WriteBlock<T>(first, count, plan, block.data());
    coded.insert(coded.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(size));
    sizes.push_back(static_cast<uint8_t>(size));
    sizes.push_back(static_cast<uint8_t>(size >> 8));
    states[b / 8] |= static_cast<uint8_t>(0x80 >> (b % 8));
  }
  std::vector<uint8_t> stream(szx::HeaderBytes(mode));
  szx::WriteHeader<T>({.mode = mode, .block_values = block_values, .constant_blocks = constant},
                      stream.data());
  if (mode == szx::Mode::kRandomAccess) stream.insert(stream.end(), sizes.begin(), sizes.end());
  stream.insert(stream.end(), states.begin(), states.end());
  stream.insert(stream.end(), medians.begin(), medians.end());
  stream.insert(stream.end(), coded.begin(), coded.end());
  const auto bytes = std::as_bytes(std::span(stream));
  return {bytes.begin(), bytes.end()};
}

}  // namespace szarena::codec::cuda
