// SPDX-License-Identifier: Apache-2.0
// Element types that the codecs know.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

namespace szarena::codec {

// Stored in containers: the numbers never change.
enum class DType : uint8_t { kF32 = 0, kF64 = 1 };

template <typename T>
concept Real = std::same_as<T, float> || std::same_as<T, double>;

template <Real T>
inline constexpr DType kDTypeOf = std::same_as<T, float> ? DType::kF32 : DType::kF64;

// Bytes of one element.
constexpr uint64_t SizeOf(DType dtype) { return dtype == DType::kF32 ? 4 : 8; }

// "f32" or "f64".
constexpr std::string_view DTypeName(DType dtype) { return dtype == DType::kF32 ? "f32" : "f64"; }

constexpr std::optional<DType> ParseDType(std::string_view name) {
  if (name == "f32") return DType::kF32;
  if (name == "f64") return DType::kF64;
  return std::nullopt;
}

}  // namespace szarena::codec
