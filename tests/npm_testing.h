// SPDX-License-Identifier: Apache-2.0
// Programs from npm (tools/npm), for the tests that need them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "os/process.h"

namespace szarena {

// Where `./dev setup` put them.
inline std::string NpmBin() {
  return std::string(SZARENA_SOURCE_DIR) + "/build/npm/node_modules/.bin";
}

// A test begins with this: without them it is skipped, and counted as skipped.
#define SKIP_WITHOUT_NPM()                                                           \
  if (!std::filesystem::exists(szarena::NpmBin() + "/node")) {                       \
    GTEST_SKIP() << "the npm packages of tools/npm are not installed (./dev setup)"; \
  }

// A command that finds these programs, and node, first.
inline os::ProcessSpec NpmSpec(std::vector<std::string> argv) {
  os::ProcessSpec spec;
  spec.argv = std::move(argv);
  spec.inherit_env = true;
  const char* path = std::getenv("PATH");
  spec.env = {{"PATH", NpmBin() + ":" + (path != nullptr ? path : "/usr/bin:/bin")},
              {"NO_COLOR", "1"},
              {"CI", "1"}};
  return spec;
}

// A program of ours that prints its URL as its first line and ends with its standard input. What it
// prints goes to a file: nobody reads along.
class UrlServer {
 public:
  UrlServer(std::vector<std::string> argv, std::string log) : log_(std::move(log)) {
    int ends[2];
    if (pipe(ends) != 0) return;
    input_ = os::UniqueFd(ends[1]);
    const os::UniqueFd theirs(ends[0]);
    const os::UniqueFd output(open(log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    os::ProcessSpec spec;
    spec.argv = std::move(argv);
    spec.inherit_env = true;
    spec.fds = {{theirs.get(), 0}, {output.get(), 1}};
    auto process = os::Process::Start(spec);
    EXPECT_TRUE(process) << process.error().ToString();
    if (!process) return;
    process_.emplace(std::move(*process));
    for (int i = 0; i < 600 && url_.empty(); ++i) {
      const auto ended = process_->Wait(os::After(std::chrono::milliseconds(50)));
      const std::string out = Output();
      const size_t end = out.find('\n');
      if (end != std::string::npos) url_ = out.substr(0, end);
      if (!ended || *ended) break;
    }
    EXPECT_FALSE(url_.empty()) << process_->result().err;
  }
  const std::string& url() const { return url_; }
  // What it has printed so far.
  std::string Output() const {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  const std::string log_;
  os::UniqueFd input_;
  std::optional<os::Process> process_;
  std::string url_;
};

}  // namespace szarena
