// SPDX-License-Identifier: Apache-2.0
// What the compiler hands to the machine: a whole program for a rectangle of PEs. Start reading at
// Program.
//
// Address space of a PE, 16-bit byte addresses:
//   [0, kSramBytes)                 SRAM: globals from the bottom, then the stack from
//   CodeClass::stack_base upwards [kDescriptorBase, kRegisterBase) descriptor space: globals of DSD
//   types, then the descriptor stack [kRegisterBase, 0x10000)        configuration registers
//   (fabric/sim/registers.cpp): loads and stores of 16 bits
// Bools take a byte (0 or 1); colours, task ids, queues, directions, pointers and function pointers
// are u16; a function pointer is the index in CodeClass::functions. Alignment is 2 for everything
// of 2 bytes and more.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bytecode/descriptor.h"
#include "bytecode/numeric.h"
#include "bytecode/op.h"

namespace szarena::bytecode {

inline constexpr uint32_t kSramBytes = 48 * 1024;
inline constexpr uint32_t kDescriptorBase = 0xC000;
inline constexpr uint32_t kRegisterBase = 0xFE00;
inline constexpr int kColorCount = 24;
inline constexpr int kTaskIdCount = 64;
inline constexpr int kTeardownTaskId = 29;
inline constexpr uint32_t kNoIndex = 0xffffffffu;  // "no function", "no register", "no index"

enum class Arch : uint8_t { kWse2, kWse3 };
enum class Direction : uint8_t { kEast, kWest, kSouth, kNorth, kRamp };
constexpr uint8_t BitOf(Direction d) {
  return static_cast<uint8_t>(1u << static_cast<unsigned>(d));
}

// ---------------------------------------------------------------- functions
struct SwitchTable {
  std::vector<std::pair<int64_t, uint32_t>> cases =
      {};                  // value as it lies in the register, pc; sorted by value, no duplicates
  uint32_t otherwise = 0;  // pc
};

struct LineEntry {
  uint32_t pc = 0;    // first instruction of the line; entries sorted by pc
  uint32_t file = 0;  // index in Program::files
  uint32_t line = 0;  // from 1
};

// Calling convention: arguments in registers 0, 1, ... of the callee's window, result in register
// 0. Aggregates (arrays, structs) and DSD values go by address: the caller owns the place; a callee
// that returns one gets the destination's address as an extra first argument.
struct Function {
  std::string name = {};
  std::vector<ScalarType> params = {};  // one a register
  uint16_t register_count = 1;          // >= params.size(), >= 1
  uint16_t frame_bytes = 0;             // SRAM stack frame
  uint16_t descriptor_frame_bytes = 0;
  bool returns_value = false;
  std::vector<Instr> code = {};  // ends with an instruction that does not fall through
  std::vector<LineEntry> lines = {};
  std::vector<SwitchTable> switches = {};
};

// ---------------------------------------------------------------- DSD operations
enum class OperandKind : uint8_t {
  kNone,
  kDescriptor,       // value: register with the address of a descriptor
  kDescriptorConst,  // value: address of a descriptor
  kDsr,              // value: DSR handle, see DsrHandle()
  kFifo,             // value: index in CodeClass::fifos
  kScalar,           // value: register with the value, of type `type`
  kPointer,  // value: register with the address of a scalar of type `type`; repeats (stride 0)
};
struct Operand {
  OperandKind kind = OperandKind::kNone;
  ScalarType type = ScalarType::kU16;  // kScalar and kPointer; for @map also the element of a DSD
  uint32_t value = 0;
  friend bool operator==(const Operand&, const Operand&) = default;
};

enum class DsrFile : uint8_t { kDest, kSrc0, kSrc1 };
constexpr uint32_t DsrHandle(DsrFile file, uint32_t index) {
  return static_cast<uint32_t>(file) << 8 | index;
}

// What happens when an asynchronous operation ends.
enum class SignalKind : uint8_t { kNone, kActivate, kUnblock };
struct Signal {
  SignalKind kind = SignalKind::kNone;
  bool in_register = false;  // id is a register (not for DsrLoad)
  uint32_t id = 0;  // task id: on WSE-2 a colour is its own task id, on WSE-3 an input queue is its
                    // own data task id
  friend bool operator==(const Signal&, const Signal&) = default;
};

struct AsyncSettings {
  bool async = false;
  Signal on_done = {};
  bool on_control_terminate = false;  // a control wavelet ends the operation
  Signal on_control = {};  // instead of on_done where a control wavelet ended it; implies terminate
  Priority priority = Priority::kDefault;
  uint8_t ut_id = 0xff;  // WSE-3; 0xff: by the queue
  friend bool operator==(const AsyncSettings&, const AsyncSettings&) = default;
};

struct DsdOpInfo {
  DsdOp op = DsdOp::kMov16;
  Operand dest = {};
  Operand src[3] = {};          // as many as FactsOf(op).sources
  AsyncSettings settings = {};  // a DSR operand's own settings, from its load, win
  bool has_index = false;       // `.index`
  bool index_in_register = false;
  uint32_t index = 0;  // value or register
};

struct DsrLoadInfo {
  uint32_t handle = 0;          // DsrHandle
  bool save_address = false;    // after an operation the DSR goes on behind the last element
  AsyncSettings settings = {};  // Signal::in_register must be false
};

// @map: see MapStart in op.def. Inputs: kDescriptor*, kDsr, kFifo are read element by element;
// kScalar registers are passed on.
struct MapInfo {
  std::vector<Operand> inputs = {};
  Operand output = {};  // kNone, a DSD, DSR or kPointer
};

enum class FifoAction : uint8_t { kTerminate, kTestOrSuspend, kSuspend, kFault };
struct FifoInfo {
  std::string name = {};
  uint16_t address = 0;   // of the buffer
  uint16_t capacity = 0;  // elements
  uint8_t elem_size = 2;
  Signal on_push = {};  // .activate_push
  Signal on_pop = {};   // .activate_pop
  FifoAction empty_action = FifoAction::kTestOrSuspend;
  FifoAction full_action = FifoAction::kTestOrSuspend;
  uint16_t read_length = 0;
  uint16_t write_length = 0;
  Priority priority = Priority::kDefault;  // WSE-3: of asynchronous operations with it
};

// ---------------------------------------------------------------- tasks and queues
enum class TargetKind : uint8_t {
  kTask,
  kMicrothread,
  kInputQueue,
  kOutputQueue,
  kColor
};  // what @activate/@block name
enum class TaskKind : uint8_t { kData, kLocal, kControl };
struct TaskBinding {
  TaskKind kind = TaskKind::kLocal;
  uint8_t id = 0;  // data: colour on WSE-2, input queue on WSE-3
  uint32_t function =
      0;  // its params unpack the wavelet: one of 32 bits, or 16-bit ones from the low half up
  bool high_priority = false;
};
struct QueueInit {
  bool output = false;
  uint8_t queue = 0;
  uint8_t color = kNoColor;                // kNoColor: WSE-2 output queue
  Priority priority = Priority::kDefault;  // WSE-2 input queue: of the microthread that reads it
  uint8_t control_table = 0xff;
};
struct HandlerBinding {  // teardown (id is a colour) and empty-queue (id is a queue) handlers
  bool output = false;
  uint8_t id = 0;
  uint32_t function = 0;
};
struct ControlTable {
  uint8_t instructions = 0;
  uint8_t stride = 0;
};  // @set_control_task_table; 0 = none: ids share the task table
struct RotatingTasks {  // @bind_rotating_tasks
  uint8_t data_id = 0;
  uint32_t alternate = 0;  // function
  uint16_t limit = 0;
  uint16_t init = 0;
};
struct DsrInit {  // @load_to_dsr in a comptime block
  DsrLoadInfo load = {};
  Descriptor descriptor = {};
};

// ---------------------------------------------------------------- memory and symbols
struct Segment {         // initialised bytes; what no segment covers was "never written"
  uint16_t address = 0;  // in SRAM or descriptor space
  std::vector<uint8_t> bytes = {};
};
struct MemoryItem {  // for the 48 KiB report, largest first
  std::string name = {};
  std::string what = {};  // "array", "variable", "stack", "code (estimated)", ...
  uint32_t bytes = 0;
};
// A global variable, by the name that the host's read_symbol uses.
struct Symbol {
  std::string name = {};
  std::string type = {};  // as CSL writes it
  uint16_t address = 0;
  uint32_t size = 0;      // bytes
  uint8_t elem_size = 2;  // bytes of the scalar that it is made of
  bool exported = false;  // export / @export_symbol
};
// The class's side of Program::exports[export_id].
struct ExportBinding {
  uint32_t export_id = 0;
  bool is_function = false;
  uint32_t function = 0;  // is_function
  bool constant = false;  // a `const` pointer or scalar with no address: `value` is it
  uint32_t value = 0;
  uint16_t address = 0;  // of the variable: for a pointer symbol the pointer itself
  // Where a pointer symbol's target array is known at compile time: its size in bytes, for the host
  // copy's range check; 0 unknown.
  uint32_t target_bytes = 0;
};

// All PEs with the same file, params and colour configuration.
struct CodeClass {
  std::string name = {};  // file and what tells it from others of the same file
  std::vector<Function> functions = {};
  std::vector<uint64_t> constants = {};
  std::vector<std::string> strings = {};
  std::vector<Descriptor> descriptors = {};
  std::vector<DsdOpInfo> dsd_ops = {};
  std::vector<DsrLoadInfo> dsr_loads = {};
  std::vector<MapInfo> maps = {};
  std::vector<FifoInfo> fifos = {};
  std::vector<Segment> image = {};
  uint16_t stack_base = 0;  // first free SRAM byte
  uint16_t descriptor_stack_base = kDescriptorBase;
  std::vector<TaskBinding> tasks = {};
  std::vector<QueueInit> queues = {};
  std::vector<HandlerBinding> teardown_handlers = {};
  std::vector<HandlerBinding> empty_queue_handlers = {};
  std::vector<RotatingTasks> rotating = {};
  ControlTable control_table = {};
  uint64_t initially_active = 0;  // bit a task id
  uint64_t initially_blocked =
      0;  // bit a task id (WSE-2: colours are task ids; WSE-3: input queues are data task ids)
  std::vector<DsrInit> dsr_inits = {};
  uint32_t init_function =
      kNoIndex;  // run at load, free of charge: what comptime blocks ask of the hardware (natives)
  std::vector<Symbol> symbols = {};
  std::vector<ExportBinding> exports = {};
  std::vector<MemoryItem> memory = {};
};

// ---------------------------------------------------------------- routers
enum class PopMode : uint8_t { kNoPop, kAlwaysPop, kPopOnAdvance, kPopOnAdvanceNop };
struct SwitchPosition {  // positions 1..3; an empty set keeps position 0's
  bool valid = false;
  uint8_t rx = 0;  // set of Direction bits
  uint8_t tx = 0;
};
enum class FilterKind : uint8_t { kNone, kRange, kCounter, kSparseCounter };
struct Filter {
  FilterKind kind = FilterKind::kNone;
  bool count_data = false;
  bool count_control = false;
  bool filter_control = false;
  uint16_t init_counter = 0;
  uint16_t max_counter = 0;
  uint16_t limit1 = 0;
  uint16_t limit2 = 0;     // sparse counter
  uint16_t min_index = 0;  // range
  uint16_t max_index = 0;
};
struct ColorRoute {
  uint8_t color = 0;
  uint8_t rx = 0;  // position 0
  uint8_t tx = 0;
  SwitchPosition positions[3] = {};
  uint8_t current_position = 0;
  bool has_switches = false;
  bool ring_mode = false;
  PopMode pop_mode = PopMode::kNoPop;
  bool swap_x = false;
  bool swap_y = false;
  bool teardown = false;        // in teardown from the start
  bool point_to_point = false;  // the header of a message says where it goes (docs/csl/machine.md);
                                // rx and tx name all directions
  Filter filter = {};
};
struct RouterConfig {
  std::vector<ColorRoute> colors = {};  // sorted by colour, each at most once
};

// ---------------------------------------------------------------- host and program
enum class ExportKind : uint8_t { kVariable, kFunction, kStream };
struct Export {  // @export_name, or a host stream's colour; the id is the index in Program::exports
  std::string name = {};
  std::string type = {};  // as CSL writes it: "[*]f32", "fn(u16)void"
  ExportKind kind = ExportKind::kVariable;
  bool is_mutable = false;
  uint8_t elem_size = 4;                // variables: bytes of the scalar behind it
  bool is_pointer = true;               // variables: [*]T (the usual) or a scalar
  uint8_t color = kNoColor;             // streams
  std::vector<ScalarType> params = {};  // functions
  std::vector<std::string> param_names = {};
};
struct Region {  // one PE of the rectangle: which class, which router configuration
  uint32_t code_class = kNoIndex;  // kNoIndex: a PE without code
  uint32_t router = 0;
};
struct NamedValue {  // --params and --colors as given, for out.json
  std::string name = {};
  std::string value = {};
};

struct Program {
  std::string name = {};  // of the layout file
  Arch arch = Arch::kWse2;
  FloatFormat fp16 = FloatFormat::kF16;
  uint16_t width = 0;  // of the program rectangle
  uint16_t height = 0;
  uint16_t fabric_width = 0;
  uint16_t fabric_height = 0;
  uint16_t offset_x = 0;  // of the rectangle on the fabric
  uint16_t offset_y = 0;
  bool memcpy = false;  // --memcpy: PEs have a host command stream
  uint8_t channels = 0;
  uint32_t host_in_colors =
      0;  // bit a colour: host streams into PEs on it (MEMCPYH2D_*), out of PEs on it (MEMCPYD2H_*)
  uint32_t host_out_colors = 0;
  std::vector<std::string> files = {};
  std::vector<CodeClass> classes = {};
  std::vector<RouterConfig> routers = {};  // [0] is the empty one
  std::vector<Region> pes = {};            // width * height, row major: index y * width + x
  std::vector<Export> exports = {};
  std::vector<NamedValue> params = {};
  std::vector<NamedValue> colors = {};

  const Region& At(int x, int y) const {
    return pes[static_cast<size_t>(y) * width + static_cast<size_t>(x)];
  }
};

// The file and line of an instruction; {kNoIndex, 0} where the table has none.
LineEntry LineAt(const Function& f, uint32_t pc);

}  // namespace szarena::bytecode
