// SPDX-License-Identifier: Apache-2.0
// Diagnostics as text for people and as JSON for programs.
#pragma once

#include <string>

#include "csl/diag/diag.h"

namespace szarena::csl {

struct RenderOptions {
  bool color = false;        // ANSI colours
  bool show_kind = true;     // [unknown-name] after the message
  uint32_t max_width = 160;  // longer source lines are cut around the caret
};

// file:line:col: error: message [kind]
//    12 | source line
//       |    ^~~~
//   note/help lines
std::string RenderText(const SourceMap& sources, const Diagnostic& diagnostic,
                       const RenderOptions& options = {});

// All messages by file and place, then "2 errors, 1 warning" (empty text where there is none).
std::string RenderText(const SourceMap& sources, const DiagSink& sink,
                       const RenderOptions& options = {});

// [{"file":…,"line":…,"column":…,"severity":"error","kind":…,"message":…,"remedy":…,"notes":[…]},
// …]
std::string RenderJson(const SourceMap& sources, const DiagSink& sink);

}  // namespace szarena::csl
