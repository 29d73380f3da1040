// SPDX-License-Identifier: Apache-2.0
#include "fabric/view/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "fabric/model/accuracy.h"

namespace szarena::fabric::view {
using namespace trace;
namespace {

constexpr uint64_t kPixels = 6'000'000;  // bytes of frames in a page
constexpr size_t kMaxSpans = 200'000;    // in a page
constexpr size_t kMaxRows = 200;         // of a table

std::string Base64(const std::vector<uint8_t>& bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const uint32_t n = static_cast<uint32_t>(bytes[i] << 16) |
                       static_cast<uint32_t>(i + 1 < bytes.size() ? bytes[i + 1] << 8 : 0) |
                       (i + 2 < bytes.size() ? bytes[i + 2] : 0);
    out +=
        {kDigits[n >> 18], kDigits[n >> 12 & 63], i + 1 < bytes.size() ? kDigits[n >> 6 & 63] : '=',
         i + 2 < bytes.size() ? kDigits[n & 63] : '='};
  }
  return out;
}

// Spreads `amount` over the frames that [begin, begin + length) touches.
template <typename Add>
void Spread(uint64_t begin, uint64_t length, double frame_width, uint32_t frames, double amount,
            Add add) {
  const double b = static_cast<double>(begin) / frame_width;
  const double e = static_cast<double>(begin + length) / frame_width;
  const double scale = amount / (e - b);
  for (auto f = static_cast<uint32_t>(b); f < frames && static_cast<double>(f) < e; ++f) {
    const double part = std::min<double>(e, f + 1) - std::max<double>(b, f);
    if (part > 0) add(f, part * scale);
  }
}

uint8_t Scaled(double share) {
  if (share <= 0) return 0;
  return static_cast<uint8_t>(std::clamp(std::lround(share * 255), 1l, 255l));
}

}  // namespace

std::string PageData(const Trace& t, uint32_t max_frames) {
  using nlohmann::json;
  const Header& h = t.header;
  const size_t cells = h.cells();
  const uint64_t cycles = std::max<uint64_t>(t.cycles, 1);
  const auto frames = static_cast<uint32_t>(
      std::min<uint64_t>({cycles, max_frames, std::max<uint64_t>(32, kPixels / (cells * 14))}));
  const double frame_width = static_cast<double>(cycles) / frames;
  // How many PEs a cell has: less at the edges.
  std::vector<double> pes(cells);
  for (size_t c = 0; c < cells; ++c) {
    const auto x = static_cast<uint32_t>(c % h.cells_x) * h.block_width;
    const auto y = static_cast<uint32_t>(c / h.cells_x) * h.block_height;
    pes[c] = static_cast<double>(std::min(h.block_width, h.width - x)) *
             std::min(h.block_height, h.height - y);
  }
  std::vector<float> activity(size_t{frames} * cells * kActivities);
  std::vector<float> link(size_t{frames} * cells * 5);
  std::map<uint64_t, double> by_color;  // (frame * cells + cell) * 5 + direction, colour
  std::vector<double> total(size_t{frames} * kActivities);
  std::vector<double> color_total(32);
  for (const Window& w : t.windows) {
    for (const BinActivity& b : w.activity) {
      for (size_t k = 0; k < kActivities; ++k) {
        if (b.cycles[k] == 0) continue;
        Spread(b.begin, w.width, frame_width, frames, static_cast<double>(b.cycles[k]),
               [&](uint32_t f, double part) {
                 activity[(size_t{f} * cells + b.cell) * kActivities + k] +=
                     static_cast<float>(part);
                 total[size_t{f} * kActivities + k] += part;
               });
      }
    }
    for (const BinLink& l : w.links) {
      color_total[l.color] += static_cast<double>(l.wavelets);
      Spread(l.begin, w.width, frame_width, frames, static_cast<double>(l.wavelets),
             [&](uint32_t f, double part) {
               const size_t at = (size_t{f} * cells + l.cell) * 5 + l.direction;
               link[at] += static_cast<float>(part);
               by_color[at * 32 + l.color] += part;
             });
    }
  }
  std::vector<uint8_t> activity_bytes(activity.size());
  for (size_t i = 0; i < activity.size(); ++i)
    activity_bytes[i] = Scaled(activity[i] / (frame_width * pes[i / kActivities % cells]));
  std::vector<uint8_t> link_bytes(link.size());
  for (size_t i = 0; i < link.size(); ++i)
    link_bytes[i] = Scaled(link[i] / (frame_width * pes[i / 5 % cells]));
  std::vector<uint8_t> color_bytes(link.size(), 0xff);
  std::vector<float> best(link.size());
  for (const auto& [key, n] : by_color) {
    if (n <= best[key / 32]) continue;
    best[key / 32] = static_cast<float>(n);
    color_bytes[key / 32] = static_cast<uint8_t>(key % 32);
  }
  json j;
  j["program"] = h.program;
  j["arch"] = h.arch;
  j["width"] = h.width;
  j["height"] = h.height;
  j["clock"] = h.clock_mhz;
  j["accuracy"] = HeldOutError();
  j["block"] = {h.block_width, h.block_height};
  j["cells"] = {h.cells_x, h.cells_y};
  j["cycles"] = t.cycles;
  j["complete"] = t.complete;
  j["frames"] = frames;
  j["frameWidth"] = frame_width;
  uint64_t coarsest = 0;
  for (const Window& w : t.windows) coarsest = std::max(coarsest, w.width);
  j["binWidth"] = coarsest;
  j["activity"] = Base64(activity_bytes);
  j["links"] = Base64(link_bytes);
  j["colors"] = Base64(color_bytes);
  for (const double v : total) j["total"].push_back(std::round(v * 10) / 10);
  std::map<std::string, size_t> classes;
  j["classes"] = json::array();
  for (const std::string& name : h.class_of_cell) {
    const auto [it, fresh] = classes.try_emplace(name, classes.size());
    if (fresh) j["classes"].push_back(name);
    j["classOf"].push_back(it->second);
  }
  j["colorTotals"] = json::array();
  for (size_t c = 0; c < color_total.size(); ++c) {
    if (color_total[c] > 0) j["colorTotals"].push_back({c, color_total[c]});
  }
  j["labels"] = json::array();
  for (const Label& l : t.labels)
    j["labels"].push_back({static_cast<int>(l.kind), l.text, l.file, l.line, l.color});
  // Spans: as many a PE as the page can carry.
  std::map<uint32_t, size_t> taken;
  for (const Span& s : t.spans) ++taken[s.pe];
  const size_t quota =
      t.spans.size() <= kMaxSpans ? t.spans.size() : kMaxSpans / std::max<size_t>(taken.size(), 1);
  taken.clear();
  uint64_t left_out = t.dropped_spans;
  json spans = json::array();
  for (const Span& s : t.spans) {
    if (taken[s.pe]++ >= quota) {
      ++left_out;
      continue;
    }
    for (const uint64_t v :
         {uint64_t{s.pe}, uint64_t{s.lane}, uint64_t{s.label}, s.begin, s.end - s.begin})
      spans.push_back(v);
  }
  j["spans"] = std::move(spans);
  j["leftOut"] = left_out;
  j["hot"] = json::array();
  for (size_t i = 0; i < std::min(t.links.size(), kMaxRows); ++i) {
    const LinkTotal& l = t.links[i];
    j["hot"].push_back({l.pe % h.width, l.pe / h.width, l.direction, l.colors, l.wavelets});
  }
  // The same place and reason in several code classes is one row.
  std::map<std::tuple<std::string, std::string, uint32_t>, WaitTotal> reasons;
  for (const WaitTotal& w : t.waits) {
    const Label& l = t.labels[w.label];
    WaitTotal& sum =
        reasons.try_emplace({l.text, l.file, l.line}, WaitTotal{w.label, 0, 0}).first->second;
    sum.cycles += w.cycles;
    sum.count += w.count;
  }
  std::vector<WaitTotal> waits;
  for (const auto& [key, sum] : reasons) waits.push_back(sum);
  std::stable_sort(waits.begin(), waits.end(),
                   [](const WaitTotal& a, const WaitTotal& b) { return a.cycles > b.cycles; });
  j["waits"] = json::array();
  for (size_t i = 0; i < std::min(waits.size(), kMaxRows); ++i)
    j["waits"].push_back({waits[i].label, waits[i].cycles, waits[i].count});
  j["traps"] = json::array();
  for (size_t i = 0; i < std::min(t.traps.size(), kMaxRows); ++i)
    j["traps"].push_back(
        {t.traps[i].cycle, t.traps[i].x, t.traps[i].y, t.traps[i].count, t.traps[i].text});
  j["host"] = json::array();
  for (size_t i = 0; i < std::min(t.host.size(), kMaxRows); ++i) {
    const HostNote& n = t.host[i];
    j["host"].push_back({n.what, n.x, n.y, n.width, n.height, n.begin, n.end, n.done});
  }
  j["open"] = json::array();
  for (size_t i = 0; i < std::min(t.open.size(), kMaxRows); ++i)
    j["open"].push_back({t.open[i].x, t.open[i].y, t.open[i].since, t.open[i].pes, t.open[i].text});
  j["rows"] = {t.links.size(), waits.size(), t.traps.size(), t.host.size(), t.open.size()};
  return j.dump(-1, ' ', true, json::error_handler_t::replace);
}

std::string MakePage(const Trace& trace) {
  constexpr std::string_view kPlace = "@DATA@";
  std::string page = kPage;
  std::string data = PageData(trace);
  std::string safe;
  safe.reserve(data.size());
  for (const char c : data) {  // no text of a program can end the script element
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  page.replace(page.find(kPlace), kPlace.size(), safe);
  return page;
}

}  // namespace szarena::fabric::view
