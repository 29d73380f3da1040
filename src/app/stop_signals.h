// SPDX-License-Identifier: Apache-2.0
// Ctrl-C asks long work to stop; a second one ends the program at once.
#pragma once

#include <signal.h>

#include <stop_token>
#include <thread>

namespace szarena::app {

// While an object lives, SIGINT and SIGTERM request a stop instead of killing the program. The work
// looks at token() where it can stop cleanly. To be made before other threads are started.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  std::stop_token token() const { return source_.get_token(); }

 private:
  void Watch(const std::stop_token& end);

  sigset_t previous_mask_{};
  std::stop_source source_;
  std::jthread watcher_;  // last: ends before the rest goes
};

}  // namespace szarena::app
