// SPDX-License-Identifier: Apache-2.0
#include "csl/diag/diag.h"

#include <fmt/format.h>

#include <array>

#include "base/check.h"

namespace szarena::csl {
namespace {

// "UnknownName" -> "unknown-name"
std::string KindName(std::string_view kind) {
  std::string name;
  for (char c : kind) {
    if (c >= 'A' && c <= 'Z') {
      if (!name.empty()) name += '-';
      name += static_cast<char>(c - 'A' + 'a');
    } else {
      name += c;
    }
  }
  return name;
}

struct Table {
  std::vector<std::string> names;
  std::vector<DiagInfo> infos;
};

const Table& KindTable() {
  static const Table table = [] {
    Table t;
#define DIAG(kind, severity, message, remedy) t.names.push_back(KindName(#kind));
#include "csl/diag/diag.def"
#undef DIAG
    size_t i = 0;
#define DIAG(kind, severity, message, remedy) \
  t.infos.push_back({t.names[i++], Severity::k##severity, message, remedy});
#include "csl/diag/diag.def"
#undef DIAG
    return t;
  }();
  return table;
}

}  // namespace

const DiagInfo& InfoOf(DiagKind kind) { return KindTable().infos[static_cast<size_t>(kind)]; }
size_t DiagKindCount() { return KindTable().infos.size(); }

DiagSink& DiagSink::ReportArgs(DiagKind kind, Span span, fmt::format_args args) {
  const DiagInfo& info = InfoOf(kind);
  const Severity severity =
      warnings_as_errors_ && info.severity == Severity::kWarning ? Severity::kError : info.severity;
  Diagnostic diagnostic{
      kind,     severity, span, fmt::vformat(info.message, args), fmt::vformat(info.remedy, args),
      contexts_};
  last_was_kept_ = seen_.emplace(span.begin, span.end, kind, diagnostic.message).second;
  if (!last_was_kept_) return *this;
  if (max_errors_ != 0 && error_count_ >= max_errors_) {
    last_was_kept_ = false;
    if (error_count_ == max_errors_) {
      const DiagInfo& stop = InfoOf(DiagKind::kTooManyErrors);
      diagnostics_.push_back({DiagKind::kTooManyErrors,
                              stop.severity,
                              {},
                              fmt::format(fmt::runtime(stop.message), max_errors_),
                              std::string(stop.remedy),
                              {}});
      ++error_count_;
    }
    return *this;
  }
  if (severity == Severity::kError) ++error_count_;
  diagnostics_.push_back(std::move(diagnostic));
  return *this;
}

DiagSink& DiagSink::Note(Span span, std::string text) {
  if (!last_was_kept_) return *this;
  // Notes about the cause come before the context ("in the code of PE …").
  auto& notes = diagnostics_.back().notes;
  notes.insert(notes.end() - static_cast<std::ptrdiff_t>(contexts_.size()),
               {span, std::move(text), false});
  return *this;
}

}  // namespace szarena::csl
