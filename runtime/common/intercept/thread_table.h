// Maps a pthread_t to the mode's thread, for threads that can still be joined.
#pragma once

#include <pthread.h>

#include "runtime/common/mode.h"

namespace deadheat::runtime {

struct ThreadStart;

// A pthread_t is reused as soon as the real join returns, before the joiner has told us: find()
// returns the younger of two entries with the same name, and remove() names both.
void thread_table_add(pthread_t name, Thread* thread);
Thread* thread_table_find(pthread_t name);
void thread_table_remove(pthread_t name, Thread* thread);
void thread_table_lock();
void thread_table_unlock();

}  // namespace deadheat::runtime
