// SPDX-License-Identifier: Apache-2.0
// Writes the page.
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "report/figure.h"
#include "report/grids.h"
#include "report/text.h"

namespace szarena::report {
namespace {

constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--paper:#fff;--ink:#1a1a1a;--soft:#4d5358;--rule:#c9ced4;--band:#f3f5f7;
--good:#0a6b3f;--bad:#a8200d;--link:#0b5cad;--note:#fff6e0;--note-rule:#b47a00}
@media (prefers-color-scheme:dark){:root{--paper:#15181c;--ink:#e6e6e6;--soft:#b4b8bd;--rule:#454b52;--band:#1f2429;
--good:#6fd6a0;--bad:#ff9d8a;--link:#78b0ff;--note:#2a2412;--note-rule:#d9a93a}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:28px 24px 64px;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .3rem}h2{font-size:1.3rem;margin:2.6rem 0 .6rem}
a{color:var(--link)}p{max-width:75ch}
.lead{color:var(--soft);margin:.2rem 0}
nav{margin:1rem 0;padding:.6rem 0;border-top:1px solid var(--rule);border-bottom:1px solid var(--rule)}
nav a{margin-right:1.2rem;white-space:nowrap}
.warn{background:var(--note);border-left:4px solid var(--note-rule);padding:.6rem 1rem;margin:1rem 0}
.warn p{margin:.2rem 0}.warn ul{margin:.3rem 0;padding-left:1.2rem}
figure{margin:1rem 0 1.4rem}figcaption,caption{font-size:.92rem;color:var(--soft);text-align:left;padding:.5rem 0}
figcaption b,caption b{color:var(--ink)}
.figure{overflow-x:auto}.figure svg{display:block;width:100%;min-width:720px;height:auto}
.table{position:relative;overflow-x:auto;margin:1rem 0 1.6rem}
table{border-collapse:collapse;width:100%;font-size:.86rem;border-top:2px solid var(--ink);border-bottom:2px solid var(--ink)}
caption{caption-side:top}
th,td{padding:.3rem .34rem;text-align:left;vertical-align:top;font-variant-numeric:tabular-nums}
thead th{border-bottom:1px solid var(--ink);font-weight:600;vertical-align:bottom}
tbody tr:nth-child(even){background:var(--band)}
tbody th{font-weight:400}
td.num,tbody th.num{white-space:nowrap}.num{text-align:right}
.idea{min-width:14em}.mark{text-align:center}thead .mark{font-size:.8rem}
.good{color:var(--good);white-space:nowrap}.bad{color:var(--bad);white-space:nowrap}
.muted{color:var(--soft)}.strong{font-weight:600}
details summary{cursor:pointer}.note{font-size:.88rem;color:var(--soft);white-space:pre-wrap;overflow-wrap:anywhere;max-width:60ch}
.footnote{font-size:.86rem;color:var(--soft);margin:.4rem 0 0;max-width:none}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
#environment table{width:auto}#environment td{overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.3rem 1rem;max-width:90ch}dt{font-weight:600}dd{margin:0}
@media print{:root{--paper:#fff;--ink:#000;--soft:#333;--rule:#999;--band:#fff;--good:#000;--bad:#000;--link:#000;--note:#fff;--note-rule:#000}
body{max-width:none;padding:0;font-size:11pt}nav,.screen{display:none}
section{break-inside:auto}figure,.table{break-inside:avoid}.figure,.table{overflow:visible}.figure svg{min-width:0}}
)css";

std::string Style() {
  return fmt::format(
      "<style>{}@media screen{{\n{}}}\n@media screen and (prefers-color-scheme:dark){{\n{}}}\n"
      "@media print{{\n{}}}\n</style>\n",
      kStyle, FigureStyleSheet(false), FigureStyleSheet(true), FigureStyleSheet(false));
}

// JSON inside <script>: no "<" may stand there as itself.
std::string EmbeddedJson(const Model& model) {
  std::string json;
  for (const char c : ModelToJson(model).Dump()) {
    if (c == '<') {
      json += "\\u003c";
    } else {
      json += c;
    }
  }
  return fmt::format("<script type=\"application/json\" id=\"model\">{}</script>\n", json);
}

std::string Warnings(const Model& model) {
  if (model.warnings.empty()) return "";
  std::string html =
      "<section class=\"warn\" aria-label=\"Warnings\"><p><b>Before you quote a "
      "figure</b></p>\n<ul>\n";
  for (const std::string& warning : model.warnings) {
    html += fmt::format("<li>{}</li>\n", EscapeHtml(warning));
  }
  return html + "</ul></section>\n";
}

std::string BestLine(const SessionView& view) {
  const Step* best = view.best_step();
  if (!best) return "<p>No attempt was ranked.</p>\n";
  std::string figures;
  for (size_t d = 0; d < view.direction_names.size(); ++d) {
    if (!best->throughput[d]) continue;
    figures += fmt::format(", {} {}", view.direction_names[d],
                           judge::RateText(best->throughput[d]->median, view.basis));
    if (best->speedup_over_baseline[d]) {
      figures += fmt::format(" ({} the baseline)", Times(best->speedup_over_baseline[d]->median));
    }
  }
  return fmt::format("<p>Fastest ranked step: <b>{}</b>{}, ratio {}.</p>\n",
                     EscapeHtml(fmt::format("{}, {}", best->number, best->label)),
                     EscapeHtml(figures), EscapeHtml(Significant(best->ratio)));
}

std::string SessionFacts(const SessionView& view) {
  const store::Session& session = view.session;
  std::string text = fmt::format("Session started {}, {:.0f} s, {} attempts", session.started_at,
                                 session.usage.wall_seconds, view.steps.size());
  text += session.stop ? fmt::format(", stopped: {}", store::StopReasonName(*session.stop))
                       : ", not ended";
  if (session.usage.model_calls)
    text += fmt::format(", {} model calls", *session.usage.model_calls);
  if (session.usage.cost_usd) text += fmt::format(", {:.2f} USD", *session.usage.cost_usd);
  const data::Json* note = session.agent.Find("note");
  if (note && note->string()) text += fmt::format(". Agent: {}", *note->string());
  return fmt::format("<p class=\"footnote\">{}. Transcript: <code>{}</code></p>\n",
                     EscapeHtml(text), EscapeHtml(session.transcript));
}

// Empty where there is nothing to draw; else counts the figure.
std::string FigureHtml(const SessionView& view, Quantity quantity, int& number,
                       const std::string& caption) {
  const std::string svg = StepFigure(view, quantity, FigureUse::kPage);
  if (svg.empty()) return "";
  std::string html = fmt::format(
      "<figure>\n<div class=\"figure\" tabindex=\"0\" role=\"region\" aria-label=\"Figure "
      "{0}\">{1}</div>\n"
      "<figcaption><b>Figure {0}.</b> {2}</figcaption>\n</figure>\n",
      number, svg, EscapeHtml(caption));
  ++number;
  return html;
}

std::string SessionSection(const SessionView& view, int& number, int& table_number) {
  std::string html = fmt::format("<section id=\"session-{}\">\n<h2>{}</h2>\n", Slug(view.title),
                                 EscapeHtml(view.title));
  html += BestLine(view);
  std::string basis(judge::BasisName(view.basis));
  basis[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(basis[0])));
  const std::string level = fmt::format("{} {}", basis, LevelName(view.level));
  const bool estimated = view.basis == judge::Basis::kEstimated;
  std::string floor = "; dotted: the floor, a plain copy of the bytes that must move";
  if (!view.variant.empty()) {
    floor = view.variant == "streaming"
                ? "; dotted: the floor, one word a cycle over the edge of each row"
                : "";
  }
  html += FigureHtml(
      view, Quantity::kThroughput, number,
      fmt::format("Throughput along the optimisation steps of {}. {} throughput on a logarithmic "
                  "scale, medians with quartile bars; dashed: our baseline, {}, with its "
                  "quartiles{}.",
                  view.title, level, estimated ? "on the same data" : "measured in the same runs",
                  floor));
  html += FigureHtml(
      view, Quantity::kOverBaseline, number,
      fmt::format("The same steps relative to the baseline, {}. {} speed on a logarithmic scale, "
                  "medians with quartile bars.",
                  estimated ? "on the same data"
                            : "run by run: what the machine's load does to both cancels out",
                  level));
  html += GridToHtml(StepGrid(view), table_number++);
  if (const Grid wafer = WaferGrid(view); !wafer.rows.empty())
    html += GridToHtml(wafer, table_number++);
  html += SessionFacts(view);
  return html + "</section>\n";
}

constexpr std::string_view kReading = R"html(<section id="reading">
<h2>How to read this</h2>
<dl>
<dt>runnable</dt><dd>both calls returned, in time, without a crash</dd>
<dt>decodable</dt><dd>every element within the error bound, our decoder reads the candidate's bytes, and its decoder reads ours</dd>
<dt>correct</dt><dd>decodable, and the compression ratio is that of real compression</dd>
<dt>ranked</dt><dd>correct, measured with verified outputs, and without a cheat flag</dd>
<dt>baseline</dt><dd>our own hand-optimised implementation, measured in turn with the candidate in the same run</dd>
<dt>floor</dt><dd>a plain copy of the bytes that must move, measured on this machine in the same run; on the wafer, for streams, one word a cycle over the edge of each row</dd>
<dt>estimated</dt><dd>from the cycles that a simulator counts by its cost model, at the machine's documented clock; nothing of it was measured</dd>
<dt>kernel, device, host</dt><dd>the device's own time; device memory to device memory; memory of the caller to memory of the caller. They are never mixed in one figure.</dd>
</dl>
</section>
)html";

}  // namespace

std::string ReportHtml(const Model& model) {
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n";
  html += fmt::format("<title>SZ Arena: {}</title>\n", EscapeHtml(model.campaign.name));
  html += Style() + "</head>\n<body>\n<header>\n";
  html += fmt::format("<h1>SZ Arena: {}</h1>\n", EscapeHtml(model.campaign.name));
  const data::Json* cpu = model.campaign.environment.Find("processor");
  const size_t sessions = SessionCount(model);
  html += fmt::format("<p class=\"lead\">{} session{}, begun {}{}</p>\n", sessions,
                      sessions == 1 ? "" : "s", EscapeHtml(model.campaign.created_at),
                      cpu && cpu->string() ? EscapeHtml(", on " + *cpu->string()) : "");
  html += "</header>\n<nav aria-label=\"Contents\"><a href=\"#summary\">Summary</a>";
  for (const SessionView& view : model.sessions) {
    html += fmt::format("<a href=\"#session-{}\">{}</a>", Slug(view.title), EscapeHtml(view.title));
  }
  html +=
      "<a href=\"#environment\">Environment</a><a href=\"#reading\">How to read "
      "this</a></nav>\n<main>\n";
  html += Warnings(model);
  int table = 1;
  int figure = 1;
  html += GridToHtml(SummaryGrid(model), table++);
  for (const SessionView& view : model.sessions) html += SessionSection(view, figure, table);
  html += "<section>\n<h2>Environment</h2>\n" + GridToHtml(EnvironmentGrid(model), table) +
          "</section>\n";
  html += kReading;
  html += "</main>\n";
  html +=
      "<footer class=\"screen\"><p class=\"footnote\">The same figures as data: <a "
      "href=\"report.json\">"
      "report.json</a>, <a href=\"report.csv\">report.csv</a>, <a "
      "href=\"report.md\">report.md</a>, "
      "<a href=\"report.tex\">report.tex</a>; figures as SVG files beside this "
      "page.</p></footer>\n";
  return html + EmbeddedJson(model) + "</body>\n</html>\n";
}

}  // namespace szarena::report
