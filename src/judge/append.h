// SPDX-License-Identifier: Apache-2.0
// Payloads that are put together value by value.
#pragma once

#include "base/bytes.h"
#include "judge/primitives.h"

namespace szarena::judge {

template <typename T>
void AppendLe(Bytes& to, T value) {
  to.resize(to.size() + sizeof value);
  StoreLe(to.data() + to.size() - sizeof value, value);
}

template <typename T>
void AppendBe(Bytes& to, T value) {
  to.resize(to.size() + sizeof value);
  StoreBe(to.data() + to.size() - sizeof value, value);
}

}  // namespace szarena::judge
