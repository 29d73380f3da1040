// SPDX-License-Identifier: Apache-2.0
// Borrowed arrays of f32 or f64. The data need not be aligned: elements are read with Load and
// written with Store, never through a typed pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "codec/core/dtype.h"

namespace szarena::codec {

template <Real T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <Real T>
void Store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// `count` elements of `dtype` that the caller keeps alive; `data` may be null where count is 0.
struct ConstArray {
  const std::byte* data = nullptr;
  uint64_t count = 0;
  DType dtype = DType::kF32;
};

struct MutableArray {
  std::byte* data = nullptr;
  uint64_t count = 0;
  DType dtype = DType::kF32;
};

template <Real T>
ConstArray ArrayOf(std::span<const T> values) {
  return {reinterpret_cast<const std::byte*>(values.data()), values.size(), kDTypeOf<T>};
}

template <Real T>
MutableArray ArrayOf(std::span<T> values)
  requires(!std::is_const_v<T>)
{
  return {reinterpret_cast<std::byte*>(values.data()), values.size(), kDTypeOf<T>};
}

}  // namespace szarena::codec
