// SPDX-License-Identifier: Apache-2.0
// The user's file of services, models and prices (models.toml), and a model made from it. The file
// is documented in docs/agents.md.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/http_model.h"
#include "model/model.h"
#include "model/secret.h"

namespace szarena::model {

// A service: four are built in ("openai", "openai-chat", "google", "anthropic"); [providers.NAME]
// changes one or adds another.
struct Provider {
  std::string protocol;
  std::string base_url;
  std::string key_variable;  // environment variable of the key
  bool needs_key = false;
  bool plain_http = false;  // a key may go over http to another machine
  std::vector<net::Header> headers;
  std::vector<std::pair<std::string, std::string>> header_variables;  // name, environment variable
  bool stream = true;
  bool echo_reasoning = false;           // see WireConfig
  std::vector<std::string> side_models;  // that an agent program may ask besides the session's
  std::optional<double> idle_timeout_seconds = std::nullopt;
  std::optional<double> total_timeout_seconds = std::nullopt;
  std::optional<int64_t> tries = std::nullopt;
  std::optional<int64_t> max_reply_bytes = std::nullopt;
};

// A model with settings under a name of its own: [agents.NAME].
struct NamedModel {
  std::string model;  // "openai:gpt-x"
  Sampling sampling;
};

struct Settings {
  std::string path;  // where it was read; empty: built-in values only
  std::map<std::string, Provider> providers;
  std::map<std::string, NamedModel> agents;
  std::map<std::string, Price> prices;  // by "PROVIDER:MODEL", or by the model's name alone
};

// $SZARENA_MODELS, else ~/.config/szarena/models.toml.
std::string SettingsPath(const Environment& environment);
// Reads the file; where `path` is empty the default one, which need not exist.
Result<Settings> ReadSettings(const std::string& path, const Environment& environment);

// Whether `agent` names a model: an entry of [agents], or "PROVIDER:MODEL" with a known provider.
bool NamesModel(const Settings& settings, const std::string& agent);
// The model behind the name. kUnavailable: its key is missing.
Result<HttpModelConfig> ConfigFor(const Settings& settings, const std::string& agent,
                                  const Environment& environment);

}  // namespace szarena::model
