// SPDX-License-Identifier: Apache-2.0
// MCP over a pair of byte streams: one JSON message a line.
#pragma once

#include <stop_token>

#include "base/error.h"
#include "mcp/server.h"

namespace szarena::mcp {

// Serves until the input ends or a stop is requested; calls that still run are cancelled then. The
// output gets protocol messages and nothing else.
Result<void> ServeStdio(Server& server, int input_fd, int output_fd, const std::stop_token& stop);

}  // namespace szarena::mcp
