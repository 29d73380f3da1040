// SPDX-License-Identifier: Apache-2.0
// Operands, starting operations, and operations on memory only. Stepping is in step.cpp.
#include "fabric/interp/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "fabric/interp/operand.h"
#include "fabric/model/vector.h"

namespace szarena::fabric {
using namespace bytecode;

Descriptor ReadDescriptor(const Memory& memory, uint32_t address) {
  std::array<uint8_t, kDescriptorBytes> bytes;
  memory.ReadBytes(address, bytes.data(), kDescriptorBytes);
  return Decode(bytes);
}

void WriteDescriptor(Memory& memory, uint32_t address, const Descriptor& d) {
  std::array<uint8_t, kDescriptorBytes> bytes;
  Encode(d, bytes);
  memory.WriteBytes(address, bytes.data(), kDescriptorBytes);
}

DsrState& DsrOf(Pe& pe, uint32_t handle) {
  const size_t at = (handle >> 8) * kDsrsPerFile + (handle & 0xff);
  if (pe.dsrs.size() <= at) pe.dsrs.resize(at + 1);
  return pe.dsrs[at];
}

FifoState& FifoOf(Pe& pe, uint32_t index) {
  if (pe.fifos.empty()) {
    for (const FifoInfo& f : pe.cls->code->fifos) {
      FifoState s;
      s.read_length = f.read_length;
      s.write_length = f.write_length;
      pe.fifos.push_back(s);
    }
  }
  return pe.fifos[index];
}

void FifoSetLength(Pe& pe, uint32_t fifo, bool write, uint16_t length) {
  FifoState& f = FifoOf(pe, fifo);
  (write ? f.write_length : f.read_length) = length;
}

bool SetDsrBase(Pe& pe, uint32_t handle, uint16_t address) {
  DsrState& s = DsrOf(pe, handle);
  if (!s.loaded) return false;
  s.d.base = address;
  s.d.lo = s.d.hi = 0;  // whatever array that is in
  s.index = {};
  s.offset = 0;
  return true;
}

void LoadDsr(Pe& pe, const DsrLoadInfo& load, const Descriptor& d) {
  DsrState& s = DsrOf(pe, load.handle);
  s = {};
  s.loaded = true;
  s.save_address = load.save_address;
  s.settings = load.settings;
  s.d = d;
}

namespace {

// The descriptor as an operand; false after a fatal trap.
bool SetDescriptor(Core& core, Pe& pe, OperandState& o, const Descriptor& d, bool is_dest,
                   Place place) {
  o.d = d;
  const auto bad = [&](TrapKind kind, std::string why) {
    core.around->Report(pe, kind, core.now, place.function, place.pc, std::move(why));
    return false;
  };
  // Programs may write anything where a descriptor lies.
  if (d.kind > DsdKind::kNone && d.kind <= DsdKind::kFabout && (d.rank < 1 || d.rank > 4))
    return bad(TrapKind::kBadDescriptor, "a damaged descriptor");
  switch (d.kind) {
    case DsdKind::kMem1d:
    case DsdKind::kMem4d:
    case DsdKind::kCircbuf:
      if (d.kind == DsdKind::kCircbuf && d.wrap == 0)
        return bad(TrapKind::kBadDescriptor, "a damaged descriptor");
      {
        // One operation on memory runs in one go: longer ones than any program needs would not end.
        uint64_t elements = 1;
        for (int k = 0; k < d.rank; ++k)
          elements =
              std::min<uint64_t>(elements * d.extent[static_cast<size_t>(k)], uint64_t{1} << 40);
        if (elements > uint64_t{1} << 24)
          return bad(TrapKind::kBadDescriptor,
                     fmt::format("a DSD of {} elements: more than 16777216", elements));
      }
      if (d.base >= kRegisterBase)
        return bad(TrapKind::kRawRegister,
                   fmt::format("a DSD at 0x{:04x}, among the configuration registers", d.base));
      o.cls = OperandClass::kMemory;
      o.d.elem_size = o.size;  // strides count elements of the operation, not of the array:
                               // docs/csl/decisions.md
      return true;
    case DsdKind::kFabin:
      if (is_dest) return bad(TrapKind::kBadDescriptor, "an input DSD as destination");
      o.cls = OperandClass::kFabIn;
      o.queue = d.queue;
      o.color = d.color;
      break;
    case DsdKind::kFabout:
      if (!is_dest) return bad(TrapKind::kBadDescriptor, "an output DSD as source");
      o.cls = OperandClass::kFabOut;
      o.queue = d.queue;
      o.color = d.color;
      break;
    default:
      return bad(TrapKind::kBadDescriptor, "the operand is no DSD: was it ever assigned?");
  }
  const bool by_color = !is_dest && o.queue == kQueueOfColor && o.color < kColorCount;
  if ((o.queue >= 8 && !by_color) ||
      (is_dest && static_cast<int>(o.queue) >= core.cost->OutputQueues())) {
    return bad(TrapKind::kBadQueue, is_dest
                                        ? fmt::format("output queue {} does not exist", o.queue)
                                        : fmt::format("input queue {} does not exist", o.queue));
  }
  o.packed = d.simd != SimdMode::kNone && o.size == 2;
  Comm& comm = CommOf(core, pe);
  if (is_dest) {
    if (comm.out[o.queue].color != kNoColor && core.cost->arch == Arch::kWse3)
      o.color = comm.out[o.queue].color;
    if (o.color >= kColorCount)
      return bad(TrapKind::kBadQueue,
                 fmt::format("output queue {} has no colour: {}", o.queue,
                             core.cost->arch == Arch::kWse3 ? "@initialize_queue it"
                                                            : "give the DSD a fabric_color"));
  } else {
    if (by_color) o.queue = static_cast<uint8_t>(InputQueueFor(core, pe, o.color));
    InputQueue& q = comm.in[o.queue];
    if (o.color >= kColorCount && o.color != kNoColor)
      return bad(TrapKind::kBadQueue, fmt::format("there is no colour {}", o.color));
    if (core.cost->arch == Arch::kWse3 || o.color == kNoColor) {
      if (q.color == kNoColor) {
        if (o.color == kNoColor)
          return bad(TrapKind::kBadQueue,
                     fmt::format("input queue {} has no colour: @initialize_queue it", o.queue));
      } else {
        o.color = q.color;
      }
    }
    if (q.color != o.color) BindQueue(core, pe, o.queue, o.color, place);
  }
  return true;
}

}  // namespace

void BindQueue(Core& core, Pe& pe, uint32_t queue, uint8_t color, Place place) {
  Comm& comm = *pe.comm;
  InputQueue& q = comm.in[queue];
  if (q.color != kNoColor && q.color != color) {
    if (!q.ring.empty()) {
      core.around->Report(
          pe, TrapKind::kQueueConflict, core.now, place.function, place.pc,
          fmt::format("input queue {} goes from colour {} to {} while it holds {} wavelets", queue,
                      q.color, color, q.ring.size()));
    }
    if (comm.queue_of_color[q.color] == queue) comm.queue_of_color[q.color] = 0xff;
  }
  const uint8_t old = comm.queue_of_color[color];
  if (old != 0xff && old != queue) {  // what waits in the colour's old queue moves along
    InputQueue& from = comm.in[old];
    while (!from.ring.empty() && q.ring.size() < Ring::kCapacity) {
      q.ring.push(from.ring.front());
      from.ring.pop();
    }
    if (!from.ring.empty()) {
      core.around->Report(pe, TrapKind::kQueueConflict, core.now, place.function, place.pc,
                          fmt::format("input queue {} takes over colour {}, and has no room for {} "
                                      "wavelets that wait there: they are lost",
                                      queue, color, from.ring.size()));
      from.ring = {};
    }
    from.color = kNoColor;
  }
  q.color = color;
  comm.queue_of_color[color] = static_cast<uint8_t>(queue);
  core.around->WakeRouter(pe, core.now + 1);
}

bool MakeOperand(Core& core, Pe& pe, const Operand& operand, char letter, bool is_dest,
                 const uint64_t* regs, OperandState& o, AsyncSettings* settings, Place place) {
  o = OperandState{};
  o.letter = letter;
  o.size = static_cast<uint8_t>(ElementBytes(letter));
  switch (operand.kind) {
    case OperandKind::kNone:
      return true;
    case OperandKind::kScalar:
      o.cls = OperandClass::kScalar;
      o.scalar = static_cast<uint32_t>(regs[operand.value]);
      if (o.size == 2) o.scalar &= 0xffff;
      return true;
    case OperandKind::kPointer:
      o.cls = OperandClass::kMemory;
      o.pointer = true;
      o.d.kind = DsdKind::kMem1d;
      o.d.elem_size = o.size;
      o.d.base = static_cast<uint16_t>(regs[operand.value]);
      o.d.extent = {0, 1, 1, 1};
      if (o.d.base >= kRegisterBase) {
        core.around->Report(
            pe, TrapKind::kRawRegister, core.now, place.function, place.pc,
            fmt::format("a DSD operation on 0x{:04x}, a configuration register", o.d.base));
        return false;
      }
      return true;
    case OperandKind::kDescriptor:
    case OperandKind::kDescriptorConst: {
      const uint32_t address = operand.kind == OperandKind::kDescriptor
                                   ? static_cast<uint32_t>(regs[operand.value])
                                   : operand.value;
      return SetDescriptor(core, pe, o, ReadDescriptor(pe.memory, address & 0xffff), is_dest,
                           place);
    }
    case OperandKind::kDsr: {
      DsrState& dsr = DsrOf(pe, operand.value);
      if (!dsr.loaded) {
        core.around->Report(pe, TrapKind::kBadDsr, core.now, place.function, place.pc,
                            fmt::format("DSR {} of file {} was never loaded", operand.value & 0xff,
                                        operand.value >> 8));
        return false;
      }
      if (!SetDescriptor(core, pe, o, dsr.d, is_dest, place)) return false;
      o.dsr = operand.value;
      o.index = dsr.index;
      o.offset = dsr.offset;
      if (settings != nullptr && dsr.settings.async) *settings = dsr.settings;
      return true;
    }
    case OperandKind::kFifo: {
      const FifoState& f = FifoOf(pe, operand.value);
      o.cls = OperandClass::kFifo;
      o.fifo = operand.value;
      o.scalar = is_dest ? f.write_length : f.read_length;  // its length
      return true;
    }
  }
  return true;
}

void SaveDsr(Pe& pe, const OperandState& o) {
  if (o.dsr == kNoIndex) return;
  DsrState& s = DsrOf(pe, o.dsr);
  if (o.d.kind == DsdKind::kCircbuf) {  // its position persists
    s.index = o.index;
    s.offset = o.offset;
  } else if (s.save_address && o.cls == OperandClass::kMemory) {
    s.d.base = static_cast<uint16_t>(o.address());
  }
}

namespace {

// Bytes of SIMD rule: elements a cycle of `o` by its innermost stride in 16-bit words.
uint32_t StrideLimit(const OperandState& o, uint32_t full) {
  if (o.cls != OperandClass::kMemory) return full;
  const int stride = o.d.stride[static_cast<size_t>(o.d.rank - 1)] * (o.size / 2);
  const int m = std::abs(stride) & 7;
  const int unit = o.size / 2;
  if (stride == 0 || stride == unit) return full;
  if (m == 0) return 1;
  if (m == 1 || m == 7 || m == 4) return std::min(full, 2u);
  return full;
}

uint64_t VectorCycles(const Core& core, const DsdState& s) {
  uint32_t width = core.cost->simd[static_cast<size_t>(s.op)];
  width = StrideLimit(s.dest, width);
  for (int i = 0; i < s.source_count; ++i) width = StrideLimit(s.src[i], width);
  return core.cost->dsd_issue + (uint64_t{s.length} + width - 1) / width + core.cost->dsd_drain;
}

// Does the walk over the first `n` elements stay inside the array? First and last byte touched, for
// affine walks.
void CheckBounds(Core& core, Pe& pe, const OperandState& o, uint32_t n, Place place) {
  if (o.cls != OperandClass::kMemory || n == 0) return;
  if ((o.address() & 1) != 0) {
    core.around->Report(pe, TrapKind::kMisaligned, core.now, place.function, place.pc,
                        "a DSD at an odd address");
    return;
  }
  if (o.d.lo == o.d.hi || o.d.kind == DsdKind::kCircbuf) return;
  int64_t low = 0;
  int64_t high = 0;
  uint64_t inner = 1;
  for (size_t k = o.d.rank; k-- > 0;) {
    uint64_t count = o.d.extent[k];
    if (k == 0)
      count = std::max<uint64_t>((n + inner - 1) / inner, 1);  // as far as the operation goes
    const int64_t reach =
        static_cast<int64_t>(o.d.stride[k]) *
        (static_cast<int64_t>(std::min<uint64_t>(count, (n + inner - 1) / inner)) - 1);
    (reach < 0 ? low : high) += reach;
    inner *= std::max<uint64_t>(o.d.extent[k], 1);
  }
  const int64_t start = o.d.base + o.offset * o.size;
  const int64_t first = start + low * o.size;
  const int64_t end = start + high * o.size + o.size;
  const int64_t limit = o.d.hi == 0 ? 0x10000 : o.d.hi;
  if (first < o.d.lo || end > limit) {
    core.around->Report(
        pe, TrapKind::kDsdOutOfBounds, core.now, place.function, place.pc,
        fmt::format("bytes 0x{:04x}..0x{:04x} are touched, the array is 0x{:04x}..0x{:04x}",
                    first & 0xffff, (end - 1) & 0xffff, o.d.lo, limit - 1));
  }
}

void CheckWritten(Core& core, Pe& pe, uint32_t address, uint32_t bytes, Place place) {
  if (core.check_uninitialised && !pe.memory.IsWritten(address, bytes)) [[unlikely]] {
    core.around->Report(pe, TrapKind::kUninitialisedRead, core.now, place.function, place.pc,
                        fmt::format("a DSD operation reads 0x{:04x}, which nobody wrote", address));
  }
}

// Elements until the innermost loop of a memory operand wraps; at least one, as Advance() takes it
// where that loop is empty.
uint32_t RunLength(const OperandState& o, uint32_t n) {
  if (o.cls != OperandClass::kMemory) return n;
  if (o.d.kind == DsdKind::kCircbuf) return std::min<uint32_t>(n, o.d.wrap - o.index[0]);
  const auto k = static_cast<size_t>(o.d.rank - 1);
  if (k == 0) return n;
  return std::min<uint32_t>(n, static_cast<uint32_t>(std::max(o.d.extent[k] - o.index[k], 1)));
}
int32_t InnerStep(const OperandState& o) {  // bytes
  return o.d.stride[o.d.kind == DsdKind::kCircbuf ? 0 : static_cast<size_t>(o.d.rank - 1)] * o.size;
}
void AdvanceBy(OperandState& o, uint32_t n) {  // n <= RunLength
  if (o.cls != OperandClass::kMemory || n == 0) return;
  const auto k = o.d.kind == DsdKind::kCircbuf ? size_t{0} : static_cast<size_t>(o.d.rank - 1);
  o.offset += o.d.stride[k] * static_cast<int32_t>(n - 1);
  o.index[k] = static_cast<uint16_t>(o.index[k] + n - 1);
  o.Advance();
}

constexpr uint32_t kBatch = 256;
struct Scratch {
  alignas(64) uint32_t a[kBatch];
  alignas(64) uint32_t b[kBatch];
  alignas(64) uint32_t c[kBatch];
  alignas(64) uint32_t d[kBatch];
};

// n elements of a source as a contiguous array: in place where it is one, else gathered into
// `buffer`.
const void* Source(Core& core, Pe& pe, const OperandState& o, uint32_t n, uint32_t* buffer,
                   bool filled, Place place) {
  if (o.cls == OperandClass::kScalar) {
    if (!filled) {
      if (o.size == 4)
        std::fill_n(buffer, kBatch, o.scalar);
      else
        std::fill_n(reinterpret_cast<uint16_t*>(buffer), kBatch, static_cast<uint16_t>(o.scalar));
    }
    return buffer;
  }
  const int32_t step = InnerStep(o);
  const uint32_t address = o.address();
  if (step == o.size) {
    const auto run = pe.memory.ReadRun(address, n * o.size);
    CheckWritten(core, pe, address, n * o.size, place);
    if (run.size() == n * o.size && (reinterpret_cast<uintptr_t>(run.data()) & (o.size - 1u)) == 0)
      return run.data();
    pe.memory.ReadBytes(address, buffer, n * o.size);
    return buffer;
  }
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t at =
        static_cast<uint32_t>(static_cast<int32_t>(address) + step * static_cast<int32_t>(i)) &
        0xffff;
    CheckWritten(core, pe, at, o.size, place);
    if (o.size == 4)
      buffer[i] = pe.memory.Read<uint32_t>(at);
    else
      reinterpret_cast<uint16_t*>(buffer)[i] = pe.memory.Read<uint16_t>(at);
  }
  return buffer;
}

// Could writing the destination change a source element that is read later?
bool Hazard(const OperandState& dest, const OperandState& src, uint32_t n) {
  if (src.cls != OperandClass::kMemory) return false;
  const int32_t ds = InnerStep(dest);
  const int32_t ss = InnerStep(src);
  const auto da = static_cast<int32_t>(dest.address());
  const auto sa = static_cast<int32_t>(src.address());
  if (da == sa && ds == ss && ds != 0 && dest.size <= src.size) return false;
  const auto span = [n](int32_t at, int32_t step, int32_t size) {
    const int32_t end = at + step * static_cast<int32_t>(n - 1);
    return std::pair(std::min(at, end), std::max(at, end) + size);
  };
  const auto [dl, dh] = span(da, ds, dest.size);
  const auto [sl, sh] = span(sa, ss, src.size);
  return dl < sh && sl < dh;
}

uint32_t ReadElement(Core& core, Pe& pe, OperandState& o, Place place) {
  if (o.cls == OperandClass::kScalar) return o.scalar;
  const uint32_t at = o.address();
  CheckWritten(core, pe, at, o.size, place);
  const uint32_t v = o.size == 4 ? pe.memory.Read<uint32_t>(at) : pe.memory.Read<uint16_t>(at);
  o.Advance();
  return v;
}
void WriteElement(Pe& pe, OperandState& o, uint32_t v) {
  if (o.size == 4)
    pe.memory.Write<uint32_t>(o.address(), v);
  else
    pe.memory.Write<uint16_t>(o.address(), static_cast<uint16_t>(v));
  o.Advance();
}

// A whole operation on memory and scalars.
void RunOnMemory(Core& core, Pe& pe, DsdState& s, Place place) {
  const FloatFormat format = core.program->fp16;
  Scratch scratch;
  bool filled[3] = {};
  uint32_t left = s.length;
  while (left > 0) {
    uint32_t n = std::min({left, kBatch, RunLength(s.dest, left)});
    for (int i = 0; i < s.source_count; ++i) n = RunLength(s.src[i], n);
    bool hazard = n > 1 && InnerStep(s.dest) == 0;
    for (int i = 0; i < s.source_count && !hazard; ++i)
      hazard = n > 1 && Hazard(s.dest, s.src[i], n);
    if (hazard) {  // in order, one by one: reductions and shifting copies
      for (uint32_t k = 0; k < n; ++k) {
        uint32_t v[3] = {};
        for (int i = 0; i < s.source_count; ++i) v[i] = ReadElement(core, pe, s.src[i], place);
        WriteElement(pe, s.dest, Compute(s.op, format, v[0], v[1], v[2], s.carry));
      }
      left -= n;
      continue;
    }
    uint32_t* buffers[3] = {scratch.a, scratch.b, scratch.c};
    const void* in[3] = {};
    for (int i = 0; i < s.source_count; ++i) {
      in[i] = Source(core, pe, s.src[i], n, buffers[i], filled[i], place);
      filled[i] = s.src[i].cls == OperandClass::kScalar;
    }
    const uint32_t address = s.dest.address();
    const int32_t step = InnerStep(s.dest);
    if (step == s.dest.size) {
      // The page may become private here: a source pointer into the shared page stays valid and
      // holds the same values.
      const auto run = pe.memory.WriteRun(address, n * s.dest.size);
      if (run.size() == n * s.dest.size &&
          (reinterpret_cast<uintptr_t>(run.data()) & (s.dest.size - 1u)) == 0) {
        ComputeRun(s.op, format, n, run.data(), in[0], in[1], in[2], s.carry);
      } else {
        ComputeRun(s.op, format, n, scratch.d, in[0], in[1], in[2], s.carry);
        pe.memory.WriteBytes(address, scratch.d, n * s.dest.size);
      }
    } else {
      ComputeRun(s.op, format, n, scratch.d, in[0], in[1], in[2], s.carry);
      for (uint32_t i = 0; i < n; ++i) {
        const uint32_t at =
            static_cast<uint32_t>(static_cast<int32_t>(address) + step * static_cast<int32_t>(i)) &
            0xffff;
        if (s.dest.size == 4)
          pe.memory.Write<uint32_t>(at, scratch.d[i]);
        else
          pe.memory.Write<uint16_t>(at, reinterpret_cast<uint16_t*>(scratch.d)[i]);
      }
    }
    AdvanceBy(s.dest, n);
    for (int i = 0; i < s.source_count; ++i) AdvanceBy(s.src[i], n);
    left -= n;
  }
  s.done = s.length;
}

// The length rule: src0's, else src1's, else src2's, else dest's, else 1.
bool SetLength(Core& core, Pe& pe, DsdState& s, Place place) {
  uint32_t length = 0;
  bool differs =
      false;  // an operand is walked beyond its own length; a longer one is common and harmless
  const auto look = [&](const OperandState& o) {
    const uint32_t n = o.length();
    if (n == 0) return;
    if (length == 0)
      length = n;
    else if (n < length && length != kInfiniteExtent)
      differs = true;
  };
  for (int i = 0; i < s.source_count; ++i) look(s.src[i]);
  look(s.dest);
  s.infinite = length == kInfiniteExtent;
  s.length = length == 0 ? 1 : length;
  // A DSD of no elements makes an operation of no elements.
  if (length == 0) {
    const auto empty = [](const OperandState& o) {
      return (o.cls == OperandClass::kMemory && !o.pointer) || o.cls == OperandClass::kFabIn ||
             o.cls == OperandClass::kFabOut;
    };
    bool any = empty(s.dest);
    for (int i = 0; i < s.source_count; ++i) any |= empty(s.src[i]);
    if (any) s.length = 0;
  }
  if (differs) {
    std::string text;
    for (int i = 0; i < s.source_count; ++i) text += fmt::format(" src{} {}", i, s.src[i].length());
    core.around->Report(pe, TrapKind::kLengthMismatch, core.now, place.function, place.pc,
                        fmt::format("@{} runs {} elements; operand lengths: dest {}{}",
                                    FactsOf(s.op).name, s.length, s.dest.length(), text));
  }
  return true;
}

void ApplyIndex(OperandState& o, uint16_t index) {
  if (o.cls == OperandClass::kMemory && o.d.wavelet_index_offset)
    o.d.base = static_cast<uint16_t>(o.d.base + 2 * index);
}

}  // namespace

namespace {
// Where the operation names no priority: that of a fabric DSD or FIFO in it (WSE-3), or of the
// input queue that it reads (WSE-2).
Priority PriorityOf(const Pe& pe, const DsdState& s) {
  const auto of = [&](const OperandState& o) {
    if (o.cls == OperandClass::kFifo) return pe.cls->code->fifos[o.fifo].priority;
    if (o.cls != OperandClass::kFabIn && o.cls != OperandClass::kFabOut) return Priority::kDefault;
    if (o.d.priority != Priority::kDefault || o.cls == OperandClass::kFabOut) return o.d.priority;
    return pe.comm->in[o.queue].priority;
  };
  Priority priority = of(s.dest);
  for (int i = 0; i < s.source_count && priority == Priority::kDefault; ++i)
    priority = of(s.src[i]);
  return priority;
}
}  // namespace

StartResult StartDsd(Core& core, Pe& pe, const DsdOpInfo& info, const uint64_t* regs,
                     uint32_t result_register, uint64_t clock, Place place) {
  DsdState s;
  s.op = info.op;
  const DsdOpFacts& facts = FactsOf(info.op);
  s.source_count = static_cast<uint8_t>(std::strlen(facts.sources));
  s.settings = info.settings;
  s.function = place.function;
  s.pc = place.pc;
  if (!MakeOperand(core, pe, info.dest, facts.dest, true, regs, s.dest, &s.settings, place))
    return {Started::kHalted};
  bool swapped = false;
  if (info.op == DsdOp::kFaddhs) swapped = IsHalf(core, pe, info.src[0], regs);
  for (int i = 0; i < s.source_count; ++i) {
    const int from = swapped ? 1 - i : i;
    if (!MakeOperand(core, pe, info.src[from], facts.sources[i], false, regs, s.src[i], &s.settings,
                     place))
      return {Started::kHalted};
  }
  bool fabric = s.dest.cls == OperandClass::kFabOut;
  bool fifo = s.dest.cls == OperandClass::kFifo;
  for (int i = 0; i < s.source_count; ++i) {
    fabric |= s.src[i].cls == OperandClass::kFabIn;
    fifo |= s.src[i].cls == OperandClass::kFifo;
  }
  if (s.op == DsdOp::kDfilt && s.src[0].cls != OperandClass::kFabIn) {
    core.around->Report(pe, TrapKind::kBadDescriptor, core.now, place.function, place.pc,
                        "@dfilt reads wavelets: its source must be a fabric DSD");
    return {Started::kHalted};
  }
  s.async = s.settings.async;
  if (s.async && s.settings.priority == Priority::kDefault) s.settings.priority = PriorityOf(pe, s);
  const bool live = pe.comm != nullptr && pe.comm->live != 0;
  if ((fabric || s.async || (fifo && live)) && clock > core.now) return {Started::kLater};
  if (info.has_index) {
    s.has_index = true;
    s.index = static_cast<uint16_t>(info.index_in_register ? regs[info.index] : info.index);
    ApplyIndex(s.dest, s.index);
    for (int i = 0; i < s.source_count; ++i) ApplyIndex(s.src[i], s.index);
  }
  for (Signal* g : {&s.settings.on_done, &s.settings.on_control}) {
    if (g->in_register) {
      g->id = static_cast<uint32_t>(regs[g->id]) & 63;
      g->in_register = false;
    }
  }
  if (!SetLength(core, pe, s, place)) return {Started::kHalted};
  // A scalar in memory as destination, with a scalar source: a running reduction that starts with
  // the source's value.
  if (s.dest.pointer && s.source_count >= 2 && s.length > 1) {
    OperandState* start = s.src[0].cls == OperandClass::kScalar                          ? &s.src[0]
                          : s.src[1].cls == OperandClass::kScalar && s.source_count == 2 ? &s.src[1]
                                                                                         : nullptr;
    if (start != nullptr && start->size == s.dest.size) {
      if (s.dest.size == 4)
        pe.memory.Write<uint32_t>(s.dest.address(), start->scalar);
      else
        pe.memory.Write<uint16_t>(s.dest.address(), static_cast<uint16_t>(start->scalar));
      *start = s.dest;
    }
  }
  if (!s.infinite) {
    CheckBounds(core, pe, s.dest, s.length, place);
    for (int i = 0; i < s.source_count; ++i) CheckBounds(core, pe, s.src[i], s.length, place);
  }
  s.since = s.last_progress = clock;
  if (!fabric && !fifo && !s.async) {
    if (s.infinite) s.length = kInfiniteExtent;
    const uint64_t cycles = VectorCycles(core, s);
    RunOnMemory(core, pe, s, place);
    pe.count.elements += s.length;
    if (!IsMove(s.op)) pe.count.arithmetic += s.length;
    SaveDsr(pe, s.dest);
    for (int i = 0; i < s.source_count; ++i) SaveDsr(pe, s.src[i]);
    return {Started::kDone, cycles, true};
  }
  Comm& comm = CommOf(core, pe);
  s.live = true;
  const auto check_queues = [&] {
    for (const DsdState& other : comm.ops) {
      if (other.live && s.dest.cls == OperandClass::kFabOut &&
          other.dest.cls == OperandClass::kFabOut && other.dest.queue == s.dest.queue) {
        core.around->Report(pe, TrapKind::kQueueConflict, core.now, place.function, place.pc,
                            fmt::format("two operations write output queue {}", s.dest.queue));
      }
    }
    for (int i = 0; i < s.source_count; ++i) {
      if (s.src[i].cls != OperandClass::kFabIn) continue;
      for (const DsdState& other : comm.ops) {
        if (!other.live) continue;
        for (int k = 0; k < other.source_count; ++k) {
          if (other.src[k].cls == OperandClass::kFabIn && other.src[k].queue == s.src[i].queue) {
            core.around->Report(pe, TrapKind::kQueueConflict, core.now, place.function, place.pc,
                                fmt::format("two operations read input queue {}", s.src[i].queue));
          }
        }
      }
    }
  };
  if (!s.async) {
    check_queues();
    s.slot = kMainSlot;
    s.result_register = result_register;
    comm.ops[kMainSlot] = s;
    comm.live |= 1u << kMainSlot;
    return {Started::kBlocked, core.cost->dsd_issue};
  }
  // The microthread: WSE-3 by ut_id, else the first fabric operand's queue (dest, src0, src1);
  // WSE-2 output queue before input queue.
  uint32_t slot = 0;
  if (s.settings.ut_id != 0xff)
    slot = s.settings.ut_id;
  else if (s.dest.cls == OperandClass::kFabOut)
    slot = s.dest.queue;
  else {
    for (int i = s.source_count; i-- > 0;) {
      if (s.src[i].cls == OperandClass::kFabIn) slot = s.src[i].queue;
    }
    if (!fabric || slot > 7) {  // FIFOs only, or a queue without a number: any free one
      slot = 0;
      while (slot < 7 && (comm.live >> slot & 1) != 0) ++slot;
    }
  }
  if ((comm.live >> slot & 1) != 0) {
    core.around->Report(pe, TrapKind::kMicrothreadConflict, core.now, place.function, place.pc,
                        fmt::format("@{} starts on microthread {}, which still runs an operation "
                                    "begun in cycle {}; the main thread waits",
                                    facts.name, slot, comm.ops[slot].since));
    pe.wait_slot = static_cast<uint8_t>(slot);
    return {Started::kSlotBusy};
  }
  check_queues();
  s.slot = static_cast<uint8_t>(slot);
  comm.ops[slot] = s;
  comm.live |= static_cast<uint16_t>(1u << slot);
  return {Started::kAsync, core.cost->async_start};
}

}  // namespace szarena::fabric
