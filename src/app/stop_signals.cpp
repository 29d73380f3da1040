// SPDX-License-Identifier: Apache-2.0
// A thread that waits for the signals.
#include "app/stop_signals.h"

#include <unistd.h>

#include <cstdio>

#include "base/exit_code.h"

namespace szarena::app {
namespace {

sigset_t Signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t set = Signals();
  pthread_sigmask(SIG_BLOCK, &set, &previous_mask_);
  watcher_ = std::jthread([this](const std::stop_token& end) { Watch(end); });
}

StopSignals::~StopSignals() {
  watcher_.request_stop();
  watcher_.join();
  pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
}

void StopSignals::Watch(const std::stop_token& end) {
  const sigset_t set = Signals();
  const timespec pause{.tv_sec = 0, .tv_nsec = 100'000'000};
  while (!end.stop_requested()) {
    if (sigtimedwait(&set, nullptr, &pause) < 0) continue;  // nothing yet
    if (source_.stop_requested()) _exit(static_cast<int>(ExitCode::kInterrupted));
    std::fputs("\nszarena: stopping after the work at hand; once more stops at once\n", stderr);
    source_.request_stop();
  }
}

}  // namespace szarena::app
