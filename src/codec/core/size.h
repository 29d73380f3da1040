// SPDX-License-Identifier: Apache-2.0
// 64-bit size arithmetic that says when a result does not fit.
#pragma once

#include <cstdint>
#include <optional>

namespace szarena::codec {

constexpr uint64_t CeilDiv(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

constexpr std::optional<uint64_t> CheckedAdd(std::optional<uint64_t> a, std::optional<uint64_t> b) {
  uint64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

constexpr std::optional<uint64_t> CheckedMul(std::optional<uint64_t> a, std::optional<uint64_t> b) {
  uint64_t product = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) return std::nullopt;
  return product;
}

}  // namespace szarena::codec
