// SPDX-License-Identifier: Apache-2.0
// Progress of long work on stderr: lasting lines for everybody, a moving line for a terminal.
#pragma once

#include <cstdio>
#include <string_view>

namespace szarena::term {

// Used by one thread. The moving line is wiped by the destructor and before each lasting line.
class Progress {
 public:
  // `live`: whether the moving line is shown (IsTerminal(file) outside tests). Keeps no ownership.
  Progress(std::FILE* file, bool live) : file_(file), live_(live) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { Wipe(); }

  // A line that stays, in logs too.
  void Line(std::string_view text);
  // Replaces the moving line; nothing where the output is no terminal.
  void Show(std::string_view text);
  void Wipe();

 private:
  std::FILE* file_;
  bool live_;
  bool shown_ = false;
};

}  // namespace szarena::term
