// SPDX-License-Identifier: Apache-2.0
// toml++'s tables into Json.
#include "data/toml.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace szarena::data {
namespace {

template <typename T>
std::string Printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

Result<Json> Convert(const toml::node& node, std::string_view name) {
  if (const auto* table = node.as_table()) {
    // toml++ sorts keys; the order of the text is recovered from their positions.
    std::vector<std::pair<const toml::key*, const toml::node*>> entries;
    for (auto&& [key, value] : *table) entries.emplace_back(&key, &value);
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
      const auto& left = a.first->source().begin;
      const auto& right = b.first->source().begin;
      return std::pair(left.line, left.column) < std::pair(right.line, right.column);
    });
    Json object = Json::MakeObject();
    for (const auto& [key, value] : entries) {
      SZARENA_TRY(Json converted, Convert(*value, name));
      object.Set(key->str(), std::move(converted));
    }
    return object;
  }
  if (const auto* array = node.as_array()) {
    Json items = Json::MakeArray();
    for (const toml::node& item : *array) {
      SZARENA_TRY(Json converted, Convert(item, name));
      items.Append(std::move(converted));
    }
    return items;
  }
  if (const auto* text = node.as_string()) return Json(text->get());
  if (const auto* integer = node.as_integer()) return Json(integer->get());
  if (const auto* boolean = node.as_boolean()) return Json(boolean->get());
  if (const auto* number = node.as_floating_point()) {
    if (!std::isfinite(number->get())) {
      return Fail(ErrorCode::kCorrupt, fmt::format("'{}' line {}: a number here must be finite",
                                                   name, number->source().begin.line));
    }
    return Json(number->get());
  }
  if (const auto* date = node.as_date()) return Json(Printed(date->get()));
  if (const auto* time = node.as_time()) return Json(Printed(time->get()));
  if (const auto* date_time = node.as_date_time()) return Json(Printed(date_time->get()));
  return Fail(ErrorCode::kInternal, fmt::format("'{}' holds an unknown kind of TOML value", name));
}

}  // namespace

Result<Json> ParseToml(std::string_view text, std::string_view name) {
  try {
    const toml::table table = toml::parse(text, name);
    return Convert(table, name);
  } catch (const toml::parse_error& error) {
    const auto& at = error.source().begin;
    return Fail(ErrorCode::kCorrupt, fmt::format("'{}' line {} column {}: {}", name, at.line,
                                                 at.column, error.description()));
  }
}

Result<Json> ReadTomlFile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is a folder; a file is expected", path));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return Fail(code,
                fmt::format("cannot read '{}': {}", path, std::generic_category().message(errno)));
  }
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return Fail(ErrorCode::kIo, fmt::format("cannot read '{}'", path));
  return ParseToml(text, path);
}

}  // namespace szarena::data
