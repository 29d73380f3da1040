// SPDX-License-Identifier: Apache-2.0
// One description of the fields (Io) serves the writer and the reader.
#include "bytecode/image.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "base/bytes.h"
#include "bytecode/verify.h"

namespace szarena::bytecode {
namespace {

constexpr char kMagic[8] = {'S', 'Z', 'C', 'S', 'L', 0, 0, 0};
constexpr size_t kHeaderBytes = 32;  // magic 8, version 4, zero 4, payload length 8, checksum 8

uint64_t Checksum(std::span<const uint8_t> bytes) {
  uint64_t h = 0xcbf29ce484222325u;
  for (const uint8_t b : bytes) h = (h ^ b) * 0x100000001b3u;
  return h;
}

struct Writer {
  std::vector<uint8_t> out;
  void Raw(void* data, size_t n) {
    const auto* p = static_cast<const uint8_t*>(data);
    out.insert(out.end(), p, p + n);
  }
  void Count(size_t count) {
    auto n = static_cast<uint32_t>(count);
    Raw(&n, sizeof n);
  }
};

struct Reader {
  std::span<const uint8_t> in;
  bool failed = false;
  bool ok() const { return !failed; }
  void Raw(void* data, size_t n) {
    if (failed || in.size() < n) {
      failed = true;
      std::memset(data, 0, n);
      return;
    }
    std::memcpy(data, in.data(), n);
    in = in.subspan(n);
  }
  // A number of elements of at least `least` bytes each; 0 where the file cannot hold as many.
  size_t Count(size_t least) {
    uint32_t n = 0;
    Raw(&n, sizeof n);
    if (n > in.size() / least) failed = true;
    return failed ? 0 : n;
  }
};

template <typename A, typename T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
void Io(A& a, T& v) {
  a.Raw(&v, sizeof v);
}
template <typename A, typename T>
  requires std::is_enum_v<T>
void Io(A& a, T& v) {
  a.Raw(&v, sizeof v);
}
template <typename A>
void Io(A& a, bool& v) {
  uint8_t byte = v ? 1 : 0;
  a.Raw(&byte, 1);
  v = byte != 0;
}
inline void Io(Writer& a, std::string& v) {
  a.Count(v.size());
  a.Raw(v.data(), v.size());
}
inline void Io(Reader& a, std::string& v) {
  v.resize(a.Count(1));
  a.Raw(v.data(), v.size());
}
template <typename A, typename T, typename U>
void Io(A& a, std::pair<T, U>& v) {
  Io(a, v.first);
  Io(a, v.second);
}
// Declared before the vector template: the structures of program.h.
template <typename A>
void Io(A& a, Instr& v);
template <typename A>
void Io(A& a, SwitchTable& v);
template <typename A>
void Io(A& a, LineEntry& v);
template <typename A>
void Io(A& a, Function& v);
template <typename A>
void Io(A& a, Operand& v);
template <typename A>
void Io(A& a, Signal& v);
template <typename A>
void Io(A& a, AsyncSettings& v);
template <typename A>
void Io(A& a, DsdOpInfo& v);
template <typename A>
void Io(A& a, DsrLoadInfo& v);
template <typename A>
void Io(A& a, MapInfo& v);
template <typename A>
void Io(A& a, FifoInfo& v);
template <typename A>
void Io(A& a, TaskBinding& v);
template <typename A>
void Io(A& a, QueueInit& v);
template <typename A>
void Io(A& a, HandlerBinding& v);
template <typename A>
void Io(A& a, RotatingTasks& v);
template <typename A>
void Io(A& a, DsrInit& v);
template <typename A>
void Io(A& a, Segment& v);
template <typename A>
void Io(A& a, MemoryItem& v);
template <typename A>
void Io(A& a, Symbol& v);
template <typename A>
void Io(A& a, ExportBinding& v);
template <typename A>
void Io(A& a, CodeClass& v);
template <typename A>
void Io(A& a, SwitchPosition& v);
template <typename A>
void Io(A& a, Filter& v);
template <typename A>
void Io(A& a, ColorRoute& v);
template <typename A>
void Io(A& a, RouterConfig& v);
template <typename A>
void Io(A& a, Export& v);
template <typename A>
void Io(A& a, Region& v);
template <typename A>
void Io(A& a, NamedValue& v);
template <typename A>
void Io(A& a, Descriptor& v);

template <typename T>
void Io(Writer& a, std::vector<T>& v) {
  a.Count(v.size());
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, Instr>) {
    if (v.size() > 0) a.Raw(v.data(), v.size() * sizeof(T));
  } else {
    for (T& e : v) Io(a, e);
  }
}
// Room is made as elements come: a count alone cannot ask for much more memory than the file has
// bytes.
template <typename T>
void Io(Reader& a, std::vector<T>& v) {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, Instr>) {
    v.resize(a.Count(sizeof(T)));
    if (v.size() > 0) a.Raw(v.data(), v.size() * sizeof(T));
  } else {
    for (size_t n = a.Count(1); n > 0 && a.ok(); --n) Io(a, v.emplace_back());
  }
}
template <typename A, typename... T>
void All(A& a, T&... v) {
  (Io(a, v), ...);
}

template <typename A>
void Io(A& a, Instr& v) {
  All(a, v.op, v.a, v.b, v.c);
}
template <typename A>
void Io(A& a, SwitchTable& v) {
  All(a, v.cases, v.otherwise);
}
template <typename A>
void Io(A& a, LineEntry& v) {
  All(a, v.pc, v.file, v.line);
}
template <typename A>
void Io(A& a, Function& v) {
  All(a, v.name, v.params, v.register_count, v.frame_bytes, v.descriptor_frame_bytes,
      v.returns_value, v.code, v.lines, v.switches);
}
template <typename A>
void Io(A& a, Operand& v) {
  All(a, v.kind, v.type, v.value);
}
template <typename A>
void Io(A& a, Signal& v) {
  All(a, v.kind, v.in_register, v.id);
}
template <typename A>
void Io(A& a, AsyncSettings& v) {
  All(a, v.async, v.on_done, v.on_control_terminate, v.on_control, v.priority, v.ut_id);
}
template <typename A>
void Io(A& a, DsdOpInfo& v) {
  All(a, v.op, v.dest, v.src[0], v.src[1], v.src[2], v.settings, v.has_index, v.index_in_register,
      v.index);
}
template <typename A>
void Io(A& a, DsrLoadInfo& v) {
  All(a, v.handle, v.save_address, v.settings);
}
template <typename A>
void Io(A& a, MapInfo& v) {
  All(a, v.inputs, v.output);
}
template <typename A>
void Io(A& a, FifoInfo& v) {
  All(a, v.name, v.address, v.capacity, v.elem_size, v.on_push, v.on_pop, v.empty_action,
      v.full_action, v.read_length, v.write_length, v.priority);
}
template <typename A>
void Io(A& a, TaskBinding& v) {
  All(a, v.kind, v.id, v.function, v.high_priority);
}
template <typename A>
void Io(A& a, QueueInit& v) {
  All(a, v.output, v.queue, v.color, v.priority, v.control_table);
}
template <typename A>
void Io(A& a, HandlerBinding& v) {
  All(a, v.output, v.id, v.function);
}
template <typename A>
void Io(A& a, RotatingTasks& v) {
  All(a, v.data_id, v.alternate, v.limit, v.init);
}
template <typename A>
void Io(A& a, DsrInit& v) {
  All(a, v.load, v.descriptor);
}
template <typename A>
void Io(A& a, Segment& v) {
  All(a, v.address, v.bytes);
}
template <typename A>
void Io(A& a, MemoryItem& v) {
  All(a, v.name, v.what, v.bytes);
}
template <typename A>
void Io(A& a, Symbol& v) {
  All(a, v.name, v.type, v.address, v.size, v.elem_size, v.exported);
}
template <typename A>
void Io(A& a, ExportBinding& v) {
  All(a, v.export_id, v.is_function, v.function, v.constant, v.value, v.address, v.target_bytes);
}
template <typename A>
void Io(A& a, CodeClass& v) {
  All(a, v.name, v.functions, v.constants, v.strings, v.descriptors, v.dsd_ops, v.dsr_loads, v.maps,
      v.fifos, v.image, v.stack_base, v.descriptor_stack_base, v.tasks, v.queues,
      v.teardown_handlers, v.empty_queue_handlers, v.rotating, v.control_table.instructions,
      v.control_table.stride, v.initially_active, v.initially_blocked, v.dsr_inits, v.init_function,
      v.symbols, v.exports, v.memory);
}
template <typename A>
void Io(A& a, SwitchPosition& v) {
  All(a, v.valid, v.rx, v.tx);
}
template <typename A>
void Io(A& a, Filter& v) {
  All(a, v.kind, v.count_data, v.count_control, v.filter_control, v.init_counter, v.max_counter,
      v.limit1, v.limit2, v.min_index, v.max_index);
}
template <typename A>
void Io(A& a, ColorRoute& v) {
  All(a, v.color, v.rx, v.tx, v.positions[0], v.positions[1], v.positions[2], v.current_position,
      v.has_switches, v.ring_mode, v.pop_mode, v.swap_x, v.swap_y, v.teardown, v.point_to_point,
      v.filter);
}
template <typename A>
void Io(A& a, RouterConfig& v) {
  All(a, v.colors);
}
template <typename A>
void Io(A& a, Export& v) {
  All(a, v.name, v.type, v.kind, v.is_mutable, v.elem_size, v.is_pointer, v.color, v.params,
      v.param_names);
}
template <typename A>
void Io(A& a, Region& v) {
  All(a, v.code_class, v.router);
}
template <typename A>
void Io(A& a, NamedValue& v) {
  All(a, v.name, v.value);
}
template <typename A>
void Io(A& a, Descriptor& v) {
  std::array<uint8_t, kDescriptorBytes> bytes;
  Encode(v, bytes);
  a.Raw(bytes.data(), bytes.size());
  v = Decode(bytes);
}
template <typename A>
void Io(A& a, Program& v) {
  All(a, v.name, v.arch, v.fp16, v.width, v.height, v.fabric_width, v.fabric_height, v.offset_x,
      v.offset_y, v.memcpy, v.channels, v.host_in_colors, v.host_out_colors, v.files, v.classes,
      v.routers, v.pes, v.exports, v.params, v.colors);
}

tl::unexpected<Error> Corrupt(std::string message) {
  return Fail(ErrorCode::kCorrupt, std::move(message));
}

}  // namespace

std::vector<uint8_t> ToBytes(const Program& program) {
  Writer w;
  w.out.resize(kHeaderBytes);
  Program copy = program;  // Io takes references for both directions
  Io(w, copy);
  const std::span<const uint8_t> payload = std::span(w.out).subspan(kHeaderBytes);
  std::memcpy(w.out.data(), kMagic, sizeof kMagic);
  StoreLe<uint32_t>(w.out.data() + 8, kImageVersion);
  StoreLe<uint32_t>(w.out.data() + 12, 0);
  StoreLe<uint64_t>(w.out.data() + 16, payload.size());
  StoreLe<uint64_t>(w.out.data() + 24, Checksum(payload));
  return std::move(w.out);
}

Result<Program> FromBytes(std::span<const uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    return Corrupt("not a compiled CSL program: the magic number is missing");
  }
  if (const auto version = LoadLe<uint32_t>(bytes.data() + 8); version != kImageVersion) {
    return Corrupt(
        fmt::format("compiled program has format version {}, this build reads {}: compile it again",
                    version, kImageVersion));
  }
  const std::span<const uint8_t> payload = bytes.subspan(kHeaderBytes);
  if (LoadLe<uint64_t>(bytes.data() + 16) != payload.size())
    return Corrupt("compiled program is cut short or has bytes behind its end");
  if (LoadLe<uint64_t>(bytes.data() + 24) != Checksum(payload))
    return Corrupt("compiled program is damaged: the checksum differs");
  Reader r{payload};
  Program p;
  Io(r, p);
  if (!r.ok() || !r.in.empty())
    return Corrupt("compiled program is damaged: a length does not fit");
  if (auto v = Verify(p); !v) {
    Error e = std::move(v).error();
    e.code = ErrorCode::kCorrupt;
    return WithContext(std::move(e), "while checking a compiled program");
  }
  return p;
}

Result<void> SaveImage(const Program& program, const std::string& path) {
  const std::vector<uint8_t> bytes = ToBytes(program);
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr)
    return Fail(ErrorCode::kIo,
                fmt::format("cannot create '{}': {}", temporary, std::strerror(errno)));
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    return Fail(ErrorCode::kIo, fmt::format("cannot write '{}': {}", path, why));
  }
  return {};
}

Result<Program> LoadImage(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr)
    return Fail(ErrorCode::kNotFound,
                fmt::format("cannot open '{}': {}", path, std::strerror(errno)));
  std::vector<uint8_t> bytes;
  std::array<uint8_t, 65536> chunk;
  size_t n = 0;
  while ((n = std::fread(chunk.data(), 1, chunk.size(), file)) > 0)
    bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(n));
  const bool failed = std::ferror(file) != 0;
  std::fclose(file);
  if (failed) return Fail(ErrorCode::kIo, fmt::format("cannot read '{}'", path));
  auto program = FromBytes(bytes);
  if (!program)
    return WithContext(std::move(program).error(), fmt::format("while loading '{}'", path));
  return program;
}

}  // namespace szarena::bytecode
