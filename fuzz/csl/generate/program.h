// SPDX-License-Identifier: Apache-2.0
// A generated program: its files, what a host does with it, and what must come out.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "choices.h"
#include "number.h"

namespace szarena::csl_fuzz {

struct File {
  std::string name;
  std::string text;
};

// What a variable of a PE holds at the end.
struct Expected {
  int x = 0, y = 0;
  std::string symbol;
  Type type;
  std::vector<Bits> values;
};

// One command of the host. Words are in the host's order; copies out compare.
struct HostCommand {
  enum class Kind : uint8_t {
    kCopyIn,
    kCopyOut,
    kLaunch,
    kStreamIn,
    kStreamOut
  } kind = Kind::kLaunch;
  std::string name;  // symbol, function or stream
  int x = 0, y = 0, width = 1, height = 1;
  uint32_t count = 0;  // elements a PE
  bool half = false;   // 16-bit elements
  bool column_major = false;
  int broadcast = 0;            // 0 none, 1 a column shares, 2 a row shares
  std::vector<uint32_t> words;  // in: data; out: what must come
  std::vector<std::pair<uint64_t, std::string>> arguments;  // launch: value, numpy type
};

struct Program {
  std::vector<File> files;  // the first is the layout
  bool wse3 = false;
  Format half = Format::kF16;
  bool memcpy = false;
  std::vector<std::pair<std::string, int64_t>> params;
  int width = 1, height = 1;
  std::vector<Expected> expected;
  std::vector<HostCommand> host;  // empty: the program starts by itself
  bool order_matters = false;     // the results depend on the order of ready tasks
  std::string ToText() const;     // all files, for people
};

Program Generate(Choices& choices);

// Damages a program: tokens deleted, doubled, exchanged; numbers, names and types replaced; lines
// dropped. Says in `what` how.
Program Mutate(Program program, Choices& choices, std::string* what);

}  // namespace szarena::csl_fuzz
