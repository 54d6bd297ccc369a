// What is known when a descriptor is said to be ready (readiness.cc).
#pragma once

#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime {

// Whether events of poll or epoll tell what somebody else did.
bool has_news(uint32_t events);

// epoll: `data` is what the program gave with the descriptor, and gets back when it is ready.
void watch_begins(int epoll, int fd, uint64_t data);
void watched_is_ready(Address pc, int epoll, uint64_t data);

}  // namespace deadheat::runtime
