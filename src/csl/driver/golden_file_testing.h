// SPDX-License-Identifier: Apache-2.0
// Golden tests: input and expected output in one file of src/csl/testdata.
//
//   // comment                       the first file is named like the golden file itself
//   //@ args: --arch=wse3 --params=M:4
//   layout { … }
//   //--- pe.csl                     another input file
//   …
//   //--- expect                     what cslc prints
//
// The name starts with "fail_" if and only if an error is expected. SZARENA_UPDATE_GOLDEN=1 in the
// environment rewrites the expected part.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace szarena::csl::testing {

struct GoldenFile {
  std::string path;
  std::vector<std::pair<std::string, std::string>> inputs;  // name, text
  std::vector<std::string> args;
  std::string expected;
  std::string head;  // everything up to the expected part
};

std::vector<std::string> GoldenFilesIn(const std::string& directory);  // sorted paths
GoldenFile ReadGolden(const std::string& path);
bool UpdatesGolden();
// Replaces the expected part; returns false where the file cannot be written.
bool WriteGolden(const GoldenFile& golden, const std::string& actual);

// Runs cslc on the inputs in a fresh temporary directory: messages, then what --emit printed.
struct GoldenRun {
  std::string output;
  bool failed = false;
};
GoldenRun RunGolden(const GoldenFile& golden);

}  // namespace szarena::csl::testing
