// SPDX-License-Identifier: Apache-2.0
// The end of a trace: what only the fabric knows when the run is over.
#include <fmt/format.h>

#include "fabric/sim/impl.h"

namespace szarena::fabric {

Result<void> Fabric::FinishTrace() {
  Impl& m = *impl_;
  if (m.recorder == nullptr) return {};
  trace::Recorder::Ending ending;
  ending.cycles = m.now + 1;
  for (const Trap& t : traps())
    ending.traps.push_back(
        {t.cycle, static_cast<uint32_t>(t.x), static_cast<uint32_t>(t.y), t.count, t.ToString()});
  for (const Command& c : m.commands) {
    static constexpr const char* kNames[] = {"copy to",
                                             "copy from",
                                             "launch",
                                             "stream into the fabric",
                                             "stream out of the fabric",
                                             "send over the edge",
                                             "receive over the edge"};
    std::string what = kNames[static_cast<size_t>(c.kind)];
    if (c.kind <= CommandKind::kLaunch) what += " " + m.program->exports[c.export_id].name;
    if (c.count > 0) what += fmt::format(" ({} elements a PE)", c.count);
    const bool done = c.remaining.load() == 0;
    const uint64_t begin = c.begin.load();
    ending.host.push_back(
        {std::move(what), static_cast<uint32_t>(c.region.x), static_cast<uint32_t>(c.region.y),
         static_cast<uint32_t>(c.region.width), static_cast<uint32_t>(c.region.height),
         begin == kNever ? ending.cycles : begin, done ? c.end.load() : ending.cycles, done});
  }
  for (const Waiting& w : WaitingPes()) {
    ending.open.push_back(
        {static_cast<uint32_t>(w.x), static_cast<uint32_t>(w.y), w.since, w.pes,
         w.file.empty() ? w.what : fmt::format("{} [{}:{}]", w.what, w.file, w.line)});
  }
  for (const auto& pe : m.pes) {
    if (pe != nullptr) m.TileOf(pe->index).lane->StillRuns(*pe, ending.cycles);
  }
  for (auto& tile : m.tiles) tile->lane = nullptr;
  const auto recorder = std::move(m.recorder);
  return recorder->Finish(ending);
}

}  // namespace szarena::fabric
