// SPDX-License-Identifier: Apache-2.0
#include "csl/driver/big_stack.h"

#include <pthread.h>

namespace szarena::csl {

void WithBigStack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_t thread;
  auto run = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{64} << 20);
  bool started =
      pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)) == 0;
  pthread_attr_destroy(&attributes);
  if (started)
    pthread_join(thread, nullptr);
  else
    work();  // no memory for the stack: the limits of the evaluator still hold on this one
}

}  // namespace szarena::csl
