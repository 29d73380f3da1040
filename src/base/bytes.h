// SPDX-License-Identifier: Apache-2.0
// Unaligned, endian-explicit loads and stores of trivially copyable values.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace szarena {

static_assert(std::endian::native == std::endian::little, "the byte helpers assume little endian");

template <typename T>
  requires std::is_trivially_copyable_v<T>
T LoadLe(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
  requires std::is_trivially_copyable_v<T>
void StoreLe(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <typename T>
  requires std::is_trivially_copyable_v<T>
T LoadBe(const void* from) {
  std::array<unsigned char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), from, sizeof(T));
  std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

template <typename T>
  requires std::is_trivially_copyable_v<T>
void StoreBe(void* to, T value) {
  auto bytes = std::bit_cast<std::array<unsigned char, sizeof(T)>>(value);
  std::reverse(bytes.begin(), bytes.end());
  std::memcpy(to, bytes.data(), sizeof(T));
}

}  // namespace szarena
