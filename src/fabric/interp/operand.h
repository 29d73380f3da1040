// SPDX-License-Identifier: Apache-2.0
// Inner functions of the DSD engine, shared by engine.cpp, step.cpp and map.cpp.
#pragma once

#include "fabric/interp/engine.h"

namespace szarena::fabric {

DsrState& DsrOf(Pe& pe, uint32_t handle);
FifoState& FifoOf(Pe& pe, uint32_t index);
// Decodes an operand; false after a fatal trap. `settings` is replaced where the operand is a DSR
// loaded with asynchronous ones.
bool MakeOperand(Core& core, Pe& pe, const bytecode::Operand& operand, char letter, bool is_dest,
                 const uint64_t* regs, OperandState& o, bytecode::AsyncSettings* settings,
                 Place place);
// @faddhs takes its f16 source first or second: is this operand the f16 one?
bool IsHalf(Core& core, Pe& pe, const bytecode::Operand& operand, const uint64_t* regs);
// Stores the position of a DSR operand back.
void SaveDsr(Pe& pe, const OperandState& o);
void BindQueue(Core& core, Pe& pe, uint32_t queue, uint8_t color, Place place);

// Element access of one operand in cycle core.now.
enum class Ready : uint8_t { kYes, kNo, kControl };  // kControl: a control wavelet is at the head
Ready CanRead(Core& core, Pe& pe, OperandState& o);
// `last`: nothing follows, so half a wavelet is sent as it is.
bool CanWrite(Core& core, Pe& pe, const OperandState& o, bool last);
uint32_t ReadOne(Core& core, Pe& pe, OperandState& o, Place place);
// `last`: of the operation. `index` goes to the high half where the DSD says so.
void WriteOne(Core& core, Pe& pe, OperandState& o, uint32_t value, bool last, uint16_t index);
void FifoHitFull(Pe& pe, uint32_t fifo);
void FifoHitEmpty(Pe& pe, uint32_t fifo);

}  // namespace szarena::fabric
