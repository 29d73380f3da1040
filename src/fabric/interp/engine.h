// SPDX-License-Identifier: Apache-2.0
// The DSD engine: decodes operands, runs operations on memory at once, and those on queues element
// by element.
#pragma once

#include <cstdint>

#include "fabric/interp/core.h"

namespace szarena::fabric {

enum class Started : uint8_t {
  kDone,      // finished; `cost` cycles
  kAsync,     // runs as a microthread; `cost` cycles for the start
  kBlocked,   // the main thread waits for it in ops[kMainSlot]
  kSlotBusy,  // its microthread is taken: try again when ops[pe.wait_slot] ends
  kLater,     // others can see it: run it when the global clock has come to `clock`
  kHalted,    // a fatal trap
};
struct StartResult {
  Started started = Started::kDone;
  uint64_t cost = 0;
  bool value = true;
};

// Where an operation stands in the program, for reports.
struct Place {
  uint32_t function = bytecode::kNoIndex;
  uint32_t pc = 0;
};

// `regs` is the current register window, `clock` the main thread's time, `result_register`
// absolute.
StartResult StartDsd(Core& core, Pe& pe, const bytecode::DsdOpInfo& info, const uint64_t* regs,
                     uint32_t result_register, uint64_t clock, Place place);

// One cycle of the engine at core.now: at most one element group of one live operation. True where
// something moved.
bool StepOperations(Core& core, Pe& pe);

// A descriptor put in a DSR.
// False where the register was never loaded.
bool SetDsrBase(Pe& pe, uint32_t handle, uint16_t address);
void LoadDsr(Pe& pe, const bytecode::DsrLoadInfo& load, const bytecode::Descriptor& d);
bytecode::Descriptor ReadDescriptor(const Memory& memory, uint32_t address);
void WriteDescriptor(Memory& memory, uint32_t address, const bytecode::Descriptor& d);

// @map. Next: kElement and the inputs in `window`, or kExhausted; kLater where the clock must catch
// up, kWait where a queue is empty.
StartResult StartMap(Core& core, Pe& pe, uint32_t map, const uint64_t* regs, Place place);
enum class MapStep : uint8_t { kElement, kExhausted, kWait, kLater, kHalted };
MapStep NextMap(Core& core, Pe& pe, const uint64_t* regs, uint64_t* window, uint64_t clock,
                Place place);
MapStep PutMap(Core& core, Pe& pe, uint64_t value, uint64_t clock);
void FifoSetLength(Pe& pe, uint32_t fifo, bool write, uint16_t length);

}  // namespace szarena::fabric
