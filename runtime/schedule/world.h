// What we cannot schedule: descriptors whose other end may be in any process, calls that wait in
// the kernel, signals.
#pragma once

#include <poll.h>

#include "runtime/schedule/schedule.h"

namespace deadheat::runtime {

struct Waiting {
  size_t outside = 0, soon_back = 0, alive = 0;
  pollfd fds[64];
  size_t fd_count = 0;
};

// --- Under schedule_lock.
void wake_readable();                // threads whose descriptors have the awaited events
bool is_gone(const Thread& thread);  // outside, and not expected back soon
void count_waiting(Waiting& waiting);
bool world_answers(Waiting& waiting);
void await_world(Waiting& waiting, int time_ms);
bool signal_comes(Thread& self);
void take_signal(Thread& self);

}  // namespace deadheat::runtime
