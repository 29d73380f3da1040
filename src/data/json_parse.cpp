// SPDX-License-Identifier: Apache-2.0
// JSON text into Json values, through nlohmann's event parser.
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "data/json.h"

namespace szarena::data {
namespace {

constexpr size_t kMaxDepth = 200;

// Receives the parser's events and builds one Json. Each handler returns false to stop.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Add(Json()); }
  bool boolean(bool value) override { return Add(Json(value)); }
  bool number_integer(number_integer_t value) override { return Add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Add(Json(value)); }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return Add(Json(value));
  }
  bool string(string_t& value) override { return Add(Json(std::move(value))); }
  bool binary(binary_t& /*value*/) override { return Stop("holds binary data"); }
  bool start_object(std::size_t /*size*/) override { return Open(Json::MakeObject()); }
  bool start_array(std::size_t /*size*/) override { return Open(Json::MakeArray()); }
  bool key(string_t& value) override {
    if (open_.back().json.Find(value)) return Stop(fmt::format("has the key '{}' twice", value));
    open_.back().key = std::move(value);
    return true;
  }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    // nlohmann's text is "[json.exception.parse_error.101] parse error at line 1, column 5: …"
    std::string text = error.what();
    if (text.find("number overflow") != std::string::npos) {
      return Stop(
          fmt::format("it holds a number beyond double precision, of {} characters, that ends "
                      "at byte {}",
                      token.size(), position));
    }
    if (const size_t at = text.find("parse error"); at != std::string::npos) text.erase(0, at);
    fault_ = fmt::format("{} (byte {})", text, position);
    return false;
  }

  Json root;
  const std::string& fault() const { return fault_; }

 private:
  struct Level {
    Json json;
    std::string key;  // of the member being read, for an object
  };

  bool Stop(std::string why) {
    fault_ = std::move(why);
    return false;
  }
  bool Open(Json container) {
    if (open_.size() >= kMaxDepth) return Stop("is nested too deeply");
    open_.push_back({std::move(container), {}});
    return true;
  }
  bool Close() {
    Json done = std::move(open_.back().json);
    open_.pop_back();
    return Add(std::move(done));
  }
  bool Add(Json value) {
    if (open_.empty()) {
      root = std::move(value);
    } else if (open_.back().json.is_array()) {
      open_.back().json.Append(std::move(value));
    } else {
      open_.back().json.Set(open_.back().key, std::move(value));
    }
    return true;
  }

  std::vector<Level> open_;
  std::string fault_;
};

Result<std::string> ReadText(const std::string& path) {
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
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return Fail(ErrorCode::kIo, fmt::format("cannot read '{}'", path));
  return text;
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view name) {
  Builder builder;
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
    return std::move(builder.root);
  }
  return Fail(ErrorCode::kCorrupt, fmt::format("'{}' is not JSON: {}", name, builder.fault()));
}

Result<Json> ReadJsonFile(const std::string& path) {
  SZARENA_TRY(const std::string text, ReadText(path));
  return ParseJson(text, path);
}

Result<JsonLines> ReadJsonLines(const std::string& path, BadLines bad) {
  SZARENA_TRY(const std::string text, ReadText(path));
  JsonLines lines;
  std::string_view rest = text;
  for (size_t number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) {
      lines.torn_tail = true;
      break;
    }
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (line.empty()) continue;
    Result<Json> value = ParseJson(line, fmt::format("{}:{}", path, number));
    if (value) {
      lines.values.push_back(std::move(*value));
    } else if (bad == BadLines::kSkip) {
      lines.faults.push_back(value.error());
    } else {
      return tl::unexpected(value.error());
    }
  }
  return lines;
}

}  // namespace szarena::data
