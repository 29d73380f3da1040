// SPDX-License-Identifier: Apache-2.0
// Records to headings and bodies, then to text or HTML.
#include "report/transcript.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/text.h"

namespace szarena::report {
namespace {

using data::Json;

// One part of a record's body: a text with a title, folded where it is long.
struct Part {
  std::string title;
  std::string text;
};

// A record as people read it.
struct Entry {
  std::string seq;
  std::string time;  // of day
  std::string kind;  // as in the record
  std::string who;   // for the colour: user, assistant, system, tool, judge, ""
  std::string head;  // one line
  std::vector<Part> parts;
};

std::string Text(const Json& record, std::string_view key) {
  const Json* value = record.Find(key);
  if (!value || value->is_null()) return "";
  return value->string() ? *value->string() : value->Dump();
}

std::string Figure(const Json& record, std::string_view key, std::string_view unit) {
  const Json* value = record.Find(key);
  if (!value || !value->number()) return "";
  return fmt::format("{} {}", value->integer() ? value->Dump() : Significant(*value->number()),
                     unit);
}

std::string Joined(std::initializer_list<std::string> words) {
  std::string all;
  for (const std::string& word : words) {
    if (!word.empty()) all += (all.empty() ? "" : ", ") + word;
  }
  return all;
}

// An object's members: texts as they are, everything else as JSON.
void AddMembers(const Json& object, std::vector<Part>& parts) {
  for (const data::JsonMember& member : object.members()) {
    if (member.value.is_null()) continue;
    parts.push_back(
        {member.key, member.value.string() ? *member.value.string() : member.value.Dump(2)});
  }
}

void Session(const Json& record, Entry& entry) {
  const Json* key = record.Find("key");
  const Json none;
  const Json& names = key ? *key : none;
  entry.head =
      fmt::format("{} · {} · {} · tier {} · source {} · {} · trial {}", Text(names, "agent"),
                  Text(names, "task"), Text(names, "target"), Text(names, "tier"),
                  Text(names, "source"), Text(names, "workflow"), Text(names, "trial"));
  if (const Json* agent = record.Find("agent")) entry.parts.push_back({"agent", agent->Dump(2)});
}

void Message(const Json& record, Entry& entry) {
  entry.who = Text(record, "role");
  entry.head = fmt::format("{}: {}", Text(record, "chat"), entry.who);
  if (entry.who == "tool") {
    entry.head += fmt::format(" {}", Text(record, "tool"));
    if (Text(record, "ok") == "false") entry.head += " (refused)";
  }
  if (const std::string text = Text(record, "text"); !text.empty())
    entry.parts.push_back({"", text});
  const Json* calls = record.Find("calls");
  for (const Json& call : calls ? calls->items() : Json::Array{}) {
    entry.head += fmt::format(" → {}", Text(call, "name"));
    const std::string fault = Text(call, "fault");
    if (!fault.empty()) entry.parts.push_back({Text(call, "name"), fault});
    if (const Json* arguments = call.Find("arguments")) {
      std::vector<Part> members;
      AddMembers(*arguments, members);
      for (Part& part : members) {
        entry.parts.push_back({fmt::format("{}: {}", Text(call, "name"), part.title), part.text});
      }
    }
  }
  if (const Json* raw = record.Find("raw"))
    entry.parts.push_back({"as the service sent it", raw->Dump(2)});
}

void ToolResult(const Json& record, Entry& entry) {
  entry.who = "tool";
  entry.head = Joined({Text(record, "tool") + (Text(record, "ok") == "false" ? " refused" : ""),
                       Figure(record, "seconds", "s")});
  if (const Json* content = record.Find("content")) {
    const std::string message = Text(*content, "message");
    if (!message.empty()) entry.parts.push_back({"", message});
    entry.parts.push_back({"content", content->Dump(2)});
  }
}

void Attempt(const Json& record, Entry& entry) {
  entry.who = "judge";
  entry.head =
      fmt::format("attempt {} '{}' reached {}", Text(record, "number"), Text(record, "label"),
                  Text(record, "stage").empty() ? "nothing" : Text(record, "stage"));
  if (const std::string idea = Text(record, "idea"); !idea.empty())
    entry.parts.push_back({"idea", idea});
  const Json* files = record.Find("files");
  for (const Json& file : files ? files->items() : Json::Array{}) {
    entry.parts.push_back({Text(file, "path"), Text(file, "text")});
  }
}

// Of a whole session.
std::string UsageLine(const Json& usage) {
  return Joined({Figure(usage, "model_calls", "model calls"),
                 Figure(usage, "tokens_in", "tokens in"), Figure(usage, "tokens_out", "out"),
                 Figure(usage, "cost_usd", "USD"), Figure(usage, "wall_seconds", "s")});
}

Entry MakeEntry(const Json& record) {
  Entry entry;
  entry.seq = Text(record, "seq");
  const std::string at = Text(record, "at");
  entry.time = at.size() > 11 ? at.substr(11, at.find_last_of('Z') - 11) : at;
  entry.kind = Text(record, "kind");
  if (entry.kind == "session") {
    Session(record, entry);
  } else if (entry.kind == "prompt") {
    entry.who = "user";
    entry.head = "sha256 " + Text(record, "sha256").substr(0, 16);
    entry.parts.push_back({"", Text(record, "text")});
  } else if (entry.kind == "message") {
    Message(record, entry);
  } else if (entry.kind == "usage") {
    entry.head = Joined({Text(record, "chat"), Text(record, "model_version"),
                         Text(record, "finish"), Figure(record, "tokens_in", "tokens in"),
                         Figure(record, "tokens_cached", "of them cached"),
                         Figure(record, "tokens_out", "out"),
                         Figure(record, "tokens_reasoning", "of them reasoning"),
                         Figure(record, "cost_usd", "USD"), Figure(record, "seconds", "s")});
  } else if (entry.kind == "retry") {
    entry.head = Joined({"try " + Text(record, "attempt") + " failed", Text(record, "reason"),
                         Figure(record, "wait_seconds", "s until the next")});
  } else if (entry.kind == "tool-call") {
    entry.who = "tool";
    entry.head = Text(record, "tool");
    if (const Json* arguments = record.Find("arguments")) AddMembers(*arguments, entry.parts);
  } else if (entry.kind == "tool-result") {
    ToolResult(record, entry);
  } else if (entry.kind == "attempt") {
    Attempt(record, entry);
  } else if (entry.kind == "stop") {
    const Json* usage = record.Find("usage");
    entry.head =
        Joined({Text(record, "reason"), Text(record, "detail"), usage ? UsageLine(*usage) : ""});
    if (usage) entry.parts.push_back({"used", usage->Dump()});
  } else {
    entry.head = Text(record, "what");
    std::vector<Part> members;
    AddMembers(record, members);
    for (Part& part : members) {
      if (part.title != "seq" && part.title != "at" && part.title != "kind" &&
          part.title != "what") {
        entry.parts.push_back(std::move(part));
      }
    }
  }
  return entry;
}

// "alive" says only that time passed.
bool Tells(const Entry& entry) { return entry.kind != "alive"; }

// Control characters a terminal could act on become visible.
std::string Harmless(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) {
      out += "�";
    } else {
      out += c;
    }
  }
  return out;
}

std::string Indented(const std::string& text, size_t limit) {
  std::string out;
  size_t lines = 0;
  const auto total = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (limit > 0 && lines == limit) {
      return out + fmt::format("    [{} more lines]\n", total - lines);
    }
    out += "    " + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
    ++lines;
  }
  return out;
}

constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--paper:#fff;--ink:#1a1a1a;--soft:#4d5358;--rule:#c9ced4;--code:#f3f5f7;
--user:#0b5cad;--assistant:#0a6b3f;--system:#6b4ea0;--tool:#8a5a00;--judge:#a8200d}
@media (prefers-color-scheme:dark){:root{--paper:#15181c;--ink:#e6e6e6;--soft:#b4b8bd;--rule:#454b52;--code:#1f2429;
--user:#78b0ff;--assistant:#6fd6a0;--system:#c3aef0;--tool:#e0b060;--judge:#ff9d8a}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1100px;padding:24px 20px 64px;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}
h1{font-size:1.4rem;line-height:1.25;margin:0 0 .3rem}p{color:var(--soft);margin:.2rem 0}
nav{margin:1rem 0;padding:.5rem 0;border-top:1px solid var(--rule);border-bottom:1px solid var(--rule)}
nav a{color:var(--judge);margin-right:1rem}
article{border-left:4px solid var(--rule);padding:.1rem 0 .1rem .8rem;margin:.55rem 0}
article h2{font-size:.95rem;font-weight:600;margin:0;overflow-wrap:anywhere}
article h2 small{color:var(--soft);font-weight:400;font-variant-numeric:tabular-nums;margin-right:.6rem}
.user{border-color:var(--user)}.assistant{border-color:var(--assistant)}.system{border-color:var(--system)}
.tool{border-color:var(--tool)}.judge{border-color:var(--judge)}
pre{background:var(--code);padding:.5rem .7rem;margin:.3rem 0;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.84rem;line-height:1.4}
.quiet h2{font-weight:400}.pair{font-size:.88rem;margin:.1rem 0}code{color:var(--ink);overflow-wrap:anywhere}
summary{cursor:pointer;color:var(--soft);font-size:.88rem}
@media print{details{display:block}article{break-inside:avoid}}
)css";

std::string PartHtml(const Part& part) {
  const auto lines = std::count(part.text.begin(), part.text.end(), '\n') + 1;
  std::string body = fmt::format("<pre>{}</pre>", EscapeHtml(part.text));
  if (lines <= 12 && part.text.size() <= 1200 && part.title.empty()) return body;
  if (lines == 1 && part.text.size() <= 120) {
    return fmt::format("<p class=\"pair\">{}: <code>{}</code></p>", EscapeHtml(part.title),
                       EscapeHtml(part.text));
  }
  const std::string title = part.title.empty() ? "text" : part.title;
  const bool open = part.title.empty() && lines <= 60;
  return fmt::format("<details{}><summary>{} ({} line{})</summary>{}</details>",
                     open ? " open" : "", EscapeHtml(title), lines, lines == 1 ? "" : "s", body);
}

}  // namespace

std::string TranscriptText(const Json::Array& records, const TranscriptOptions& options) {
  std::string out;
  for (const Json& record : records) {
    const Entry entry = MakeEntry(record);
    if (!Tells(entry)) continue;
    out += fmt::format("[{}] {} {}: {}\n", entry.seq, entry.time, entry.kind, entry.head);
    for (const Part& part : entry.parts) {
      if (!part.title.empty()) out += fmt::format("  {}\n", part.title);
      out += Indented(part.text, options.lines);
    }
  }
  return Harmless(out);
}

std::string TranscriptHtml(const Json::Array& records) {
  std::vector<Entry> entries;
  for (const Json& record : records) {
    Entry entry = MakeEntry(record);
    if (Tells(entry)) entries.push_back(std::move(entry));
  }
  const std::string title = entries.empty() ? "empty transcript" : entries.front().head;
  std::string attempts;
  std::string body;
  for (const Entry& entry : entries) {
    const std::string id = "r" + Slug(entry.seq);
    if (entry.kind == "attempt") {
      attempts += fmt::format("<a href=\"#{}\">{}</a> ", id, EscapeHtml(entry.head));
    }
    const std::string look = entry.who.empty() ? "quiet" : Slug(entry.who);
    body += fmt::format("<article id=\"{}\" class=\"{}\"><h2><small>{} {}</small>{}: {}</h2>\n", id,
                        look, EscapeHtml(entry.seq), EscapeHtml(entry.time), EscapeHtml(entry.kind),
                        EscapeHtml(entry.head));
    for (const Part& part : entry.parts) body += PartHtml(part) + "\n";
    body += "</article>\n";
  }
  const bool ended = !entries.empty() && entries.back().kind == "stop";
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style></head><body>\n<h1>{0}</h1>\n"
      "<p>{2} records. {3}</p>\n<nav aria-label=\"Attempts\">{4}</nav>\n<main>\n{5}</main>\n"
      "</body></html>\n",
      EscapeHtml(title), kStyle, entries.size(),
      ended ? EscapeHtml("Ended: " + entries.back().head)
            : "The session has not ended, or was killed.",
      attempts.empty() ? "no attempts" : attempts, body);
}

}  // namespace szarena::report
