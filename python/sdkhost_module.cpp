// SPDX-License-Identifier: Apache-2.0
// The extension module cerebras.sdk.runtime._sdkhost: sdkhost::Runtime for Python. Arrays are passed as contiguous
// buffers of 32-bit words; the interpreter lock is given up while the fabric runs.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <charconv>
#include <cstdlib>
#include <thread>

#include "base/exit_code.h"
#include "sdkhost/runtime.h"

namespace py = pybind11;

namespace szarena::sdkhost {
namespace {

[[noreturn]] void Raise(const Error& error) {
  if (error.code == ErrorCode::kCancelled && PyErr_Occurred() != nullptr) throw py::error_already_set();
  if (error.code == ErrorCode::kInvalidArgument) throw py::value_error(error.ToString());
  if (error.code == ErrorCode::kNotFound) throw py::key_error(error.ToString());
  throw std::runtime_error(error.ToString());
}

// What the script cannot help: this machine lacks something. Ends it as our programs end then.
[[noreturn]] void Leave(const Error& error) {
  py::print("cs_python: error:", error.ToString(), py::arg("file") = py::module_::import("sys").attr("stderr"));
  PyErr_SetObject(PyExc_SystemExit, py::int_(static_cast<int>(ExitCodeFor(error.code))).ptr());
  throw py::error_already_set();
}

template <typename T>
T Take(Result<T> result) {
  if (!result) Raise(result.error());
  return *std::move(result);
}

void Check(const Result<void>& result) {
  if (!result) Raise(result.error());
}

std::span<uint32_t> WordsOf(const py::buffer& buffer, bool writable) {
  const py::buffer_info info = buffer.request(writable);
  if (info.itemsize != 4) throw py::type_error("expected an array of 32-bit words");
  return {static_cast<uint32_t*>(info.ptr), static_cast<size_t>(info.size)};
}

// Ctrl-C and other signals of the script, while the fabric runs. Only the main thread has any; the exception stays set.
bool SignalRaised() {
  const py::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() != 0;
}

uint64_t NumberFrom(const char* variable, const char* flag, const char* text) {
  uint64_t value = 0;
  const std::string_view s(text);
  const bool hex = s.starts_with("0x");
  const char* end = s.data() + s.size();
  const auto [at, status] = std::from_chars(s.data() + (hex ? 2 : 0), end, value, hex ? 16 : 10);
  if (status != std::errc() || at != end) {
    throw py::value_error(std::string(variable) + "='" + text + "' (cs_python " + flag + "): expected a whole number from 0 to 2^64 - 1");
  }
  return value;
}

// What the environment asks of the simulator; cs_python sets these from its flags.
fabric::Options OptionsFromEnvironment(int threads) {
  fabric::Options options;
  options.threads = threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  options.stop = SignalRaised;
  if (const char* trap = std::getenv("SZARENA_TRAP"); trap != nullptr && *trap != '\0') {
    const std::string mode = trap;
    if (mode != "warn" && mode != "error") throw py::value_error("SZARENA_TRAP='" + mode + "': expected warn or error");
    if (mode == "error") options.trap = fabric::TrapMode::kError;
  }
  if (const char* seed = std::getenv("SZARENA_PICKER_SEED"); seed != nullptr) options.picker_seed = NumberFrom("SZARENA_PICKER_SEED", "--picker", seed);
  if (const char* cycles = std::getenv("SZARENA_MAX_CYCLES"); cycles != nullptr) options.max_cycles = NumberFrom("SZARENA_MAX_CYCLES", "--max-cycles", cycles);
  if (const char* trace = std::getenv("SZARENA_TRACE"); trace != nullptr && *trace != '\0') {
    static int runs = 0;  // a script may run several programs: FILE, FILE.2, FILE.3
    options.trace = ++runs == 1 ? std::string(trace) : std::string(trace) + "." + std::to_string(runs);
  }
  return options;
}

fabric::PortAddress PortOf(const py::tuple& stream) {
  const auto side = stream[2].cast<std::string>();
  using bytecode::Direction;
  const Direction direction = side == "WEST" ? Direction::kWest : side == "EAST" ? Direction::kEast : side == "NORTH" ? Direction::kNorth : Direction::kSouth;
  return {stream[0].cast<int>(), stream[1].cast<int>(), direction, stream[3].cast<uint8_t>()};
}

class PyRuntime {
 public:
  PyRuntime(const std::string& directory, int threads, bool memcpy_required)
      : runtime_(Take(Runtime::Open(directory, OptionsFromEnvironment(threads)))) {
    if (memcpy_required && !runtime_->program().memcpy) {
      throw py::value_error("'" + directory + "' was compiled without --memcpy: pass memcpy_required=False, or compile with it");
    }
  }

  Runtime& get() { return *runtime_; }
  // Fabric coordinates to those of the program rectangle.
  std::pair<int, int> Inside(int x, int y) const {
    const auto& p = runtime_->program();
    return {x - p.offset_x, y - p.offset_y};
  }

 private:
  std::unique_ptr<Runtime> runtime_;
};

CopyShape ShapeOf(int px, int py_, int w, int h, uint32_t count, bool streaming, bool is_16bit, bool col_major) {
  return {{px, py_, w, h}, count, streaming, is_16bit ? Width::k16Bit : Width::k32Bit, col_major ? Order::kColMajor : Order::kRowMajor};
}

py::object ValueOf(fabric::Fabric& fabric, int x, int y, const fabric::TraceRecord& record) {
  using Kind = fabric::TraceRecord::Kind;
  using bytecode::ScalarType;
  if (record.kind == Kind::kString) return py::str(fabric.StringOf(x, y, record.value));
  if (record.kind == Kind::kTimestamp) return py::int_(record.value);
  switch (record.type) {
    case ScalarType::kBool: return py::bool_(record.value != 0);
    case ScalarType::kF32: return py::float_(std::bit_cast<float>(static_cast<uint32_t>(record.value)));
    case ScalarType::kF16:
      return py::float_(bytecode::F16ToDouble(fabric.program().fp16, static_cast<uint16_t>(record.value)));
    case ScalarType::kI8:
    case ScalarType::kI16:
    case ScalarType::kI32:
    case ScalarType::kI64: return py::int_(static_cast<int64_t>(record.value));
    case ScalarType::kU8:
    case ScalarType::kU16:
    case ScalarType::kU32:
    case ScalarType::kU64: return py::int_(record.value);
  }
  return py::none();
}

py::dict StatisticsOf(fabric::Fabric& fabric) {
  const fabric::Statistics s = fabric.statistics();
  py::dict d;
  d["cycles"] = s.cycles;
  d["instructions"] = s.instructions;
  d["elements"] = s.elements;
  d["hops"] = s.hops;
  d["tasks"] = s.tasks;
  d["busy_cycles"] = s.busy_cycles;
  d["wavelets_in"] = s.wavelets_in;
  d["wavelets_out"] = s.wavelets_out;
  d["pes_touched"] = s.pes_touched;
  d["host_cycles"] = s.host_cycles;
  return d;
}

}  // namespace
}  // namespace szarena::sdkhost

PYBIND11_MODULE(_sdkhost, m) {
  using namespace szarena;
  using namespace szarena::sdkhost;
  m.doc() = "A program on the simulated fabric (native part of SdkRuntime)";
  py::class_<PyRuntime>(m, "Runtime")
      .def(py::init<const std::string&, int, bool>())
      .def("load", [](PyRuntime& r) {
        const auto loaded = r.get().Load();
        if (!loaded && loaded.error().code == ErrorCode::kUnavailable) Leave(loaded.error());
        Check(loaded);
      })
      .def("run", [](PyRuntime&) {})
      .def("stop", [](PyRuntime& r) {
        Result<void> status;
        {
          py::gil_scoped_release release;
          status = r.get().Stop();
        }
        if (!status && status.error().code == ErrorCode::kCancelled) Check(status);
        for (const auto& trap : r.get().traps()) py::print("cs_python:", trap.ToString(), py::arg("file") = py::module_::import("sys").attr("stderr"));
        for (const auto& line : r.get().fabric().printed()) py::print(line);
        if (std::getenv("SZARENA_CYCLES") != nullptr) {
          py::print("cs_python: the fabric ran", r.get().fabric().now(), "cycles", py::arg("file") = py::module_::import("sys").attr("stderr"));
        }
        Check(status);
      })
      .def("symbol_id", [](PyRuntime& r, const std::string& name) { return Take(r.get().SymbolId(name)); })
      .def("offset", [](PyRuntime& r) { return std::make_pair(r.get().program().offset_x, r.get().program().offset_y); })
      .def("h2d", [](PyRuntime& r, uint32_t dest, const py::buffer& words, int px, int py_, int w, int h, uint32_t count, bool streaming, bool is_16bit, bool col_major, int broadcast) {
        return Take(r.get().CopyIn(dest, WordsOf(words, false), ShapeOf(px, py_, w, h, count, streaming, is_16bit, col_major), static_cast<Broadcast>(broadcast)));
      })
      .def("d2h", [](PyRuntime& r, const py::buffer& words, uint32_t source, int px, int py_, int w, int h, uint32_t count, bool streaming, bool is_16bit, bool col_major) {
        return Take(r.get().CopyOut(source, WordsOf(words, true), ShapeOf(px, py_, w, h, count, streaming, is_16bit, col_major)));
      })
      .def("launch", [](PyRuntime& r, const std::string& name, const std::vector<std::pair<py::object, std::string>>& values) {
        std::vector<Argument> arguments;
        for (const auto& [value, type] : values) {  // "int" and "float" are Python's numbers, else a word and numpy's name of its type
          if (type == "int") {
            arguments.emplace_back(std::variant<int64_t, double>(value.cast<int64_t>()));
          } else if (type == "float") {
            arguments.emplace_back(std::variant<int64_t, double>(value.cast<double>()));
          } else {
            arguments.emplace_back(value.cast<uint32_t>(), type);
          }
        }
        return Take(r.get().Launch(name, arguments));
      })
      .def("send", [](PyRuntime& r, const py::tuple& stream, const py::buffer& words) { return Take(r.get().Send(PortOf(stream), WordsOf(words, false))); })
      .def("receive", [](PyRuntime& r, const py::tuple& stream, const py::buffer& words) { return Take(r.get().Receive(PortOf(stream), WordsOf(words, true))); })
      .def("done", [](PyRuntime& r, uint32_t ticket) { return r.get().IsDone(ticket); })
      .def("wait", [](PyRuntime& r, uint32_t ticket) {
        Result<void> status;
        {
          py::gil_scoped_release release;
          status = r.get().Wait(ticket);
        }
        Check(status);
      })
      .def("wait_all", [](PyRuntime& r) {
        Result<void> status;
        {
          py::gil_scoped_release release;
          status = r.get().WaitAll();
        }
        Check(status);
      })
      .def("read_symbol", [](PyRuntime& r, int x, int y, const std::string& name) {
        const auto [ix, iy] = r.Inside(x, y);
        const std::vector<uint8_t> bytes = Take(r.get().fabric().ReadSymbol(ix, iy, name));
        return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      })
      .def("write_symbol", [](PyRuntime& r, int x, int y, const std::string& name, const py::buffer& bytes) {
        const auto [ix, iy] = r.Inside(x, y);
        const py::buffer_info info = bytes.request();
        Check(r.get().fabric().WriteSymbol(ix, iy, name, {static_cast<const uint8_t*>(info.ptr), static_cast<size_t>(info.size * info.itemsize)}));
      })
      .def("read_trace", [](PyRuntime& r, int x, int y, const std::string& key) {
        const auto [ix, iy] = r.Inside(x, y);
        py::list values;
        const fabric::PeDebug* debug = r.get().fabric().DebugOf(ix, iy);
        if (debug == nullptr) return values;
        const auto found = debug->traces.find(key);
        if (found == debug->traces.end()) return values;
        for (const auto& record : found->second) values.append(ValueOf(r.get().fabric(), ix, iy, record));
        return values;
      })
      .def("printed", [](PyRuntime& r) { return r.get().fabric().printed(); })
      .def("size", [](PyRuntime& r) { return std::make_pair(r.get().program().width, r.get().program().height); })
      .def("symbols", [](PyRuntime& r, int x, int y) {
        const auto [ix, iy] = r.Inside(x, y);
        const auto& program = r.get().program();
        std::vector<std::string> names;
        for (const auto& symbol : program.classes[program.At(ix, iy).code_class].symbols) names.push_back(symbol.name);
        return names;
      })
      .def("trace_keys", [](PyRuntime& r, int x, int y) {
        const auto [ix, iy] = r.Inside(x, y);
        std::vector<std::string> keys;
        if (const fabric::PeDebug* debug = r.get().fabric().DebugOf(ix, iy)) {
          for (const auto& [key, records] : debug->traces) keys.push_back(key);
        }
        return keys;
      })
      .def("cycles", [](PyRuntime& r) { return r.get().fabric().now(); })
      .def("statistics", [](PyRuntime& r) { return StatisticsOf(r.get().fabric()); });
}
