// SPDX-License-Identifier: Apache-2.0
// Compiles and runs the programs of tests/csl/cost: PE code, a line "//--- layout", the layout.
// Each measures itself into `cycles`.
#pragma once

#include <string>

#include "base/error.h"

namespace szarena {

// The largest `cycles` of all PEs.
Result<uint64_t> CyclesOf(const std::string& path, const std::string& arch);

}  // namespace szarena
