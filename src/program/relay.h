// SPDX-License-Identifier: Apache-2.0
// The relay program's bytes (relay_main.cpp).
#pragma once

#include <string_view>

namespace szarena::program {

std::string_view RelayProgram();

}  // namespace szarena::program
