// SPDX-License-Identifier: Apache-2.0
// What the CSL libraries reach through @native: math, clocks, PRNG, host stream, debug output.
// Router natives go to the machine.
#include <fmt/format.h>

#include <algorithm>

#include "bytecode/native_math.h"
#include "fabric/interp/interp.h"
#include "fabric/interp/operand.h"

namespace szarena::fabric {
using namespace bytecode;
namespace {

void WriteCounter(Pe& pe, uint64_t address, uint64_t value) {
  for (uint32_t k = 0; k < 3; ++k)
    pe.memory.Write<uint16_t>(static_cast<uint32_t>(address + 2 * k) & 0xffff,
                              static_cast<uint16_t>(value >> (16 * k)));
}

uint16_t Random16(Pe& pe) {
  if (pe.prng_state.size() <= pe.prng) pe.prng_state.resize(size_t{pe.prng} + 1, 0xdeadbeefu);
  uint32_t& s = pe.prng_state[pe.prng];
  s &= 0x7fffff;
  for (int i = 0; i < 128; ++i)
    s = s >> 1 | ((s ^ s >> 18) & 1) << 22;  // bit n + 23 = bit n + 18 xor bit n
  return static_cast<uint16_t>(s);
}

PeDebug& DebugOf(Pe& pe) {
  if (pe.debug == nullptr) pe.debug = std::make_unique<PeDebug>();
  return *pe.debug;
}

// simprint: a value in format d, x, b or f.
std::string FormatValue(const Core& core, ScalarType type, char format, uint32_t digits,
                        uint64_t bits) {
  std::string s;
  if (type == ScalarType::kF32)
    s = fmt::format("{:f}", static_cast<double>(F32ToDouble(static_cast<uint32_t>(bits))));
  else if (type == ScalarType::kF16)
    s = fmt::format("{:f}", F16ToDouble(core.program->fp16, static_cast<uint16_t>(bits)));
  else if (format == 'x' || format == 'X' || format == 'b') {
    const uint64_t pattern = ZeroExtend(bits, SizeOf(type) * 8);
    s = format == 'b' ? fmt::format("{:b}", pattern) : fmt::format("{:X}", pattern);
  } else if (type == ScalarType::kBool) {
    s = bits != 0 ? "true" : "false";
  } else {
    s = IsSigned(type) ? fmt::format("{}", static_cast<int64_t>(bits)) : fmt::format("{}", bits);
  }
  if (s.size() < digits) s.insert(0, digits - s.size(), '0');
  return s;
}

void Print(Core& core, Pe& pe, std::string_view text) {
  std::string& line = DebugOf(pe).line;
  for (const char c : text) {
    if (c == '\n') {
      core.around->PrintLine(pe, std::move(line));
      line.clear();
    } else {
      line += c;
    }
  }
}

// Gives a queue another colour: <tile_config>'s encode_input_queue and encode_output_queue.
void SetQueueColor(Core& core, Pe& pe, Native native, const uint64_t* args, uint64_t clock,
                   uint32_t function, uint32_t pc) {
  const bool output = native == Native::k_output_queue_color;
  const auto fault = [&](std::string message) {
    core.around->Report(pe, TrapKind::kBadQueue, clock, function, pc, message);
    pe.state = MainState::kHalted;
  };
  if (args[0] >= 8)
    return fault(fmt::format("{} queue {} does not exist", output ? "output" : "input", args[0]));
  if (args[1] >= kColorCount)
    return fault(
        fmt::format("colour {} does not exist: colours are 0 to {}", args[1], kColorCount - 1));
  Comm& comm = CommOf(core, pe);
  const auto queue = static_cast<uint32_t>(args[0]);
  const auto color = static_cast<uint8_t>(args[1]);
  if (!output) return BindQueue(core, pe, queue, color, {function, pc});
  OutputQueue& q = comm.out[queue];
  if (!q.ring.empty()) {
    core.around->Report(pe, TrapKind::kQueueConflict, clock, function, pc,
                        fmt::format("output queue {} gets colour {} while it still holds {} "
                                    "wavelets: wait until it is empty, with @queue_flush and "
                                    "@set_empty_queue_handler",
                                    queue, color, q.ring.size()));
  }
  q.color = color;
}

// Others can see it, or it sees what others do: it must run in global order.
bool IsVisible(Native n) {
  return n == Native::k_unblock_cmd_stream ||
         (n >= Native::k_route_reset && n <= Native::k_teardown_exit) || n == Native::k_route_for ||
         (n >= Native::k_input_queue_empty && n <= Native::k_output_queue_color &&
          n != Native::k_dsr_set_base);
}

}  // namespace

bool CallNative(Core& core, Pe& pe, Native native, uint64_t* args, uint64_t clock, uint64_t& cost,
                uint32_t function, uint32_t pc) {
  if (IsVisible(native) && clock > core.now) return false;
  cost = core.cost->native[static_cast<size_t>(native)];
  if (IsMath(native)) {
    const bool binary =
        InfoOf(native).args[1] != 0;  // the window has no more registers than arguments
    args[0] = EvalMath(native, core.program->fp16, args[0], binary ? args[1] : 0);
    return true;
  }
  const auto text = [&](uint64_t index) -> const std::string& {
    static const std::string kEmpty;
    const auto& strings = pe.cls->code->strings;
    return index < strings.size() ? strings[index] : kEmpty;
  };
  const auto fault = [&](TrapKind kind, std::string message) {
    core.around->Report(pe, kind, clock, function, pc, std::move(message));
    pe.state = MainState::kHalted;
  };
  const auto is_type = [&](uint64_t code) {
    if (code < kScalarTypeCount) return true;
    fault(TrapKind::kProgramTrap,
          fmt::format("{}: there is no scalar type {}", InfoOf(native).name, code));
    return false;
  };
  switch (native) {
    case Native::k_pe_x:
      args[0] = pe.x;
      break;
    case Native::k_pe_y:
      args[0] = pe.y;
      break;
    case Native::k_fabric_x:
      args[0] = uint64_t{pe.x} + core.program->offset_x;
      break;
    case Native::k_fabric_y:
      args[0] = uint64_t{pe.y} + core.program->offset_y;
      break;
    case Native::k_tsc_enable:
      if (!pe.tsc_on) pe.tsc_base = clock - pe.tsc_held;
      pe.tsc_on = true;
      break;
    case Native::k_tsc_disable:
      if (pe.tsc_on) pe.tsc_held = clock - pe.tsc_base;
      pe.tsc_on = false;
      break;
    case Native::k_tsc_reset:
      pe.tsc_base = clock;
      pe.tsc_held = 0;
      break;
    case Native::k_tsc_read:
      WriteCounter(pe, args[0], pe.tsc_on ? clock - pe.tsc_base : pe.tsc_held);
      break;
    case Native::k_perf_read: {
      const uint64_t values[4] = {pe.count.busy, pe.count.stalled, pe.count.wavelets_in,
                                  pe.count.wavelets_out};
      WriteCounter(pe, args[0], values[args[1] & 3]);
      break;
    }
    case Native::k_random16:
      args[0] = Random16(pe);
      break;
    case Native::k_prng_select:
      pe.prng = static_cast<uint16_t>(args[0] & 0xff);
      break;
    case Native::k_prng_seed:
      if (pe.prng_state.size() <= pe.prng) pe.prng_state.resize(size_t{pe.prng} + 1, 0xdeadbeefu);
      pe.prng_state[pe.prng] = static_cast<uint32_t>(args[0]);
      break;
    case Native::k_unblock_cmd_stream:
      core.around->CommandDone(pe, clock);
      break;
    case Native::k_symbol_value:
      args[0] = core.around->SymbolValue(pe, static_cast<uint32_t>(args[0]));
      break;
    case Native::k_tensor_ptr:
      args[0] = core.around->SymbolValue(pe, static_cast<uint32_t>(args[0])) & 0xffff;
      break;
    case Native::k_task_priority: {
      const uint64_t bit = uint64_t{1} << (args[0] & 63);
      if (args[1] != 0)
        pe.high_priority |= bit;
      else
        pe.high_priority &= ~bit;
      break;
    }
    case Native::k_main_priority:
      pe.main_priority = static_cast<uint8_t>(2 + (args[0] & 3));
      break;
    case Native::k_control_mask:
      pe.control_mask = static_cast<uint8_t>(args[0] & 63);
      break;
    case Native::k_exception_mask:
      core.around->Report(
          pe, TrapKind::kNotModelled, clock, function, pc,
          "exception masks: the program is not stopped by floating-point exceptions here");
      break;
    case Native::k_input_queue_empty:
      args[0] = CommOf(core, pe).in[args[0] & 7].ring.empty();
      break;
    case Native::k_input_queue_full: {
      const InputQueue& q = CommOf(core, pe).in[args[0] & 7];
      args[0] = q.ring.size() >= q.capacity;
      break;
    }
    case Native::k_output_queue_empty:
      args[0] = CommOf(core, pe).out[args[0] & 7].ring.empty();
      break;
    case Native::k_output_queue_full: {
      const OutputQueue& q = CommOf(core, pe).out[args[0] & 7];
      args[0] = q.ring.size() >= q.capacity;
      break;
    }
    case Native::k_queue_flush: {
      Comm& c = CommOf(core, pe);
      if (args[1] != 0)
        c.out[args[0] & 7].flush = true;
      else
        c.in[args[0] & 7].flush = true;
      break;
    }
    case Native::k_queue_flush_exit: {
      Comm& c = CommOf(core, pe);
      if (args[1] != 0)
        c.out[args[0] & 7].flush = c.out[args[0] & 7].flushed = false;
      else
        c.in[args[0] & 7].flush = c.in[args[0] & 7].flushed = false;
      break;
    }
    case Native::k_queue_flushed: {
      const Comm& c = CommOf(core, pe);
      uint64_t mask = 0;
      for (uint32_t q = 0; q < 8; ++q) {
        if (args[0] != 0 ? c.out[q].flushed : c.in[q].flushed) mask |= uint64_t{1} << q;
      }
      args[0] = mask;
      break;
    }
    case Native::k_dsr_set_base:
      if (args[0] >> 8 > static_cast<uint64_t>(DsrFile::kSrc1))
        fault(TrapKind::kBadDsr, fmt::format("there is no DSR with handle 0x{:x}", args[0]));
      else if (!SetDsrBase(pe, static_cast<uint32_t>(args[0]), static_cast<uint16_t>(args[1])))
        fault(TrapKind::kBadDescriptor, "the register was never loaded");
      break;
    case Native::k_input_queue_color:
    case Native::k_output_queue_color:
      SetQueueColor(core, pe, native, args, clock, function, pc);
      break;
    case Native::k_config_get:
    case Native::k_config_set:
      fault(TrapKind::kRawRegister, fmt::format("register 0x{:04x}", args[0]));
      break;
    case Native::k_trace_value:
      if (is_type(args[1]))
        DebugOf(pe).traces[text(args[0])].push_back(
            {static_cast<ScalarType>(args[1]), TraceRecord::Kind::kValue, args[2]});
      break;
    case Native::k_trace_string:
      DebugOf(pe).traces[text(args[0])].push_back(
          {ScalarType::kU16, TraceRecord::Kind::kString, args[1]});
      break;
    case Native::k_trace_timestamp:
      DebugOf(pe).traces[text(args[0])].push_back(
          {ScalarType::kU64, TraceRecord::Kind::kTimestamp, clock});
      break;
    case Native::k_print_string:
      Print(core, pe, text(args[0]));
      break;
    case Native::k_print_value:
      if (is_type(args[0]))
        Print(core, pe,
              FormatValue(core, static_cast<ScalarType>(args[0]), static_cast<char>(args[1]),
                          static_cast<uint32_t>(args[2]) & 0xff, args[3]));
      break;
    case Native::k_print_coords:
      Print(core, pe, fmt::format("PE({},{}): ", pe.x, pe.y));
      break;
    default: {
      std::array<uint64_t, 4> given = {};  // the machine looks at all four
      std::copy_n(args, std::string_view(InfoOf(native).args).size(), given.begin());
      args[0] = core.around->RouterNative(pe, native, given.data());
      break;
    }
  }
  return true;
}

}  // namespace szarena::fabric
