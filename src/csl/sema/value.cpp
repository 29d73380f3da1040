// SPDX-License-Identifier: Apache-2.0
// Construction, comparison and printing of compile-time values.
#include "csl/sema/value.h"

#include <fmt/format.h>

#include <bit>

#include "base/check.h"

namespace szarena::csl {

Int128 RangeValue::Count() const {
  if (step > 0) return stop > start ? (stop - start + step - 1) / step : 0;
  if (step < 0) return stop < start ? (start - stop - step - 1) / -step : 0;
  return 0;
}

const std::string* Value::as_text() const {
  const auto* text = std::get_if<Text>(&data);
  return text == nullptr ? nullptr : text->get();
}

const std::vector<Value>* Value::as_elements() const {
  const auto* aggregate = std::get_if<Aggregate>(&data);
  return aggregate == nullptr ? nullptr : aggregate->get();
}

ModuleInstance* Value::as_module() const {
  const auto* module = std::get_if<ModuleInstance*>(&data);
  return module == nullptr ? nullptr : *module;
}

FnTemplate* Value::as_fn() const {
  const auto* fn = std::get_if<FnTemplate*>(&data);
  return fn == nullptr ? nullptr : *fn;
}

const PointerValue* Value::as_pointer() const {
  const auto* pointer = std::get_if<std::shared_ptr<const PointerValue>>(&data);
  return pointer == nullptr ? nullptr : pointer->get();
}

const RangeValue* Value::as_range() const {
  const auto* range = std::get_if<std::shared_ptr<const RangeValue>>(&data);
  return range == nullptr ? nullptr : range->get();
}

const DsdBytes* Value::as_dsd() const {
  const auto* dsd = std::get_if<std::shared_ptr<const DsdBytes>>(&data);
  return dsd == nullptr ? nullptr : dsd->get();
}

std::vector<Value>& Value::MutableElements() {
  auto* aggregate = std::get_if<Aggregate>(&data);
  SZARENA_CHECK(aggregate != nullptr, "not an aggregate value");
  if (aggregate->use_count() != 1) {
    *aggregate = std::make_shared<std::vector<Value>>(**aggregate);
  }
  return **aggregate;
}

Value MakeInt(TypeId type, Int128 value) { return {type, value}; }
Value MakeFloat(TypeId type, double value) { return {type, value}; }
Value MakeText(TypeId string_type, std::string text) {
  return {string_type, std::make_shared<const std::string>(std::move(text))};
}
Value MakeType(TypeId type_type, TypeId value) { return {type_type, value}; }
Value MakeVoid(TypeId void_type) { return {void_type, Value::Void{}}; }
Value MakeUndefined(TypeId type) { return {type, Value::Undefined{}}; }
Value MakeAggregate(TypeId type, std::vector<Value> elements) {
  return {type, std::make_shared<std::vector<Value>>(std::move(elements))};
}
Value MakePointer(TypeId type, PointerValue pointer) {
  return {type, std::make_shared<const PointerValue>(std::move(pointer))};
}
Value MakeRange(TypeId type, RangeValue range) {
  return {type, std::make_shared<const RangeValue>(range)};
}

namespace {

void AppendKey(const Value& value, std::string& out) {
  out += fmt::format("{}:", value.type.value);
  struct Visitor {
    std::string& out;
    void operator()(Value::Undefined) const { out += '?'; }
    void operator()(Value::Void) const { out += 'v'; }
    void operator()(const Int128& number) const { out += Int128ToString(number); }
    void operator()(double number) const {
      out += fmt::format("d{:x}", std::bit_cast<uint64_t>(number));
    }
    void operator()(const Text& text) const { out += fmt::format("s{}\"{}", text->size(), *text); }
    void operator()(const Aggregate& elements) const {
      out += '{';
      for (const Value& element : *elements) {
        AppendKey(element, out);
        out += ',';
      }
      out += '}';
    }
    void operator()(TypeId type) const { out += fmt::format("t{}", type.value); }
    void operator()(ModuleInstance* module) const {
      out += fmt::format("m{:x}", reinterpret_cast<uintptr_t>(module));
    }
    void operator()(FnTemplate* fn) const {
      out += fmt::format("f{:x}", reinterpret_cast<uintptr_t>(fn));
    }
    void operator()(const std::shared_ptr<const PointerValue>& pointer) const {
      out += fmt::format("p{:x}.{:x}+{}", reinterpret_cast<uintptr_t>(pointer->global),
                         reinterpret_cast<uintptr_t>(pointer->cell.get()), pointer->byte_offset);
      for (const uint32_t index : pointer->path) out += fmt::format("[{}]", index);
    }
    void operator()(const std::shared_ptr<const RangeValue>& range) const {
      out += fmt::format("r{}:{}:{}", Int128ToString(range->start), Int128ToString(range->stop),
                         Int128ToString(range->step));
    }
    void operator()(const std::shared_ptr<const DsdBytes>& dsd) const {
      out += 'b';
      for (const uint8_t byte : dsd->bytes) out += fmt::format("{:02x}", byte);
    }
  };
  std::visit(Visitor{out}, value.data);
}

}  // namespace

std::string ValueKey(const Value& value) {
  std::string key;
  AppendKey(value, key);
  return key;
}

bool SameValue(const Value& a, const Value& b) {
  if (a.type != b.type || a.data.index() != b.data.index()) return false;
  if (const Int128* number = a.as_int()) return *number == *b.as_int();
  return ValueKey(a) == ValueKey(b);
}

std::string FormatValue(const TypeTable& types, const Value& value) {
  const TypeInfo& info = types[value.type];
  if (value.is_undefined()) return "undefined";
  if (const Int128* number = value.as_int()) {
    if (info.kind == TypeKind::kBool) return *number != 0 ? "true" : "false";
    if (info.kind == TypeKind::kEnum) {
      for (const EnumElement& element : info.elements) {
        if (element.value == *number) return fmt::format("{}.{}", info.name, element.name);
      }
    }
    if (info.kind == TypeKind::kHandle) {
      if (info.handle == HandleKind::kDirection && *number >= 0 && *number < 5) {
        constexpr const char* kNames[] = {"EAST", "WEST", "SOUTH", "NORTH", "RAMP"};
        return kNames[static_cast<size_t>(*number)];
      }
      return fmt::format("{}({})", info.name, Int128ToString(*number));
    }
    return Int128ToString(*number);
  }
  if (const double* number = value.as_float()) {
    return info.kind == TypeKind::kFloat && info.bits == 32
               ? fmt::format("{}", static_cast<float>(*number))
               : fmt::format("{}", *number);
  }
  if (const std::string* text = value.as_text()) return *text;
  if (const TypeId* type = value.as_type()) return types.Name(*type);
  if (const auto* elements = value.as_elements()) {
    std::string out = info.kind == TypeKind::kStruct && info.is_anonymous ? "." : info.name;
    out += "{";
    for (size_t i = 0; i < elements->size(); ++i) {
      out += i == 0 ? " " : ", ";
      if (info.kind == TypeKind::kStruct && !info.is_tuple) {
        out += fmt::format(".{} = ", info.fields[i].name);
      }
      out += FormatValue(types, (*elements)[i]);
    }
    return out + (elements->empty() ? "}" : " }");
  }
  if (const RangeValue* range = value.as_range()) {
    return fmt::format("@range({}, {}, {})", Int128ToString(range->start),
                       Int128ToString(range->stop), Int128ToString(range->step));
  }
  if (std::holds_alternative<Value::Void>(value.data)) return "{}";
  return info.name;
}

}  // namespace szarena::csl
