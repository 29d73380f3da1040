// SPDX-License-Identifier: Apache-2.0
// Backend: what differs between targets whose candidates are libraries in a driver process.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "sandbox/sandbox.h"
#include "target/candidate.h"
#include "target/protocol.h"

namespace szarena::target {

struct BuildResult {
  bool ok = false;
  std::string library;  // bytes of the shared library, where ok
  std::string log;      // what the compiler said, cut to the useful part
  std::string reason;   // one line, where not ok
  double seconds = 0;
};

// What a process inside the sandbox needs to use an accelerator.
struct DeviceAccess {
  std::vector<std::string> nodes;      // device files
  std::vector<sandbox::Bind> folders;  // its libraries, where they lie outside the system's folders
  std::vector<std::pair<std::string, std::string>> env;
  std::string name;     // "NVIDIA H200, compute capability 9.0, driver 580.95 for CUDA 13.0; ..."
  double copy_gbs = 0;  // a copy on the device: bytes read plus bytes written, GB/s
  // The library that tells what runs on the device, as a process inside opens it; empty where there
  // is none that can be used, and then why.
  std::string tracer;
  std::string no_tracer;
};

// A tool that looks for faults which results need not show, and what came of it on one candidate.
struct ToolReport {
  enum class Status { kClean, kFindings, kNotRun };
  std::string tool;  // "compute-sanitizer memcheck"
  Status status = Status::kNotRun;
  std::string detail;  // what was found, or why it was not run
};
// A call to be made under such a tool.
struct ToolCall {
  CallKind kind = CallKind::kForward;
  szarena_problem problem = {};
  std::span<const std::byte> input;
  uint64_t output_size = 0;
};

struct Backend {
  std::string_view name;    // "cpu"
  std::string_view prefix;  // of the functions that a candidate exports: "szarena_"
  // Builds the candidate inside the sandbox. An Error means that the environment lacks something
  // (no compiler) or our own fault; sources that do not compile are a result.
  Result<BuildResult> (*build)(const sandbox::Sandbox& sandbox, const Candidate& candidate);
  // Bytes of the driver program (protocol.h).
  std::string_view (*driver)();
  // The accelerator that the candidates run on; null where they need none. kUnavailable says that
  // there is none.
  Result<DeviceAccess> (*device)(const sandbox::Sandbox& sandbox) = nullptr;
  // Makes calls under the target's tools; null where it has none.
  Result<std::vector<ToolReport>> (*tools)(const sandbox::Sandbox& sandbox,
                                           const DeviceAccess& device, const std::string& library,
                                           bool compressor,
                                           std::span<const ToolCall> calls) = nullptr;
};

}  // namespace szarena::target
