// SPDX-License-Identifier: Apache-2.0
// Making and changing DSD values: @get_dsd of every kind, @set_dsd_*, @increment_dsd_offset.
#include <algorithm>

#include "bytecode/descriptor.h"
#include "csl/emit/class_builder.h"
#include "csl/sema/dsd_value.h"
#include "csl/sema/evaluator.h"
#include "csl/sema/settings.h"
#include "csl/sema/tensor_access.h"

namespace szarena::csl {

using bytecode::Descriptor;
using bytecode::DsdField;
using bytecode::Op;
using bytecode::Reg;

Value MakeDsd(TypeId type, const Descriptor& descriptor) {
  DsdBytes bytes;
  bytes.bytes.resize(bytecode::kDescriptorBytes);
  bytecode::Encode(descriptor, std::span<uint8_t, bytecode::kDescriptorBytes>(
                                   bytes.bytes.data(), bytecode::kDescriptorBytes));
  return {type, std::make_shared<const DsdBytes>(std::move(bytes))};
}

Descriptor DescriptorOf(const DsdBytes& bytes) {
  return bytecode::Decode(std::span<const uint8_t, bytecode::kDescriptorBytes>(
      bytes.bytes.data(), bytecode::kDescriptorBytes));
}

namespace {

// A descriptor under construction: what is known, and registers for the rest.
class DsdMaker {
 public:
  DsdMaker(BuiltinCall& call, DsdKind kind) : eval_(call.eval), span_(call.span), kind_(kind) {}

  Descriptor& known() { return d_; }

  // Sets a 16-bit field from an operand of type `type`.
  bool Set(DsdField field, const Operand& operand, TypeId type, Span span) {
    const Operand value = eval_.Coerce(operand, type, span);
    if (value.Stops()) return false;
    if (value.IsValue()) {
      const Int128* number = value.value.as_int();
      if (number == nullptr) return false;
      SetKnown(field, *number);
      return true;
    }
    if (!eval_.IsRuntime()) {
      (void)eval_.RequireValue(value, span);
      return false;
    }
    patches_.emplace_back(field, eval_.ToReg(value, span));
    return true;
  }

  void SetBounds(std::optional<std::pair<int64_t, int64_t>> bounds) {
    if (!bounds) return;
    d_.lo = static_cast<uint16_t>(bounds->first);
    d_.hi = static_cast<uint16_t>(bounds->second);
  }

  void SetBaseRegister(Reg reg) { patches_.emplace_back(DsdField::kBase, reg); }

  Operand Finish() {
    const TypeId type = eval_.types().Dsd(kind_);
    if (patches_.empty()) return Operand::Of(MakeDsd(type, d_));
    eval_.At(span_);
    Operand place = eval_.NewLocalMemory(type);
    const Reg address = eval_.AddressOf(place, span_);
    bytecode::FunctionBuilder& fb = eval_.fb();
    fb.EmitWide(Op::kDsdConst, address, bytecode::InternDescriptor(eval_.code_class(), d_));
    for (const auto& [field, reg] : patches_) {
      fb.Emit(Op::kDsdSet, address, reg, static_cast<uint16_t>(field));
    }
    return place;
  }

 private:
  void SetKnown(DsdField field, Int128 number) {
    switch (field) {
      case DsdField::kExtent0:
        d_.extent[0] = static_cast<uint16_t>(number);
        break;
      case DsdField::kStride0:
        d_.stride[0] = static_cast<int16_t>(number);
        break;
      case DsdField::kColor:
        d_.color = static_cast<uint8_t>(number);
        break;
      case DsdField::kQueue:
        d_.queue = static_cast<uint8_t>(number);
        break;
      case DsdField::kWrap:
        d_.wrap = static_cast<uint16_t>(number);
        break;
      default:
        SZARENA_CHECK(false, "a field that @get_dsd does not set");
    }
  }

  Evaluator& eval_;
  Span span_;
  DsdKind kind_;
  Descriptor d_;
  std::vector<std::pair<DsdField, Reg>> patches_;
};

bytecode::DsdKind ByteKind(DsdKind kind) {
  switch (kind) {
    case DsdKind::kMem1d:
      return bytecode::DsdKind::kMem1d;
    case DsdKind::kMem4d:
      return bytecode::DsdKind::kMem4d;
    case DsdKind::kCircbuf:
      return bytecode::DsdKind::kCircbuf;
    case DsdKind::kFabin:
      return bytecode::DsdKind::kFabin;
    case DsdKind::kFabout:
      return bytecode::DsdKind::kFabout;
    case DsdKind::kFifo:
      break;
  }
  return bytecode::DsdKind::kNone;
}

// The scalar that a pointer's DSD steps over: T of *T, [*]T, *[N]T.
TypeId ScalarBehind(TypeTable& types, TypeId pointer) {
  TypeId element = types[pointer].element;
  while (types.kind(element) == TypeKind::kArray) element = types[element].element;
  return element;
}

bool SetElement(Evaluator& eval, DsdMaker& maker, TypeId element, Span span) {
  const int64_t size = eval.types().SizeOf(element);
  if (!eval.types().IsScalar(element)) {
    eval.Report(DiagKind::kDsdElement, span, eval.NameOf(element));
    return false;
  }
  if (!eval.CheckFloatFormat(element, span)) return false;
  maker.known().elem_size = static_cast<uint8_t>(size);
  return true;
}

// `.base_address` and `.offset` to a descriptor's base. `offset` may be null.
bool SetBase(Evaluator& eval, DsdMaker& maker, const Operand& base, Span span,
             const Settings::Entry* offset) {
  TypeTable& types = eval.types();
  if (types.kind(base.type) != TypeKind::kPointer) {
    eval.Report(DiagKind::kDsdBase, span, eval.NameOf(base.type));
    return false;
  }
  if (!SetElement(eval, maker, ScalarBehind(types, base.type), span)) return false;
  const int64_t size = maker.known().elem_size;
  Operand shift;
  if (offset != nullptr) {
    shift = eval.Coerce(offset->operand, types.i16(), offset->span);
    if (shift.Stops()) return false;
  }
  const bool is_known = base.IsValue() && (offset == nullptr || shift.IsValue());
  if (base.IsValue()) {
    const PointerValue* pointer = base.value.as_pointer();
    if (pointer == nullptr) {
      eval.Report(DiagKind::kNotComptime, span, "an undefined pointer");
      return false;
    }
    const std::optional<int64_t> address = eval.AddressOfPath(*pointer, span);
    if (!address) return false;
    maker.SetBounds(eval.BoundsOfPath(*pointer, span));
    maker.known().base = static_cast<uint16_t>(*address);
    if (is_known && offset != nullptr) {
      maker.known().base =
          static_cast<uint16_t>(*address + static_cast<int64_t>(*shift.value.as_int()) * size);
    }
    if (is_known) return true;
  }
  if (!eval.IsRuntime()) {
    (void)eval.RequireValue(base.IsValue() ? shift : base, span);
    return false;
  }
  Reg reg = eval.ToReg(base, span);
  if (offset != nullptr) {
    bytecode::FunctionBuilder& fb = eval.fb();
    const Reg scaled = fb.NewReg();
    fb.Emit(Op::kMulU16, scaled, eval.ToReg(shift, offset->span), fb.Const(size));
    const Reg sum = fb.NewReg();
    fb.Emit(Op::kAddU16, sum, reg, scaled);
    reg = sum;
  }
  maker.SetBaseRegister(reg);
  return true;
}

// The array, extents and strides of a tensor access.
bool SetTensorAccess(BuiltinCall& call, DsdMaker& maker, ExprId expr, size_t max_rank) {
  Evaluator& eval = call.eval;
  const Span span = eval.SpanOf(expr);
  std::optional<TensorAccess> access = EvalTensorAccess(eval, expr, max_rank);
  if (!access) return false;
  Descriptor& d = maker.known();
  if (!SetElement(eval, maker, access->element, span)) return false;
  d.rank = static_cast<uint8_t>(access->extents.size());
  for (size_t i = 0; i < access->extents.size(); ++i) {
    d.extent[i] = static_cast<uint16_t>(access->extents[i]);
    d.stride[i] = static_cast<int16_t>(access->strides[i]);
  }
  const int64_t shift = access->offset * d.elem_size;
  if (access->place.kind == Operand::Kind::kPath) {
    const std::optional<int64_t> address = eval.AddressOfPath(access->place.path, span);
    if (!address) return false;
    d.base = static_cast<uint16_t>(*address + shift);
    maker.SetBounds(eval.BoundsOfPath(access->place.path, span));
    return true;
  }
  if (!eval.IsRuntime()) {
    (void)eval.RequireValue(access->place, span);
    return false;
  }
  Operand start = access->place;
  start.offset += shift;
  maker.SetBaseRegister(eval.AddressOf(start, span));
  return true;
}

// Numbers of a tuple, innermost or outermost first as written.
std::optional<std::vector<int64_t>> Numbers(Evaluator& eval, const Settings::Entry& entry) {
  const std::optional<Value> value = eval.RequireValue(entry.operand, entry.span);
  if (!value) return std::nullopt;
  std::vector<int64_t> numbers;
  const std::vector<Value>* elements = value->as_elements();
  const std::vector<Value> single = {*value};
  for (const Value& element : elements != nullptr ? *elements : single) {
    if (element.as_int() == nullptr) {
      eval.Report(DiagKind::kExpectedInteger, entry.span, eval.NameOf(element.type));
      return std::nullopt;
    }
    numbers.push_back(static_cast<int64_t>(*element.as_int()));
  }
  if (numbers.empty() || numbers.size() > 4) {
    eval.Report(DiagKind::kDsdRank, entry.span, numbers.size(), 4);
    return std::nullopt;
  }
  return numbers;
}

bool SetMemory1d(BuiltinCall& call, Settings& settings, DsdMaker& maker, bool is_circular) {
  Evaluator& eval = call.eval;
  TypeTable& types = eval.types();
  Settings::Entry* access = settings.Find("tensor_access");
  Settings::Entry* base = settings.Find("base_address");
  Settings::Entry* extent = settings.Find("extent");
  Settings::Entry* stride = settings.Find("stride");
  Settings::Entry* offset = settings.Find("offset");
  if (!settings.valid()) return false;
  if (access != nullptr) {
    if (base != nullptr || stride != nullptr || offset != nullptr ||
        (extent != nullptr && !is_circular)) {
      eval.Report(DiagKind::kDsdTwoForms, access->span);
      return false;
    }
    if (access->expr.IsNone()) {
      eval.Report(DiagKind::kTensorAccessLiteral, access->span);
      return false;
    }
    if (!SetTensorAccess(call, maker, access->expr, 1)) return false;
    return extent == nullptr ||
           maker.Set(DsdField::kExtent0, extent->operand, types.u16(), extent->span);
  }
  if (base == nullptr || (extent == nullptr && !is_circular)) {
    eval.Report(DiagKind::kDsdFieldMissing, call.span, base == nullptr ? "base_address" : "extent");
    return false;
  }
  maker.known().stride[0] = 1;
  if (!SetBase(eval, maker, base->operand, base->span, offset)) return false;
  if (extent != nullptr &&
      !maker.Set(DsdField::kExtent0, extent->operand, types.u16(), extent->span)) {
    return false;
  }
  return stride == nullptr ||
         maker.Set(DsdField::kStride0, stride->operand, types.Int(8, true), stride->span);
}

bool SetCircular(BuiltinCall& call, Settings& settings, DsdMaker& maker) {
  if (!SetMemory1d(call, settings, maker, true)) return false;
  Descriptor& d = maker.known();
  if (Settings::Entry* wrap = settings.Find("wraparound")) {
    return maker.Set(DsdField::kWrap, wrap->operand, call.eval.types().u16(), wrap->span);
  }
  if (d.hi <= d.lo) {
    call.eval.Report(DiagKind::kDsdFieldMissing, call.span, "wraparound");
    return false;
  }
  d.wrap = static_cast<uint16_t>((d.hi - d.base) / d.elem_size);
  if (d.extent[0] == 0) d.extent[0] = d.wrap;
  return true;
}

// Explicit form: extents outermost first; strides innermost first, each the step from the last
// element of the inner loops to the next turn of this one.
bool SetMemory4d(BuiltinCall& call, Settings& settings, DsdMaker& maker) {
  Evaluator& eval = call.eval;
  Settings::Entry* access = settings.Find("tensor_access");
  Settings::Entry* base = settings.Find("base_address");
  Settings::Entry* extent = settings.Find("extent");
  Settings::Entry* stride = settings.Find("stride");
  Settings::Entry* offset = settings.Find("offset");
  if (!settings.valid()) return false;
  if (access != nullptr) {
    if (base != nullptr || extent != nullptr || stride != nullptr || offset != nullptr) {
      eval.Report(DiagKind::kDsdTwoForms, access->span);
      return false;
    }
    if (access->expr.IsNone()) {
      eval.Report(DiagKind::kTensorAccessLiteral, access->span);
      return false;
    }
    return SetTensorAccess(call, maker, access->expr, 4);
  }
  if (base == nullptr || extent == nullptr || stride == nullptr) {
    eval.Report(DiagKind::kDsdFieldMissing, call.span,
                base == nullptr     ? "base_address"
                : extent == nullptr ? "extent"
                                    : "stride");
    return false;
  }
  const std::optional<std::vector<int64_t>> extents = Numbers(eval, *extent);
  const std::optional<std::vector<int64_t>> deltas = Numbers(eval, *stride);
  if (!extents || !deltas) return false;
  if (extents->size() != deltas->size()) {
    eval.Report(DiagKind::kDsdRank, stride->span, deltas->size(), extents->size());
    return false;
  }
  if (!SetBase(eval, maker, base->operand, base->span, offset)) return false;
  Descriptor& d = maker.known();
  const size_t rank = extents->size();
  d.rank = static_cast<uint8_t>(rank);
  int64_t inner = 0;  // distance from the first to the last element of the inner loops
  for (size_t level = 0; level < rank; ++level) {
    const size_t k = rank - 1 - level;
    const int64_t n = (*extents)[k];
    const int64_t step = (*deltas)[level] + inner;
    if (n < 0 || n > UINT16_MAX || step < INT16_MIN || step > INT16_MAX) {
      eval.Report(DiagKind::kIntegerOutOfRange, call.span, n < 0 || n > UINT16_MAX ? n : step,
                  INT16_MIN, UINT16_MAX);
      return false;
    }
    d.extent[k] = static_cast<uint16_t>(n);
    d.stride[k] = static_cast<int16_t>(step);
    inner += std::max<int64_t>(n - 1, 0) * step;
  }
  return true;
}

// For the checks of the whole class: which queues its DSDs use, and where.
void RecordFabric(BuiltinCall& call, Settings& settings, const Descriptor& d, bool is_input) {
  Evaluator& eval = call.eval;
  const Settings::Entry* queue = settings.Find(is_input ? "input_queue" : "output_queue");
  if (queue != nullptr && !queue->operand.IsValue()) return;
  const bool in_library = eval.session().files.IsLibrary(eval.ast().source());
  for (const FabricDsd& other : eval.unit().fabric_dsds) {
    if (other.output != is_input && other.queue == d.queue && other.color == d.color) return;
  }
  eval.unit().fabric_dsds.push_back(
      {!is_input, queue != nullptr, in_library, d.queue, d.color, call.span});
}

bool SetFabric(BuiltinCall& call, Settings& settings, DsdMaker& maker, bool is_input) {
  Evaluator& eval = call.eval;
  TypeTable& types = eval.types();
  const auto set = [&](std::string_view name, DsdField field, TypeId type, bool needed) {
    Settings::Entry* entry = settings.Find(name);
    if (!settings.valid()) return false;
    if (entry == nullptr) {
      if (needed) eval.Report(DiagKind::kDsdFieldMissing, call.span, name);
      return !needed;
    }
    return maker.Set(field, entry->operand, type, entry->span);
  };
  for (const std::string_view name : {"fabric_color", is_input ? "input_queue" : "output_queue"})
    (void)settings.Find(name);
  const TypeId queue = types.Handle(is_input ? HandleKind::kInputQueue : HandleKind::kOutputQueue);
  const bool wse3 = eval.session().IsWse3();
  if (!set("extent", DsdField::kExtent0, types.u16(), true)) return false;
  if (!set("fabric_color", DsdField::kColor, types.Handle(HandleKind::kColor), !wse3 && !is_input))
    return false;
  Descriptor& d = maker.known();
  // WSE-2: what a DSD that names no queue gets (programs of SDK 1.1 and older).
  d.queue = is_input ? bytecode::kQueueOfColor : uint8_t{0};
  if (is_input && !settings.Has("fabric_color") && !settings.Has("input_queue")) {
    eval.Report(DiagKind::kDsdFieldMissing, call.span, "input_queue");
    return false;
  }
  if (!set(is_input ? "input_queue" : "output_queue", DsdField::kQueue, queue, wse3)) return false;
  RecordFabric(call, settings, d, is_input);
  d.elem_size = 4;
  // What simd_off and simd_max limit is not described: as without a mode.
  if (const auto simd = settings.Choice(
          "simd_mode", {"simd_32", "simd_64", "simd_32_or_64", "simd_max", "simd_off"});
      simd && *simd < 3) {
    d.simd = static_cast<bytecode::SimdMode>(*simd + 1);
  }
  if (const auto priority = settings.Choice("priority", {"low", "medium", "high"})) {
    d.priority = static_cast<bytecode::Priority>(*priority + 1);
  }
  d.control_transform = settings.Bool("control_transform", false);
  if (!is_input) {
    d.control = settings.Bool("control", false);
    d.advance_switch = settings.Bool("advance_switch", false);
    if (const auto zero = settings.Choice("zero", {"first_source", "second_source"})) {
      d.zero_first_source = *zero == 0;
      d.zero_second_source = *zero == 1;
    }
  }
  return settings.valid();
}

std::optional<DsdKind> KindArg(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const std::optional<TypeId> type = eval.EvalType(call.args[0]);
  if (!type) return std::nullopt;
  const TypeInfo& info = eval.types()[*type];
  if (info.kind != TypeKind::kDsd || info.dsd == DsdKind::kFifo) {
    eval.Report(DiagKind::kDsdKind, eval.SpanOf(call.args[0]), info.name);
    return std::nullopt;
  }
  return info.dsd;
}

Operand GetDsd(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const std::optional<DsdKind> kind = KindArg(call);
  if (!kind) return Operand::Error();
  if (eval.unit().kind == Unit::Kind::kLayout) {
    return eval.Report(DiagKind::kNoMemoryHere, call.span, "a DSD");
  }
  Settings settings(eval, call.args[1], std::string(DsdKindName(*kind)), {"tensor_access"});
  DsdMaker maker(call, *kind);
  maker.known().kind = ByteKind(*kind);
  bool ok = false;
  switch (*kind) {
    case DsdKind::kMem1d:
      ok = SetMemory1d(call, settings, maker, false);
      break;
    case DsdKind::kMem4d:
      ok = SetMemory4d(call, settings, maker);
      break;
    case DsdKind::kCircbuf:
      ok = SetCircular(call, settings, maker);
      break;
    case DsdKind::kFabin:
      ok = SetFabric(call, settings, maker, true);
      break;
    case DsdKind::kFabout:
      ok = SetFabric(call, settings, maker, false);
      break;
    case DsdKind::kFifo:
      break;
  }
  if (*kind != DsdKind::kFabin) {
    maker.known().wavelet_index_offset = settings.Bool("wavelet_index_offset", false);
  }
  if (!settings.Finish() || !ok) return Operand::Error();
  return maker.Finish();
}

// ---------------------------------------------------------------- changed copies

// The DSD argument: a known descriptor, or a copy in memory to change.
struct Changed {
  std::optional<Descriptor> known;
  Operand place;
  Reg address = 0;
};

std::optional<Changed> CopyOf(BuiltinCall& call, bool must_be_known_too,
                              std::initializer_list<DsdKind> kinds, TypeId& type) {
  Evaluator& eval = call.eval;
  const Span span = eval.SpanOf(call.args[0]);
  Operand dsd = eval.EvalLoaded(call.args[0]);
  if (dsd.Stops()) return std::nullopt;
  const TypeInfo info = eval.types()[dsd.type];
  if (info.kind != TypeKind::kDsd ||
      std::find(kinds.begin(), kinds.end(), info.dsd) == kinds.end()) {
    eval.Report(DiagKind::kDsdArgument, span, call.entry.name, info.name);
    return std::nullopt;
  }
  type = dsd.type;
  Changed changed;
  if (dsd.IsValue() && must_be_known_too) {
    const DsdBytes* bytes = dsd.value.as_dsd();
    if (bytes == nullptr) {
      eval.Report(DiagKind::kNotComptime, span, "an undefined DSD");
      return std::nullopt;
    }
    changed.known = DescriptorOf(*bytes);
    return changed;
  }
  if (!eval.IsRuntime()) {
    (void)eval.RequireValue(dsd, span);
    return std::nullopt;
  }
  changed.place = eval.NewLocalMemory(dsd.type);
  eval.Store(changed.place, dsd, span);
  changed.address = eval.AddressOf(changed.place, span);
  return changed;
}

Operand Result(const Changed& changed, TypeId type) {
  return changed.known ? Operand::Of(MakeDsd(type, *changed.known)) : changed.place;
}

constexpr auto kMemoryKinds = {DsdKind::kMem1d, DsdKind::kMem4d, DsdKind::kCircbuf};

Operand SetBaseAddr(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const Span span = eval.SpanOf(call.args[1]);
  Operand base = eval.Eval(call.args[1]);
  if (base.Stops()) return base;
  if (eval.types().kind(base.type) == TypeKind::kArray) base = eval.AddressOfPlace(base, span);
  base = eval.Load(std::move(base), span);
  if (base.Stops()) return base;
  if (eval.types().kind(base.type) != TypeKind::kPointer) {
    return eval.Report(DiagKind::kDsdBase, span, eval.NameOf(base.type));
  }
  const TypeId element = ScalarBehind(eval.types(), base.type);
  const int64_t size = eval.types().SizeOf(element);
  TypeId type;
  std::optional<Changed> changed = CopyOf(call, base.IsValue(), kMemoryKinds, type);
  if (!changed) return Operand::Error();
  std::optional<std::pair<int64_t, int64_t>> bounds;
  std::optional<int64_t> address;
  if (base.IsValue()) {
    if (base.value.as_pointer() == nullptr) {
      return eval.Report(DiagKind::kNotComptime, span, "an undefined pointer");
    }
    address = eval.AddressOfPath(*base.value.as_pointer(), span);
    if (!address) return Operand::Error();
    bounds = eval.BoundsOfPath(*base.value.as_pointer(), span);
  }
  if (changed->known) {
    changed->known->base = static_cast<uint16_t>(*address);
    changed->known->elem_size = static_cast<uint8_t>(size);
    changed->known->lo = bounds ? static_cast<uint16_t>(bounds->first) : uint16_t{0};
    changed->known->hi = bounds ? static_cast<uint16_t>(bounds->second) : uint16_t{0};
    return Result(*changed, type);
  }
  bytecode::FunctionBuilder& fb = eval.fb();
  eval.At(call.span);
  fb.Emit(Op::kDsdSetBase, changed->address, eval.ToReg(base, span), static_cast<uint16_t>(size));
  if (bounds) {
    fb.Emit(Op::kDsdSet, changed->address, fb.Const(bounds->first),
            static_cast<uint16_t>(DsdField::kLo));
    fb.Emit(Op::kDsdSet, changed->address, fb.Const(bounds->second & 0xffff),
            static_cast<uint16_t>(DsdField::kHi));
  }
  return Result(*changed, type);
}

Operand SetLength(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const Operand length = eval.EvalAs(call.args[1], eval.types().u16());
  if (length.Stops()) return length;
  TypeId type;
  static constexpr auto kKinds = {DsdKind::kMem1d, DsdKind::kCircbuf, DsdKind::kFabin,
                                  DsdKind::kFabout};
  std::optional<Changed> changed = CopyOf(call, length.IsValue(), kKinds, type);
  if (!changed) return Operand::Error();
  if (changed->known) {
    changed->known->extent[0] = static_cast<uint16_t>(*length.value.as_int());
  } else {
    eval.At(call.span);
    eval.fb().Emit(Op::kDsdSetLength, changed->address, eval.ToReg(length, call.span));
  }
  return Result(*changed, type);
}

Operand SetStride(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const Operand stride = eval.EvalAs(call.args[1], eval.types().Int(8, true));
  if (stride.Stops()) return stride;
  TypeId type;
  std::optional<Changed> changed = CopyOf(call, stride.IsValue(), {DsdKind::kMem1d}, type);
  if (!changed) return Operand::Error();
  if (changed->known) {
    changed->known->stride[0] = static_cast<int16_t>(*stride.value.as_int());
  } else {
    eval.At(call.span);
    eval.fb().Emit(Op::kDsdSetStride, changed->address, eval.ToReg(stride, call.span));
  }
  return Result(*changed, type);
}

Operand IncrementOffset(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const Operand amount = eval.EvalAs(call.args[1], eval.types().i16());
  if (amount.Stops()) return amount;
  const std::optional<TypeId> element = eval.EvalType(call.args[2]);
  if (!element) return Operand::Error();
  const int64_t size = eval.types().SizeOf(*element);
  TypeId type;
  std::optional<Changed> changed = CopyOf(call, amount.IsValue(), kMemoryKinds, type);
  if (!changed) return Operand::Error();
  if (changed->known) {
    changed->known->base = static_cast<uint16_t>(
        changed->known->base + static_cast<int64_t>(*amount.value.as_int()) * size);
  } else {
    eval.At(call.span);
    eval.fb().Emit(Op::kDsdIncOffset, changed->address, eval.ToReg(amount, call.span),
                   static_cast<uint16_t>(size));
  }
  return Result(*changed, type);
}

constexpr BuiltinEntry kEntries[] = {
    {"get_dsd", 2, 2, kAnywhere, GetDsd,
     "@get_dsd(mem1d_dsd, .{ .tensor_access = |i|{N} -> array[i] })"},
    {"set_dsd_base_addr", 2, 2, kAnywhere, SetBaseAddr,
     "@set_dsd_base_addr(dsd, array_or_pointer)"},
    {"set_dsd_length", 2, 2, kAnywhere, SetLength, "@set_dsd_length(dsd, length)"},
    {"set_dsd_stride", 2, 2, kAnywhere, SetStride, "@set_dsd_stride(dsd, stride)"},
    {"increment_dsd_offset", 3, 3, kAnywhere, IncrementOffset,
     "@increment_dsd_offset(dsd, elements, ELEMENT_TYPE)"},
};

}  // namespace

std::span<const BuiltinEntry> DsdBuiltins() { return kEntries; }

}  // namespace szarena::csl
