// SPDX-License-Identifier: Apache-2.0
// Listening sockets: a loopback TCP port or a Unix socket.
#pragma once

#include <string>

#include "base/error.h"
#include "os/fd.h"

namespace szarena::net {

struct Listener {
  os::UniqueFd fd;
  int port = 0;      // of TCP
  std::string path;  // of a Unix socket
};

// "127.0.0.1", "::1" or another address of this machine; port 0 takes a free one.
Result<Listener> ListenTcp(const std::string& address, int port);
// A new socket file that only its owner may use; one that is there already is refused.
Result<Listener> ListenUnix(const std::string& path);

}  // namespace szarena::net
