// SPDX-License-Identifier: Apache-2.0
// System-call filters as BPF programs in anonymous files.
#pragma once

#include "base/error.h"
#include "os/fd.h"

namespace szarena::sandbox {

// For everything that runs in a sandbox: no sockets, tracing, mounts, namespaces, keys, BPF, performance counters, io_uring,
// asynchronous I/O, System V IPC, clocks set, or modules. Refused calls give EPERM. `allow_fork` false: one process for
// ever (threads are allowed), no other program, no signals to others; to be installed by a program after it was started.
// `local_sockets`: sockets of family AF_UNIX are let through (libcuda opens one when it starts; names are those of the
// sandbox's own network namespace).
Result<os::UniqueFd> MakeFilter(bool allow_fork, bool local_sockets = false);

}  // namespace szarena::sandbox
