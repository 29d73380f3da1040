// SPDX-License-Identifier: Apache-2.0
// The verifier: tables first, then every instruction by its operand letters.
#include "bytecode/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace szarena::bytecode {
namespace {

using Status = Result<void>;

struct Checker {
  const Program& program;
  const CodeClass& cls;
  const Function* function = nullptr;
  uint32_t pc = 0;

  tl::unexpected<Error> Bad(std::string what) const {
    std::string where = fmt::format("class '{}'", cls.name);
    if (function != nullptr)
      where += fmt::format(", function '{}', instruction {}", function->name, pc);
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("malformed bytecode in {}: {}", where, what));
  }

  Status Index(const char* what, uint64_t index, uint64_t size) const {
    if (index < size) return {};
    return Bad(fmt::format("{} {} is out of range (there are {})", what, index, size));
  }
  Status FunctionIndex(uint32_t index) const {
    return Index("function", index, cls.functions.size());
  }
  Status Register(uint32_t r) const {
    return Index("register", r, function == nullptr ? 0x10000u : function->register_count);
  }
  Status SignalOk(const Signal& s, bool registers) const {
    if (s.kind > SignalKind::kUnblock) return Bad("unknown kind of signal");
    if (s.in_register && (s.kind != SignalKind::kNone || s.id != 0))
      return registers ? Register(s.id) : Status(Bad("a signal here must have a constant id"));
    if (s.kind == SignalKind::kNone) return {};
    return Index("task id", s.id, kTaskIdCount);
  }
  Status Settings(const AsyncSettings& s, bool registers) const {
    SZARENA_TRY_VOID(SignalOk(s.on_done, registers));
    SZARENA_TRY_VOID(SignalOk(s.on_control, registers));
    if (s.ut_id != 0xff) SZARENA_TRY_VOID(Index("microthread", s.ut_id, 8));
    if (s.priority > Priority::kHigh) return Bad("unknown priority");
    return {};
  }
  Status OperandOk(const Operand& o, bool scalars) const {
    if (o.type > ScalarType::kF32) return Bad("unknown operand type");
    switch (o.kind) {
      case OperandKind::kNone:
        return {};
      case OperandKind::kDescriptor:
      case OperandKind::kPointer:
        return Register(o.value);
      case OperandKind::kScalar:
        return scalars ? Register(o.value) : Status(Bad("a scalar cannot be written"));
      case OperandKind::kDescriptorConst:
        if (uint64_t{o.value} + kDescriptorBytes > kRegisterBase)
          return Bad("descriptor address out of range");
        return {};
      case OperandKind::kDsr:
        return DsrOk(o.value);
      case OperandKind::kFifo:
        return Index("FIFO", o.value, cls.fifos.size());
    }
    return Bad("unknown kind of operand");
  }
  Status DsrOk(uint32_t handle) const {
    if (handle >> 8 > static_cast<uint32_t>(DsrFile::kSrc1))
      return Bad(fmt::format("unknown DSR file in handle 0x{:x}", handle));
    return {};
  }
  Status DsdOperation(const DsdOpInfo& d) const {
    if (d.op >= DsdOp::kCount) return Bad("unknown DSD operation");
    const DsdOpFacts& facts = FactsOf(d.op);
    const size_t n = std::strlen(facts.sources);
    if ((facts.dest == '-') != (d.dest.kind == OperandKind::kNone))
      return Bad(fmt::format("@{}: wrong destination", facts.name));
    SZARENA_TRY_VOID(OperandOk(d.dest, false));
    for (size_t i = 0; i < 3; ++i) {
      if ((i < n) != (d.src[i].kind != OperandKind::kNone))
        return Bad(fmt::format("@{} has {} sources", facts.name, n));
      SZARENA_TRY_VOID(OperandOk(d.src[i], true));
    }
    const OperandKind first = d.src[0].kind;
    if (d.op == DsdOp::kDfilt && first != OperandKind::kDescriptor &&
        first != OperandKind::kDescriptorConst && first != OperandKind::kDsr) {
      return Bad("@dfilt reads wavelets: its source must be a fabric DSD");
    }
    SZARENA_TRY_VOID(Settings(d.settings, true));
    if (d.has_index && d.index_in_register) SZARENA_TRY_VOID(Register(d.index));
    return {};
  }
  Status Map(const MapInfo& m) const {
    for (const Operand& o : m.inputs) {
      if (o.kind == OperandKind::kNone) return Bad("an empty input of @map");
      SZARENA_TRY_VOID(OperandOk(o, true));
    }
    return OperandOk(m.output, false);
  }

  Status Instruction(const Instr& i) {
    if (i.op >= kOpCount) return Bad(fmt::format("unknown opcode {}", i.op));
    const Op op = static_cast<Op>(i.op);
    const char* letters = InfoOf(op).operands;
    const uint16_t field[3] = {i.a, i.b, i.c};
    const auto code_size = static_cast<int64_t>(function->code.size());
    for (int k = 0; letters[k] != 0; ++k) {
      const uint16_t v = field[k];
      switch (letters[k]) {
        case 'd':
        case 's':
        case 'x':
        case 'w':
          SZARENA_TRY_VOID(Register(v));
          break;
        case '-':
          if (v != 0) return Bad(fmt::format("{}: an unused field is not zero", InfoOf(op).name));
          break;
        case 'i':
        case 'u':
        case 'I':
        case 'U':
          break;
        case 'j': {
          const int64_t to = static_cast<int64_t>(pc) + 1 + static_cast<int16_t>(v);
          if (to < 0 || to >= code_size)
            return Bad(fmt::format("jump to {} leaves the function", to));
          break;
        }
        case 'J':
          SZARENA_TRY_VOID(Index("jump target", i.bc(), function->code.size()));
          break;
        case 'K':
          SZARENA_TRY_VOID(Index("constant", i.bc(), cls.constants.size()));
          break;
        case 'T':
          SZARENA_TRY_VOID(Index("switch table", i.bc(), function->switches.size()));
          break;
        case 'S':
          SZARENA_TRY_VOID(Index("string", i.bc(), cls.strings.size()));
          break;
        case 'P':
          SZARENA_TRY_VOID(Index("descriptor", i.bc(), cls.descriptors.size()));
          break;
        case 'D':
          SZARENA_TRY_VOID(Index("DSD operation", i.bc(), cls.dsd_ops.size()));
          SZARENA_TRY_VOID(DsdOperation(cls.dsd_ops[i.bc()]));
          break;
        case 'L':
          SZARENA_TRY_VOID(Index("DSR load", i.bc(), cls.dsr_loads.size()));
          break;
        case 'm':
          SZARENA_TRY_VOID(Index("map", v, cls.maps.size()));
          SZARENA_TRY_VOID(Map(cls.maps[v]));
          if (op == Op::kMapNext) {
            SZARENA_TRY_VOID(Register(
                static_cast<uint32_t>(i.a + std::max<size_t>(cls.maps[v].inputs.size(), 1) - 1)));
            if (static_cast<int16_t>(i.b) < 0) return Bad("the way out of a @map goes backwards");
          }
          break;
        case 'n': {
          SZARENA_TRY_VOID(Index("native", v, static_cast<uint64_t>(Native::kCount)));
          const size_t args = std::strlen(InfoOf(static_cast<Native>(v)).args);
          SZARENA_TRY_VOID(Register(static_cast<uint32_t>(i.a + std::max<size_t>(args, 1) - 1)));
          break;
        }
        case 'f': {
          SZARENA_TRY_VOID(FunctionIndex(v));
          SZARENA_TRY_VOID(Register(static_cast<uint32_t>(
              i.a + std::max<size_t>(cls.functions[v].params.size(), 1) - 1)));
          break;
        }
        default:
          return Bad("operand letter without a rule");
      }
    }
    return Special(op, i);
  }

  Status Special(Op op, const Instr& i) const {
    switch (op) {
      case Op::kSignExtend:
      case Op::kZeroExtend:
        if (i.c < 1 || i.c > 64) return Bad("width must be 1..64");
        return {};
      case Op::kActivate:
      case Op::kBlock:
      case Op::kUnblock:
        SZARENA_TRY_VOID(Index("task id", i.a, kTaskIdCount));
        return Index("kind of target", i.b, 5);
      case Op::kActivateR:
      case Op::kBlockR:
      case Op::kUnblockR:
        return Index("kind of target", i.b, 5);
      case Op::kDsdSet:
        if (!IsDsdField(i.c)) return Bad("no such field of a descriptor");
        return {};
      case Op::kFifoLength:
        if (i.b > 1) return Bad("FIFO length: 0 read, 1 write");
        return Index("FIFO", i.c, cls.fifos.size());
      case Op::kMapStart:
        if (i.b != 0) return Bad("an unused field is not zero");
        return {};
      case Op::kCallIndirect:
        return Register(static_cast<uint32_t>(i.a + std::max<int>(i.c, 1) - 1));
      case Op::kReturn:
        if (!function->returns_value) return Bad("a value is returned by a function that has none");
        return {};
      default:
        return {};
    }
  }

  Status CheckFunction(const Function& f) {
    function = &f;
    pc = 0;
    if (f.code.empty()) return Bad("no code");
    if (f.register_count < std::max<size_t>(f.params.size(), 1))
      return Bad("fewer registers than parameters");
    for (const ScalarType t : f.params) {
      if (t > ScalarType::kF32) return Bad("unknown parameter type");
    }
    for (pc = 0; pc < f.code.size(); ++pc) SZARENA_TRY_VOID(Instruction(f.code[pc]));
    pc = static_cast<uint32_t>(f.code.size() - 1);
    switch (static_cast<Op>(f.code.back().op)) {
      case Op::kJump:
      case Op::kReturn:
      case Op::kReturnVoid:
      case Op::kTrap:
      case Op::kSwitch:
        break;
      default:
        return Bad("control runs off the end");
    }
    uint32_t last = 0;
    for (const LineEntry& e : f.lines) {
      if (e.pc < last) return Bad("line table is not sorted");
      last = e.pc;
      if (e.file != kNoIndex) SZARENA_TRY_VOID(Index("source file", e.file, program.files.size()));
    }
    for (const SwitchTable& t : f.switches) {
      SZARENA_TRY_VOID(Index("jump target", t.otherwise, f.code.size()));
      for (size_t k = 0; k < t.cases.size(); ++k) {
        SZARENA_TRY_VOID(Index("jump target", t.cases[k].second, f.code.size()));
        if (k > 0 && t.cases[k].first <= t.cases[k - 1].first)
          return Bad("switch cases are not sorted, or repeat");
      }
    }
    function = nullptr;
    return {};
  }

  Status Tables() const {
    for (const Descriptor& d : cls.descriptors) SZARENA_TRY_VOID(DescriptorOk(d));
    for (const DsrLoadInfo& d : cls.dsr_loads) {
      SZARENA_TRY_VOID(DsrOk(d.handle));
      SZARENA_TRY_VOID(Settings(d.settings, false));
    }
    for (const DsrInit& d : cls.dsr_inits) {
      SZARENA_TRY_VOID(DsrOk(d.load.handle));
      SZARENA_TRY_VOID(Settings(d.load.settings, false));
      SZARENA_TRY_VOID(DescriptorOk(d.descriptor));
    }
    for (const FifoInfo& f : cls.fifos) {
      if (f.capacity == 0) return Bad(fmt::format("FIFO '{}' has no room", f.name));
      if (f.elem_size != 2 && f.elem_size != 4) return Bad("FIFO elements have 2 or 4 bytes");
      if (f.address + uint32_t{f.capacity} * f.elem_size > kSramBytes)
        return Bad(fmt::format("FIFO '{}' reaches beyond the memory", f.name));
      SZARENA_TRY_VOID(SignalOk(f.on_push, false));
      SZARENA_TRY_VOID(SignalOk(f.on_pop, false));
      if (std::max(f.empty_action, f.full_action) > FifoAction::kFault)
        return Bad("unknown action of a FIFO");
      if (f.priority > Priority::kHigh) return Bad("unknown priority");
    }
    for (const Segment& s : cls.image) {
      const uint64_t end = uint64_t{s.address} + s.bytes.size();
      if (end > kRegisterBase || (s.address < kDescriptorBase && end > kDescriptorBase))
        return Bad("an initialised segment reaches beyond the memory");
    }
    if (cls.stack_base > kSramBytes) return Bad("the stack begins beyond the memory");
    if (cls.descriptor_stack_base < kDescriptorBase)
      return Bad("the descriptor stack begins below descriptor space");
    for (const TaskBinding& t : cls.tasks) {
      SZARENA_TRY_VOID(Index("task id", t.id, kTaskIdCount));
      SZARENA_TRY_VOID(TaskFunction(t.function));
      if (t.kind > TaskKind::kControl) return Bad("unknown kind of task");
    }
    for (const QueueInit& q : cls.queues) {
      SZARENA_TRY_VOID(Index("queue", q.queue, 8));
      if (q.color != kNoColor) SZARENA_TRY_VOID(Index("colour", q.color, kColorCount));
      if (q.priority > Priority::kHigh) return Bad("unknown priority");
    }
    for (const HandlerBinding& h : cls.teardown_handlers) {
      SZARENA_TRY_VOID(Index("colour", h.id, kColorCount));
      SZARENA_TRY_VOID(FunctionIndex(h.function));
    }
    for (const HandlerBinding& h : cls.empty_queue_handlers) {
      SZARENA_TRY_VOID(Index("queue", h.id, 8));
      SZARENA_TRY_VOID(FunctionIndex(h.function));
    }
    for (const RotatingTasks& r : cls.rotating) {
      SZARENA_TRY_VOID(Index("task id", r.data_id, kTaskIdCount));
      SZARENA_TRY_VOID(TaskFunction(r.alternate));
    }
    if (cls.init_function != kNoIndex) SZARENA_TRY_VOID(FunctionIndex(cls.init_function));
    for (const ExportBinding& e : cls.exports) {
      SZARENA_TRY_VOID(Index("export", e.export_id, program.exports.size()));
      const Export& exported = program.exports[e.export_id];
      if (exported.kind != (e.is_function ? ExportKind::kFunction : ExportKind::kVariable))
        return Bad(fmt::format("'{}' is exported as something else", exported.name));
      if (e.is_function) {
        SZARENA_TRY_VOID(FunctionIndex(e.function));
      } else if (e.constant && exported.is_pointer) {
        if (uint64_t{e.value} + e.target_bytes > kRegisterBase)
          return Bad(fmt::format("'{}' points beyond the memory", exported.name));
      } else if (!e.constant && e.address + 2u > kRegisterBase) {
        return Bad(fmt::format("'{}' lies beyond the memory", exported.name));
      }
    }
    for (const Symbol& s : cls.symbols) {
      if (s.address + uint64_t{s.size} > kRegisterBase)
        return Bad(fmt::format("symbol '{}' reaches beyond the memory", s.name));
    }
    return {};
  }

  // A task takes what a wavelet holds: 32 bits, or twice 16.
  Status TaskFunction(uint32_t index) const {
    SZARENA_TRY_VOID(FunctionIndex(index));
    if (const Function& f = cls.functions[index]; f.params.size() > 2)
      return Bad(fmt::format("task '{}' has {} parameters", f.name, f.params.size()));
    return {};
  }

  Status DescriptorOk(const Descriptor& d) const {
    if (d.kind > DsdKind::kFabout) return Bad("unknown kind of DSD");
    if (d.rank < 1 || d.rank > 4) return Bad("DSD rank must be 1..4");
    return {};
  }
};

Status BadProgram(std::string what) {
  return Fail(ErrorCode::kInvalidArgument, "malformed program: " + what);
}

Status CheckRouter(const RouterConfig& r) {
  int last = -1;
  for (const ColorRoute& c : r.colors) {
    if (c.color >= kColorCount)
      return BadProgram(fmt::format("colour {} is out of range", c.color));
    if (c.color <= last) return BadProgram("colours of a router are not sorted, or repeat");
    last = c.color;
    if ((c.rx | c.tx) >= 32) return BadProgram("unknown direction in a route");
    for (const SwitchPosition& p : c.positions) {
      if ((p.rx | p.tx) >= 32) return BadProgram("unknown direction in a switch position");
    }
    if (c.current_position > 3) return BadProgram("switch position must be 0..3");
    if (c.pop_mode > PopMode::kPopOnAdvanceNop || c.filter.kind > FilterKind::kSparseCounter)
      return BadProgram("unknown pop mode or filter");
  }
  return {};
}

Status CheckExport(const Export& e) {
  if (e.kind > ExportKind::kStream) return BadProgram("unknown kind of export");
  if (e.kind == ExportKind::kStream && e.color >= kColorCount)
    return BadProgram(fmt::format("stream '{}' has colour {}", e.name, e.color));
  if (e.param_names.size() > e.params.size())
    return BadProgram(fmt::format("function '{}' has more names than parameters", e.name));
  for (const ScalarType t : e.params) {
    if (t > ScalarType::kF32)
      return BadProgram(fmt::format("function '{}' has a parameter of unknown type", e.name));
  }
  return {};
}

}  // namespace

Status VerifyClass(const Program& program, const CodeClass& code_class) {
  Checker c{program, code_class};
  SZARENA_TRY_VOID(c.Tables());
  for (const Function& f : code_class.functions) SZARENA_TRY_VOID(c.CheckFunction(f));
  return {};
}

Status Verify(const Program& p) {
  if (p.arch > Arch::kWse3 || p.fp16 > FloatFormat::kCb16)
    return BadProgram("unknown architecture or float format");
  if (p.width == 0 || p.height == 0) return BadProgram("the rectangle has no PEs");
  if (p.pes.size() != size_t{p.width} * p.height)
    return BadProgram("the grid does not have width * height PEs");
  if (p.fabric_width != 0 && (p.offset_x + uint32_t{p.width} > p.fabric_width ||
                              p.offset_y + uint32_t{p.height} > p.fabric_height)) {
    return BadProgram("the rectangle lies beyond the fabric");
  }
  if (p.routers.empty())
    return BadProgram("no router configuration; the first one is the empty one");
  for (const Region& r : p.pes) {
    if (r.code_class != kNoIndex && r.code_class >= p.classes.size())
      return BadProgram("a PE names a class that is not there");
    if (r.router >= p.routers.size())
      return BadProgram("a PE names a router configuration that is not there");
  }
  if (((p.host_in_colors | p.host_out_colors) >> kColorCount) != 0)
    return BadProgram("a host stream on a colour that does not exist");
  for (const Export& e : p.exports) SZARENA_TRY_VOID(CheckExport(e));
  for (const RouterConfig& r : p.routers) SZARENA_TRY_VOID(CheckRouter(r));
  for (const CodeClass& c : p.classes) SZARENA_TRY_VOID(VerifyClass(p, c));
  return {};
}

}  // namespace szarena::bytecode
