// SPDX-License-Identifier: Apache-2.0
#include "judge/reference.h"

#include <cstring>
#include <string>

#include "base/check.h"
#include "codec/szp/szp.h"
#include "codec/szx/szx.h"

namespace szarena::judge {
namespace {

codec::DType CodecType(const szarena_problem& problem) {
  return problem.dtype == SZARENA_F32 ? codec::DType::kF32 : codec::DType::kF64;
}

codec::szp::Params SzpParams(const szarena_problem& problem) {
  codec::szp::Params params;
  params.eb = problem.abs_bound;
  params.mode = problem.mode == SZARENA_MODE_FIXED   ? codec::szp::Mode::kFixed
                : problem.mode == SZARENA_MODE_PLAIN ? codec::szp::Mode::kPlain
                                                     : codec::szp::Mode::kOutlier;
  params.padding_blocks = problem.pad_blocks;
  return params;
}

codec::szx::Params SzxParams(const szarena_problem& problem) {
  codec::szx::Params params;
  params.eb = problem.abs_bound;
  params.mode = problem.mode == SZARENA_MODE_SEQUENTIAL ? codec::szx::Mode::kSequential
                                                        : codec::szx::Mode::kRandomAccess;
  return params;
}

Result<void> Copy(Result<Bytes> from, std::span<std::byte> to) {
  if (!from) return tl::unexpected(from.error());
  if (from->size() != to.size()) return Fail(ErrorCode::kCorrupt, "the payload has the wrong size");
  if (!to.empty()) std::memcpy(to.data(), from->data(), to.size());
  return {};
}

}  // namespace

uint64_t InputBytes(const TaskSpec& task, const szarena_problem& problem) {
  const uint64_t real = problem.dtype == SZARENA_F32 ? 4 : 8;
  switch (task.kind) {
    case TaskKind::kSzp:
    case TaskKind::kSzx:
    case TaskKind::kQuantize:
    case TaskKind::kLeadingBytes:
      return problem.n * real;
    case TaskKind::kLorenzo:
    case TaskKind::kHistogram:
    case TaskKind::kBitpack:
    case TaskKind::kScan:
      return problem.n * 4;
  }
  return 0;
}

Result<uint64_t> ForwardCapacity(const TaskSpec& task, const szarena_problem& problem) {
  constexpr uint64_t kRoom = 4096;
  switch (task.kind) {
    case TaskKind::kSzp: {
      SZARENA_TRY(const uint64_t size,
                  codec::szp::MaxPayloadSize(problem.n, CodecType(problem), SzpParams(problem)));
      return size + kRoom;
    }
    case TaskKind::kSzx: {
      SZARENA_TRY(const uint64_t size,
                  codec::szx::RoomySize(problem.n, CodecType(problem), SzxParams(problem)));
      return size + kRoom;
    }
    case TaskKind::kQuantize:
      return problem.n * 4 + (problem.n + 7) / 8 + kRoom;
    case TaskKind::kLorenzo:
      return problem.n * 4 + kRoom;
    case TaskKind::kHistogram:
      return (uint64_t{problem.bins} + 1) * 4 + kRoom;
    case TaskKind::kBitpack:
      return (problem.n + 31) / 32 * (1 + 4 + 4 * 31) + problem.pad_blocks + kRoom;
    case TaskKind::kScan:
      return (problem.n + 1) * 8 + kRoom;
    case TaskKind::kLeadingBytes:
      return (problem.n + 3) / 4 + kRoom;
  }
  return kRoom;
}

Result<uint64_t> ReferenceForwardInto(const TaskSpec& task, const szarena_problem& problem,
                                      ByteView input, std::span<std::byte> payload) {
  const codec::ConstArray values{input.data(), problem.n, CodecType(problem)};
  const auto copied = [&](const Bytes& result) -> Result<uint64_t> {
    SZARENA_CHECK(result.size() <= payload.size(), "the payload's buffer is too small");
    if (!result.empty()) std::memcpy(payload.data(), result.data(), result.size());
    return result.size();
  };
  switch (task.kind) {
    case TaskKind::kSzp:
      return codec::szp::Compress(values, SzpParams(problem), payload, 0);
    case TaskKind::kSzx:
      return codec::szx::Compress(values, SzxParams(problem), payload, 0);
    case TaskKind::kQuantize:
      return copied(RunQuantize(problem, input));
    case TaskKind::kLorenzo:
      return copied(RunLorenzo(problem, input));
    case TaskKind::kHistogram:
      return copied(RunHistogram(problem, input));
    case TaskKind::kBitpack:
      return copied(RunBitpack(problem, input));
    case TaskKind::kScan:
      return copied(RunScan(problem, input));
    case TaskKind::kLeadingBytes:
      return copied(RunLeadingBytes(problem, input));
  }
  return Fail(ErrorCode::kInternal, "unknown task kind");
}

Result<Bytes> ReferenceForward(const TaskSpec& task, const szarena_problem& problem,
                               ByteView input) {
  SZARENA_TRY(const uint64_t capacity, ForwardCapacity(task, problem));
  Bytes payload(capacity);
  SZARENA_TRY(const uint64_t size, ReferenceForwardInto(task, problem, input, payload));
  payload.resize(size);
  return payload;
}

Result<void> ReferenceBackward(const TaskSpec& task, const szarena_problem& problem,
                               ByteView payload, std::span<std::byte> output) {
  SZARENA_CHECK(output.size() == InputBytes(task, problem), "the output buffer has the wrong size");
  const codec::MutableArray values{output.data(), problem.n, CodecType(problem)};
  switch (task.kind) {
    case TaskKind::kSzp:
      return codec::szp::Decompress(payload, SzpParams(problem), values, 0);
    case TaskKind::kSzx: {
      SZARENA_TRY(const codec::szx::Info info,
                  codec::szx::Inspect(payload, problem.n, CodecType(problem)));
      if (info.mode != SzxParams(problem).mode) {
        return Fail(ErrorCode::kCorrupt,
                    "the payload is a " + std::string(codec::szx::ModeName(info.mode)) + " stream");
      }
      if (problem.n > 0 && info.block_values != problem.block_size) {
        return Fail(ErrorCode::kCorrupt, "the payload has blocks of " +
                                             std::to_string(info.block_values) + " values, not " +
                                             std::to_string(problem.block_size));
      }
      return codec::szx::Decompress(payload, values, 0);
    }
    case TaskKind::kLorenzo:
      if (payload.size() != output.size())
        return Fail(ErrorCode::kCorrupt, "the payload has the wrong size");
      return Copy(InvertLorenzo(problem, payload), output);
    case TaskKind::kBitpack:
      return Copy(InvertBitpack(problem, payload), output);
    case TaskKind::kQuantize:
    case TaskKind::kHistogram:
    case TaskKind::kScan:
    case TaskKind::kLeadingBytes:
      break;
  }
  return Fail(ErrorCode::kInternal, "the task has no backward direction");
}

Result<uint64_t> RawBlocks(const TaskSpec& task, const szarena_problem& problem, ByteView payload) {
  if (task.kind == TaskKind::kSzp) {
    SZARENA_TRY(const codec::szp::Info info,
                codec::szp::Inspect(payload, problem.n, CodecType(problem), SzpParams(problem)));
    return info.raw_blocks;
  }
  SZARENA_CHECK(task.kind == TaskKind::kSzx, "only compressors have raw blocks");
  SZARENA_TRY(const codec::szx::Info info,
              codec::szx::Inspect(payload, problem.n, CodecType(problem)));
  return info.full_blocks;
}

}  // namespace szarena::judge
