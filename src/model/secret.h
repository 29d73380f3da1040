// SPDX-License-Identifier: Apache-2.0
// Keys of services: where they come from, and how they are kept out of every text.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace szarena::model {

// A text that is not printed by accident. Wiped when it goes.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  Secret(const Secret&) = default;
  Secret(Secret&&) noexcept = default;
  Secret& operator=(const Secret&) = default;
  Secret& operator=(Secret&&) noexcept = default;
  ~Secret();

  bool empty() const { return value_.empty(); }
  // For the request that needs it, nothing else.
  const std::string& Reveal() const { return value_; }
  // The text with each occurrence replaced by "[key]".
  std::string Redact(std::string text) const;

 private:
  std::string value_;
};

using Environment = std::function<const char*(const std::string& name)>;

// The file of keys: TOML, `provider = "key"`. $SZARENA_KEYS, else ~/.config/szarena/keys.toml.
std::string KeyringPath(const Environment& environment);

// The value as it goes into a header, without white space at its end. kInvalidArgument, naming
// `where` and never the value: it holds a control character (which would begin another header), or
// is shorter than six characters (it could not be kept out of texts).
Result<Secret> MakeSecret(std::string value, const std::string& where);

// The key of a provider: the environment variable (if it is set and not empty), else the keyring
// file. Nothing: neither has it. A keyring file that others can read, that is no regular file, or
// that belongs to somebody else is refused (kInvalidArgument) whether or not it has the key.
Result<std::optional<Secret>> FindKey(const std::string& provider, const std::string& variable,
                                      const Environment& environment);

}  // namespace szarena::model
