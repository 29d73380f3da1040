// SPDX-License-Identifier: Apache-2.0
// Data dealt out over the parts of a machine (the PEs of a wafer, or its rows), each with a payload
// of its own, and the joined payload: u32 words of every part, then the parts' words.
// docs/contracts/cerebras.md.
#pragma once

#include <cstdint>
#include <string>

#include "judge/reference.h"

namespace szarena::judge {

// Of one part: which elements.
struct Part {
  uint64_t first = 0;
  uint64_t count = 0;
};
Part PartOf(const szarena_problem& problem, const Split& split, uint32_t index);
// "PE (3, 0)" or "row 2".
std::string PartName(const Split& split, uint32_t index);

// The same error, its message begun with the part's name.
tl::unexpected<Error> At(const Split& split, uint32_t index, Error error);
// Of an element of the whole: ", element 17 of row 2"; "" where there is no split.
std::string PlaceOf(const szarena_problem& problem, const Split& split, uint64_t element);

// The parts' bytes of a joined payload; kCorrupt where the table does not fit it. One piece where
// there is no split.
Result<std::vector<ByteView>> PartsOf(const Split& split, ByteView payload);
// From the parts' bytes, each padded with zero bytes to whole words.
Bytes JoinParts(const std::vector<Bytes>& parts);
// Bytes that count for the ratio: without the table.
uint64_t PayloadSize(const Split& split, ByteView payload);

// As ReferenceForward, ReferenceBackward and RawBlocks, on a joined payload where there is a split.
Result<Bytes> SplitForward(const TaskSpec& task, const szarena_problem& problem, const Split& split,
                           ByteView input);
// A payload that another encoder could have written (foreign.h), joined where there is a split.
Bytes SplitForeign(const TaskSpec& task, const szarena_problem& problem, const Split& split,
                   uint64_t seed);
Result<void> SplitBackward(const TaskSpec& task, const szarena_problem& problem, const Split& split,
                           ByteView payload, std::span<std::byte> output);
Result<uint64_t> SplitRawBlocks(const TaskSpec& task, const szarena_problem& problem,
                                const Split& split, ByteView payload);

}  // namespace szarena::judge
