// SPDX-License-Identifier: Apache-2.0
// What a right answer is: our own encoders, decoders and primitives behind the shape of the contract.
#pragma once

#include <cstdint>
#include <optional>

#include "judge/primitives.h"
#include "judge/task_spec.h"

namespace szarena::judge {

// Bytes of n input elements, and of n elements that the backward direction writes.
uint64_t InputBytes(const TaskSpec& task, const szarena_problem& problem);

// The capacity that a forward call gets: what the format can need, plus 4096.
Result<uint64_t> ForwardCapacity(const TaskSpec& task, const szarena_problem& problem);

// Our payload for an input.
Result<Bytes> ReferenceForward(const TaskSpec& task, const szarena_problem& problem, ByteView input);

// Our decoder on any bytes; kCorrupt where they are no payload. `output` has InputBytes bytes.
Result<void> ReferenceBackward(const TaskSpec& task, const szarena_problem& problem, ByteView payload,
                               std::span<std::byte> output);

// Blocks of a payload that are stored raw (at full length), for compressors.
Result<uint64_t> RawBlocks(const TaskSpec& task, const szarena_problem& problem, ByteView payload);

}  // namespace szarena::judge
