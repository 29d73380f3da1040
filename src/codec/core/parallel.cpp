// SPDX-License-Identifier: Apache-2.0
#include "codec/core/parallel.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace szarena::codec {

unsigned ResolveThreads(unsigned threads, uint64_t chunks) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::clamp<uint64_t>(threads, 1, std::max<uint64_t>(1, chunks)));
}

void ForEachChunk(unsigned threads, uint64_t chunks, const std::function<void(uint64_t)>& body) {
  ForEachChunkOnWorkers(threads, chunks, [&](uint64_t chunk, unsigned) { body(chunk); });
}

void ForEachChunkOnWorkers(unsigned threads, uint64_t chunks,
                           const std::function<void(uint64_t chunk, unsigned worker)>& body) {
  threads = ResolveThreads(threads, chunks);
  std::atomic<uint64_t> next{0};
  const auto work = [&](unsigned worker) {
    for (uint64_t c = next.fetch_add(1); c < chunks; c = next.fetch_add(1)) body(c, worker);
  };
  std::vector<std::jthread> helpers;
  helpers.reserve(threads - 1);
  try {
    for (unsigned worker = 1; worker < threads; ++worker) helpers.emplace_back(work, worker);
    // NOLINTNEXTLINE(bugprone-empty-catch): the threads that could be made do all the work
  } catch (const std::system_error&) {
  }
  work(0);
}

}  // namespace szarena::codec
