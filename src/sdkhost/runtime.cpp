// SPDX-License-Identifier: Apache-2.0
#include "sdkhost/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bytecode/image.h"
#include "bytecode/numeric.h"

namespace szarena::sdkhost {
namespace {

using bytecode::ExportKind;
using bytecode::ScalarType;
using fabric::Rect;
using fabric::Ticket;

uint64_t WordsOf(const CopyShape& shape, Broadcast broadcast) {
  const auto w = static_cast<uint64_t>(shape.region.width);
  const auto h = static_cast<uint64_t>(shape.region.height);
  const uint64_t pes = broadcast == Broadcast::kNone     ? w * h
                       : broadcast == Broadcast::kColumn ? w
                                                         : h;
  return pes * shape.elem_per_pe;
}

Result<void> CheckShape(const CopyShape& shape, const bytecode::Program& program) {
  const Rect& r = shape.region;
  if (r.x < 0 || r.y < 0 || r.width < 1 || r.height < 1 || int64_t{r.x} + r.width > program.width ||
      int64_t{r.y} + r.height > program.height) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("region of {} x {} PEs at ({}, {}) is not inside of the program's {} x {} PEs",
                    r.width, r.height, r.x, r.y, program.width, program.height));
  }
  return {};
}

// Place in the host's array of element k of the PE at (x, y) of the region.
size_t HostIndex(const CopyShape& shape, Broadcast broadcast, size_t x, size_t y, size_t k) {
  const auto w = static_cast<size_t>(broadcast == Broadcast::kRow ? 1 : shape.region.width);
  const auto h = static_cast<size_t>(broadcast == Broadcast::kColumn ? 1 : shape.region.height);
  if (broadcast == Broadcast::kColumn) y = 0;
  if (broadcast == Broadcast::kRow) x = 0;
  return shape.order == Order::kRowMajor ? (y * w + x) * shape.elem_per_pe + k
                                         : (k * w + x) * h + y;
}

template <typename Visit>
void ForEachElement(const CopyShape& shape, const Visit& visit) {
  size_t fabric_index = 0;
  for (size_t y = 0; y < static_cast<size_t>(shape.region.height); ++y) {
    for (size_t x = 0; x < static_cast<size_t>(shape.region.width); ++x) {
      for (size_t k = 0; k < shape.elem_per_pe; ++k) visit(x, y, k, fabric_index++);
    }
  }
}

// What numpy calls a type, against the parameter's.
bool Fits(const std::string& given, ScalarType wanted, bytecode::FloatFormat fp16) {
  if (given.empty()) return true;
  switch (wanted) {
    case ScalarType::kI8:
      return given == "int8";
    case ScalarType::kI16:
      return given == "int16";
    case ScalarType::kI32:
      return given == "int32";
    case ScalarType::kU8:
      return given == "uint8";
    case ScalarType::kU16:
      return given == "uint16";
    case ScalarType::kU32:
      return given == "uint32";
    case ScalarType::kBool:
      return given == "bool" || given == "bool_";
    case ScalarType::kF16:
      return given == "float16" && fp16 == bytecode::FloatFormat::kF16;
    case ScalarType::kF32:
      return given == "float32";
    case ScalarType::kI64:
    case ScalarType::kU64:
      return false;
  }
  return false;
}

// A 32-bit word as a register holds a value of that type.
uint64_t ToRegister(uint32_t bits, ScalarType type) {
  switch (type) {
    case ScalarType::kI8:
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(bits)));
    case ScalarType::kI16:
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int16_t>(bits)));
    case ScalarType::kI32:
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(bits)));
    case ScalarType::kU8:
      return bits & 0xff;
    case ScalarType::kBool:
      return (bits & 0xff) != 0;
    case ScalarType::kU16:
    case ScalarType::kF16:
      return bits & 0xffff;
    case ScalarType::kU32:
    case ScalarType::kF32:
    case ScalarType::kI64:
    case ScalarType::kU64:
      return bits;
  }
  return bits;
}

std::string_view NameOf(ScalarType type, bytecode::FloatFormat fp16) {
  return type == ScalarType::kF16 ? bytecode::FloatFormatName(fp16) : ScalarTypeName(type);
}

// Why a number without a type cannot be an argument of type `type`, or its bits in a register.
struct Converted {
  std::string reason;
  uint64_t bits = 0;
};

Converted Convert(int64_t value, ScalarType type) {
  int64_t min = 0;
  int64_t max = 0;
  switch (type) {
    case ScalarType::kI8:
      min = INT8_MIN, max = INT8_MAX;
      break;
    case ScalarType::kI16:
      min = INT16_MIN, max = INT16_MAX;
      break;
    case ScalarType::kI32:
      min = INT32_MIN, max = INT32_MAX;
      break;
    case ScalarType::kU8:
      max = UINT8_MAX;
      break;
    case ScalarType::kU16:
      max = UINT16_MAX;
      break;
    case ScalarType::kU32:
      max = UINT32_MAX;
      break;
    case ScalarType::kBool:
      max = 1;
      break;
    case ScalarType::kF16:
    case ScalarType::kF32:
      return {"an integer; write it as a float"};
    case ScalarType::kI64:
    case ScalarType::kU64:
      return {"an integer; 64-bit parameters cannot be given"};
  }
  if (value < min || value > max)
    return {fmt::format("{}, the type holds {} to {}", value, min, max)};
  return {"", static_cast<uint64_t>(value)};
}

Converted Convert(double value, ScalarType type, bytecode::FloatFormat fp16) {
  if (type != ScalarType::kF16 && type != ScalarType::kF32)
    return {"a float; write it as an integer"};
  const bool is_half = type == ScalarType::kF16;
  const uint64_t bits =
      is_half ? bytecode::F16FromDouble(fp16, value) : bytecode::F32FromDouble(value);
  const double result = is_half ? bytecode::F16ToDouble(fp16, static_cast<uint16_t>(bits))
                                : bytecode::F32ToDouble(static_cast<uint32_t>(bits));
  if (std::isfinite(value) && !std::isfinite(result))
    return {fmt::format("{}, which is too large for the type", value)};
  return {"", bits};
}

}  // namespace

Runtime::Runtime(std::shared_ptr<const bytecode::Program> program, fabric::Options options)
    : program_(std::move(program)), options_(std::move(options)) {}

Result<std::unique_ptr<Runtime>> Runtime::Open(const std::string& directory,
                                               fabric::Options options) {
  auto program = bytecode::LoadImage(directory + "/program.szcsl");
  if (!program) {
    return WithContext(std::move(program).error(),
                       fmt::format("while opening '{}': compile the program with cslc -o {} first",
                                   directory, directory));
  }
  return FromProgram(std::make_shared<const bytecode::Program>(*std::move(program)),
                     std::move(options));
}

Result<std::unique_ptr<Runtime>> Runtime::FromProgram(
    std::shared_ptr<const bytecode::Program> program, fabric::Options options) {
  return std::unique_ptr<Runtime>(new Runtime(std::move(program), std::move(options)));
}

Result<void> Runtime::Load() {
  if (fabric_ != nullptr) return Fail(ErrorCode::kInvalidArgument, "the program is loaded already");
  SZARENA_TRY(fabric_, fabric::Fabric::Create(program_, options_));
  return {};
}

Result<void> Runtime::CheckLoaded() const {
  if (fabric_ == nullptr)
    return Fail(ErrorCode::kInvalidArgument, "nothing is loaded: load() comes first");
  return {};
}

Result<uint32_t> Runtime::SymbolId(const std::string& name) const {
  const auto& exports = program_->exports;
  for (uint32_t id = 0; id < exports.size(); ++id) {
    if (exports[id].name != name) continue;
    return exports[id].kind == ExportKind::kStream ? exports[id].color : id;
  }
  std::vector<std::string> known;
  for (const auto& e : exports) known.push_back(e.name);
  return Fail(ErrorCode::kNotFound,
              fmt::format("the program exports no '{}'; it exports: {}", name,
                          known.empty() ? "nothing" : fmt::format("{}", fmt::join(known, ", "))));
}

Result<Ticket> Runtime::CopyIn(uint32_t dest, std::span<const uint32_t> words,
                               const CopyShape& shape, Broadcast broadcast) {
  SZARENA_TRY_VOID(CheckLoaded());
  SZARENA_TRY_VOID(CheckShape(shape, *program_));
  if (words.size() != WordsOf(shape, broadcast)) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} words are given, the copy needs {}",
                                                         words.size(), WordsOf(shape, broadcast)));
  }
  std::vector<uint32_t> by_pe(WordsOf(shape, Broadcast::kNone));
  ForEachElement(shape, [&](size_t x, size_t y, size_t k, size_t at) {
    by_pe[at] = words[HostIndex(shape, broadcast, x, y, k)];
  });
  const int bits = shape.width == Width::k16Bit ? 16 : 32;
  auto ticket =
      shape.streaming
          ? fabric_->StreamIn(static_cast<uint8_t>(std::min(dest, 255u)), shape.region,
                              shape.elem_per_pe, std::move(by_pe))
          : fabric_->CopyIn(dest, shape.region, bits, shape.elem_per_pe, std::move(by_pe));
  if (ticket) last_ = *ticket;
  return ticket;
}

Result<Ticket> Runtime::CopyOut(uint32_t source, std::span<uint32_t> words,
                                const CopyShape& shape) {
  SZARENA_TRY_VOID(CheckLoaded());
  SZARENA_TRY_VOID(CheckShape(shape, *program_));
  if (words.size() != WordsOf(shape, Broadcast::kNone)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("room for {} words is given, the copy needs {}", words.size(),
                            WordsOf(shape, Broadcast::kNone)));
  }
  const int bits = shape.width == Width::k16Bit ? 16 : 32;
  auto ticket = shape.streaming ? fabric_->StreamOut(static_cast<uint8_t>(std::min(source, 255u)),
                                                     shape.region, shape.elem_per_pe)
                                : fabric_->CopyOut(source, shape.region, bits, shape.elem_per_pe);
  if (!ticket) return ticket;
  pending_.push_back({*ticket, words, shape, false});
  last_ = *ticket;
  return ticket;
}

Result<Ticket> Runtime::Launch(const std::string& function,
                               const std::vector<Argument>& arguments) {
  SZARENA_TRY_VOID(CheckLoaded());
  SZARENA_TRY(const uint32_t id, fabric_->ExportId(function));
  const auto& exported = program_->exports[id];
  if (exported.kind != ExportKind::kFunction) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not an exported function", function));
  }
  if (arguments.size() != exported.params.size()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("function '{}' is {}: it takes {} arguments, {} are given", function,
                            exported.type, exported.params.size(), arguments.size()));
  }
  std::vector<uint64_t> registers;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ScalarType type = exported.params[i];
    const std::string_view type_name = NameOf(type, program_->fp16);
    if (const auto& number = arguments[i].number) {
      const auto* integer = std::get_if<int64_t>(&*number);
      const Converted converted = integer != nullptr
                                      ? Convert(*integer, type)
                                      : Convert(std::get<double>(*number), type, program_->fp16);
      if (!converted.reason.empty()) {
        return Fail(ErrorCode::kInvalidArgument,
                    fmt::format("argument {} of '{}' is {}: the function takes '{}'", i + 1,
                                function, converted.reason, type_name));
      }
      registers.push_back(converted.bits);
      continue;
    }
    if (!Fits(arguments[i].type, type, program_->fp16)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("argument {} of '{}' is of type '{}', the function takes '{}'", i + 1,
                              function, arguments[i].type, type_name));
    }
    registers.push_back(ToRegister(arguments[i].bits, type));
  }
  auto ticket = fabric_->Launch(id, std::move(registers));
  if (ticket) last_ = *ticket;
  return ticket;
}

Result<Ticket> Runtime::Send(const fabric::PortAddress& port, std::span<const uint32_t> words) {
  SZARENA_TRY_VOID(CheckLoaded());
  auto ticket = fabric_->SendInto(port, {words.begin(), words.end()});
  if (ticket) last_ = *ticket;
  return ticket;
}

Result<Ticket> Runtime::Receive(const fabric::PortAddress& port, std::span<uint32_t> words) {
  SZARENA_TRY_VOID(CheckLoaded());
  auto ticket = fabric_->ReceiveFrom(port, static_cast<uint32_t>(words.size()));
  if (!ticket) return ticket;
  pending_.push_back({*ticket, words, {}, true});
  last_ = *ticket;
  return ticket;
}

bool Runtime::IsDone(Ticket ticket) const { return fabric_ != nullptr && fabric_->IsDone(ticket); }

Result<void> Runtime::Wait(Ticket ticket) {
  SZARENA_TRY_VOID(CheckLoaded());
  auto status = fabric_->RunUntil(ticket);
  Collect();
  return status;
}

Result<void> Runtime::WaitAll() {
  SZARENA_TRY_VOID(CheckLoaded());
  auto status = fabric_->RunUntilIdle();
  Collect();
  return status;
}

Result<void> Runtime::Stop() {
  SZARENA_TRY_VOID(CheckLoaded());
  auto status = WaitAll();
  fabric_->Stop();
  if (auto traced = fabric_->FinishTrace(); !traced && status) status = traced;
  return status;
}

// Hands the data of finished copies to the host's arrays, in the host's order.
void Runtime::Collect() {
  std::erase_if(pending_, [&](Pending& p) {
    if (!fabric_->IsDone(p.ticket)) return false;
    const std::vector<uint32_t> words = fabric_->TakeOutput(p.ticket);
    if (p.whole) {
      std::copy(words.begin(), words.end(), p.words.begin());
    } else {
      ForEachElement(p.shape, [&](size_t x, size_t y, size_t k, size_t at) {
        p.words[HostIndex(p.shape, Broadcast::kNone, x, y, k)] = words[at];
      });
    }
    return true;
  });
}

}  // namespace szarena::sdkhost
