#include "runtime/schedule/world.h"

#include <fcntl.h>

#include "runtime/schedule/busy.h"

namespace deadheat::runtime {

namespace {

constexpr uint32_t kGoneAfterLooks = 2;

// Whether calls on it return at once (EAGAIN).
bool never_blocks(int fd) {
  const long flags = system_call(SYS_fcntl, fd, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

bool has_events(int fd, short events) {
  pollfd one = {fd, events, 0};
  return system_call(SYS_poll, reinterpret_cast<long>(&one), 1, 0) != 0;
}

// Several threads may wait for one descriptor (a pipe with one byte in it is a lock): all are
// woken, and the first takes the data. The others wait again, here and not in the kernel, where
// they would keep the baton until the monitor notices.
Woken await_descriptor(Thread& self, int fd, short events, uint64_t deadline_ns) {
  for (;;) {
    schedule_lock.lock();
    self.state = State::kBlocked;
    self.fd = fd;
    self.events = events;
    self.deadline_ns = deadline_ns;
    pass_baton(self);
    if (self.woken != Woken::kReleased || has_events(fd, events)) return self.woken;
  }
}

}  // namespace

bool is_readable(const Thread& thread) { return has_events(thread.fd, thread.events); }

// Checked with every decision: many descriptors with one call.
void wake_readable() {
  constexpr size_t kAtOnce = 64;
  pollfd fds[kAtOnce];
  Thread* waiting[kAtOnce];
  for (Thread* thread = threads; thread != nullptr;) {
    size_t count = 0;
    for (; thread != nullptr && count < kAtOnce; thread = thread->next_thread)
      if (thread->state == State::kBlocked && thread->fd >= 0) {
        fds[count] = {thread->fd, thread->events, 0};
        waiting[count++] = thread;
      }
    if (count == 0 ||
        system_call(SYS_poll, reinterpret_cast<long>(fds), static_cast<long>(count), 0) <= 0)
      continue;
    for (size_t i = 0; i < count; ++i)
      if (fds[i].revents != 0) wake(*waiting[i], Woken::kReleased);
  }
}

// A signal handler waits for the thread to leave this wait.
void take_signal(Thread& self) {
  if (self.common.signal_waits && self.state == State::kBlocked) wake(self, Woken::kInterrupted);
}

bool is_gone(const Thread& thread) { return thread.outside_looks >= kGoneAfterLooks; }

void count_waiting(Waiting& waiting) {
  for (const Thread* thread = threads; thread != nullptr; thread = thread->next_thread) {
    if (thread->state == State::kOutside) {
      ++waiting.outside;
      if (!is_gone(*thread)) ++waiting.soon_back;
    }
    if (thread->state != State::kEnded) ++waiting.alive;
    if (thread->state == State::kBlocked && thread->fd >= 0 && waiting.fd_count < 64)
      waiting.fds[waiting.fd_count++] = {thread->fd, thread->events, 0};
  }
}

// No thread can run, none is outside, and no deadline will pass: but a signal may be on its way.
bool signal_comes(Thread& self) {
  for (int i = 0; i < 20; ++i) {
    schedule_lock.unlock();
    system_call(SYS_poll, 0, 0, 5);
    schedule_lock.lock();
    take_signal(self);
    for (const Thread* thread = threads; thread != nullptr; thread = thread->next_thread)
      if (is_enabled(*thread)) return true;
  }
  return false;
}

// The other end of a descriptor may be another process, for which virtual hours must not pass
// before it answers. If it never answers, both ends are in this process: check less often. Threads
// that return from outside wait for the lock meanwhile.
bool world_answers(Waiting& waiting) {
  constexpr int kAnswer_ms = 1;
  constexpr uint32_t kSilences = 20, kEvery = 64;
  static uint32_t silences;
  if (waiting.fd_count == 0 || (silences > kSilences && ++silences % kEvery != 0)) return false;
  const bool answers = system_call(SYS_poll, reinterpret_cast<long>(waiting.fds),
                                   static_cast<long>(waiting.fd_count), kAnswer_ms) > 0;
  silences = answers ? 0 : silences + 1;
  return answers;
}

// Waits for external changes: descriptors, a signal.
void await_world(Waiting& waiting, int time_ms) {
  schedule_lock.unlock();
  system_call(SYS_poll, reinterpret_cast<long>(waiting.fds), static_cast<long>(waiting.fd_count),
              time_ms);
  schedule_lock.lock();
}

bool mode_outside_begin(Thread* self, Address pc, const char* name, int fd, short events,
                        uint64_t deadline_ns, Woken* woken) {
  self->outside_name = nullptr;
  if (fd >= 0 && never_blocks(fd)) {
    mode_point(self, pc, Point::kOutside, static_cast<Address>(fd));
    return false;
  }
  if (alone(*self) && deadline_ns == kForever) return false;
  const Busy busy(*self);
  schedule_lock.lock();
  if (self->state != State::kRunning) take_turn(*self), schedule_lock.lock();
  self->next = {.point = Point::kOutside, .pc = pc, .object = static_cast<Address>(fd), .size = 1};
  if (fd >= 0) {
    schedule_lock.unlock();
    *woken = await_descriptor(*self, fd, events, deadline_ns);
    return true;
  }
  self->state = State::kOutside;
  self->outside_looks = 0;
  self->outside_name = name;
  count_outside(name);
  hand_on(*self);
  schedule_lock.unlock();
  return false;
}

void mode_outside_end(Thread* self) {
  if (self->outside_name == nullptr) return;
  self->outside_name = nullptr;
  const Busy busy(*self);
  schedule_lock.lock();
  take_turn(*self);
}

}  // namespace deadheat::runtime
