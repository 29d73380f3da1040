// SPDX-License-Identifier: Apache-2.0
// The JSON value and its writer.
#include "data/json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace szarena::data {

Json::Json() = default;
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;
bool Json::operator==(const Json&) const = default;

Json::Json(std::string value) : value_(std::move(value)) {}
Json::Json(Array items) : value_(std::move(items)) {}
Json::Json(Object members) : value_(std::move(members)) {}
Json::Json(double value) {
  if (std::isfinite(value)) value_ = value;
}

Json Json::MakeObject() { return Json(Object{}); }
Json Json::MakeArray() { return Json(Array{}); }

Json Json::Of(std::initializer_list<JsonMember> members) {
  Json json = MakeObject();
  for (const JsonMember& member : members) json.Set(member.key, member.value);
  return json;
}

void Json::SetBool(bool value) { value_ = value; }
void Json::SetSigned(int64_t value) { value_ = value; }
void Json::SetUnsigned(uint64_t value) {
  if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    value_ = static_cast<int64_t>(value);
  } else {
    value_ = value;
  }
}

bool Json::is_int() const {
  return std::holds_alternative<int64_t>(value_) || std::holds_alternative<uint64_t>(value_);
}
bool Json::is_number() const { return is_int() || std::holds_alternative<double>(value_); }

std::optional<bool> Json::boolean() const {
  const bool* value = std::get_if<bool>(&value_);
  return value ? std::optional(*value) : std::nullopt;
}
std::optional<int64_t> Json::integer() const {
  const int64_t* value = std::get_if<int64_t>(&value_);
  return value ? std::optional(*value) : std::nullopt;
}
std::optional<uint64_t> Json::unsigned_integer() const {
  if (const uint64_t* value = std::get_if<uint64_t>(&value_)) return *value;
  const int64_t* value = std::get_if<int64_t>(&value_);
  if (value && *value >= 0) return static_cast<uint64_t>(*value);
  return std::nullopt;
}
std::optional<double> Json::number() const {
  if (const double* value = std::get_if<double>(&value_)) return *value;
  if (const int64_t* value = std::get_if<int64_t>(&value_)) return static_cast<double>(*value);
  if (const uint64_t* value = std::get_if<uint64_t>(&value_)) return static_cast<double>(*value);
  return std::nullopt;
}

const Json::Array& Json::items() const {
  static const Array kEmpty;
  const Array* items = std::get_if<Array>(&value_);
  return items ? *items : kEmpty;
}
const Json::Object& Json::members() const {
  static const Object kEmpty;
  const Object* members = std::get_if<Object>(&value_);
  return members ? *members : kEmpty;
}

const Json* Json::Find(std::string_view key) const {
  for (const JsonMember& member : members()) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

const Json* Json::FindPath(std::initializer_list<std::string_view> keys) const {
  const Json* json = this;
  for (std::string_view key : keys) {
    json = json->Find(key);
    if (!json) return nullptr;
  }
  return json;
}

Json& Json::Set(std::string_view key, Json value) {
  if (is_null()) value_ = Object{};
  Object* members = std::get_if<Object>(&value_);
  SZARENA_CHECK(members, "Set needs an object");
  for (JsonMember& member : *members) {
    if (member.key == key) {
      member.value = std::move(value);
      return *this;
    }
  }
  members->push_back({std::string(key), std::move(value)});
  return *this;
}

Json& Json::Append(Json value) {
  if (is_null()) value_ = Array{};
  Array* items = std::get_if<Array>(&value_);
  SZARENA_CHECK(items, "Append needs an array");
  items->push_back(std::move(value));
  return *this;
}

namespace {

// Length of the well-formed UTF-8 sequence at the start of `text`, or 0.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;  // surrogates
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  if (text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

// What a terminal that shows the text could act on: C1 controls, marks of the writing direction.
bool Steers(uint32_t c) {
  return (c >= 0x80 && c <= 0x9F) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// The code point of 2 or 3 bytes that are whole; 0 of others.
uint32_t BasicCodePoint(std::string_view bytes) {
  const auto part = [bytes](size_t i) { return static_cast<uint32_t>(bytes[i]) & 0x3FU; };
  if (bytes.size() == 2) return (static_cast<uint32_t>(bytes[0]) & 0x1FU) << 6U | part(1);
  if (bytes.size() != 3) return 0;
  return (static_cast<uint32_t>(bytes[0]) & 0x0FU) << 12U | part(1) << 6U | part(2);
}

void WriteString(std::string_view text, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  const auto escape = [&out](uint32_t c) {
    out += "\\u";
    for (const unsigned shift : {12U, 8U, 4U, 0U}) out += kHex[c >> shift & 15U];
  };
  out += '"';
  while (!text.empty()) {
    const char c = text.front();
    size_t used = 1;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          escape(static_cast<unsigned char>(c));
        } else if (const size_t length = Utf8Length(text); length > 0) {
          const std::string_view whole = text.substr(0, length);
          if (const uint32_t point = BasicCodePoint(whole); Steers(point)) {
            escape(point);
          } else {
            out += whole;
          }
          used = length;
        } else {
          out += "\xEF\xBF\xBD";
        }
    }
    text.remove_prefix(used);
  }
  out += '"';
}

template <typename T>
void WriteNumber(T value, std::string& out) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  const std::string_view digits(buffer.data(), static_cast<size_t>(end - buffer.data()));
  out += digits;
  if constexpr (std::is_floating_point_v<T>) {
    if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
  }
}

void NewLine(int indent, int depth, std::string& out) {
  if (indent == 0) return;
  out += '\n';
  out.append(static_cast<size_t>(indent) * static_cast<size_t>(depth), ' ');
}

// Recursion is as deep as the value; parsed values are limited, built ones are ours.
void Write(const Json& json, int indent, int depth, std::string& out) {
  if (json.is_null()) {
    out += "null";
  } else if (const auto boolean = json.boolean()) {
    out += *boolean ? "true" : "false";
  } else if (const std::string* text = json.string()) {
    WriteString(*text, out);
  } else if (const auto integer = json.integer()) {
    WriteNumber(*integer, out);
  } else if (json.is_int()) {
    WriteNumber(*json.unsigned_integer(), out);
  } else if (json.is_number()) {
    WriteNumber(*json.number(), out);
  } else if (json.is_array()) {
    out += '[';
    for (size_t i = 0; i < json.items().size(); ++i) {
      if (i > 0) out += indent == 0 ? ", " : ",";
      NewLine(indent, depth + 1, out);
      Write(json.items()[i], indent, depth + 1, out);
    }
    if (!json.items().empty()) NewLine(indent, depth, out);
    out += ']';
  } else {
    out += '{';
    for (size_t i = 0; i < json.members().size(); ++i) {
      if (i > 0) out += indent == 0 ? ", " : ",";
      NewLine(indent, depth + 1, out);
      WriteString(json.members()[i].key, out);
      out += ": ";
      Write(json.members()[i].value, indent, depth + 1, out);
    }
    if (!json.members().empty()) NewLine(indent, depth, out);
    out += '}';
  }
}

}  // namespace

std::string Json::Dump(int indent) const {
  std::string out;
  Write(*this, indent, 0, out);
  return out;
}

}  // namespace szarena::data
