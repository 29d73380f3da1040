// SPDX-License-Identifier: Apache-2.0
// csl-view TRACE [-o FILE.html]: a trace of the simulated fabric as one HTML page.
#include <cstdio>
#include <cstring>
#include <string>

#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "fabric/trace/reader.h"
#include "fabric/view/page.h"

namespace {
constexpr const char* kUsage =
    "usage: csl-view TRACE [-o FILE.html]\n"
    "\n"
    "Makes one HTML page of a trace of the simulated fabric: the PEs over time, links by colour, "
    "each PE's timeline, what it waits for.\n"
    "  -o FILE.html   where to write it (default: TRACE.html)\n"
    "Record a trace with cs_python --trace=FILE, or with SZARENA_TRACE=FILE in the environment.\n";
}

int main(int argc, char** argv) {
  using namespace szarena;
  std::string input;
  std::string output;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "-h" || a == "--help") {
      std::fputs(kUsage, stdout);
      return 0;
    }
    if (a == "-o" && i + 1 < argc) {
      output = argv[++i];
    } else if (input.empty() && !a.empty() && a[0] != '-') {
      input = a;
    } else {
      std::fprintf(stderr, "csl-view: error: '%s' is not expected\n%s", a.c_str(), kUsage);
      return static_cast<int>(ExitCode::kBadUsage);
    }
  }
  if (input.empty()) {
    std::fputs(kUsage, stderr);
    return static_cast<int>(ExitCode::kBadUsage);
  }
  if (output.empty()) output = input + ".html";
  const auto fail = [](const Error& e) {
    std::fprintf(stderr, "csl-view: error: %s\n", e.ToString().c_str());
    return static_cast<int>(ExitCodeFor(e.code));
  };
  const auto t = fabric::trace::Read(input, fabric::trace::HalfChunk::kLeftOut);
  if (!t) return fail(t.error());
  if (!t->complete)
    std::fprintf(
        stderr,
        "csl-view: warning: '%s' is the trace of a run that was cut short; its end is missing\n",
        input.c_str());
  if (auto written = WriteFileAtomically(output, fabric::view::MakePage(*t)); !written)
    return fail(written.error());
  std::printf("csl-view: %s: %u x %u PEs, %llu cycles, written to %s\n", input.c_str(),
              t->header.width, t->header.height, static_cast<unsigned long long>(t->cycles),
              output.c_str());
  return 0;
}
