// SPDX-License-Identifier: Apache-2.0
// JSON-RPC 2.0 as MCP uses it: errors and messages.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "data/json.h"

namespace szarena::mcp {

// Codes of JSON-RPC and of the protocol (specification 2026-07-28, basic/index, "Error Codes").
enum ErrorNumber : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
  kResourceNotFound = -32002,  // of the handshake era; later revisions say kInvalidParams
  kHeaderMismatch = -32020,
  kMissingCapability = -32021,
  kUnsupportedVersion = -32022,
};

struct RpcError {
  int code = kInternalError;
  std::string message;
  data::Json data = {};  // null: none
};

// What a request gives: a result, or an error that is told to the peer.
using Reply = tl::expected<data::Json, RpcError>;

inline tl::unexpected<RpcError> Refuse(int code, std::string message, data::Json data = {}) {
  return tl::unexpected(RpcError{code, std::move(message), std::move(data)});
}

// {"jsonrpc", "id", "result" or "error"}
data::Json ResponseMessage(const data::Json& id, const Reply& reply);
data::Json NotificationMessage(std::string_view method, data::Json params);

}  // namespace szarena::mcp
