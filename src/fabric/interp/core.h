// SPDX-License-Identifier: Apache-2.0
// What the interpreter and the DSD engine need of the machine around a PE. One Core a host thread.
#pragma once

#include <cstdint>
#include <string>

#include "fabric/model/cost.h"
#include "fabric/model/pe.h"
#include "fabric/model/trap.h"

namespace szarena::fabric {

// The machine as its PEs see it. Calls concern the calling PE and its own router only.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  // Records a trap; true where it is fatal (then the PE halts).
  virtual bool Report(Pe& pe, TrapKind kind, uint64_t cycle, uint32_t function, uint32_t pc,
                      std::string detail) = 0;
  virtual void WakeRouter(Pe& pe, uint64_t at) = 0;
  // Router natives: `args` as native.def says. The result of switch_get_position, else 0.
  virtual uint64_t RouterNative(Pe& pe, bytecode::Native native, const uint64_t* args) = 0;
  // A load or store of the 16-bit configuration register at a byte address. Empty, or why this
  // machine has no such access.
  virtual std::string Register(Pe& pe, uint32_t address, bool write, uint16_t& value) = 0;
  virtual void CommandDone(Pe& pe, uint64_t cycle) = 0;  // unblock_cmd_stream
  virtual uint32_t SymbolValue(Pe& pe, uint32_t export_id) = 0;
  virtual void PrintLine(Pe& pe, std::string line) = 0;  // simprint
};

struct Core {
  const bytecode::Program* program = nullptr;
  const CostModel* cost = nullptr;
  Surroundings* around = nullptr;
  PagePool pages;
  uint64_t now = 0;  // the global cycle
  bool check_uninitialised = true;
};

inline constexpr uint32_t kDsrsPerFile = 256;

// Ids: setting bits and what follows from it.
void ActivateId(Core& core, Pe& pe, uint32_t id);
void BlockId(Core& core, Pe& pe, uint32_t id, bytecode::TargetKind kind);
void UnblockId(Core& core, Pe& pe, uint32_t id, bytecode::TargetKind kind);
void Fire(Core& core, Pe& pe, const bytecode::Signal& signal);

// The comm part of a PE, made on first use with the class's queues bound.
Comm& CommOf(Core& core, Pe& pe);
// Input queues that a live operation reads: bit a queue.
uint64_t QueuesRead(const Comm& comm);
// The input queue that takes wavelets of `color`, bound already or made now (one without a number).
uint32_t InputQueueFor(Core& core, Pe& pe, uint32_t color);

}  // namespace szarena::fabric
