// SPDX-License-Identifier: Apache-2.0
// The one way from an agent program to its model: allows that service's calls and nothing else,
// puts the key in, counts tokens, and closes when the budget is used up.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "agent/budget.h"
#include "agent/transcript.h"
#include "base/error.h"
#include "model/http_model.h"
#include "net/server/http_server.h"

namespace szarena::program {

// Serves from its creation to its destruction. Meter and transcript must outlive it.
class ModelProxy {
 public:
  // Requests are sent on to `config`'s address with `config`'s key, whatever their own say. They
  // may ask for config.wire.model (empty: any) and its side_models.
  ModelProxy(net::Listener listener, model::HttpModelConfig config, agent::Meter& meter,
             agent::Transcript& transcript);

  // Why the budget cannot be kept: the service does not tell its tokens.
  std::optional<Error> fault() const;

 private:
  struct Call;
  void Handle(const net::Incoming& request, net::Reply& reply);
  void Forward(const Call& call, const net::Incoming& request, net::Reply& reply);
  std::string ModelFault(const std::string& model) const;
  std::optional<model::Price> PriceOf(const std::string& model) const;
  void Count(const Call& call, const model::Reply& answer, double seconds);

  const model::HttpModelConfig config_;
  const model::Wire& wire_;
  agent::Meter& meter_;
  agent::Transcript& transcript_;
  mutable std::mutex mutex_;
  std::optional<Error> fault_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace szarena::program
