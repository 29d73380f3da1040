// SPDX-License-Identifier: Apache-2.0
#include "mcp/rpc.h"

namespace szarena::mcp {

using data::Json;

Json ResponseMessage(const Json& id, const Reply& reply) {
  Json message = Json::Of({{"jsonrpc", "2.0"}, {"id", id}});
  if (reply) return message.Set("result", *reply);
  Json error = Json::Of({{"code", reply.error().code}, {"message", reply.error().message}});
  if (!reply.error().data.is_null()) error.Set("data", reply.error().data);
  return message.Set("error", std::move(error));
}

Json NotificationMessage(std::string_view method, Json params) {
  return Json::Of({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
}

}  // namespace szarena::mcp
