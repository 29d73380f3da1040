// SPDX-License-Identifier: Apache-2.0
// Reads the fields of a JSON (or TOML) object; each error names the object and the key.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace szarena::data {

// A view of one object with the name that errors use ("tasks/szp/task.toml: targets.cpu").
// The Json must outlive the reader. Every Get refuses a missing key or a wrong type;
// the Optional forms take a missing key or null as nothing.
class JsonReader {
 public:
  JsonReader(const Json& object, std::string name) : object_(&object), name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  const Json& json() const { return *object_; }
  bool Has(std::string_view key) const { return Present(key) != nullptr; }

  Result<std::string> GetString(std::string_view key) const;
  Result<int64_t> GetInt(std::string_view key) const;
  Result<uint64_t> GetUnsigned(std::string_view key) const;
  Result<double> GetNumber(std::string_view key) const;
  Result<bool> GetBool(std::string_view key) const;
  Result<JsonReader> GetObject(std::string_view key) const;
  Result<std::vector<JsonReader>> GetObjects(std::string_view key) const;  // an array of objects
  Result<std::vector<std::string>> GetStrings(std::string_view key) const;
  Result<std::vector<double>> GetNumbers(std::string_view key) const;

  Result<std::optional<std::string>> OptionalString(std::string_view key) const;
  Result<std::optional<int64_t>> OptionalInt(std::string_view key) const;
  Result<std::optional<double>> OptionalNumber(std::string_view key) const;
  Result<std::optional<bool>> OptionalBool(std::string_view key) const;

  // Refuses a key that is not in the list: a misspelt setting must not pass in silence.
  Result<void> RefuseOtherKeys(std::initializer_list<std::string_view> known) const;

  // An error that names this object and the key: "<name>: '<key>' <what>".
  Error Fault(std::string_view key, std::string_view what) const;

 private:
  const Json* Present(std::string_view key) const;  // nullptr where missing or null
  Result<const Json*> Need(std::string_view key) const;

  const Json* object_;
  std::string name_;
};

}  // namespace szarena::data
