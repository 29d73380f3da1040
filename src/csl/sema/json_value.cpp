// SPDX-License-Identifier: Apache-2.0
// A small JSON reader for @import_comptime_value.
#include "csl/sema/json_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace szarena::csl {
namespace {

constexpr int kMaxDepth = 100;

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
            const std::string_view digits = text_.substr(at_, 4);
            const auto [end, error] =
                std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
            if (error != std::errc() || end != digits.data() + 4) return Fail("bad \\u escape");
            at_ += 4;
            if (code > 0xff) return Fail("a string of CSL holds bytes: \\u00ff is the greatest");
            c = static_cast<char>(code);
            break;
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

}  // namespace

std::optional<Value> ValueFromJson(TypeTable& types, std::string_view text, std::string& why) {
  why.clear();
  return Reader(types, text, why).Document();
}

}  // namespace szarena::csl
