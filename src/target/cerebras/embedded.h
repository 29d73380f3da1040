// SPDX-License-Identifier: Apache-2.0
// The wafer driver, which travels inside whatever links this room.
#pragma once

#include <string_view>

namespace szarena::target::cerebras {

std::string_view DriverProgram();  // an ELF executable

}  // namespace szarena::target::cerebras
