// SPDX-License-Identifier: Apache-2.0
#include "net/server/listener.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>

#include "os/errno.h"

namespace szarena::net {
namespace {

constexpr int kBacklog = 64;

}  // namespace

Result<Listener> ListenTcp(const std::string& address, int port) {
  if (port < 0 || port > 65535) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is no port; expected 0 (a free one) to 65535", port));
  }
  sockaddr_storage storage = {};
  socklen_t size = 0;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<uint16_t>(port));
    size = sizeof *v4;
  } else if (inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<uint16_t>(port));
    size = sizeof *v6;
  } else {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is no address; expected one such as 127.0.0.1", address));
  }
  Listener listener;
  listener.fd = os::UniqueFd(socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!listener.fd || setsockopt(listener.fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
      bind(listener.fd.get(), reinterpret_cast<sockaddr*>(&storage), size) < 0 ||
      listen(listener.fd.get(), kBacklog) < 0 ||
      getsockname(listener.fd.get(), reinterpret_cast<sockaddr*>(&storage), &size) < 0) {
    return os::FailErrno(fmt::format("cannot listen on {} port {}", address, port));
  }
  listener.port = ntohs(storage.ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
  return listener;
}

Result<Listener> ListenUnix(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("socket path '{}' is longer than {} bytes",
                                                         path, sizeof address.sun_path - 1));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Listener listener;
  listener.path = path;
  listener.fd = os::UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.fd ||
      bind(listener.fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) < 0 ||
      chmod(path.c_str(), 0600) < 0 || listen(listener.fd.get(), kBacklog) < 0) {
    return os::FailErrno("cannot listen on socket '" + path + "'");
  }
  return listener;
}

}  // namespace szarena::net
