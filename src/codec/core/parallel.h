// SPDX-License-Identifier: Apache-2.0
// Deterministic parallelism: work is cut into chunks by size alone, never by thread count.
#pragma once

#include <cstdint>
#include <functional>

namespace szarena::codec {

// The number of threads to use: `threads`, or one per processor where it is 0; at least 1 and at
// most `chunks`.
unsigned ResolveThreads(unsigned threads, uint64_t chunks);

// Calls body(chunk) for every chunk in 0..chunks-1, in increasing order of start, on up to
// `threads` threads (0: one per processor; 1: on the caller's thread). Returns when all are done. A
// chunk starts only after every earlier one has started, so a body may wait for an earlier chunk's
// result. Where a thread cannot be created, the others do its share. The body must not throw.
void ForEachChunk(unsigned threads, uint64_t chunks, const std::function<void(uint64_t)>& body);

// The same with the number of the worker that runs the chunk, below ResolveThreads(threads,
// chunks), so that each worker can have its own scratch memory.
void ForEachChunkOnWorkers(unsigned threads, uint64_t chunks,
                           const std::function<void(uint64_t chunk, unsigned worker)>& body);

}  // namespace szarena::codec
