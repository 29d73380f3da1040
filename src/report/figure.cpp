// SPDX-License-Identifier: Apache-2.0
// Draws the steps figure.
#include "report/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "report/text.h"

namespace szarena::report {
namespace {

constexpr double kWidth = 1000;
constexpr double kTop = 58;
constexpr double kPlotHeight = 250;
constexpr double kLeft = 62;
constexpr double kGap = 26;
constexpr double kRight = 12;

// A logarithmic scale that begins and ends at 1, 2 or 5 times a power of ten.
class LogScale {
 public:
  LogScale(double low, double high) {
    for (int e = static_cast<int>(std::floor(std::log10(low))) - 1;; ++e) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double tick = digit * std::pow(10.0, e);
        if (tick <= low) ticks_.clear();
        ticks_.push_back(tick);
        if (tick >= high && ticks_.size() >= 2) return;
      }
    }
  }
  const std::vector<double>& ticks() const { return ticks_; }
  double Y(double value) const {
    const double share =
        std::log(value / ticks_.front()) / std::log(ticks_.back() / ticks_.front());
    return kTop + kPlotHeight * (1 - std::clamp(share, 0.0, 1.0));
  }

 private:
  std::vector<double> ticks_;
};

struct Panel {
  size_t direction = 0;
  double left = 0;
  double width = 0;
  size_t step_count = 0;

  double X(size_t step) const {
    return left + width * (static_cast<double>(step) + 0.5) / static_cast<double>(step_count);
  }
  double right() const { return left + width; }
};

// What is drawn: one quantity of one session.
struct Drawing {
  const SessionView& view;
  Quantity quantity;

  const std::optional<judge::Figure>& Value(const Step& step, size_t d) const {
    return quantity == Quantity::kThroughput ? step.throughput[d] : step.speedup_over_baseline[d];
  }
  bool Plotted(const Step& step, size_t d) const {
    return step.ranked && Value(step, d).has_value();
  }
  std::optional<judge::Figure> Baseline(size_t d) const {
    if (quantity == Quantity::kThroughput) return view.baseline[d];
    return judge::Figure{1, 1, 1, 0};
  }
  std::optional<double> Floor(size_t d) const {
    return quantity == Quantity::kThroughput ? view.floor_gbs[d] : std::nullopt;
  }
  // Slower than the step before, which may be missing: the quartile ranges do not touch.
  bool Slower(const Step& step, const Step* before, size_t d) const {
    return before && Value(step, d)->q3 < Value(*before, d)->q1;
  }
  // With the basis of the figure in front of it.
  std::string unit() const {
    return (quantity == Quantity::kThroughput ? " GB/s" : "×") + judge::BasisNote(view.basis);
  }
  std::string note() const { return judge::BasisNote(view.basis); }
};

std::vector<double> AllValues(const Drawing& drawing) {
  const SessionView& view = drawing.view;
  std::vector<double> values;
  for (size_t d = 0; d < view.direction_names.size(); ++d) {
    for (const Step& step : view.steps) {
      if (!drawing.Plotted(step, d)) continue;
      values.push_back(drawing.Value(step, d)->q1);
      values.push_back(drawing.Value(step, d)->q3);
    }
    if (const auto baseline = drawing.Baseline(d)) values.push_back(baseline->median);
    if (const auto floor = drawing.Floor(d)) values.push_back(*floor);
  }
  std::erase_if(values, [](double value) { return !(value > 0); });
  return values;
}

std::string Line(std::string_view classes, double x1, double y1, double x2, double y2) {
  return fmt::format(
      "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", classes, x1,
      y1, x2, y2);
}

std::string Text(std::string_view classes, double x, double y, std::string_view text) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", classes, x, y,
                     EscapeHtml(text));
}

std::string Shortened(const std::string& text, size_t limit) {
  return text.size() <= limit ? text : text.substr(0, limit - 1) + "…";
}

std::string Axes(const Panel& panel, const LogScale& scale, const SessionView& view, bool labels) {
  std::string svg;
  for (const double tick : scale.ticks()) {
    const double y = scale.Y(tick);
    svg += Line("f-grid", panel.left, y, panel.right(), y);
    if (labels) svg += Text("f-tick f-end", panel.left - 8, y + 4, fmt::format("{:g}", tick));
  }
  const double bottom = kTop + kPlotHeight;
  svg += Line("f-axis", panel.left, bottom, panel.right(), bottom);
  for (size_t i = 0; i < view.steps.size(); ++i) {
    const double x = panel.X(i);
    svg += Line("f-axis", x, bottom, x, bottom + 4);
    svg += fmt::format(
        "<text class=\"f-tick f-end\" transform=\"translate({:.1f} {:.1f}) "
        "rotate(-38)\">{}</text>\n",
        x + 5, bottom + 17, EscapeHtml(Shortened(view.steps[i].label, 22)));
  }
  return svg;
}

// Baseline and floor, labelled at the left end; labels that would touch are moved apart.
std::string References(const Panel& panel, const LogScale& scale, const Drawing& drawing) {
  std::string svg;
  const auto baseline = drawing.Baseline(panel.direction);
  const auto floor = drawing.Floor(panel.direction);
  const double floor_y = floor ? scale.Y(*floor) : -100;
  if (floor) {
    svg += Line("f-floor", panel.left, floor_y, panel.right(), floor_y);
    svg += Text("f-ref", panel.left + 4, floor_y - 5,
                fmt::format("floor ({}) {}{}", drawing.view.variant.empty() ? "copy" : "edge",
                            Significant(*floor), drawing.note()));
  }
  if (baseline) {
    const double y = scale.Y(baseline->median);
    const double top = scale.Y(baseline->q3);
    svg += fmt::format(
        "<rect class=\"f-band\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
        panel.left, top, panel.width, std::max(0.5, scale.Y(baseline->q1) - top));
    svg += Line("f-base", panel.left, y, panel.right(), y);
    const bool below = y - floor_y < 18 && floor_y < y + 1;
    svg += Text("f-ref", panel.left + 4, below ? y + 14 : y - 5,
                "baseline " + Significant(baseline->median) + drawing.note());
  }
  return svg;
}

std::string Points(const Panel& panel, const LogScale& scale, const Drawing& drawing) {
  const SessionView& view = drawing.view;
  const size_t d = panel.direction;
  std::string lines;
  std::string marks;
  std::string values;
  const Step* previous = nullptr;
  size_t previous_index = 0;
  for (size_t i = 0; i < view.steps.size(); ++i) {
    const Step& step = view.steps[i];
    const double x = panel.X(i);
    if (!drawing.Plotted(step, d)) {
      const double y = kTop + kPlotHeight - 12;
      const std::string why = step.failed_stage.empty() ? "flagged" : step.failed_stage;
      marks += fmt::format(
          "<g><title>{}: not ranked, {}</title><path class=\"f-cross\" d=\"M{:.1f} {:.1f}l10 10m0 "
          "-10l-10 10\"/></g>\n",
          EscapeHtml(step.label), EscapeHtml(why), x - 5, y - 5);
      values += Text("f-value f-mid", x, y - 12, why);
      continue;
    }
    const judge::Figure& figure = *drawing.Value(step, d);
    const double y = scale.Y(figure.median);
    const double y1 = scale.Y(figure.q1);
    const double y3 = scale.Y(figure.q3);
    const bool slower = drawing.Slower(step, previous, d);
    if (previous) {
      lines += Line(slower ? "f-path f-slower" : fmt::format("f-path f-d{}", d),
                    panel.X(previous_index), scale.Y(drawing.Value(*previous, d)->median), x, y);
    }
    marks += fmt::format("<g><title>{}: {}{}, quartiles {} to {}, {} runs</title>\n",
                         EscapeHtml(step.label), Significant(figure.median), drawing.unit(),
                         Significant(figure.q1), Significant(figure.q3), figure.samples);
    marks += fmt::format(
        "<path class=\"f-bar f-d{}\" d=\"M{:.1f} {:.1f}v{:.1f}m-5 0h10m0 {:.1f}h-10\"/>\n", d, x,
        y1, y3 - y1, y1 - y3);
    marks +=
        slower
            ? fmt::format("<path class=\"f-mark f-down\" d=\"M{:.1f} {:.1f}h11l-5.5 9.5z\"/></g>\n",
                          x - 5.5, y - 4)
            : fmt::format(
                  "<circle class=\"f-mark f-m{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\"/></g>\n", d,
                  x, y);
    // Below a dip; moved aside where the line goes up from here.
    const bool rises = i + 1 < view.steps.size() && drawing.Plotted(view.steps[i + 1], d) &&
                       drawing.Value(view.steps[i + 1], d)->median > figure.median;
    values += slower ? Text("f-value f-mid", x, std::max(y, y1) + 19, Significant(figure.median))
                     : Text("f-value f-mid", rises ? x - 9 : x, std::min(y, y3) - 9,
                            Significant(figure.median));
    previous = &step;
    previous_index = i;
  }
  return lines + marks + values;
}

// The explanation above the panels, at the right.
std::string Legend() {
  double x = kWidth - kRight - 418;
  const double y = 16;
  std::string svg =
      fmt::format("<circle class=\"f-mark f-m0\" cx=\"{:.1f}\" cy=\"{}\" r=\"4.5\"/>\n", x, y);
  svg +=
      fmt::format("<path class=\"f-bar f-d0\" d=\"M{:.1f} {}v-16m-5 0h10m0 16h-10\"/>\n", x, y + 8);
  svg += Text("f-tick", x + 12, y + 4, "median, quartiles");
  x += 140;
  svg += fmt::format("<path class=\"f-mark f-down\" d=\"M{:.1f} {}h11l-5.5 9.5z\"/>\n", x - 5.5,
                     y - 4);
  svg += Text("f-tick", x + 12, y + 4, "slower than before");
  x += 148;
  svg +=
      fmt::format("<path class=\"f-cross\" d=\"M{:.1f} {}l10 10m0 -10l-10 10\"/>\n", x - 5, y - 5);
  svg += Text("f-tick", x + 12, y + 4, "not ranked, and why");
  return svg;
}

std::string Description(const Drawing& drawing) {
  const SessionView& view = drawing.view;
  std::string text;
  for (size_t d = 0; d < view.direction_names.size(); ++d) {
    text += view.direction_names[d] + ":";
    for (const Step& step : view.steps) {
      text += drawing.Plotted(step, d)
                  ? fmt::format(" {} {}{};", step.label,
                                Significant(drawing.Value(step, d)->median), drawing.unit())
                  : fmt::format(" {} not ranked;", step.label);
    }
    if (const auto baseline = drawing.Baseline(d)) {
      text += fmt::format(" baseline {}{}.", Significant(baseline->median), drawing.unit());
    }
    text += ' ';
  }
  return text;
}

std::vector<Panel> MakePanels(const Drawing& drawing) {
  const SessionView& view = drawing.view;
  std::vector<Panel> panels;
  for (size_t d = 0; d < view.direction_names.size(); ++d) {
    if (std::any_of(view.steps.begin(), view.steps.end(),
                    [&](const Step& step) { return drawing.Plotted(step, d); })) {
      panels.push_back({.direction = d, .left = 0, .width = 0, .step_count = view.steps.size()});
    }
  }
  const auto count = static_cast<double>(panels.size());
  for (size_t i = 0; i < panels.size(); ++i) {
    panels[i].width = (kWidth - kLeft - kRight - kGap * (count - 1)) / count;
    panels[i].left = kLeft + static_cast<double>(i) * (panels[i].width + kGap);
  }
  return panels;
}

}  // namespace

std::string FigureStyleSheet(bool dark) {
  const std::string_view ink = dark ? "#e6e6e6" : "#1a1a1a";
  const std::string_view soft = dark ? "#b4b8bd" : "#4d5358";
  const std::string_view grid = dark ? "#3a3f45" : "#dde1e6";
  const std::string_view paper = dark ? "#15181c" : "#ffffff";
  const std::string_view first = dark ? "#78b0ff" : "#0b5cad";
  const std::string_view second = dark ? "#4fd1a5" : "#0a7a55";
  const std::string_view warm = dark ? "#ff9d5c" : "#b8440a";
  return fmt::format(
      ".fig text{{font-family:Helvetica,Arial,sans-serif;fill:{0}}}\n"
      ".f-tick{{font-size:12px}}.fig .f-tick,.fig .f-ref{{fill:{1}}}.f-ref{{font-size:12px}}\n"
      ".f-title{{font-size:14px;font-weight:bold}}.f-value{{font-size:12px}}\n"
      ".fig .f-value,.fig "
      ".f-ref{{paint-order:stroke;stroke:{3};stroke-width:3px;stroke-linejoin:round}}\n"
      ".f-end{{text-anchor:end}}.f-mid{{text-anchor:middle}}\n"
      ".f-grid{{stroke:{2};stroke-width:1}}.f-axis{{stroke:{1};stroke-width:1}}\n"
      ".f-base{{stroke:{0};stroke-width:1.5;stroke-dasharray:7 4}}\n"
      ".f-band{{fill:{1};fill-opacity:0.15}}\n"
      ".f-floor{{stroke:{1};stroke-width:1.5;stroke-dasharray:2 3}}\n"
      ".f-path{{stroke-width:2;fill:none}}.f-bar{{stroke-width:1.5;fill:none}}\n"
      ".f-d0{{stroke:{4}}}.f-d1{{stroke:{5}}}.f-slower{{stroke:{6}}}\n"
      ".f-m0{{fill:{4}}}.f-m1{{fill:{5}}}.f-down{{fill:{6}}}\n"
      ".f-mark{{stroke:{3};stroke-width:1.2}}.f-cross{{stroke:{6};stroke-width:2;fill:none}}\n",
      ink, soft, grid, paper, first, second, warm);
}

std::string StepFigure(const SessionView& view, Quantity quantity, FigureUse use) {
  const Drawing drawing{view, quantity};
  const std::vector<Panel> panels = MakePanels(drawing);
  const std::vector<double> values = AllValues(drawing);
  if (panels.empty() || values.empty()) return "";
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const LogScale scale(*low * 0.7, *high * 1.15);  // room for labels below and above

  size_t longest_label = 0;
  for (const Step& step : view.steps) longest_label = std::max(longest_label, step.label.size());
  const double height =
      kTop + kPlotHeight + 32 + 4.2 * static_cast<double>(std::min<size_t>(longest_label, 22));

  const bool absolute = quantity == Quantity::kThroughput;
  const std::string id = (absolute ? "figure-" : "relative-") + Slug(view.title);
  std::string svg = fmt::format(
      "<svg class=\"fig\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "role=\"img\" "
      "aria-labelledby=\"{}-t {}-d\">\n<title id=\"{}-t\">{}</title>\n<desc "
      "id=\"{}-d\">{}</desc>\n",
      kWidth, height, id, id, id,
      EscapeHtml((absolute ? "Throughput along the steps: "
                           : "Speed over the baseline along the steps: ") +
                 view.title + drawing.note()),
      id, EscapeHtml(Description(drawing)));
  if (use == FigureUse::kStandalone) {
    svg += fmt::format(
        "<style>\n{}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        FigureStyleSheet(false));
  }
  for (const Panel& panel : panels) {
    svg += Axes(panel, scale, view, &panel == &panels.front());
    svg += References(panel, scale, drawing);
    svg += Points(panel, scale, drawing);
    std::string title = view.direction_names[panel.direction];
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    svg += Text("f-title", panel.left, kTop - 16, title);
  }
  svg += fmt::format(
      "<text class=\"f-tick f-mid\" transform=\"translate(16 {:.1f}) rotate(-90)\">{} "
      "{}{}</text>\n",
      kTop + kPlotHeight / 2, LevelName(view.level),
      absolute ? "throughput, GB/s" : "speed / baseline", drawing.note());
  svg += Legend();
  return svg + "</svg>\n";
}

}  // namespace szarena::report
