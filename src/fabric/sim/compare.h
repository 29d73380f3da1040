// SPDX-License-Identifier: Apache-2.0
// Do both back ends do the same with a program? For tests and fuzzers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "fabric/sim/fabric.h"

namespace szarena::fabric {

// Runs `drive` on a fresh fabric with the bytecode back end and on one with the native one, each
// followed by Stop(), and compares all that can be seen: how it ended, cycles, statistics of the
// fabric and of each PE, traps, waiting PEs, printed lines, debug traces, memory. The first
// difference in words, or
// "" where there is none. `options` but for back end, print and trace; it should limit the cycles.
// `drive` may return any failure: both must fail alike. Fails itself where a fabric cannot be made:
// kUnavailable where there is no native back end.
Result<std::string> CompareBackends(const std::shared_ptr<const bytecode::Program>& program,
                                    Options options,
                                    const std::function<Result<void>(Fabric&)>& drive);
// The same with RunUntilIdle().
Result<std::string> CompareBackends(const std::shared_ptr<const bytecode::Program>& program,
                                    Options options);

// Is there a native back end in this build and on this machine? If not, why: "" where there is.
std::string WhyNoNativeBackend();

}  // namespace szarena::fabric
