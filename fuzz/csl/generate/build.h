// SPDX-License-Identifier: Apache-2.0
// A program while its parts are put together. A part is a PE module "<name>.csl" with `param x`,
// `param y` and `param next_id`, and a function `start`, at whose end, at once or later, it
// activates next_id; it claims what it needs of the hardware.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "program.h"

namespace szarena::csl_fuzz {

// Registers, ids and queues that are still free: the same for every PE.
class Resources {
 public:
  Resources(Choices& choices, bool wse3, bool memcpy);
  // -1 where there is none left.
  int Color(bool with_switches = false);
  int ColorPair();                   // an even colour, with the next
  bool Colors(int first, int last);  // these, where all are left
  int LocalId();
  int ControlId();
  int InputQueue();
  int OutputQueue();
  int QueuePair();    // an input and an output queue of one number
  int Dsr(int file);  // 0 dest, 1 src0, 2 src1
  int Xdsr();

 private:
  int Take(std::vector<int>& from, bool with_switches = false);
  Choices& c_;
  bool wse3_;
  std::vector<int> colors_, ids_, control_, in_, out_, dsr_[3], xdsr_;
};

struct Build {
  Choices& c;
  Program& program;
  Resources take;
  std::string layout = {};       // statements of the layout block
  std::string layout_head = {};  // declarations before it
  // Further params of the PE file and of the part, with their values in the layout; added while a
  // part is made, which declares them.
  std::vector<std::pair<std::string, std::string>> part_params = {};
  std::string exports = {};  // statements of the root's comptime block
  std::string globals = {};  // declarations of the root
  std::string memcpy_params = {};
  int rotating_pairs = 0;  // of @bind_rotating_tasks, two at most

  int width() const { return program.width; }
  int height() const { return program.height; }
  bool wse3() const { return program.wse3; }
  Type HalfType() const { return Half(program.half); }
  void Expect(int x, int y, std::string symbol, Type type, std::vector<Bits> values) {
    program.expected.push_back({x, y, std::move(symbol), type, std::move(values)});
  }
  void ExpectEverywhere(const std::string& symbol, Type type, const std::vector<Bits>& values);
};

// Each returns the text of the module; `p` is its prefix for names. An empty text: not possible
// here.
std::string ComputePart(Build& b, const std::string& p);
std::string VectorPart(Build& b, const std::string& p);
std::string StreamPart(Build& b, const std::string& p);
std::string TaskPart(Build& b, const std::string& p);
std::string FifoPart(Build& b, const std::string& p);
std::string SwitchPart(Build& b, const std::string& p);
std::string ComptimePart(Build& b, const std::string& p);
std::string LibraryPart(Build& b, const std::string& p);
std::string EndPart(Build& b, const std::string& p);
std::string ChainPart(Build& b, const std::string& p);
std::string TrafficPart(Build& b, const std::string& p);
std::string ChangePart(Build& b, const std::string& p);
std::string CollectivePart(Build& b, const std::string& p);
std::string MessagePart(Build& b, const std::string& p);
std::string SwapPart(Build& b, const std::string& p);
// Adds host commands, exports and root code.
void HostPart(Build& b);

}  // namespace szarena::csl_fuzz
