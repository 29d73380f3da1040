// SPDX-License-Identifier: Apache-2.0
// What a right answer is: our own encoders, decoders and primitives behind the shape of the
// contract.
#pragma once

#include <cstdint>
#include <optional>

#include "judge/primitives.h"
#include "judge/task_spec.h"

namespace szarena::judge {

// How the data of a case are dealt out, on machines whose parts have memories of their own
// (split.h).
struct Split {
  uint32_t parts = 0;       // 0: one piece
  uint64_t chunk = 0;       // elements of a part; the last ones may have fewer or none
  uint32_t pad_blocks = 0;  // in place of the problem's
  uint32_t width = 0;       // parts are PEs, so many a row; 0: parts are rows
  uint32_t program = 0;     // which of the platform's compiled programs
};

// Bytes of n input elements, and of n elements that the backward direction writes.
uint64_t InputBytes(const TaskSpec& task, const szarena_problem& problem);

// The capacity that a forward call gets: what the format can need, plus 4096.
Result<uint64_t> ForwardCapacity(const TaskSpec& task, const szarena_problem& problem);

// Our payload for an input.
Result<Bytes> ReferenceForward(const TaskSpec& task, const szarena_problem& problem,
                               ByteView input);

// The same into the front of `payload`, which has ForwardCapacity bytes; returns the payload's
// size.
Result<uint64_t> ReferenceForwardInto(const TaskSpec& task, const szarena_problem& problem,
                                      ByteView input, std::span<std::byte> payload);

// Our decoder on any bytes; kCorrupt where they are no payload. `output` has InputBytes bytes.
Result<void> ReferenceBackward(const TaskSpec& task, const szarena_problem& problem,
                               ByteView payload, std::span<std::byte> output);

// Blocks of a payload that are stored raw (at full length), for compressors.
Result<uint64_t> RawBlocks(const TaskSpec& task, const szarena_problem& problem, ByteView payload);

}  // namespace szarena::judge
