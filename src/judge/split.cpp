// SPDX-License-Identifier: Apache-2.0
#include "judge/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "judge/foreign.h"
#include "judge/random.h"

namespace szarena::judge {
namespace {

szarena_problem PartProblem(const szarena_problem& problem, const Split& split, const Part& part) {
  szarena_problem own = problem;
  own.n = part.count;
  own.dims[0] = own.dims[1] = 1;
  own.dims[2] = part.count;
  own.pad_blocks = split.pad_blocks;
  return own;
}

bool WholeArray(const TaskSpec& task) {
  return task.kind == TaskKind::kLorenzo || task.kind == TaskKind::kHistogram ||
         task.kind == TaskKind::kScan;
}

ByteView Slice(ByteView bytes, const Part& part, uint64_t width) {
  return bytes.subspan(part.first * width, part.count * width);
}

// Payloads end at a byte, parts at a word: without those 0 to 3 zero bytes at the end without which
// a compressor's part is a whole payload; as it is where none is, which the reader says.
ByteView Trimmed(const TaskSpec& task, const szarena_problem& own, ByteView bytes) {
  for (size_t cut = 0; task.compressor && cut < 4 && cut <= bytes.size(); ++cut) {
    if (cut > 0 && bytes[bytes.size() - cut] != std::byte{0}) break;
    const ByteView shorter = bytes.first(bytes.size() - cut);
    if (RawBlocks(task, own, shorter)) return shorter;
  }
  return bytes;
}

Result<void> CheckEmpty(const Split& split, uint32_t index, ByteView bytes) {
  if (bytes.empty()) return {};
  return Fail(ErrorCode::kCorrupt, fmt::format("{} has no element and {} words",
                                               PartName(split, index), bytes.size() / 4));
}

}  // namespace

Part PartOf(const szarena_problem& problem, const Split& split, uint32_t index) {
  if (split.parts == 0) return {0, problem.n};
  const uint64_t first = std::min(problem.n, uint64_t{index} * split.chunk);
  return {first, std::min(split.chunk, problem.n - first)};
}

std::string PartName(const Split& split, uint32_t index) {
  return split.width == 0 ? fmt::format("row {}", index)
                          : fmt::format("PE ({}, {})", index % split.width, index / split.width);
}

tl::unexpected<Error> At(const Split& split, uint32_t index, Error error) {
  error.message = PartName(split, index) + ": " + error.message;
  return tl::unexpected(std::move(error));
}

std::string PlaceOf(const szarena_problem& problem, const Split& split, uint64_t element) {
  if (split.parts == 0 || split.chunk == 0) return "";
  const auto index = static_cast<uint32_t>(element / split.chunk);
  return fmt::format(", element {} of {}", element - PartOf(problem, split, index).first,
                     PartName(split, index));
}

Result<std::vector<ByteView>> PartsOf(const Split& split, ByteView payload) {
  if (split.parts == 0) return std::vector{payload};
  const uint64_t table = uint64_t{split.parts} * 4;
  if (payload.size() < table)
    return Fail(ErrorCode::kCorrupt, "the joined payload is shorter than its table");
  std::vector<ByteView> parts;
  uint64_t at = table;
  for (uint32_t i = 0; i < split.parts; ++i) {
    const uint64_t bytes = uint64_t{LoadLe<uint32_t>(payload.data() + size_t{i} * 4)} * 4;
    if (bytes > payload.size() - at)
      return Fail(ErrorCode::kCorrupt, "the joined payload is shorter than its table says");
    parts.push_back(payload.subspan(at, bytes));
    at += bytes;
  }
  if (at != payload.size())
    return Fail(ErrorCode::kCorrupt, "the joined payload is longer than its table says");
  return parts;
}

Bytes JoinParts(const std::vector<Bytes>& parts) {
  Bytes joined(parts.size() * 4);
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t words = (parts[i].size() + 3) / 4;
    StoreLe(joined.data() + i * 4, static_cast<uint32_t>(words));
    joined.insert(joined.end(), parts[i].begin(), parts[i].end());
    joined.resize(joined.size() + words * 4 - parts[i].size());
  }
  return joined;
}

uint64_t PayloadSize(const Split& split, ByteView payload) {
  return payload.size() - std::min<uint64_t>(payload.size(), uint64_t{split.parts} * 4);
}

Result<Bytes> SplitForward(const TaskSpec& task, const szarena_problem& problem, const Split& split,
                           ByteView input) {
  if (split.parts == 0) return ReferenceForward(task, problem, input);
  std::vector<Bytes> parts(split.parts);
  if (WholeArray(task)) {
    SZARENA_TRY(const Bytes whole, ReferenceForward(task, problem, input));
    const uint64_t width = task.kind == TaskKind::kScan ? 8 : 4;
    for (uint32_t i = 0; i < split.parts && task.kind != TaskKind::kHistogram; ++i) {
      const ByteView own = Slice(whole, PartOf(problem, split, i), width);
      parts[i].assign(own.begin(), own.end());
    }
    if (task.kind == TaskKind::kHistogram) parts[0] = whole;
    if (task.kind == TaskKind::kScan) parts[0].insert(parts[0].end(), whole.end() - 8, whole.end());
    return JoinParts(parts);
  }
  const uint64_t width = problem.n == 0 ? 4 : InputBytes(task, problem) / problem.n;
  for (uint32_t i = 0; i < split.parts; ++i) {
    const Part part = PartOf(problem, split, i);
    if (part.count == 0) continue;
    const szarena_problem own = PartProblem(problem, split, part);
    SZARENA_TRY(parts[i], ReferenceForward(task, own, Slice(input, part, width)));
    // A bitmap or a table of codes begins and ends on words.
    if (task.kind == TaskKind::kQuantize) parts[i].resize((parts[i].size() + 3) / 4 * 4);
  }
  return JoinParts(parts);
}

Bytes SplitForeign(const TaskSpec& task, const szarena_problem& problem, const Split& split,
                   uint64_t seed) {
  if (split.parts == 0) return ForeignPayload(task, problem, seed);
  std::vector<Bytes> parts(split.parts);
  for (uint32_t i = 0; i < split.parts; ++i) {
    const Part part = PartOf(problem, split, i);
    if (part.count == 0) continue;
    parts[i] = ForeignPayload(task, PartProblem(problem, split, part), Mix64(seed + i));
  }
  return JoinParts(parts);
}

Result<void> SplitBackward(const TaskSpec& task, const szarena_problem& problem, const Split& split,
                           ByteView payload, std::span<std::byte> output) {
  if (split.parts == 0) return ReferenceBackward(task, problem, payload, output);
  SZARENA_TRY(const std::vector<ByteView> parts, PartsOf(split, payload));
  if (WholeArray(task)) {
    Bytes whole;
    for (const ByteView part : parts) whole.insert(whole.end(), part.begin(), part.end());
    return ReferenceBackward(task, problem, whole, output);
  }
  const uint64_t width = problem.n == 0 ? 4 : output.size() / problem.n;
  for (uint32_t i = 0; i < split.parts; ++i) {
    const Part part = PartOf(problem, split, i);
    if (part.count == 0) {
      SZARENA_TRY_VOID(CheckEmpty(split, i, parts[i]));
      continue;
    }
    const szarena_problem own = PartProblem(problem, split, part);
    const Result<void> status =
        ReferenceBackward(task, own, Trimmed(task, own, parts[i]),
                          output.subspan(part.first * width, part.count * width));
    if (!status) return At(split, i, status.error());
  }
  return {};
}

Result<uint64_t> SplitRawBlocks(const TaskSpec& task, const szarena_problem& problem,
                                const Split& split, ByteView payload) {
  if (split.parts == 0) return RawBlocks(task, problem, payload);
  SZARENA_TRY(const std::vector<ByteView> parts, PartsOf(split, payload));
  uint64_t blocks = 0;
  for (uint32_t i = 0; i < split.parts; ++i) {
    const Part part = PartOf(problem, split, i);
    if (part.count == 0) continue;
    const szarena_problem own = PartProblem(problem, split, part);
    SZARENA_TRY(const uint64_t raw, RawBlocks(task, own, Trimmed(task, own, parts[i])));
    blocks += raw;
  }
  return blocks;
}

}  // namespace szarena::judge
