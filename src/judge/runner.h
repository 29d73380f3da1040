// SPDX-License-Identifier: Apache-2.0
// Runs one direction of one candidate on cases, in processes of its own, and checks what can be
// checked without knowing the right answer: crashes, time, return values, sizes, poison, guards.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "judge/platform.h"
#include "sandbox/sandbox.h"
#include "target/backend.h"
#include "target/worker.h"

namespace szarena::judge {

// A built library and where it runs.
struct Subject {
  const target::Backend* backend = nullptr;
  const sandbox::Sandbox* sandbox = nullptr;
  const TaskSpec* task = nullptr;
  std::string library;  // bytes
  int threads = 1;
  uint64_t cpu_seconds = 300;                    // of one process
  const target::DeviceAccess* device = nullptr;  // where its calls run on an accelerator
};

// Makes every call twice, in one fresh process: over poison and over inverted poison, with the data
// at the end and at the front of their pages. Stops at the first crash or timeout. An Error is the
// environment's or our own fault.
Result<RunReport> RunCalls(const Subject& subject, target::CallKind kind, std::vector<Call>& calls,
                           std::chrono::milliseconds call_timeout);

// A worker for the subject with room for these slots; `trace`: one that the device's tracer
// watches.
Result<target::Worker> StartWorker(const Subject& subject, size_t input_bytes, size_t output_bytes,
                                   bool trace = false);

// Bytes of the buffer that a call gets for its output.
Result<uint64_t> OutputCapacity(const TaskSpec& task, const szarena_problem& problem,
                                target::CallKind kind);

// The function's name: "szarena_compress".
std::string FunctionName(const Subject& subject, target::CallKind kind);

// The payload's place is inside the buffer, or why not.
std::optional<std::string> PayloadFault(const szarena_payload& payload, uint64_t capacity);

}  // namespace szarena::judge
