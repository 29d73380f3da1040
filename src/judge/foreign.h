// SPDX-License-Identifier: Apache-2.0
// Payloads that another right encoder could have written: what a decoder must read besides those of
// our own encoder (docs/formats/).
#pragma once

#include "judge/reference.h"

namespace szarena::judge {

// A valid payload of problem.n values in the task's format, drawn from the seed: SZp blocks of
// every rate up to 31, raw and, in mode outlier, with the first difference apart; SZx blocks of
// every required length around any median. SZx has the problem's block size, which is fixed. Only
// for compressors.
Bytes ForeignPayload(const TaskSpec& task, const szarena_problem& problem, uint64_t seed);

}  // namespace szarena::judge
