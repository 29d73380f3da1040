// SPDX-License-Identifier: Apache-2.0
// Environment and keyring file.
#include "model/secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "data/toml.h"

namespace szarena::model {
namespace {

constexpr size_t kShortest = 6;  // shorter texts would be found in any text

std::string Trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.pop_back();
  }
  return text;
}

// The file's text; nothing where there is none. Checked on the open file, so that it cannot be
// exchanged in between.
Result<std::optional<std::string>> ReadKeyring(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<std::string>();
    return Fail(ErrorCode::kInvalidArgument, fmt::format("cannot open keyring '{}': {}", path,
                                                         std::generic_category().message(errno)));
  }
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } const closer{fd};
  struct stat info{};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("keyring '{}' is no plain file", path));
  }
  if (info.st_uid != geteuid()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("keyring '{}' belongs to somebody else", path));
  }
  if ((info.st_mode & 0077) != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("keyring '{}' can be read by others (mode {:04o}); do: chmod 600 '{}'",
                            path, info.st_mode & 07777, path));
  }
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t count = 0;
  while ((count = read(fd, buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<size_t>(count));
    if (text.size() > (1U << 20)) break;
  }
  if (count < 0) return Fail(ErrorCode::kIo, fmt::format("cannot read keyring '{}'", path));
  return std::optional(std::move(text));
}

}  // namespace

Secret::~Secret() {
  if (!value_.empty()) explicit_bzero(value_.data(), value_.size());
}

std::string Secret::Redact(std::string text) const {
  if (value_.size() < kShortest) return text;
  for (size_t at = 0; (at = text.find(value_, at)) != std::string::npos;) {
    text.replace(at, value_.size(), "[key]");
  }
  return text;
}

Result<Secret> MakeSecret(std::string value, const std::string& where) {
  value = Trimmed(std::move(value));
  const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  if (std::ranges::any_of(value, control)) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} holds a control character or a line end; a key is one line", where));
  }
  if (value.size() < kShortest) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} has fewer than {} characters: that is no key, and could not be kept "
                    "out of texts; for a service that needs none, leave it out",
                    where, kShortest));
  }
  return Secret(std::move(value));
}

std::string KeyringPath(const Environment& environment) {
  if (const char* path = environment("SZARENA_KEYS"); path && *path) return path;
  const char* config = environment("XDG_CONFIG_HOME");
  if (config && *config) return std::string(config) + "/szarena/keys.toml";
  const char* home = environment("HOME");
  return std::string(home && *home ? home : ".") + "/.config/szarena/keys.toml";
}

Result<std::optional<Secret>> FindKey(const std::string& provider, const std::string& variable,
                                      const Environment& environment) {
  if (!variable.empty()) {
    if (const char* value = environment(variable); value && *value) {
      SZARENA_TRY(Secret key, MakeSecret(value, fmt::format("environment variable {}", variable)));
      return std::optional(std::move(key));
    }
  }
  const std::string path = KeyringPath(environment);
  SZARENA_TRY(const std::optional<std::string> text, ReadKeyring(path));
  if (!text) return std::optional<Secret>();
  const auto keys = data::ParseToml(*text, path);
  // The parser's own words may quote the line, and the line may be a key.
  if (!keys) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("keyring '{}' is no TOML of lines 'provider = \"key\"'", path));
  }
  const data::Json* value = keys->Find(provider);
  if (!value) return std::optional<Secret>();
  if (!value->string() || value->string()->empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("keyring '{}': '{}' is no text", path, provider));
  }
  SZARENA_TRY(Secret key,
              MakeSecret(*value->string(), fmt::format("keyring '{}': '{}'", path, provider)));
  return std::optional(std::move(key));
}

}  // namespace szarena::model
