// SPDX-License-Identifier: Apache-2.0
// Typed access to the fields of an object.
#include "data/json_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace szarena::data {

Error JsonReader::Fault(std::string_view key, std::string_view what) const {
  return {ErrorCode::kCorrupt, fmt::format("{}: '{}' {}", name_, key, what), {}};
}

const Json* JsonReader::Present(std::string_view key) const {
  const Json* value = object_->Find(key);
  return value && !value->is_null() ? value : nullptr;
}

Result<const Json*> JsonReader::Need(std::string_view key) const {
  if (!object_->is_object()) {
    return Fail(ErrorCode::kCorrupt, fmt::format("{} is not an object", name_));
  }
  if (const Json* value = Present(key)) return value;
  return tl::unexpected(Fault(key, "is missing"));
}

Result<std::string> JsonReader::GetString(std::string_view key) const {
  SZARENA_TRY(const Json* value, Need(key));
  if (const std::string* text = value->string()) return *text;
  return tl::unexpected(Fault(key, "is not a string"));
}

Result<int64_t> JsonReader::GetInt(std::string_view key) const {
  SZARENA_TRY(const Json* value, Need(key));
  if (const auto integer = value->integer()) return *integer;
  return tl::unexpected(Fault(key, "is not a whole number"));
}

Result<uint64_t> JsonReader::GetUnsigned(std::string_view key) const {
  SZARENA_TRY(const Json* value, Need(key));
  if (const auto integer = value->unsigned_integer()) return *integer;
  return tl::unexpected(Fault(key, "is not a whole number of at least 0"));
}

Result<double> JsonReader::GetNumber(std::string_view key) const {
  SZARENA_TRY(const Json* value, Need(key));
  if (const auto number = value->number()) return *number;
  return tl::unexpected(Fault(key, "is not a number"));
}

Result<bool> JsonReader::GetBool(std::string_view key) const {
  SZARENA_TRY(const Json* value, Need(key));
  if (const auto boolean = value->boolean()) return *boolean;
  return tl::unexpected(Fault(key, "is not true or false"));
}

Result<JsonReader> JsonReader::GetObject(std::string_view key) const {
  SZARENA_TRY(const Json* value, Need(key));
  if (!value->is_object()) return tl::unexpected(Fault(key, "is not an object"));
  return JsonReader(*value, fmt::format("{}: {}", name_, key));
}

Result<std::vector<JsonReader>> JsonReader::GetObjects(std::string_view key) const {
  SZARENA_TRY(const Json* value, Need(key));
  std::vector<JsonReader> readers;
  if (!value->is_array()) return tl::unexpected(Fault(key, "is not an array of objects"));
  for (const Json& item : value->items()) {
    if (!item.is_object()) return tl::unexpected(Fault(key, "is not an array of objects"));
    readers.emplace_back(item, fmt::format("{}: {}[{}]", name_, key, readers.size()));
  }
  return readers;
}

Result<std::vector<std::string>> JsonReader::GetStrings(std::string_view key) const {
  SZARENA_TRY(const Json* value, Need(key));
  std::vector<std::string> texts;
  if (!value->is_array()) return tl::unexpected(Fault(key, "is not an array of strings"));
  for (const Json& item : value->items()) {
    if (!item.string()) return tl::unexpected(Fault(key, "is not an array of strings"));
    texts.push_back(*item.string());
  }
  return texts;
}

Result<std::vector<double>> JsonReader::GetNumbers(std::string_view key) const {
  SZARENA_TRY(const Json* value, Need(key));
  std::vector<double> numbers;
  if (!value->is_array()) return tl::unexpected(Fault(key, "is not an array of numbers"));
  for (const Json& item : value->items()) {
    if (!item.is_number()) return tl::unexpected(Fault(key, "is not an array of numbers"));
    numbers.push_back(*item.number());
  }
  return numbers;
}

namespace {

template <typename T>
Result<std::optional<T>> Some(Result<T> value) {
  if (!value) return tl::unexpected(std::move(value).error());
  return std::optional<T>(*std::move(value));
}

}  // namespace

Result<std::optional<std::string>> JsonReader::OptionalString(std::string_view key) const {
  if (!Has(key)) return std::nullopt;
  return Some(GetString(key));
}
Result<std::optional<int64_t>> JsonReader::OptionalInt(std::string_view key) const {
  if (!Has(key)) return std::nullopt;
  return Some(GetInt(key));
}
Result<std::optional<double>> JsonReader::OptionalNumber(std::string_view key) const {
  if (!Has(key)) return std::nullopt;
  return Some(GetNumber(key));
}
Result<std::optional<bool>> JsonReader::OptionalBool(std::string_view key) const {
  if (!Has(key)) return std::nullopt;
  return Some(GetBool(key));
}

Result<void> JsonReader::RefuseOtherKeys(std::initializer_list<std::string_view> known) const {
  for (const JsonMember& member : object_->members()) {
    if (std::find(known.begin(), known.end(), member.key) == known.end()) {
      return tl::unexpected(
          Fault(member.key, fmt::format("is not a key here; known: {}", fmt::join(known, ", "))));
    }
  }
  return {};
}

}  // namespace szarena::data
