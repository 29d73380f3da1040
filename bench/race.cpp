// SPDX-License-Identifier: Apache-2.0
#include "bench/race.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "codec/metrics/metrics.h"

namespace szarena::bench {
namespace {

double SecondsOf(const std::function<void()>& call, double min_seconds) {
  const auto start = std::chrono::steady_clock::now();
  for (unsigned calls = 1;; ++calls) {
    call();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (seconds >= min_seconds) return seconds / calls;
  }
}

void Copy(std::span<const std::byte> from, std::byte* to, unsigned threads) {
  const std::size_t slice = from.size() / threads;
  std::vector<std::jthread> helpers;
  for (unsigned t = 1; t < threads; ++t) {
    helpers.emplace_back([=] { std::memcpy(to + t * slice, from.data() + t * slice, slice); });
  }
  std::memcpy(to, from.data(), slice);
  const std::size_t done = slice * threads;
  std::memcpy(to + done, from.data() + done, from.size() - done);
}

struct Lane {
  Contender* contender;
  std::size_t payload_bytes = 0;
  std::vector<double> compress_speeds, decompress_speeds;
  Error failure;
  bool failed = false;
};

// One call each, then the result is checked.
Result<RaceRow> Rehearse(const Problem& problem, Lane& lane, std::byte* output) {
  Contender& contender = *lane.contender;
  SZARENA_TRY_VOID(contender.Prepare(problem));
  const std::size_t bytes = problem.values.count * codec::SizeOf(problem.values.dtype);
  std::memset(output, 0xA5, bytes);
  SZARENA_TRY(const auto payload, contender.Compress(problem));
  SZARENA_TRY_VOID(contender.Decompress(problem, payload, output));
  lane.payload_bytes = payload.size();
  SZARENA_TRY(const auto stats,
              codec::metrics::CompareErrors(problem.values,
                                            {output, problem.values.count, problem.values.dtype},
                                            {.eb = problem.eb, .threads = 0}));
  RaceRow row;
  row.contender = contender.name();
  row.version = contender.version();
  row.threads = problem.threads;
  row.ratio = static_cast<double>(bytes) / static_cast<double>(payload.size());
  row.violations = stats.violations;
  row.max_error_over_bound = stats.max_abs_error / problem.eb;
  return row;
}

}  // namespace

Result<Race> RunRace(const Problem& problem, std::span<const std::unique_ptr<Contender>> contenders,
                     const RaceOptions& options) {
  const std::size_t bytes = problem.values.count * codec::SizeOf(problem.values.dtype);
  SZARENA_TRY(const auto output, field::Pages::Allocate(bytes));
  Race race;
  std::vector<Lane> lanes;
  for (const auto& contender : contenders) {
    if (problem.threads > 1 && !contender->runs_threads()) continue;
    Lane lane{.contender = contender.get(),
              .compress_speeds = {},
              .decompress_speeds = {},
              .failure = {}};
    auto row = Rehearse(problem, lane, output.data());
    if (!row) {
      race.left_out.push_back(fmt::format("{}: {}", contender->name(), row.error().ToString()));
      continue;
    }
    race.rows.push_back(*std::move(row));
    lanes.push_back(std::move(lane));
  }

  const double gigabytes = static_cast<double>(bytes) / 1e9;
  std::vector<double> copy_speeds;
  for (unsigned round = 0; round <= options.rounds; ++round) {
    const bool counts = round > 0;
    const double copy_seconds =
        SecondsOf([&] { Copy({problem.values.data, bytes}, output.data(), problem.threads); },
                  options.min_seconds);
    if (counts) copy_speeds.push_back(2 * gigabytes / copy_seconds);
    for (Lane& lane : lanes) {
      std::span<const std::byte> payload;
      const double compress_seconds = SecondsOf(
          [&] {
            auto made = lane.contender->Compress(problem);
            if (made) payload = *made;
            lane.failed |= !made || made->size() != lane.payload_bytes;
          },
          options.min_seconds);
      const double decompress_seconds = SecondsOf(
          [&] { lane.failed |= !lane.contender->Decompress(problem, payload, output.data()); },
          options.min_seconds);
      if (lane.failed) {
        return Fail(ErrorCode::kInternal, fmt::format("'{}' did not repeat what it had done before",
                                                      lane.contender->name()));
      }
      if (!counts) continue;
      lane.compress_speeds.push_back(gigabytes / compress_seconds);
      lane.decompress_speeds.push_back(gigabytes / decompress_seconds);
    }
  }
  race.copy = stats::QuartilesOf(copy_speeds).value();
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    RaceRow& row = race.rows[i];
    row.compress = stats::QuartilesOf(lanes[i].compress_speeds).value();
    row.decompress = stats::QuartilesOf(lanes[i].decompress_speeds).value();
    const double moved = 1 + 1 / row.ratio;
    row.compress_floor_fraction = row.compress.median * moved / race.copy.median;
    row.decompress_floor_fraction = row.decompress.median * moved / race.copy.median;
  }
  return race;
}

}  // namespace szarena::bench
