// Threads that come about without pthread_create: libc's own for timers, asynchronous input and
// output and name lookups (SIGEV_THREAD), clone(), and what those create. The runtime does not know
// them: what they do to synchronise is missed, for as long as the process lives.
#pragma once

#include <stdint.h>

namespace deadheat::runtime {

void thread_is_unseen();    // one will exist
bool has_unseen_threads();  // one may exist, or have existed
uint64_t unseen_thread_starts();

}  // namespace deadheat::runtime
