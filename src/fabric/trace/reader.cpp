// SPDX-License-Identifier: Apache-2.0
#include "fabric/trace/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <sstream>

namespace szarena::fabric::trace {
namespace {

// Varints and texts of one chunk. After the first error everything reads as 0, and `bad` says so.
struct Cursor {
  std::string_view bytes;
  bool bad = false;
  uint64_t Number(uint64_t below = ~uint64_t{0}) {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes.empty()) break;
      const auto b = static_cast<uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      v |= static_cast<uint64_t>(b & 0x7f) << shift;
      if ((b & 0x80) != 0) continue;
      if (v < below) return bad ? 0 : v;
      break;
    }
    bad = true;
    return 0;
  }
  uint32_t Small(uint64_t below = uint64_t{1} << 32) {
    return static_cast<uint32_t>(Number(std::min(below, uint64_t{1} << 32)));
  }
  std::string Text() {
    const uint64_t n = Number(bytes.size() + 1);
    if (bad || n > bytes.size()) {
      bad = true;
      return {};
    }
    std::string s(bytes.substr(0, n));
    bytes.remove_prefix(n);
    return s;
  }
  // How many records follow: each takes at least a byte.
  uint64_t Records() { return Number(bytes.size() + 1); }
};

void ReadHeader(Cursor& c, Header& h) {
  h.program = c.Text();
  h.arch = c.Text();
  for (uint32_t* v : {&h.width, &h.height, &h.clock_mhz, &h.block_width, &h.block_height,
                      &h.cells_x, &h.cells_y, &h.spans_per_pe})
    *v = c.Small();
  const auto fits = [](uint32_t size, uint32_t block, uint32_t cells) {
    return size <= 0xffff && block > 0 && cells == (size + block - 1) / block;
  };
  if (!fits(h.width, h.block_width, h.cells_x) || !fits(h.height, h.block_height, h.cells_y) ||
      h.cells() > c.bytes.size()) {
    c.bad = true;
    return;
  }
  std::vector<std::string> names{"(no code)"};
  for (uint64_t n = c.Records(); n > 0 && !c.bad; --n) names.push_back(c.Text());
  for (uint32_t i = 0; i < h.cells() && !c.bad; ++i)
    h.class_of_cell.push_back(names[c.Small(names.size())]);
}

void ReadBins(Cursor& c, Trace& t) {
  Window& w = t.windows.emplace_back();
  w.begin = c.Number(uint64_t{1} << 62);
  w.width = c.Number(uint64_t{1} << 48);
  w.bins = c.Small(1u << 16);
  const uint64_t cells = t.header.cells();
  if (w.width == 0 || w.bins == 0) c.bad = true;
  uint64_t at = 0;
  for (uint64_t n = c.Records(); n > 0 && !c.bad; --n) {
    at += c.Number(cells * w.bins - at);
    if (c.bad) break;
    BinActivity& b = w.activity.emplace_back();
    b.cell = static_cast<uint32_t>(at % cells);
    b.begin = w.begin + at / cells * w.width;
    for (uint64_t& v : b.cycles) v = c.Number();
  }
  at = 0;
  for (uint64_t n = c.Records(); n > 0 && !c.bad; --n) {
    at += c.Number(cells * w.bins * 160 - at);
    const uint64_t wavelets = c.Number();
    const uint64_t place = at / 160;
    w.links.push_back({static_cast<uint32_t>(place % cells), w.begin + place / cells * w.width,
                       static_cast<uint8_t>(at / 32 % 5), static_cast<uint8_t>(at % 32), wavelets});
  }
}

}  // namespace

Result<Trace> Parse(std::string_view bytes, HalfChunk last) {
  constexpr size_t kStart = 12;
  if (bytes.size() < kStart || bytes.substr(0, 8) != kMagic)
    return Fail(ErrorCode::kCorrupt, "no trace file: it does not begin with SZTRACE");
  uint32_t version = 0;
  std::memcpy(&version, bytes.data() + 8, 4);
  if (version != kVersion)
    return Fail(ErrorCode::kCorrupt,
                fmt::format("a trace of version {}, this program reads version {}: record it again",
                            version, kVersion));
  Trace t;
  bool header = false;
  for (size_t at = kStart; at < bytes.size();) {
    if (t.complete)
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("bytes follow the end of the trace at byte {}", at));
    if (bytes.size() - at < 9) {
      if (header && last == HalfChunk::kLeftOut) break;
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("the file is cut off in the head of a chunk at byte {}", at));
    }
    const auto kind = static_cast<ChunkKind>(bytes[at]);
    uint32_t size = 0;
    uint32_t sum = 0;
    std::memcpy(&size, bytes.data() + at + 1, 4);
    std::memcpy(&sum, bytes.data() + at + 5, 4);
    if (size > bytes.size() - at - 9) {
      if (header && last == HalfChunk::kLeftOut) break;
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("the file is cut off in a chunk at byte {}", at));
    }
    Cursor c{bytes.substr(at + 9, size)};
    if (Fnv1a(c.bytes) != sum)
      return Fail(ErrorCode::kCorrupt, fmt::format("wrong checksum of the chunk at byte {}", at));
    if (header == (kind == ChunkKind::kHeader))
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("chunk of kind {} at byte {} where it must not stand",
                              static_cast<int>(kind), at));
    header = true;
    const uint64_t pes = uint64_t{t.header.width} * t.header.height;
    switch (kind) {
      case ChunkKind::kHeader:
        ReadHeader(c, t.header);
        break;
      case ChunkKind::kLabels:
        for (uint64_t n = c.Records(); n > 0 && !c.bad; --n) {
          Label l;
          l.kind = static_cast<LabelKind>(c.Small(static_cast<uint64_t>(LabelKind::kMap) + 1));
          l.text = c.Text();
          l.file = c.Text();
          l.line = c.Small();
          l.color = static_cast<uint8_t>(c.Small(256));
          t.labels.push_back(std::move(l));
        }
        break;
      case ChunkKind::kSpans: {
        uint64_t begun = 0;
        for (uint64_t n = c.Records(); n > 0 && !c.bad; --n) {
          Span s;
          s.begin = begun += c.Number(uint64_t{1} << 60);
          s.end = s.begin + c.Number(uint64_t{1} << 60);
          s.pe = c.Small(pes);
          s.lane = static_cast<uint8_t>(c.Small(kLanes));
          s.label = c.Small(t.labels.size());
          t.spans.push_back(s);
        }
        break;
      }
      case ChunkKind::kBins:
        ReadBins(c, t);
        break;
      case ChunkKind::kLinks:
        for (uint64_t n = c.Records(); n > 0 && !c.bad; --n) {
          LinkTotal l;
          l.pe = c.Small(pes);
          l.direction = static_cast<uint8_t>(c.Small(5));
          l.colors = c.Small();
          l.wavelets = c.Number();
          t.links.push_back(l);
        }
        break;
      case ChunkKind::kWaits:
        for (uint64_t n = c.Records(); n > 0 && !c.bad; --n) {
          WaitTotal w;
          w.label = c.Small(t.labels.size());
          w.cycles = c.Number();
          w.count = c.Number();
          t.waits.push_back(w);
        }
        break;
      case ChunkKind::kTraps:
        for (uint64_t n = c.Records(); n > 0 && !c.bad; --n) {
          TrapNote note;
          note.cycle = c.Number();
          note.x = c.Small();
          note.y = c.Small();
          note.count = c.Number();
          note.text = c.Text();
          t.traps.push_back(std::move(note));
        }
        break;
      case ChunkKind::kHost:
        for (uint64_t n = c.Records(); n > 0 && !c.bad; --n) {
          HostNote note;
          note.what = c.Text();
          for (uint32_t* v : {&note.x, &note.y, &note.width, &note.height}) *v = c.Small();
          note.begin = c.Number();
          note.end = c.Number();
          note.done = c.Number() != 0;
          t.host.push_back(std::move(note));
        }
        break;
      case ChunkKind::kOpen:
        for (uint64_t n = c.Records(); n > 0 && !c.bad; --n) {
          OpenNote note;
          note.x = c.Small();
          note.y = c.Small();
          note.since = c.Number();
          note.pes = c.Number();
          note.text = c.Text();
          t.open.push_back(std::move(note));
        }
        break;
      case ChunkKind::kEnd:
        t.cycles = c.Number();
        t.dropped_spans = c.Number();
        t.complete = true;
        break;
      default:
        return Fail(ErrorCode::kCorrupt,
                    fmt::format("chunk of unknown kind {} at byte {}", static_cast<int>(kind), at));
    }
    if (c.bad || !c.bytes.empty())
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("the chunk of kind {} at byte {} does not hold what it should",
                              static_cast<int>(kind), at));
    at += 9 + size;
  }
  if (!header) return Fail(ErrorCode::kCorrupt, "the trace is empty");
  if (!t.complete) {
    for (const Window& w : t.windows) t.cycles = std::max(t.cycles, w.begin + w.width * w.bins);
  }
  return t;
}

Result<Trace> Read(const std::string& path, HalfChunk last) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Fail(ErrorCode::kNotFound, fmt::format("cannot open the trace '{}'", path));
  std::stringstream all;
  all << in.rdbuf();
  auto t = Parse(all.view(), last);
  if (!t)
    return WithContext(std::move(t).error(), fmt::format("while reading the trace '{}'", path));
  return t;
}

}  // namespace szarena::fabric::trace
