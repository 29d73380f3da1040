// SPDX-License-Identifier: Apache-2.0
// The progress line.
#include "term/progress.h"

#include <fmt/format.h>

#include <string>

namespace szarena::term {
namespace {

constexpr size_t kMaxWidth = 100;  // a longer line would wrap and could not be wiped

}  // namespace

void Progress::Line(std::string_view text) {
  Wipe();
  fmt::print(file_, "{}\n", text);
  std::fflush(file_);
}

void Progress::Show(std::string_view text) {
  if (!live_) return;
  fmt::print(file_, "\r\x1b[2K{}", fmt::format("{:.{}}", text, kMaxWidth));
  std::fflush(file_);
  shown_ = true;
}

void Progress::Wipe() {
  if (!shown_) return;
  fmt::print(file_, "\r\x1b[2K");
  std::fflush(file_);
  shown_ = false;
}

}  // namespace szarena::term
