// SPDX-License-Identifier: Apache-2.0
// A small JSON reader for @import_comptime_value.
#include "csl/sema/json_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "csl/sema/evaluator.h"

namespace szarena::csl {
namespace {

constexpr int kMaxDepth = 100;

bool HexCode(std::string_view digits, unsigned& code) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  return error == std::errc() && digits.size() == 4 && end == digits.data() + 4;
}

// A string of CSL holds bytes: characters are written in UTF-8, as in the source of a program.
void AppendUtf8(std::string& out, unsigned code) {
  const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
    return;
  }
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

class Reader {
 public:
  Reader(TypeTable& types, std::string_view text, std::string& why)
      : types_(types), text_(text), why_(why) {}

  std::optional<Value> Document() {
    std::optional<Value> value = Any(0);
    if (!value) return std::nullopt;
    SkipSpace();
    if (at_ != text_.size()) return Fail("text after the end of the value");
    return value;
  }

 private:
  std::nullopt_t Fail(std::string_view what) {
    if (why_.empty()) {
      const auto line =
          std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
      why_ = fmt::format("line {}: {}", line + 1, what);
    }
    return std::nullopt;
  }
  void SkipSpace() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool Take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  std::optional<Value> Any(int depth) {
    if (depth > kMaxDepth) return Fail("nested too deep");
    SkipSpace();
    if (at_ >= text_.size()) return Fail("the text ends too early");
    switch (text_[at_]) {
      case '{':
        return Object(depth);
      case '[':
        return List(depth);
      case '"': {
        const std::optional<std::string> text = String();
        if (!text) return std::nullopt;
        return MakeText(types_.comptime_string(), *text);
      }
      default:
        break;
    }
    if (Take("true")) return MakeInt(types_.bool_type(), 1);
    if (Take("false")) return MakeInt(types_.bool_type(), 0);
    if (Take("null")) return Fail("null has no meaning in CSL");
    return Number();
  }

  std::optional<Value> Object(int depth) {
    ++at_;
    std::vector<Field> fields;
    std::vector<Value> values;
    SkipSpace();
    if (!Take("}")) {
      do {
        SkipSpace();
        if (at_ >= text_.size() || text_[at_] != '"') return Fail("expected a name in quotes");
        const std::optional<std::string> name = String();
        if (!name) return std::nullopt;
        for (const Field& other : fields) {
          if (other.name == *name) return Fail(fmt::format("'{}' is given twice", *name));
        }
        SkipSpace();
        if (!Take(":")) return Fail("expected ':'");
        std::optional<Value> value = Any(depth + 1);
        if (!value) return std::nullopt;
        fields.push_back({*name, value->type});
        values.push_back(std::move(*value));
        SkipSpace();
      } while (Take(","));
      if (!Take("}")) return Fail("expected ',' or '}'");
    }
    const bool is_tuple = fields.empty();
    return MakeAggregate(types_.AnonymousStruct(std::move(fields), is_tuple), std::move(values));
  }

  std::optional<Value> List(int depth) {
    ++at_;
    std::vector<Field> fields;
    std::vector<Value> values;
    SkipSpace();
    if (!Take("]")) {
      do {
        std::optional<Value> value = Any(depth + 1);
        if (!value) return std::nullopt;
        fields.push_back({"", value->type});
        values.push_back(std::move(*value));
        SkipSpace();
      } while (Take(","));
      if (!Take("]")) return Fail("expected ',' or ']'");
    }
    return MakeAggregate(types_.AnonymousStruct(std::move(fields), true), std::move(values));
  }

  std::optional<std::string> String() {
    ++at_;
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c == '\\') {
        if (at_ >= text_.size()) break;
        c = text_[at_++];
        switch (c) {
          case 'n':
            c = '\n';
            break;
          case 't':
            c = '\t';
            break;
          case 'r':
            c = '\r';
            break;
          case 'b':
            c = '\b';
            break;
          case 'f':
            c = '\f';
            break;
          case 'u': {
            unsigned code = 0;
            if (!HexCode(text_.substr(at_, 4), code)) return Fail("bad \\u escape");
            at_ += 4;
            if (code >= 0xd800 && code < 0xdc00) {  // the first half of a pair
              unsigned low = 0;
              const std::string_view pair = text_.substr(at_, 6);
              const bool is_escape = pair.size() == 6 && pair.starts_with("\\u");
              if (!is_escape || !HexCode(pair.substr(2), low) || low < 0xdc00 || low > 0xdfff)
                return Fail("half of a \\u pair");
              at_ += 6;
              code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            } else if (code >= 0xdc00 && code < 0xe000) {
              return Fail("half of a \\u pair");
            }
            AppendUtf8(out, code);
            continue;
          }
          case '"':
          case '\\':
          case '/':
            break;
          default:
            return Fail("unknown escape");
        }
      }
      out += c;
    }
    if (at_ >= text_.size()) return Fail("a string without end");
    ++at_;
    return out;
  }

  std::optional<Value> Number() {
    const size_t start = at_;
    while (at_ < text_.size() &&
           std::string_view("+-.eE0123456789").find(text_[at_]) != std::string_view::npos)
      ++at_;
    const std::string_view token = text_.substr(start, at_ - start);
    if (token.empty()) return Fail("expected a value");
    const char* end = token.data() + token.size();
    if (token.find_first_of(".eE") == std::string_view::npos) {
      int64_t number = 0;
      const auto [stop, error] = std::from_chars(token.data(), end, number);
      if (error != std::errc() || stop != end) return Fail("not an integer of 64 bits");
      return MakeInt(types_.comptime_int(), number);
    }
    double number = 0;
    const auto [stop, error] = std::from_chars(token.data(), end, number);
    if (error != std::errc() || stop != end) return Fail("not a number");
    return MakeFloat(types_.comptime_float(), number);
  }

  TypeTable& types_;
  std::string_view text_;
  std::string& why_;
  size_t at_ = 0;
};

// The type in a label `name:type` of a JSON object: a type of the language, or an array of one.
std::optional<TypeId> LabelType(TypeTable& types, std::string_view text) {
  if (!text.starts_with('[')) return types.FromName(text);
  const size_t close = text.find(']');
  if (close == std::string_view::npos) return std::nullopt;
  std::vector<int64_t> dims;
  std::string_view sizes = text.substr(1, close - 1);
  while (true) {
    const size_t start = std::min(sizes.find_first_not_of(' '), sizes.size());
    int64_t size = 0;
    const auto [end, error] =
        std::from_chars(sizes.data() + start, sizes.data() + sizes.size(), size);
    if (error != std::errc() || size < 0) return std::nullopt;
    dims.push_back(size);
    sizes.remove_prefix(static_cast<size_t>(end - sizes.data()));
    if (sizes.empty()) break;
    if (!sizes.starts_with(',')) return std::nullopt;
    sizes.remove_prefix(1);
  }
  std::string_view element_name = text.substr(close + 1);
  element_name.remove_prefix(std::min(element_name.find_first_not_of(' '), element_name.size()));
  const std::optional<TypeId> element = types.FromName(element_name);
  if (!element) return std::nullopt;
  return types.Array(std::move(dims), *element);
}

// A JSON value as a value of `type`: a number as a colour, a flat list as an array of any rank;
// the labels of an object give its fields names and types. Nothing, with the reason in `why`.
std::optional<Value> JsonAs(Evaluator& eval, const Value& value, TypeId type, std::string& why) {
  TypeTable& types = eval.types();
  const TypeInfo to = types[type];
  const std::vector<Value>* elements = value.as_elements();
  const auto fail = [&](std::string text) {
    if (why.empty()) why = std::move(text);
    return std::nullopt;
  };
  const auto mismatch = [&]() {
    return fail(fmt::format("{} is no '{}'", FormatValue(types, value), to.name));
  };
  if (to.kind == TypeKind::kHandle && to.name == "color") {
    const Int128* number = value.as_int();
    if (number == nullptr || *number < 0 || *number >= bytecode::kColorCount) return mismatch();
    return MakeInt(type, *number);
  }
  if (to.kind == TypeKind::kArray && elements != nullptr && types[value.type].is_tuple) {
    if (static_cast<int64_t>(elements->size()) != types.ElementCount(type)) {
      return fail(fmt::format("a list of {} elements is no '{}'", elements->size(), to.name));
    }
    std::vector<Value> converted;
    for (const Value& element : *elements) {
      std::optional<Value> one = JsonAs(eval, element, to.element, why);
      if (!one) return std::nullopt;
      converted.push_back(std::move(*one));
    }
    return MakeAggregate(type, std::move(converted));
  }
  const TypeInfo from = types[value.type];
  if (elements != nullptr && from.kind == TypeKind::kStruct && !from.is_tuple) {
    std::vector<Field> fields;
    std::vector<Value> values;
    for (size_t i = 0; i < elements->size(); ++i) {
      const std::string& label = from.fields[i].name;
      const size_t colon = label.find(':');
      const TypeInfo& own = types[(*elements)[i].type];
      TypeId wanted = own.kind == TypeKind::kStruct && !own.is_tuple
                          ? types.Simple(TypeKind::kComptimeStruct)
                          : (*elements)[i].type;
      if (colon != std::string::npos) {
        const std::optional<TypeId> named =
            LabelType(types, std::string_view(label).substr(colon + 1));
        if (!named) return fail(fmt::format("'{}' names no type", label));
        wanted = *named;
      } else if (to.kind == TypeKind::kStruct) {
        if (const auto index = types.FieldIndex(type, label)) wanted = to.fields[*index].type;
      }
      std::optional<Value> one = JsonAs(eval, (*elements)[i], wanted, why);
      if (!one) return fail(fmt::format("'{}'", label));
      fields.push_back({label.substr(0, colon), one->type});
      values.push_back(std::move(*one));
    }
    const Value labelled =
        MakeAggregate(types.AnonymousStruct(std::move(fields), false), std::move(values));
    const std::optional<Value> result = eval.CoerceValue(labelled, type);
    if (!result) return mismatch();
    return result;
  }
  const std::optional<Value> result = eval.CoerceValue(value, type);
  if (!result) return mismatch();
  return result;
}

}  // namespace

std::optional<Value> ReadJson(TypeTable& types, std::string_view text, std::string& why) {
  why.clear();
  return Reader(types, text, why).Document();
}

std::optional<Value> ValueFromJson(Evaluator& eval, std::string_view text, TypeId type,
                                   std::string& why) {
  const std::optional<Value> value = ReadJson(eval.types(), text, why);
  if (!value) return std::nullopt;
  return JsonAs(eval, *value, type, why);
}

}  // namespace szarena::csl
