// SPDX-License-Identifier: Apache-2.0
#include "cerebras_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "codec/core/bound.h"
#include "csl/driver/driver.h"
#include "fabric/sim/fabric.h"

namespace szarena::tasks {
namespace {

constexpr uint8_t kInColor = 1;
constexpr uint8_t kOutColor = 2;
constexpr uint32_t kPoison = 0x7fa5a5a5;

struct Session {
  std::unique_ptr<fabric::Fabric> machine;
  fabric::Rect all;
  size_t pes = 0;

  Session(const std::shared_ptr<const bytecode::Program>& program, const Geometry& g)
      : all{0, 0, g.width, g.height},
        pes(static_cast<size_t>(g.width) * static_cast<size_t>(g.height)) {
    fabric::Options options;
    options.max_cycles = 200'000'000;
    auto made = fabric::Fabric::Create(program, options);
    EXPECT_TRUE(made) << made.error().ToString();
    machine = std::move(*made);
  }
  void In(const char* name, uint32_t count, Words words) {
    const auto id = machine->ExportId(name);
    ASSERT_TRUE(id) << id.error().ToString();
    ASSERT_TRUE(machine->CopyIn(*id, all, 32, count, std::move(words)));
  }
  Words Out(const char* name, uint32_t count) {
    const auto id = machine->ExportId(name);
    EXPECT_TRUE(id) << id.error().ToString();
    const auto ticket = machine->CopyOut(*id, all, 32, count);
    EXPECT_TRUE(ticket);
    const auto done = machine->RunUntil(*ticket);
    EXPECT_TRUE(done) << done.error().ToString();
    return machine->TakeOutput(*ticket);
  }
  void Bound(double eb) {
    const float ebq = codec::RoundBoundDown<float>(eb);
    const int exponent = ebq > 0 ? std::ilogb(ebq) : -1023;
    In("eb_f32", 1, Words(pes, std::bit_cast<uint32_t>(ebq)));
    In("eb_exponent", 1, Words(pes, static_cast<uint32_t>(exponent)));
  }
  RunResult Launch(const std::string& function) {
    RunResult result;
    const auto id = machine->ExportId(function);
    EXPECT_TRUE(id) << id.error().ToString();
    const auto idle_before = machine->RunUntilIdle();
    EXPECT_TRUE(idle_before) << idle_before.error().ToString();
    std::vector<uint64_t> before;
    for (size_t p = 0; p < pes; ++p) before.push_back(Busy(p));
    const auto ticket = machine->Launch(*id, {});
    EXPECT_TRUE(ticket);
    const auto done = machine->RunUntil(*ticket);
    EXPECT_TRUE(done) << done.error().ToString();
    const auto idle = machine->RunUntilIdle();
    EXPECT_TRUE(idle) << idle.error().ToString();
    result.cycles = machine->now() - machine->SpanOf(*ticket).begin;
    for (size_t p = 0; p < pes; ++p) result.busy.push_back(Busy(p) - before[p]);
    return result;
  }
  uint64_t Busy(size_t p) const {
    return machine->StatisticsOf(static_cast<int>(p) % all.width, static_cast<int>(p) / all.width)
        .count.busy;
  }
  void Collect(RunResult& result, const char* name, uint32_t room,
               const std::vector<uint32_t>& counts) {
    const Words words = Out(name, room);
    for (size_t p = 0; p < pes; ++p) {
      EXPECT_LE(counts[p], room) << "PE " << p;
      const auto first = words.begin() + static_cast<std::ptrdiff_t>(p * room);
      result.out.emplace_back(first, first + std::min(counts[p], room));
    }
    machine->Stop();
    for (const fabric::Trap& trap : machine->traps()) ADD_FAILURE() << trap.ToString();
  }
};

Words Lengths(const std::vector<Words>& chunks) {
  Words n;
  for (const Words& c : chunks) n.push_back(static_cast<uint32_t>(c.size()));
  return n;
}

Words Padded(const std::vector<Words>& chunks, uint32_t room) {
  Words all;
  for (const Words& c : chunks) {
    all.insert(all.end(), c.begin(), c.end());
    all.insert(all.end(), room - c.size(), kPoison);
  }
  return all;
}

// Forms of vector instructions that the baselines and ladders use and that stand in no table of the
// SDK's documentation (docs/wafer-notes.md). The compiler says so; it may say nothing else.
constexpr const char* kUndocumentedForms[] = {
    "@add16 of (pointer, scalar, DSD)", "@and16 of (pointer, scalar, DSD)",
    "@or16 of (pointer, scalar, DSD)", "@sub16 of (DSD, scalar, DSD)"};

}  // namespace

std::string OtherMessages(const std::string& messages) {
  std::string others;
  std::istringstream lines(messages);
  for (std::string line; std::getline(lines, line);) {
    const bool message =
        line.find("warning: ") != std::string::npos || line.find("error: ") != std::string::npos;
    const bool known = std::any_of(
        std::begin(kUndocumentedForms), std::end(kUndocumentedForms), [&](const char* form) {
          return line.find(std::string("warning: ") + form) != std::string::npos &&
                 line.ends_with("[dsd-op-undocumented]");
        });
    if (message && !known) others += line + "\n";
  }
  return others;
}

std::shared_ptr<const bytecode::Program> CompileCandidate(const std::string& directory,
                                                          const std::string& arch,
                                                          const Geometry& g) {
  std::string params =
      fmt::format("--params=width:{},height:{},max_elems_per_pe:{},chunk_blocks:{}", g.width,
                  g.height, g.max_elems, g.chunk_blocks);
  if (g.primitive) params += fmt::format(",bins:{}", g.bins);
  const auto options = csl::ParseOptions(
      {std::string(SZARENA_SOURCE_DIR) + "/" + directory + "/layout.csl", "--arch=" + arch,
       fmt::format("--fabric-dims={},{}", g.width + 7, g.height + 2), "--fabric-offsets=4,1",
       "--memcpy", "--channels=1", params});
  EXPECT_TRUE(options) << options.error().ToString();
  csl::Outcome outcome = csl::Compile(*options, {});
  EXPECT_EQ(OtherMessages(outcome.messages), "") << outcome.messages;
  if (!outcome.program) return nullptr;
  return std::make_shared<bytecode::Program>(*std::move(outcome.program));
}

RunResult RunCompress(const std::shared_ptr<const bytecode::Program>& program, const Geometry& g,
                      const std::vector<Words>& chunks, double eb, const std::string& function) {
  Session s(program, g);
  s.In("n_local", 1, Lengths(chunks));
  s.Bound(eb);
  s.In("input", g.max_elems, Padded(chunks, g.max_elems));
  s.In("output_words", g.MaxWords(), Words(s.pes * g.MaxWords(), kPoison));
  s.In("output_word_count", 1, Words(s.pes, kPoison));
  RunResult result = s.Launch(function);
  s.Collect(result, "output_words", g.MaxWords(), s.Out("output_word_count", 1));
  return result;
}

RunResult RunDecompress(const std::shared_ptr<const bytecode::Program>& program, const Geometry& g,
                        const std::vector<Words>& payloads, const std::vector<uint32_t>& counts,
                        double eb, const std::string& function) {
  Session s(program, g);
  s.In("n_local", 1, counts);
  s.Bound(eb);
  s.In("output", g.max_elems, Words(s.pes * g.max_elems, kPoison));
  s.In("in_words", g.MaxWords(), Padded(payloads, g.MaxWords()));
  s.In("in_word_count", 1, Lengths(payloads));
  RunResult result = s.Launch(function);
  s.Collect(result, "output", g.max_elems, counts);
  return result;
}

void CheckBothWays(const std::shared_ptr<const bytecode::Program>& program, const Geometry& g,
                   const Reference& reference, std::vector<Words> chunks, double eb) {
  SCOPED_TRACE(fmt::format("eb {}", eb));
  chunks.resize(static_cast<size_t>(g.width * g.height));
  std::vector<Words> expected;
  for (const Words& c : chunks) {
    expected.push_back(c.empty() ? Words{} : reference.compress(c, eb, g.chunk_blocks));
  }
  const RunResult packed = RunCompress(program, g, chunks, eb);
  const RunResult values = RunDecompress(program, g, expected, Lengths(chunks), eb);
  const auto compare = [](const Words& got, const Words& right, const std::string& what) {
    EXPECT_EQ(got.size(), right.size()) << what;
    for (size_t i = 0; i < std::min(got.size(), right.size()); ++i) {
      if (got[i] == right[i]) continue;
      ADD_FAILURE() << what
                    << fmt::format(", word {}: {:08x}, expected {:08x}", i, got[i], right[i]);
      return;
    }
  };
  for (size_t p = 0; p < chunks.size(); ++p) {
    const size_t n = chunks[p].size();
    compare(packed.out[p], expected[p], fmt::format("payload of PE {} ({} values)", p, n));
    const Words right = n == 0 ? Words{} : reference.decompress(expected[p], n, eb, g.chunk_blocks);
    compare(values.out[p], right, fmt::format("values of PE {} ({} values)", p, n));
  }
}

std::shared_ptr<const bytecode::Program> CompileStreaming(const std::string& directory,
                                                          const std::string& arch, int width,
                                                          int height) {
  const auto options = csl::ParseOptions(
      {std::string(SZARENA_SOURCE_DIR) + "/" + directory + "/layout.csl", "--arch=" + arch,
       fmt::format("--fabric-dims={},{}", width + 7, height + 2), "--fabric-offsets=4,1",
       "--memcpy", "--channels=1",
       fmt::format("--params=width:{},height:{},in_color_id:{},out_color_id:{}", width, height,
                   kInColor, kOutColor)});
  EXPECT_TRUE(options) << options.error().ToString();
  csl::Outcome outcome = csl::Compile(*options, {});
  EXPECT_EQ(OtherMessages(outcome.messages), "") << outcome.messages;
  if (!outcome.program) return nullptr;
  return std::make_shared<bytecode::Program>(*std::move(outcome.program));
}

RunResult RunStream(const std::shared_ptr<const bytecode::Program>& program,
                    const std::vector<Words>& rows, const std::vector<uint32_t>& n_row,
                    const std::vector<uint32_t>& out_words, double eb,
                    const std::string& function) {
  const int height = static_cast<int>(rows.size());
  const int width = static_cast<int>(program->width);
  Session s(program, Geometry{.width = width, .height = height});
  Words n;
  for (const uint32_t count : n_row) n.insert(n.end(), static_cast<size_t>(width), count);
  s.In("n_row", 1, n);
  s.Bound(eb);
  s.Launch(function);
  RunResult result;
  const uint64_t before = s.machine->now();
  std::vector<fabric::Ticket> out;
  for (int y = 0; y < height; ++y) {
    const auto row = static_cast<size_t>(y);
    if (rows[row].empty()) {
      out.push_back(0);
      continue;
    }
    const auto ticket = s.machine->ReceiveFrom(
        {width - 1, y, bytecode::Direction::kEast, kOutColor}, out_words[row]);
    EXPECT_TRUE(ticket) << ticket.error().ToString();
    out.push_back(*ticket);
    EXPECT_TRUE(s.machine->SendInto({0, y, bytecode::Direction::kWest, kInColor}, rows[row]));
  }
  const auto idle = s.machine->RunUntilIdle();
  EXPECT_TRUE(idle) << idle.error().ToString();
  result.cycles = s.machine->now() - before;
  for (size_t y = 0; y < rows.size(); ++y) {
    result.out.push_back(!idle || rows[y].empty() ? Words{} : s.machine->TakeOutput(out[y]));
  }
  s.machine->Stop();
  for (const fabric::Trap& trap : s.machine->traps()) ADD_FAILURE() << trap.ToString();
  return result;
}

std::pair<uint64_t, uint64_t> CheckStream(const std::shared_ptr<const bytecode::Program>& program,
                                          uint32_t block, const std::vector<Words>& rows,
                                          const std::vector<std::vector<Record>>& records,
                                          const std::vector<Words>& values, double eb) {
  std::vector<uint32_t> n_row;
  std::vector<uint32_t> out_words;
  std::vector<Words> streams;
  std::vector<Words> padded;
  for (size_t y = 0; y < rows.size(); ++y) {
    n_row.push_back(static_cast<uint32_t>(rows[y].size()));
    padded.push_back(rows[y]);
    padded.back().resize((rows[y].size() + block - 1) / block * block);
    Words stream;
    for (const Record& r : records[y]) stream.insert(stream.end(), r.begin(), r.end());
    out_words.push_back(static_cast<uint32_t>(stream.size()));
    streams.push_back(stream);
  }
  const RunResult packed = RunStream(program, padded, n_row, out_words, eb, "compress");
  for (size_t y = 0; y < rows.size(); ++y) {
    std::vector<bool> seen(records[y].size());
    for (size_t at = 0; at < packed.out[y].size();) {
      const uint32_t index = packed.out[y][at] >> 12;
      if (index >= seen.size() || seen[index]) {
        ADD_FAILURE() << fmt::format(
            "row {} word {}: header {:08x}, a block that does not exist or comes twice", y, at,
            packed.out[y][at]);
        break;
      }
      seen[index] = true;
      const Record& right = records[y][index];
      const size_t end = std::min(packed.out[y].size(), at + right.size());
      const Record got(packed.out[y].begin() + static_cast<std::ptrdiff_t>(at),
                       packed.out[y].begin() + static_cast<std::ptrdiff_t>(end));
      EXPECT_EQ(got, right) << "row " << y << " block " << index;
      if (got != right) break;
      at = end;
    }
  }
  std::vector<uint32_t> value_words;
  for (const Words& row : padded)
    value_words.push_back(static_cast<uint32_t>(row.size() / block * (block + 1)));
  const RunResult back = RunStream(program, streams, n_row, value_words, eb, "decompress");
  for (size_t y = 0; y < rows.size(); ++y) {
    std::vector<bool> seen(padded[y].size() / block);
    for (size_t at = 0; at < back.out[y].size(); at += block + 1) {
      const uint32_t index = back.out[y][at];
      if (index >= seen.size() || seen[index]) {
        ADD_FAILURE() << fmt::format("row {} word {}: block {} does not exist or comes twice", y,
                                     at, index);
        break;
      }
      seen[index] = true;
      for (uint32_t i = 0; i < block; ++i) {
        const uint32_t got = back.out[y][at + 1 + i];
        if (index * block + i >= values[y].size()) break;
        const uint32_t right = values[y][index * block + i];
        if (got == right) continue;
        ADD_FAILURE() << fmt::format("row {} block {} value {}: {:08x}, expected {:08x}", y, index,
                                     i, got, right);
        return {packed.cycles, back.cycles};
      }
    }
  }
  return {packed.cycles, back.cycles};
}

std::vector<std::string> LadderSteps(const std::string& directory) {
  std::vector<std::string> steps;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(SZARENA_SOURCE_DIR) + "/" + directory)) {
    steps.push_back(directory + "/" + entry.path().filename().string());
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

void ExpectCopies(const std::string& a, const std::string& b,
                  const std::vector<std::string>& names) {
  const auto read = [](const std::string& path) {
    std::ifstream in(std::string(SZARENA_SOURCE_DIR) + "/" + path);
    EXPECT_TRUE(in) << path;
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  for (const std::string& name : names)
    EXPECT_EQ(read(a + "/" + name), read(b + "/" + name)) << name;
}

Words FieldBits(field::GeneratorKind kind, uint64_t seed, uint32_t n) {
  field::GeneratorSpec spec;
  spec.kind = kind;
  spec.seed = seed;
  spec.dims = {n};
  spec.rate = 0.01;
  const auto f = field::Generate(spec, 1).value();
  Words bits(n);
  std::memcpy(bits.data(), f.bytes().data(), 4 * size_t{n});
  return bits;
}

Words TieBits(uint32_t n, double eb, uint32_t bits, bool nudge, uint32_t seed) {
  Words out;
  std::mt19937 random(seed);
  for (uint32_t i = 0; i < n; ++i) {
    const int k = static_cast<int>(random() % (2u << bits)) - (1 << bits);
    const int beside = static_cast<int>(random() % 5) - 2;
    const auto x = std::bit_cast<uint32_t>(static_cast<float>(k * eb));
    out.push_back(nudge ? x + static_cast<uint32_t>(beside) : x);
  }
  return out;
}

}  // namespace szarena::tasks
