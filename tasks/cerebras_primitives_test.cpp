// SPDX-License-Identifier: Apache-2.0
// The primitives on the simulated wafer against plain code that follows the contract's table
// (tasks/contract/szarena_candidate.h). One array is dealt out over the PEs as the judge does it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "cerebras_testing.h"
#include "codec/core/accept.h"
#include "codec/core/bound.h"

namespace szarena::tasks {
namespace {

class CerebrasPrimitive : public testing::TestWithParam<const char*> {
 protected:
  struct Case {
    Geometry g;
    uint32_t chunk = 0;  // elements a PE
  };
  // Rectangles with one row, one column, one PE; chunks of odd lengths.
  static std::vector<Case> Cases(uint32_t bins = 0) {
    const auto geometry = [bins](int w, int h, uint32_t room) {
      return Geometry{.width = w,
                      .height = h,
                      .max_elems = room,
                      .chunk_blocks = 4,
                      .bins = bins,
                      .primitive = true};
    };
    return {{geometry(1, 1, 512), 500},
            {geometry(4, 3, 2048), 1537},
            {geometry(5, 1, 128), 33},
            {geometry(1, 4, 128), 128},
            {geometry(2, 2, 512), 1}};
  }
  static size_t Pes(const Geometry& g) { return static_cast<size_t>(g.width * g.height); }
  // Elements [p c, (p + 1) c) of `all` for PE p.
  static std::vector<Words> Deal(const Words& all, const Case& c) {
    std::vector<Words> chunks(Pes(c.g));
    for (size_t p = 0; p < chunks.size(); ++p) {
      const size_t from = std::min(all.size(), p * c.chunk);
      const size_t to = std::min(all.size(), from + c.chunk);
      chunks[p].assign(all.begin() + static_cast<std::ptrdiff_t>(from),
                       all.begin() + static_cast<std::ptrdiff_t>(to));
    }
    return chunks;
  }
  static std::vector<uint32_t> Counts(const std::vector<Words>& chunks) {
    std::vector<uint32_t> n;
    for (const Words& c : chunks) n.push_back(static_cast<uint32_t>(c.size()));
    return n;
  }
  // For every case and several lengths of the whole array: run, and the inverse of `expected` if
  // there is one.
  void Check(const std::string& task, uint32_t bins, bool inverse, double eb,
             const std::function<Words(size_t n)>& make,
             const std::function<std::vector<Words>(const std::vector<Words>& chunks,
                                                    const Case& c)>& expected) {
    for (const Case& c : Cases(bins)) {
      const auto program =
          CompileCandidate("tasks/" + task + "/baseline/cerebras", GetParam(), c.g);
      ASSERT_TRUE(program);
      const size_t room = Pes(c.g) * c.chunk;
      for (const size_t n : {room, room - room / 3, std::min<size_t>(room, 1), size_t{0}}) {
        SCOPED_TRACE(fmt::format("{} on {} x {} PEs, {} elements, eb {}", task, c.g.width,
                                 c.g.height, n, eb));
        const std::vector<Words> chunks = Deal(make(n), c);
        const std::vector<Words> right = expected(chunks, c);
        const RunResult got = RunCompress(program, c.g, chunks, eb, "run");
        for (size_t p = 0; p < chunks.size(); ++p) ASSERT_EQ(got.out[p], right[p]) << "PE " << p;
        if (c.chunk == 1537 && n == room) {
          fmt::print("{} {}: {:.2f} cycles an element of one PE\n", task, GetParam(),
                     static_cast<double>(got.cycles) / 1537);
        }
        if (!inverse) continue;
        const RunResult back = RunDecompress(program, c.g, right, Counts(chunks), eb, "inverse");
        for (size_t p = 0; p < chunks.size(); ++p)
          ASSERT_EQ(back.out[p], chunks[p]) << "inverse, PE " << p;
      }
    }
  }
  static Words Random(size_t n, uint32_t bits, uint32_t seed) {
    std::mt19937 random(seed);
    Words v(n);
    for (uint32_t& x : v) {
      x = static_cast<uint32_t>(random()) >> (32 - bits);
      if (random() % 2 == 0) x = 0 - x;
    }
    return v;
  }
};

Words Join(const std::vector<Words>& chunks) {
  Words all;
  for (const Words& c : chunks) all.insert(all.end(), c.begin(), c.end());
  return all;
}

TEST_P(CerebrasPrimitive, Quantize) {
  for (const auto& [kind, eb] :
       {std::pair(field::GeneratorKind::kSmooth, 1e-3),
        std::pair(field::GeneratorKind::kNonfinite, 1e-2),
        std::pair(field::GeneratorKind::kEdges, 0.5), std::pair(field::GeneratorKind::kNoise, 3e-8),
        std::pair(field::GeneratorKind::kNormal, 0.0)}) {
    const auto make = [kind = kind](size_t n) {
      return FieldBits(kind, 5, static_cast<uint32_t>(n));
    };
    Check("quantize", 0, false, eb, make, [eb = eb](const std::vector<Words>& chunks, const Case&) {
      const auto ebq = codec::RoundBoundDown<float>(eb);
      std::vector<Words> out;
      for (const Words& chunk : chunks) {
        Words codes;
        Words bitmap((chunk.size() + 31) / 32);
        for (size_t i = 0; i < chunk.size(); ++i) {
          const auto x = std::bit_cast<float>(chunk[i]);
          const float t = x * (0.5F / ebq);
          const float q = std::trunc(t + 0.5F) - (t < -0.5F ? 1.0F : 0.0F);
          const bool ok = std::isfinite(x) && ebq > 0 && std::fabs(q) < 16777216.0F &&
                          codec::WithinBound(x, (q * ebq) * 2.0F, ebq);
          codes.push_back(ok ? static_cast<uint32_t>(static_cast<int32_t>(q)) : 0);
          if (!ok) bitmap[i / 32] |= 1u << (i % 32);
        }
        codes.insert(codes.end(), bitmap.begin(), bitmap.end());
        out.push_back(codes);
      }
      return out;
    });
  }
}

TEST_P(CerebrasPrimitive, LeadingBytes) {
  for (const auto kind : {field::GeneratorKind::kSmooth, field::GeneratorKind::kEdges,
                          field::GeneratorKind::kConstant}) {
    const auto make = [kind](size_t n) { return FieldBits(kind, 5, static_cast<uint32_t>(n)); };
    Check("leading-bytes", 0, false, 1e-3, make, [](const std::vector<Words>& chunks, const Case&) {
      std::vector<Words> out;
      for (const Words& chunk : chunks) {
        Words codes((chunk.size() + 15) / 16);
        for (size_t i = 0; i < chunk.size(); ++i) {
          const uint32_t before = i % 128 == 0 ? 0 : chunk[i - 1];
          const auto code =
              static_cast<uint32_t>(std::min(3, std::countl_zero(chunk[i] ^ before) / 8));
          codes[i / 16] |= code << (8 * (i / 4 % 4) + 6 - 2 * (i % 4));
        }
        out.push_back(codes);
      }
      return out;
    });
  }
}

TEST_P(CerebrasPrimitive, Lorenzo) {
  for (const uint32_t bits : {8u, 17u, 32u}) {
    Check(
        "lorenzo", 0, true, 1e-3, [bits](size_t n) { return Random(n, bits, 3); },
        [](const std::vector<Words>& chunks, const Case& c) {
          Words all = Join(chunks);
          for (size_t i = all.size(); i-- > 1;) all[i] -= all[i - 1];
          return Deal(all, c);
        });
  }
}

TEST_P(CerebrasPrimitive, Scan) {
  for (const uint32_t bits : {8u, 32u}) {
    const auto make = [bits](size_t n) {
      Words v = Random(n, 32, 3);
      for (uint32_t& x : v) x >>= 32 - bits;
      return v;
    };
    Check("scan", 0, false, 1e-3, make, [](const std::vector<Words>& chunks, const Case&) {
      std::vector<Words> out;
      uint64_t sum = 0;
      for (const Words& chunk : chunks) {
        Words sums;
        for (const uint32_t x : chunk) {
          sums.push_back(static_cast<uint32_t>(sum));
          sums.push_back(static_cast<uint32_t>(sum >> 32));
          sum += x;
        }
        out.push_back(sums);
      }
      out[0].push_back(static_cast<uint32_t>(sum));
      out[0].push_back(static_cast<uint32_t>(sum >> 32));
      return out;
    });
  }
}

TEST_P(CerebrasPrimitive, Histogram) {
  for (const uint32_t bins : {100u, 1u}) {
    Check(
        "histogram", bins, false, 1e-3, [](size_t n) { return Random(n, 7, 3); },
        [bins](const std::vector<Words>& chunks, const Case&) {
          std::vector<Words> out(chunks.size());
          out[0].resize(bins + 1);
          for (const uint32_t x : Join(chunks)) ++out[0][std::min(x, bins)];
          return out;
        });
  }
}

TEST_P(CerebrasPrimitive, Bitpack) {
  for (const uint32_t bits : {4u, 9u, 14u, 15u, 16u, 31u}) {
    const auto make = [bits](size_t n) {
      Words v = Random(n, bits, 3);
      for (size_t i = 0; i < n / 3; ++i) v[i] = v[i] % 4;  // and some of low rate
      for (uint32_t& x : v) x = x == 0x80000000u ? 1 : x;
      return v;
    };
    Check("bitpack", 0, true, 1e-3, make, [](const std::vector<Words>& chunks, const Case& c) {
      std::vector<Words> out;
      for (const Words& chunk : chunks) {
        const size_t blocks = (chunk.size() + 31) / 32;
        const size_t table = (blocks + c.g.chunk_blocks - 1) / c.g.chunk_blocks * c.g.chunk_blocks;
        Words words(table / 4);
        for (size_t b = 0; b < blocks; ++b) {
          Words magnitudes(32);
          Words signs(32);
          uint32_t all = 0;
          for (size_t i = 0; i < std::min<size_t>(32, chunk.size() - 32 * b); ++i) {
            const uint32_t x = chunk[32 * b + i];
            signs[i] = x >> 31;
            magnitudes[i] = signs[i] != 0 ? 0 - x : x;
            all |= magnitudes[i];
          }
          const auto rate = static_cast<uint32_t>(std::bit_width(all));
          words[b / 4] |= rate << (8 * (b % 4));
          const auto plane = [&](const Words& of, uint32_t bit) {
            uint32_t word = 0;
            for (size_t i = 0; i < 32; ++i) word |= (of[i] >> bit & 1) << (8 * (i / 8) + 7 - i % 8);
            words.push_back(word);
          };
          if (rate > 0) plane(signs, 0);
          for (uint32_t k = 0; k < rate; ++k) plane(magnitudes, k);
        }
        out.push_back(words);
      }
      return out;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Archs, CerebrasPrimitive, testing::Values("wse2", "wse3"),
                         [](const auto& arch) { return std::string(arch.param); });

}  // namespace
}  // namespace szarena::tasks
