// SPDX-License-Identifier: Apache-2.0
// The command line of cslc. One table (options.cpp) holds every flag with its help text.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bytecode/program.h"

namespace szarena::csl {

struct Options {
  std::string input;           // the layout file
  std::string output = "out";  // -o
  bytecode::Arch arch = bytecode::Arch::kWse2;
  bytecode::FloatFormat fp16 = bytecode::FloatFormat::kF16;
  int fabric_width = 0, fabric_height = 0;  // --fabric-dims; 0: the smallest that fits
  int offset_x = -1, offset_y = -1;         // --fabric-offsets; -1: the smallest
  std::vector<std::pair<std::string, int64_t>> params;
  std::vector<std::pair<std::string, int64_t>> colors;
  bool memcpy = false;
  int channels = 0;
  int west_buffer = 0, east_buffer = 0;
  std::vector<std::string> import_paths;
  std::string only_below;  // no file outside of this directory is read; "": any
  uint64_t max_inlined_iterations = 50;
  uint64_t comptime_depth = 400;  // --comptime-func-depth-limit
  size_t max_errors = 100;        // 0: all
  bool warnings_as_errors = false;
  bool pedantic = false;         // warn of what the SDK's documentation does not have
  bool output_json = false;      // --output-json
  std::string output_json_path;  // empty: the output directory's name with ".json"
  bool out_routes = false;       // print the routes of every PE
  std::vector<std::pair<std::string, int64_t>>
      section_addresses;  // --link-section-start-address-bytes
  bool verbose = false;
  bool json = false;   // diagnostics as JSON
  bool color = false;  // diagnostics with ANSI colours
  bool help = false, version = false, print_cost_model = false;
  enum class Emit : uint8_t { kProgram, kAst, kSource, kBytecode } emit = Emit::kProgram;
  std::vector<std::string> warnings;  // about flags that have no meaning here
};

// `args` without the program's name.
Result<Options> ParseOptions(const std::vector<std::string>& args);

std::string OptionsHelp();

}  // namespace szarena::csl
