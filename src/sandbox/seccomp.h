// SPDX-License-Identifier: Apache-2.0
// System-call filters as BPF programs in anonymous files.
#pragma once

#include "base/error.h"
#include "os/fd.h"

namespace szarena::sandbox {

// Which sockets a filter lets through.
enum class Sockets : unsigned char {
  kNone,
  kLocal,  // family AF_UNIX (libcuda opens one when it starts); names are those of the sandbox's
           // own network namespace
  kAll,    // for agent programs, whose network has nothing but a loopback interface; file locks and
           // watches, too
};

// For everything that runs in a sandbox: no sockets but those named, tracing, mounts, namespaces,
// keys, BPF, performance counters, io_uring, asynchronous I/O, System V IPC, clocks set, or
// modules. Refused calls give EPERM. `allow_fork` false: one process for ever (threads are
// allowed), no other program, no signals to others; to be installed by a program after it was
// started.
Result<os::UniqueFd> MakeFilter(bool allow_fork, Sockets sockets = Sockets::kNone);

}  // namespace szarena::sandbox
