// SPDX-License-Identifier: Apache-2.0
// Json: a JSON value that keeps the order of its keys, integers exact, and throws nothing.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace szarena::data {

struct JsonMember;

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<JsonMember>;  // in order of insertion, keys unique

  Json();  // null
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  // Implicit on purpose: literals read as what they are.
  Json(std::nullptr_t) : Json() {}                            // NOLINT(google-explicit-constructor)
  Json(std::string value);                                    // NOLINT(google-explicit-constructor)
  Json(std::string_view value) : Json(std::string(value)) {}  // NOLINT(google-explicit-constructor)
  Json(const char* value) : Json(std::string(value)) {}       // NOLINT(google-explicit-constructor)
  Json(Array items);                                          // NOLINT(google-explicit-constructor)
  Json(Object members);                                       // NOLINT(google-explicit-constructor)
  template <std::same_as<bool> T>
  Json(T value) {  // NOLINT(google-explicit-constructor)
    SetBool(value);
  }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Json(T value) {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_unsigned_v<T>) {
      SetUnsigned(value);
    } else {
      SetSigned(value);
    }
  }
  // NaN and infinities have no JSON form: they become null.
  Json(double value);  // NOLINT(google-explicit-constructor)
  template <typename T>
  Json(const std::optional<T>& value) : Json() {  // NOLINT(google-explicit-constructor)
    if (value) *this = Json(*value);
  }

  // An object from its members in order: Json::Of({{"task", "szp"}, {"n", 3}}).
  static Json Of(std::initializer_list<JsonMember> members);
  static Json MakeObject();
  static Json MakeArray();

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  bool is_int() const;     // a whole number, written without fraction or exponent
  bool is_number() const;  // a whole number or a double

  // The value where it has that type, else nothing. `number` also takes whole numbers.
  std::optional<bool> boolean() const;
  std::optional<int64_t> integer() const;
  std::optional<uint64_t> unsigned_integer() const;
  std::optional<double> number() const;
  const std::string* string() const { return std::get_if<std::string>(&value_); }

  // Items of an array, members of an object; empty for every other kind.
  const Array& items() const;
  const Object& members() const;

  // The member's value, or nullptr where this is no object or has no such key.
  const Json* Find(std::string_view key) const;
  // Follows keys through nested objects: FindPath({"throughput", "compress"}).
  const Json* FindPath(std::initializer_list<std::string_view> keys) const;

  // Sets a member (a null becomes an object first); other kinds are a programmer mistake.
  Json& Set(std::string_view key, Json value);
  // Appends an item (a null becomes an array first); other kinds are a programmer mistake.
  Json& Append(Json value);

  // One line where indent is 0; else pretty. Bytes that are not UTF-8 are written as U+FFFD, and
  // characters that steer a terminal (C0, DEL, C1, marks of the writing direction) escaped.
  // Doubles are written with the fewest digits that read back to the same value.
  std::string Dump(int indent = 0) const;

  bool operator==(const Json&) const;

 private:
  void SetBool(bool value);
  void SetSigned(int64_t value);
  void SetUnsigned(uint64_t value);

  // uint64_t holds only values above INT64_MAX, so that each whole number has one form.
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Array, Object> value_;
};

struct JsonMember {
  std::string key;
  Json value;
  bool operator==(const JsonMember&) const = default;
};

// Reads one JSON text. `name` (a file, "the model's answer") appears in errors, with the byte
// offset. Refuses duplicate keys and more than 200 levels.
Result<Json> ParseJson(std::string_view text, std::string_view name);

// Reads a whole file as JSON.
Result<Json> ReadJsonFile(const std::string& path);

// A file of JSON lines that grew by appending: every complete line parsed. A last line without a
// newline is what a killed writer leaves; it is not parsed, and `torn_tail` says so.
struct JsonLines {
  std::vector<Json> values;
  bool torn_tail = false;
  std::vector<Error> faults;  // with BadLines::kSkip: of each line that is no JSON, named
};
// What a line that is no JSON does: makes the whole file an Error, or is left out.
enum class BadLines : uint8_t { kFail, kSkip };
Result<JsonLines> ReadJsonLines(const std::string& path, BadLines bad = BadLines::kFail);

}  // namespace szarena::data
