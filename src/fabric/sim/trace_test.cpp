// SPDX-License-Identifier: Apache-2.0
// Traces of real runs: what is in them, that host threads do not change a byte, that cells and
// limits bound them, that bad files are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "fabric/sim/fabric.h"
#include "fabric/testing/program_kit.h"
#include "fabric/trace/reader.h"

namespace szarena::fabric {
namespace {
using namespace testing;
using ::testing::HasSubstr;
using trace::LabelKind;

std::string TempPath(const std::string& name) {
  return ::testing::TempDir() + "/szarena_trace_" + std::to_string(::getpid()) + "_" + name;
}

std::string Bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

// In each row PE 0 sends `words` words east; every other PE gets them all (multicast).
ProgramKit Chain(int width, int height, uint16_t words) {
  ProgramKit kit(width, height);
  ClassKit source = kit.AddClass("source");
  ClassKit hop = kit.AddClass("hop");
  for (ClassKit* c : {&source, &hop}) {
    const uint16_t buffer = c->Words("buffer", std::vector<uint16_t>(words, 7));
    const uint16_t memory = c->Dsd(Mem(buffer, words, 2, 1));
    const uint16_t out = c->Dsd(FabOut(1, 9, words));
    const uint16_t in = c->Dsd(FabIn(1, 9, words));
    c->Task(TaskKind::kLocal, 20, c->Fn(c == &source ? "send" : "receive", [&](FunctionBuilder& b) {
      DsdOpInfo op = c == &source ? MakeDsd(DsdOp::kMov16, At(out), {At(memory)})
                                  : MakeDsd(DsdOp::kMov16, At(memory), {At(in)});
      EmitDsd(b, *c, op);
    }));
    c->get().initially_active = 1ull << 20;
  }
  kit.PlaceAll(hop);
  for (int y = 0; y < height; ++y) {
    kit.Place(0, y, source);
    kit.Route(0, y, 9, {Direction::kRamp}, {Direction::kEast});
    for (int x = 1; x < width; ++x) {
      kit.Route(x, y, 9, {Direction::kWest},
                x + 1 < width ? std::initializer_list<Direction>{Direction::kRamp, Direction::kEast}
                              : std::initializer_list<Direction>{Direction::kRamp});
    }
  }
  return kit;
}

struct Traced {
  trace::Trace trace;
  std::string bytes;
  Statistics statistics;
};

Traced TraceOf(const ProgramKit& kit, int threads, const std::string& name) {
  Options options;
  options.threads = threads;
  options.trace = TempPath(name);
  Traced run;
  {
    auto fabric = Fabric::Create(
        std::make_shared<const Program>(const_cast<ProgramKit&>(kit).get()), options);
    EXPECT_TRUE(fabric) << fabric.error().ToString();
    EXPECT_TRUE(std::filesystem::exists(options.trace + ".part"));
    auto idle = (*fabric)->RunUntilIdle();
    EXPECT_TRUE(idle) << idle.error().ToString();
    run.statistics = (*fabric)->statistics();
    EXPECT_TRUE((*fabric)->FinishTrace());
  }
  EXPECT_FALSE(std::filesystem::exists(options.trace + ".part"));
  auto read = trace::Read(options.trace);
  EXPECT_TRUE(read) << read.error().ToString();
  if (read) run.trace = *std::move(read);
  run.bytes = Bytes(options.trace);
  std::filesystem::remove(options.trace);
  return run;
}

ProgramKit SmallChain() { return Chain(4, 1, 60); }

TEST(Trace, HoldsTasksOperationsWaitsAndLinks) {
  const Traced run = TraceOf(SmallChain(), 1, "chain");
  const trace::Trace& t = run.trace;
  EXPECT_TRUE(t.complete);
  EXPECT_EQ(t.header.width, 4u);
  EXPECT_EQ(t.header.cells(), 4u);
  EXPECT_GE(t.cycles, run.statistics.cycles);
  uint64_t tasks = 0;
  uint64_t operations = 0;
  uint64_t waits = 0;
  for (const trace::Span& s : t.spans) {
    EXPECT_LT(s.begin, s.end);
    EXPECT_LE(s.end, t.cycles);
    const trace::Label& l = t.labels[s.label];
    tasks += l.kind == LabelKind::kTask;
    operations += l.kind == LabelKind::kOperation;
    if (l.kind == LabelKind::kInputEmpty) {
      waits += s.end - s.begin;
      EXPECT_EQ(l.color, 9);
      EXPECT_THAT(l.text, HasSubstr("input queue 1 (colour 9) is empty"));
    }
  }
  EXPECT_EQ(tasks, 4u);
  EXPECT_EQ(operations, 4u);
  EXPECT_GT(waits, 0u);
  uint64_t total_waits = 0;
  for (const trace::WaitTotal& w : t.waits) {
    if (t.labels[w.label].kind == LabelKind::kInputEmpty) total_waits += w.cycles;
  }
  EXPECT_EQ(total_waits, waits);  // every PE is recorded in detail here
  // Links: 60 wavelets over each of three links and down three ramps, all on colour 9, in totals
  // and in bins.
  uint64_t hops = 0;
  for (const trace::LinkTotal& l : t.links) {
    EXPECT_EQ(l.wavelets, 60u);
    EXPECT_EQ(l.colors, 1u << 9);
    hops += l.wavelets;
  }
  EXPECT_EQ(t.links.size(), 6u);
  EXPECT_EQ(hops, run.statistics.hops);
  uint64_t binned = 0;
  std::vector<uint64_t> activity(4);
  for (const trace::Window& w : t.windows) {
    for (const trace::BinLink& l : w.links) binned += l.wavelets;
    for (const trace::BinActivity& b : w.activity) {
      uint64_t main = 0;
      for (size_t k = 0; k < 4; ++k) activity[k] += b.cycles[k];
      main = b.cycles[0] + b.cycles[1];
      EXPECT_LE(main, w.width);  // a main thread does one thing at a time
    }
  }
  EXPECT_EQ(binned, hops);
  EXPECT_EQ(activity[static_cast<size_t>(trace::Activity::kStalled)], waits);
  EXPECT_GT(activity[static_cast<size_t>(trace::Activity::kBusy)], 240u);
}

TEST(Trace, IsTheSameForAnyNumberOfThreads) {
  const ProgramKit kit = Chain(9, 7, 40);
  const Traced one = TraceOf(kit, 1, "one");
  EXPECT_EQ(one.bytes, TraceOf(kit, 3, "three").bytes);
  EXPECT_EQ(one.bytes, TraceOf(kit, 7, "seven").bytes);
}

TEST(Trace, SumsBigFabricsOverCells) {
  const Traced run = TraceOf(Chain(200, 3, 8), 2, "big");
  EXPECT_EQ(run.trace.header.block_width, 4u);
  EXPECT_EQ(run.trace.header.cells_x, 50u);
  EXPECT_EQ(run.trace.header.cells_y, 1u);
  for (const trace::Span& s : run.trace.spans) {
    EXPECT_EQ(s.pe / 200, 0u);
    EXPECT_EQ(s.pe % 4, 0u);
  }
  uint64_t binned = 0;
  for (const trace::Window& w : run.trace.windows) {
    for (const trace::BinLink& l : w.links) binned += l.wavelets;
  }
  EXPECT_EQ(binned, run.statistics.hops);
  EXPECT_LT(run.bytes.size(), 200'000u);
}

TEST(Trace, SaysWhoWaitsWhenTheRunEnds) {
  ProgramKit kit = Chain(2, 1, 4);
  kit.get().classes[0].initially_active = 0;  // nobody sends
  Options options;
  options.trace = TempPath("open");
  {
    auto fabric = Fabric::Create(std::make_shared<const Program>(kit.get()), options);
    ASSERT_TRUE(fabric);
    ASSERT_TRUE((*fabric)->RunFor(500));
  }  // the destructor ends the trace
  auto t = trace::Read(options.trace);
  ASSERT_TRUE(t) << t.error().ToString();
  ASSERT_EQ(t->open.size(), 1u);
  EXPECT_EQ(t->open[0].x, 1u);
  EXPECT_THAT(t->open[0].text, HasSubstr("input queue 1 (colour 9) is empty"));
  size_t running = 0;  // the task that never ended is there too
  for (const trace::Span& s : t->spans)
    running += s.lane == trace::kTaskLane && t->labels[s.label].text.starts_with("receive") &&
               s.end == t->cycles;
  EXPECT_EQ(running, 1u);
  uint64_t stalled = 0;
  for (const trace::Window& w : t->windows) {
    for (const trace::BinActivity& b : w.activity) stalled += b.cycles[1];
  }
  EXPECT_GT(stalled, 450u);
  std::filesystem::remove(options.trace);
}

TEST(Trace, AnUnwritablePathIsAnError) {
  Options options;
  options.trace = "/nonexistent/folder/trace";
  auto fabric = Fabric::Create(std::make_shared<const Program>(SmallChain().get()), options);
  ASSERT_FALSE(fabric);
  EXPECT_THAT(fabric.error().message, HasSubstr("/nonexistent/folder/trace"));
}

TEST(Trace, CorruptFilesAreRefused) {
  const std::string good = TraceOf(SmallChain(), 1, "corrupt").bytes;
  ASSERT_TRUE(trace::Parse(good));
  EXPECT_FALSE(trace::Parse(""));
  EXPECT_FALSE(trace::Parse("SZTRACE"));
  EXPECT_FALSE(trace::Parse(good + "x"));
  for (size_t i = 0; i < good.size(); ++i) {  // every byte counts
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    EXPECT_FALSE(trace::Parse(bad)) << "byte " << i;
  }
  size_t short_ones = 0;
  for (size_t n = 0; n < good.size(); ++n) {  // a cut is refused, or, between chunks, seen
    const auto t = trace::Parse(good.substr(0, n));
    if (!t) continue;
    EXPECT_FALSE(t->complete) << n;
    ++short_ones;
  }
  EXPECT_GT(short_ones, 3u);
  EXPECT_LT(short_ones, 60u);
  // A killed run leaves half a chunk at the end of its file: what is whole can be seen.
  const auto killed = trace::Parse(good.substr(0, good.size() - 3), trace::HalfChunk::kLeftOut);
  ASSERT_TRUE(killed);
  EXPECT_FALSE(killed->complete);
  EXPECT_EQ(killed->header.width, trace::Parse(good)->header.width);
  EXPECT_EQ(killed->spans.size(), trace::Parse(good)->spans.size());
  EXPECT_FALSE(trace::Parse(good.substr(0, 15), trace::HalfChunk::kLeftOut));
  // Numbers out of range behind a right checksum.
  std::string version = good;
  version[8] = 2;
  EXPECT_THAT(trace::Parse(version).error().message, HasSubstr("version 2"));
}

}  // namespace
}  // namespace szarena::fabric
