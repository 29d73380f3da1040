// SPDX-License-Identifier: Apache-2.0
// A small validator.
#include "data/schema.h"

#include <fmt/format.h>

#include <algorithm>

namespace szarena::data {
namespace {

constexpr int kMaxDepth = 100;  // a $ref may lead back to itself

bool HasType(const Json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "integer") return value.is_int();
  if (type == "number") return value.is_number();
  return type == "array" ? value.is_array() : type == "object" && value.is_object();
}

// "string", "string or null"
std::string TypeNames(const Json& type) {
  if (type.is_string()) return *type.string();
  std::string names;
  for (const Json& one : type.items()) names += (names.empty() ? "" : " or ") + *one.string();
  return names;
}

class Validator {
 public:
  explicit Validator(const Json& root) : root_(root) {}

  std::string Check(const Json& schema, const Json& value, const std::string& path,
                    int depth) const {
    if (depth > kMaxDepth) return path + ": is nested too deeply";
    if (const Json* ref = schema.Find("$ref")) {
      const std::string name = ref->string()->substr(std::string("#/definitions/").size());
      const Json* target = root_.FindPath({"definitions", name});
      return target == nullptr ? path + ": its schema refers to nothing"
                               : Check(*target, value, path, depth + 1);
    }
    if (const Json* any = schema.Find("anyOf")) {
      const bool fits = std::ranges::any_of(any->items(), [&](const Json& choice) {
        return Check(choice, value, path, depth + 1).empty();
      });
      if (!fits) return path + ": fits none of the forms allowed";
    }
    if (const Json* choices = schema.Find("enum")) {
      if (std::ranges::find(choices->items(), value) == choices->items().end()) {
        return fmt::format("{}: must be one of {}", path, choices->Dump());
      }
    }
    if (const Json* type = schema.Find("type")) {
      const bool fits =
          type->is_array()
              ? std::ranges::any_of(type->items(),
                                    [&](const Json& one) { return HasType(value, *one.string()); })
              : HasType(value, *type->string());
      if (!fits) return fmt::format("{}: must be {}", path, TypeNames(*type));
    }
    if (std::string fault = CheckSize(schema, value, path); !fault.empty()) return fault;
    if (value.is_object()) return CheckObject(schema, value, path, depth);
    if (const Json* items = schema.Find("items")) {
      for (size_t i = 0; i < value.items().size(); ++i) {
        std::string fault =
            Check(*items, value.items()[i], fmt::format("{}[{}]", path, i), depth + 1);
        if (!fault.empty()) return fault;
      }
    }
    return "";
  }

 private:
  static std::string CheckSize(const Json& schema, const Json& value, const std::string& path) {
    if (const auto number = value.number()) {
      const Json* least = schema.Find("minimum");
      if (least != nullptr && *number < *least->number()) {
        return fmt::format("{}: must be at least {}", path, least->Dump());
      }
      const Json* most = schema.Find("maximum");
      if (most != nullptr && *number > *most->number()) {
        return fmt::format("{}: must be at most {}", path, most->Dump());
      }
    }
    const Json* longest = schema.Find("maxLength");
    if (longest != nullptr && value.is_string() &&
        value.string()->size() > *longest->unsigned_integer()) {
      return fmt::format("{}: must have at most {} bytes", path, longest->Dump());
    }
    const Json* least = schema.Find("minItems");
    if (least != nullptr && value.is_array() && value.items().size() < *least->unsigned_integer()) {
      return fmt::format("{}: must have at least {} items", path, least->Dump());
    }
    return "";
  }

  std::string CheckObject(const Json& schema, const Json& value, const std::string& path,
                          int depth) const {
    if (const Json* required = schema.Find("required")) {
      for (const Json& key : required->items()) {
        if (value.Find(*key.string()) == nullptr)
          return path + "." + *key.string() + ": is missing";
      }
    }
    const Json* properties = schema.Find("properties");
    const Json* additional = schema.Find("additionalProperties");
    for (const JsonMember& member : value.members()) {
      const std::string at = path + "." + member.key;
      const Json* own = properties == nullptr ? nullptr : properties->Find(member.key);
      if (own == nullptr && additional != nullptr) {
        if (additional->boolean() == false) return at + ": is not known here";
        own = additional;
      }
      if (own == nullptr) continue;
      if (std::string fault = Check(*own, member.value, at, depth + 1); !fault.empty()) {
        return fault;
      }
    }
    return "";
  }

  const Json& root_;
};

}  // namespace

std::string SchemaFault(const Json& schema, const Json& value) {
  return Validator(schema).Check(schema, value, "$", 0);
}

}  // namespace szarena::data
