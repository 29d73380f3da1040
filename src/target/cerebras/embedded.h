// SPDX-License-Identifier: Apache-2.0
// The wafer driver and the host program for the SDK, which travel inside whatever links this room.
#pragma once

#include <string_view>

namespace szarena::target::cerebras {

std::string_view DriverProgram();   // an ELF executable
std::string_view SdkHostProgram();  // sdk_host.py

}  // namespace szarena::target::cerebras
