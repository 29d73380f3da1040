// SPDX-License-Identifier: Apache-2.0
#include "csl/diag/render.h"

#include <fmt/format.h>

#include <algorithm>

namespace szarena::csl {
namespace {

constexpr std::string_view kBold = "\x1b[1m", kRed = "\x1b[1;31m", kMagenta = "\x1b[1;35m",
                           kCyan = "\x1b[1;36m", kReset = "\x1b[0m";

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "";
}

std::string_view SeverityColor(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return kRed;
    case Severity::kWarning:
      return kMagenta;
    case Severity::kNote:
      return kCyan;
  }
  return "";
}

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// A source line and the caret line below it. Tabs become spaces, control bytes '?', so that the
// caret stands right.
std::string Excerpt(const SourceMap& sources, const LineColumn& place, Span span,
                    const RenderOptions& options) {
  std::string_view line = sources.Line(*place.file, place.line);
  size_t start = std::min<size_t>(place.column - 1, line.size());
  size_t length = std::min<size_t>(std::max<uint32_t>(span.end - span.begin, 1),
                                   std::max<size_t>(line.size() - start, 1));
  size_t from = 0;
  if (line.size() > options.max_width && start > options.max_width / 2)
    from = start - options.max_width / 2;
  while (from > 0 && from < line.size() && IsContinuation(line[from])) --from;
  std::string shown, caret;
  if (from > 0) shown = caret = "...", caret = "   ";
  size_t end = std::min<size_t>(line.size(), from + options.max_width);
  while (end < line.size() && IsContinuation(line[end])) ++end;
  for (size_t i = from; i < end; ++i) {
    char c = line[i];
    bool blank = c == '\t';
    bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    shown += blank ? ' ' : control ? '?' : c;
    if (IsContinuation(c)) continue;
    if (i < start)
      caret += ' ';
    else if (i == start)
      caret += '^';
    else if (i < start + length)
      caret += '~';
  }
  if (start >= end) caret += '^';
  if (end < line.size()) shown += "...";
  std::string number = fmt::format("{:>5}", place.line);
  std::string text = fmt::format("{} | {}\n{:>{}} | ", number, shown, "", number.size());
  text += options.color ? fmt::format("{}{}{}\n", kCyan, caret, kReset) : caret + "\n";
  return text;
}

std::string Head(const SourceMap& sources, Span span, Severity severity, std::string_view message,
                 std::string_view kind, bool brief, const RenderOptions& options) {
  std::string text;
  auto place = sources.Locate(span.begin);
  std::string where = place
                          ? fmt::format("{}:{}:{}: ", place->file->path, place->line, place->column)
                          : std::string();
  if (options.color) {
    text = fmt::format("{}{}{}{}{}: {}{}{}{}", kBold, where, SeverityColor(severity),
                       SeverityName(severity), kReset, kBold, message, kReset, "");
  } else {
    text = fmt::format("{}{}: {}", where, SeverityName(severity), message);
  }
  if (options.show_kind && !kind.empty()) text += fmt::format(" [{}]", kind);
  text += '\n';
  if (place && !brief) text += Excerpt(sources, *place, span, options);
  return text;
}

// By file and place; messages without a place come first. Messages at one place stay in the order
// of reporting.
std::vector<const Diagnostic*> InOrder(const DiagSink& sink) {
  std::vector<const Diagnostic*> order;
  for (const Diagnostic& diagnostic : sink.all()) order.push_back(&diagnostic);
  auto place = [](const Diagnostic* d) {
    return d->kind == DiagKind::kTooManyErrors ? UINT32_MAX : d->span.begin;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const Diagnostic* a, const Diagnostic* b) { return place(a) < place(b); });
  return order;
}

std::string JsonString(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        // Bytes above 0x7E need not be valid UTF-8 in a bad source file; they are written as their
        // Latin-1 character.
        if (c < 0x20 || c >= 0x7F)
          out += fmt::format("\\u{:04x}", c);
        else
          out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

std::string JsonPlace(const SourceMap& sources, Span span) {
  auto place = sources.Locate(span.begin);
  if (!place) return "\"file\":null,\"line\":0,\"column\":0,\"length\":0";
  return fmt::format("\"file\":{},\"line\":{},\"column\":{},\"length\":{}",
                     JsonString(place->file->path), place->line, place->column,
                     span.end - span.begin);
}

}  // namespace

std::string RenderText(const SourceMap& sources, const Diagnostic& diagnostic,
                       const RenderOptions& options) {
  std::string text = Head(sources, diagnostic.span, diagnostic.severity, diagnostic.message,
                          InfoOf(diagnostic.kind).name, false, options);
  for (const DiagNote& note : diagnostic.notes)
    text += Head(sources, note.span, Severity::kNote, note.text, "", note.brief, options);
  if (!diagnostic.remedy.empty()) text += "  help: " + diagnostic.remedy + "\n";
  return text;
}

std::string RenderText(const SourceMap& sources, const DiagSink& sink,
                       const RenderOptions& options) {
  std::string text;
  size_t warnings = 0;
  for (const Diagnostic* diagnostic : InOrder(sink)) {
    text += RenderText(sources, *diagnostic, options);
    if (diagnostic->severity == Severity::kWarning) ++warnings;
  }
  size_t errors = 0;
  for (const Diagnostic& diagnostic : sink.all())
    errors +=
        diagnostic.severity == Severity::kError && diagnostic.kind != DiagKind::kTooManyErrors;
  if (errors > 0) text += fmt::format("{} error{}", errors, errors == 1 ? "" : "s");
  if (warnings > 0)
    text +=
        fmt::format("{}{} warning{}", errors > 0 ? ", " : "", warnings, warnings == 1 ? "" : "s");
  if (errors + warnings > 0) text += '\n';
  return text;
}

std::string RenderJson(const SourceMap& sources, const DiagSink& sink) {
  std::string text = "[";
  for (const Diagnostic* item : InOrder(sink)) {
    const Diagnostic& diagnostic = *item;
    if (text.size() > 1) text += ",";
    text += fmt::format(
        "\n{{{},\"severity\":\"{}\",\"kind\":\"{}\",\"message\":{},\"remedy\":{},\"notes\":[",
        JsonPlace(sources, diagnostic.span), SeverityName(diagnostic.severity),
        InfoOf(diagnostic.kind).name, JsonString(diagnostic.message),
        JsonString(diagnostic.remedy));
    for (size_t i = 0; i < diagnostic.notes.size(); ++i) {
      const DiagNote& note = diagnostic.notes[i];
      text += fmt::format("{}{{{},\"message\":{}}}", i == 0 ? "" : ",",
                          JsonPlace(sources, note.span), JsonString(note.text));
    }
    text += "]}";
  }
  return text + "\n]\n";
}

}  // namespace szarena::csl
