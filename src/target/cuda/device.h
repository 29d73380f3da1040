// SPDX-License-Identifier: Apache-2.0
// The CUDA device of this machine: what a process in the sandbox needs to reach it, and what it can
// do.
#pragma once

#include <string>

#include "target/backend.h"

namespace szarena::target::cuda {

// Where the CUDA driver's library lies: LD_LIBRARY_PATH and the usual folders are looked through.
// Empty: nowhere.
std::string FindDriverLibraryFolder();

// Device 0, asked by the driver program in the sandbox, where no candidate's code has run.
// kUnavailable says what is missing.
Result<DeviceAccess> FindDevice(const sandbox::Sandbox& sandbox);
// The same with the CUDA driver's library of `folder`, for tests.
Result<DeviceAccess> FindDeviceWith(const sandbox::Sandbox& sandbox, const std::string& folder);

// The -arch for nvcc: that of device 0, or sm_90.
std::string TargetArchitecture(const sandbox::Sandbox& sandbox);

}  // namespace szarena::target::cuda
