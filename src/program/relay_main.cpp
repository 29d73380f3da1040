// SPDX-License-Identifier: Apache-2.0
// relay PORT=SOCKET... -- PROGRAM [ARGUMENT...]: inside a sandbox whose network is only a loopback
// interface, listens on each port and hands every connection to the Unix socket, the one way out,
// while the program runs. Ends with the program and its status.
#include <arpa/inet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));  // NOLINT(concurrency-mt-unsafe)
  _exit(125);
}

int Listen(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0 ||
      listen(fd, 64) < 0) {
    Die("cannot listen");
  }
  return fd;
}

int Connect(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  std::fprintf(stderr, "relay: cannot connect to %s: %s\n", path.c_str(),
               strerror(errno));  // NOLINT(concurrency-mt-unsafe)
  if (fd >= 0) close(fd);
  return -1;
}

// Until `from` has nothing more to say, or `to` no longer listens.
void Copy(int from, int to) {
  char buffer[65536];
  for (;;) {
    const ssize_t got = read(from, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    for (ssize_t done = 0; done < got;) {
      const ssize_t sent = send(to, buffer + done, static_cast<size_t>(got - done), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) {
        shutdown(from, SHUT_RD);
        return;
      }
      done += sent;
    }
  }
  shutdown(to, SHUT_WR);
}

void Serve(int listener, const std::string& path) {
  for (;;) {
    const int inner = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (inner < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (inner < 0) Die("cannot accept");
    std::thread([inner, path] {
      const int outer = Connect(path);
      if (outer >= 0) {
        std::thread back(Copy, outer, inner);
        Copy(inner, outer);
        back.join();
        close(outer);
      }
      close(inner);
    }).detach();
  }
}

}  // namespace

int main(int argc, char** argv) {
  int at = 1;
  for (; at < argc && std::strcmp(argv[at], "--") != 0; ++at) {
    const std::string way = argv[at];
    const size_t equals = way.find('=');
    if (equals == std::string::npos) break;
    const int listener = Listen(std::atoi(way.c_str()));
    std::thread(Serve, listener, way.substr(equals + 1)).detach();
  }
  if (at + 1 >= argc) {
    std::fprintf(stderr, "usage: relay PORT=SOCKET... -- PROGRAM [ARGUMENT...]\n");
    return 125;
  }
  const pid_t child = fork();
  if (child < 0) Die("cannot fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(argv[at + 1], argv + at + 1);
    Die(argv[at + 1]);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) Die("cannot wait");
  }
  std::fflush(stdout);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}
