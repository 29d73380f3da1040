// SPDX-License-Identifier: Apache-2.0
// A model behind an HTTP service: a Wire with its address, key, limits, retries and price.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/retry.h"
#include "model/secret.h"
#include "model/wire.h"
#include "net/http_client.h"

namespace szarena::model {

// USD per million tokens, from the user's own table. Absent: the same as `in`.
struct Price {
  double in = 0;
  double out = 0;
  std::optional<double> cached = std::nullopt;   // input read from the service's cache
  std::optional<double> written = std::nullopt;  // input written to it
};

// Nothing where the service did not tell its tokens.
std::optional<double> CostUsd(const Price& price, const Usage& usage);

struct HttpModelConfig {
  std::string provider;  // "openai": as the user calls it
  std::string protocol;  // "openai-responses"
  WireConfig wire;
  Secret key;                                                  // empty: none is sent
  std::vector<net::Header> headers;                            // more of them, for gateways
  std::vector<std::pair<std::string, Secret>> secret_headers;  // whose values are keys, too
  std::chrono::milliseconds connect_timeout{30'000};
  std::chrono::milliseconds idle_timeout{600'000};  // models may think for long without a byte
  std::chrono::milliseconds total_timeout{3'600'000};
  size_t max_reply_bytes = 8 << 20;
  RetryPolicy retry;
  std::optional<Price> price = std::nullopt;
  // Models of the same service that an agent program may ask besides wire.model, each with its own
  // price where it has one.
  std::map<std::string, std::optional<Price>> side_models = {};
};

class HttpModel : public Model {
 public:
  // Client and waiter are its own; others are for tests.
  explicit HttpModel(HttpModelConfig config, std::unique_ptr<net::HttpClient> client = nullptr,
                     std::unique_ptr<Waiter> waiter = nullptr);
  data::Json Identity() const override;
  Result<Reply> Complete(const Request& request, const CallHooks& hooks) override;

 private:
  struct Outcome;
  Outcome Try(const std::string& body, const CallHooks& hooks);
  std::string Redact(std::string text) const;
  Error Redact(Error error) const;
  data::Json Redact(const data::Json& json) const;
  Reply Redact(Reply reply) const;

  HttpModelConfig config_;
  const Wire& wire_;
  std::unique_ptr<net::HttpClient> client_;
  std::unique_ptr<Waiter> waiter_;
  std::mt19937_64 random_;
};

}  // namespace szarena::model
