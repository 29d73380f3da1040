// SPDX-License-Identifier: Apache-2.0
// The SDK's host runtime in C++: a compiled program, its fabric, and host operations in the host's
// data orders. Python's SdkRuntime is a thin layer over this; C++ programs drive a fabric with it
// directly.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "bytecode/program.h"
#include "fabric/sim/fabric.h"

namespace szarena::sdkhost {

// Width of an element on the PE. Host arrays hold one element in each 32-bit word; 16-bit elements
// use the low half.
enum class Width : uint8_t { k16Bit, k32Bit };

// Host index of element k of PE (x, y) of a w x h rectangle with l elements each:
// row major ((y * w) + x) * l + k, column major ((k * w) + x) * h + y.
enum class Order : uint8_t { kRowMajor, kColMajor };

// Which PEs share data in a copy to the device: with kColumn every PE of a column gets the column's
// (array of w * l words), with kRow every PE of a row the row's (h * l words).
enum class Broadcast : uint8_t { kNone, kColumn, kRow };

struct CopyShape {
  fabric::Rect region;  // in the program rectangle
  uint32_t elem_per_pe = 0;
  bool streaming = false;  // to or from a colour instead of a symbol
  Width width = Width::k32Bit;
  Order order = Order::kRowMajor;
};

// One argument of a launch: 32 bits and, where the host knows it, the name of its type ("int16",
// "float32"). A number without a type (Python's int or float) becomes one of the parameter's type;
// where that cannot hold it, the launch is refused.
struct Argument {
  Argument(uint32_t word, std::string name = "") : bits(word), type(std::move(name)) {}
  explicit Argument(std::variant<int64_t, double> value) : number(value) {}

  uint32_t bits = 0;
  std::string type;
  std::optional<std::variant<int64_t, double>> number;
};

class Runtime {
 public:
  // `directory` is what cslc wrote (-o). Fails where there is no program in it.
  static Result<std::unique_ptr<Runtime>> Open(const std::string& directory,
                                               fabric::Options options);
  static Result<std::unique_ptr<Runtime>> FromProgram(
      std::shared_ptr<const bytecode::Program> program, fabric::Options options);

  // Places the program on a fabric of its own. Once.
  Result<void> Load();

  // Id of an exported symbol, or the colour of an exported stream. Before or after Load.
  Result<uint32_t> SymbolId(const std::string& name) const;
  const bytecode::Program& program() const { return *program_; }

  // Operations are queued and return a ticket. `dest` is a symbol id or, streaming, a colour.
  Result<fabric::Ticket> CopyIn(uint32_t dest, std::span<const uint32_t> words,
                                const CopyShape& shape, Broadcast broadcast);
  // The data go to `words` once the ticket is done (see Wait); they must stay alive until then.
  Result<fabric::Ticket> CopyOut(uint32_t source, std::span<uint32_t> words,
                                 const CopyShape& shape);
  Result<fabric::Ticket> Launch(const std::string& function,
                                const std::vector<Argument>& arguments);
  // Host streams over the edge of the rectangle (SdkLayout programs).
  Result<fabric::Ticket> Send(const fabric::PortAddress& port, std::span<const uint32_t> words);
  Result<fabric::Ticket> Receive(const fabric::PortAddress& port, std::span<uint32_t> words);

  bool IsDone(fabric::Ticket ticket) const;
  // Runs the fabric until the operation is done. Fails with the deadlock report where nothing moves
  // any more.
  Result<void> Wait(fabric::Ticket ticket);
  Result<void> WaitAll();
  // Lets the fabric come to rest and looks for what was left over. Returns the first error; traps()
  // has all findings.
  Result<void> Stop();

  // The loaded fabric: clock, statistics, traps, memory. Only after Load.
  fabric::Fabric& fabric() { return *fabric_; }
  bool is_loaded() const { return fabric_ != nullptr; }
  const std::vector<fabric::Trap>& traps() { return fabric_->traps(); }

 private:
  struct Pending {
    fabric::Ticket ticket;
    std::span<uint32_t> words;
    CopyShape shape;
    bool whole = false;  // a stream: as it came
  };
  Runtime(std::shared_ptr<const bytecode::Program> program, fabric::Options options);
  Result<void> CheckLoaded() const;
  void Collect();

  std::shared_ptr<const bytecode::Program> program_;
  fabric::Options options_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::vector<Pending> pending_;
  std::optional<fabric::Ticket> last_;
};

}  // namespace szarena::sdkhost
