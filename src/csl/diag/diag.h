// SPDX-License-Identifier: Apache-2.0
// Collects the messages of a compilation. Many may be reported in one run; rendering is apart
// (render.h).
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "csl/source/source_map.h"

namespace szarena::csl {

enum class Severity : uint8_t { kError, kWarning, kNote };

enum class DiagKind : uint16_t {
#define DIAG(kind, severity, message, remedy) k##kind,
#include "csl/diag/diag.def"
#undef DIAG
};

struct DiagInfo {
  std::string_view name;  // "unknown-name"
  Severity severity;
  std::string_view message;  // fmt format
  std::string_view remedy;   // fmt format, may be empty
};
const DiagInfo& InfoOf(DiagKind kind);
size_t DiagKindCount();

struct DiagNote {
  Span span;  // may be none
  std::string text;
  bool brief = false;  // without the source line
};

struct Diagnostic {
  DiagKind kind;
  Severity severity;
  Span span;  // may be none: then the message stands alone
  std::string message;
  std::string remedy;
  std::vector<DiagNote> notes;
};

class DiagSink {
 public:
  // Reports one message; the arguments fill the formats of the table. The same message at the same
  // place is kept once (a generic function is analysed many times). Returns the sink for
  // `.Note(...)`, which adds to this message.
  template <typename... Args>
  DiagSink& Report(DiagKind kind, Span span, const Args&... args) {
    return ReportArgs(kind, span, fmt::make_format_args(args...));
  }

  // Adds "note: text" to the last reported message (to none if that was a repetition).
  DiagSink& Note(Span span, std::string text);

  // While a Context lives, every message gets its note: which import, which PE class.
  class Context {
   public:
    Context(DiagSink& sink, Span span, std::string text) : sink_(sink) {
      sink_.contexts_.push_back({span, std::move(text), true});
    }
    ~Context() { sink_.contexts_.pop_back(); }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

   private:
    DiagSink& sink_;
  };

  // After that many errors one message says so and the rest is dropped; 0: no limit.
  void set_max_errors(size_t limit) { max_errors_ = limit; }

  // Every warning counts and is shown as an error.
  void set_warnings_as_errors(bool on) { warnings_as_errors_ = on; }

  size_t error_count() const { return error_count_; }
  bool HasErrors() const { return error_count_ > 0; }
  const std::vector<Diagnostic>& all() const { return diagnostics_; }

 private:
  DiagSink& ReportArgs(DiagKind kind, Span span, fmt::format_args args);

  std::vector<Diagnostic> diagnostics_;
  std::vector<DiagNote> contexts_;
  std::set<std::tuple<uint32_t, uint32_t, DiagKind, std::string>> seen_;
  size_t error_count_ = 0;
  size_t max_errors_ = 100;
  bool warnings_as_errors_ = false;
  bool last_was_kept_ = false;
};

}  // namespace szarena::csl
