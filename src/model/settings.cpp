// SPDX-License-Identifier: Apache-2.0
// Reads models.toml; built-in services.
#include "model/settings.h"

#include <fmt/format.h>

#include <filesystem>

#include "data/json_reader.h"
#include "data/toml.h"

namespace szarena::model {
namespace {

using data::JsonReader;

std::map<std::string, Provider> BuiltIn() {
  const auto make = [](std::string protocol, std::string base_url, std::string variable) {
    Provider provider;
    provider.protocol = std::move(protocol);
    provider.base_url = std::move(base_url);
    provider.key_variable = std::move(variable);
    provider.needs_key = true;
    return provider;
  };
  return {{"openai", make("openai-responses", "https://api.openai.com/v1", "OPENAI_API_KEY")},
          {"openai-chat", make("openai-chat", "https://api.openai.com/v1", "OPENAI_API_KEY")},
          {"google",
           make("google", "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY")},
          {"anthropic", make("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY")}};
}

Result<std::vector<std::pair<std::string, std::string>>> Pairs(const JsonReader& reader,
                                                               std::string_view key) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (!reader.Has(key)) return pairs;
  SZARENA_TRY(const JsonReader table, reader.GetObject(key));
  for (const data::JsonMember& member : table.json().members()) {
    SZARENA_TRY(std::string value, table.GetString(member.key));
    if (value.find_first_of("\r\n") != std::string::npos) {
      return tl::unexpected(table.Fault(member.key, "holds a line end"));
    }
    pairs.emplace_back(member.key, std::move(value));
  }
  return pairs;
}

Result<void> ReadProvider(const JsonReader& reader, Provider& provider) {
  SZARENA_TRY_VOID(reader.RefuseOtherKeys({"protocol", "base_url", "key_env", "needs_key",
                                           "plain_http", "headers", "header_env", "stream",
                                           "echo_reasoning", "side_models", "idle_timeout_seconds",
                                           "total_timeout_seconds", "tries", "max_reply_bytes"}));
  const auto text = [&](std::string_view key, std::string& into) -> Result<void> {
    SZARENA_TRY(const auto value, reader.OptionalString(key));
    if (value) into = *value;
    return {};
  };
  const auto flag = [&](std::string_view key, bool& into) -> Result<void> {
    SZARENA_TRY(const auto value, reader.OptionalBool(key));
    if (value) into = *value;
    return {};
  };
  SZARENA_TRY_VOID(text("protocol", provider.protocol));
  SZARENA_TRY_VOID(text("base_url", provider.base_url));
  if (reader.Has("key_env")) provider.needs_key = true;
  SZARENA_TRY_VOID(text("key_env", provider.key_variable));
  SZARENA_TRY_VOID(flag("needs_key", provider.needs_key));
  SZARENA_TRY_VOID(flag("plain_http", provider.plain_http));
  SZARENA_TRY_VOID(flag("stream", provider.stream));
  SZARENA_TRY_VOID(flag("echo_reasoning", provider.echo_reasoning));
  SZARENA_TRY(const auto headers, Pairs(reader, "headers"));
  for (const auto& [name, value] : headers) provider.headers.push_back({name, value});
  SZARENA_TRY(provider.header_variables, Pairs(reader, "header_env"));
  if (reader.Has("side_models")) {
    SZARENA_TRY(provider.side_models, reader.GetStrings("side_models"));
  }
  SZARENA_TRY(provider.idle_timeout_seconds, reader.OptionalNumber("idle_timeout_seconds"));
  SZARENA_TRY(provider.total_timeout_seconds, reader.OptionalNumber("total_timeout_seconds"));
  SZARENA_TRY(provider.tries, reader.OptionalInt("tries"));
  SZARENA_TRY(provider.max_reply_bytes, reader.OptionalInt("max_reply_bytes"));
  for (const auto& [key, value] :
       {std::pair("idle_timeout_seconds", provider.idle_timeout_seconds),
        std::pair("total_timeout_seconds", provider.total_timeout_seconds)}) {
    if (value && !(*value > 0 && *value <= 86'400)) {
      return tl::unexpected(reader.Fault(key, "is not between 0 and 86400"));
    }
  }
  if (provider.tries && (*provider.tries < 1 || *provider.tries > 100)) {
    return tl::unexpected(reader.Fault("tries", "is not between 1 and 100"));
  }
  if (provider.max_reply_bytes &&
      (*provider.max_reply_bytes < 1024 || *provider.max_reply_bytes > (1 << 30))) {
    return tl::unexpected(reader.Fault("max_reply_bytes", "is not between 1024 and 1073741824"));
  }
  if (!FindWire(provider.protocol)) {
    return tl::unexpected(reader.Fault("protocol", fmt::format("is none of: {}", WireNames())));
  }
  while (provider.base_url.ends_with('/')) provider.base_url.pop_back();
  if (provider.base_url.find('@') != std::string::npos) {
    return tl::unexpected(reader.Fault("base_url", "holds a '@'; a secret goes into header_env"));
  }
  if (net::UrlHost(provider.base_url).empty()) {
    return tl::unexpected(reader.Fault("base_url", "is no http or https address"));
  }
  return {};
}

Result<Sampling> ReadSampling(const JsonReader& reader) {
  Sampling sampling;
  SZARENA_TRY(sampling.temperature, reader.OptionalNumber("temperature"));
  SZARENA_TRY(sampling.top_p, reader.OptionalNumber("top_p"));
  SZARENA_TRY(sampling.max_output_tokens, reader.OptionalInt("max_output_tokens"));
  SZARENA_TRY(sampling.thinking_tokens, reader.OptionalInt("thinking_tokens"));
  SZARENA_TRY(const auto effort, reader.OptionalString("effort"));
  sampling.effort = effort.value_or("");
  if (sampling.max_output_tokens && *sampling.max_output_tokens < 1) {
    return tl::unexpected(reader.Fault("max_output_tokens", "is not positive"));
  }
  return sampling;
}

Result<Price> ReadPrice(const JsonReader& reader) {
  SZARENA_TRY_VOID(reader.RefuseOtherKeys({"input", "output", "cached_input", "cache_write"}));
  Price price;
  SZARENA_TRY(price.in, reader.GetNumber("input"));
  SZARENA_TRY(price.out, reader.GetNumber("output"));
  SZARENA_TRY(price.cached, reader.OptionalNumber("cached_input"));
  SZARENA_TRY(price.written, reader.OptionalNumber("cache_write"));
  for (const double value :
       {price.in, price.out, price.cached.value_or(0), price.written.value_or(0)}) {
    if (!(value >= 0)) return tl::unexpected(reader.Fault("input", "or another price is negative"));
  }
  return price;
}

// Each table below `key`, by name.
Result<std::vector<std::pair<std::string, JsonReader>>> Tables(const JsonReader& reader,
                                                               std::string_view key) {
  std::vector<std::pair<std::string, JsonReader>> tables;
  if (!reader.Has(key)) return tables;
  SZARENA_TRY(const JsonReader parent, reader.GetObject(key));
  for (const data::JsonMember& member : parent.json().members()) {
    SZARENA_TRY(JsonReader table, parent.GetObject(member.key));
    tables.emplace_back(member.key, std::move(table));
  }
  return tables;
}

Result<void> ReadFile(const data::Json& json, Settings& settings) {
  const JsonReader reader(json, settings.path);
  SZARENA_TRY_VOID(reader.RefuseOtherKeys({"providers", "agents", "prices"}));
  SZARENA_TRY(const auto providers, Tables(reader, "providers"));
  for (const auto& [name, table] : providers) {
    if (name.find(':') != std::string::npos) {
      return tl::unexpected(table.Fault(name, "has a colon in its name"));
    }
    SZARENA_TRY_VOID(ReadProvider(table, settings.providers[name]));
  }
  SZARENA_TRY(const auto agents, Tables(reader, "agents"));
  for (const auto& [name, table] : agents) {
    SZARENA_TRY_VOID(table.RefuseOtherKeys(
        {"model", "temperature", "top_p", "max_output_tokens", "thinking_tokens", "effort"}));
    NamedModel& named = settings.agents[name];
    SZARENA_TRY(named.model, table.GetString("model"));
    SZARENA_TRY(named.sampling, ReadSampling(table));
  }
  SZARENA_TRY(const auto prices, Tables(reader, "prices"));
  for (const auto& [name, table] : prices) {
    SZARENA_TRY(settings.prices[name], ReadPrice(table));
  }
  return {};
}

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

}  // namespace

std::string SettingsPath(const Environment& environment) {
  if (const char* path = environment("SZARENA_MODELS"); path && *path) return path;
  const char* config = environment("XDG_CONFIG_HOME");
  if (config && *config) return std::string(config) + "/szarena/models.toml";
  const char* home = environment("HOME");
  return std::string(home && *home ? home : ".") + "/.config/szarena/models.toml";
}

Result<Settings> ReadSettings(const std::string& path, const Environment& environment) {
  Settings settings;
  settings.providers = BuiltIn();
  settings.path = path;
  if (path.empty()) {
    const std::string usual = SettingsPath(environment);
    std::error_code ignored;
    if (!std::filesystem::exists(usual, ignored)) return settings;
    settings.path = usual;
  }
  SZARENA_TRY(const data::Json json, data::ReadTomlFile(settings.path));
  SZARENA_TRY_VOID(ReadFile(json, settings));
  return settings;
}

bool NamesModel(const Settings& settings, const std::string& agent) {
  if (settings.agents.contains(agent)) return true;
  const size_t colon = agent.find(':');
  return colon != std::string::npos && settings.providers.contains(agent.substr(0, colon));
}

Result<HttpModelConfig> ConfigFor(const Settings& settings, const std::string& agent,
                                  const Environment& environment) {
  HttpModelConfig config;
  std::string name = agent;
  if (const auto named = settings.agents.find(agent); named != settings.agents.end()) {
    name = named->second.model;
    config.wire.sampling = named->second.sampling;
  }
  const size_t colon = name.find(':');
  const auto found = settings.providers.find(name.substr(0, colon));
  if (colon == std::string::npos || found == settings.providers.end() || colon + 1 == name.size()) {
    std::string known;
    for (const auto& [key, value] : settings.providers) known += " " + key;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' names no model; expected PROVIDER:MODEL with a provider of:{}",
                            name, known));
  }
  const Provider& provider = found->second;
  config.provider = found->first;
  config.protocol = provider.protocol;
  config.wire.base_url = provider.base_url;
  config.wire.model = name.substr(colon + 1);
  config.wire.stream = provider.stream;
  config.wire.echo_reasoning = provider.echo_reasoning;
  config.headers = provider.headers;
  if (provider.idle_timeout_seconds)
    config.idle_timeout = Milliseconds(*provider.idle_timeout_seconds);
  if (provider.total_timeout_seconds)
    config.total_timeout = Milliseconds(*provider.total_timeout_seconds);
  if (provider.tries) config.retry.attempts = static_cast<int>(*provider.tries);
  if (provider.max_reply_bytes)
    config.max_reply_bytes = static_cast<size_t>(*provider.max_reply_bytes);
  const auto price_of = [&](const std::string& model) -> std::optional<Price> {
    // The whole name wins.
    for (const std::string& key : {fmt::format("{}:{}", config.provider, model), model}) {
      const auto price = settings.prices.find(key);
      if (price != settings.prices.end()) return price->second;
    }
    return std::nullopt;
  };
  config.price = price_of(config.wire.model);
  for (const std::string& model : provider.side_models) config.side_models[model] = price_of(model);
  SZARENA_TRY(auto key, FindKey(config.provider, provider.key_variable, environment));
  if (!key && provider.needs_key) {
    return Fail(
        ErrorCode::kUnavailable,
        fmt::format("no key for '{}': set {} or write a line '{} = \"...\"' to '{}' (mode 600)",
                    config.provider, provider.key_variable, config.provider,
                    KeyringPath(environment)));
  }
  if (key) config.key = std::move(*key);
  for (const auto& [header, variable] : provider.header_variables) {
    const char* value = environment(variable);
    if (!value || !*value) {
      return Fail(ErrorCode::kUnavailable,
                  fmt::format("provider '{}' needs the environment variable {}", config.provider,
                              variable));
    }
    SZARENA_TRY(Secret secret, MakeSecret(value, fmt::format("environment variable {}", variable)));
    config.secret_headers.emplace_back(header, std::move(secret));
  }
  const bool sends_secrets = !config.key.empty() || !config.secret_headers.empty();
  if (sends_secrets && !provider.plain_http && !provider.base_url.starts_with("https://") &&
      !net::IsLoopback(net::UrlHost(provider.base_url))) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("provider '{}': a key would go unencrypted to '{}'; use https, or say "
                            "plain_http = true",
                            config.provider, provider.base_url));
  }
  return config;
}

}  // namespace szarena::model
