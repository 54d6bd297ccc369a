// Barriers and semaphores.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "runtime/common/blocking.h"
#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

[[gnu::weak]] void on_semaphore_init(Thread*, Address, Address, uint32_t) {}
[[gnu::weak]] void on_semaphore_seen(Thread*, Address, Address) {}
[[gnu::weak]] void semaphore_wait_was_unseen() {}

namespace {

inline int waited(int result, Address pc, sem_t* semaphore) {
  if (result != 0 || nothing_to_do()) return result;
  if (self() != nullptr)
    on_semaphore_wait(self(), pc, address_of(semaphore));
  else
    semaphore_wait_was_unseen();
  return result;
}

REAL_FUNCTION(int, sem_trywait, (sem_t * semaphore))

template <typename Real>
int wait_semaphore(sem_t* semaphore, Address pc, clockid_t clock, const timespec* until,
                   Real real) {
  Thread* const thread = self();
  if (!scheduled(thread)) return waited(real(), pc, semaphore);
  Blocking how{thread, pc, Point::kSemaphore, semaphore};
  how.busy = EAGAIN;
  how.interrupted = EINTR;
  if (until != nullptr) how.deadline_ns = mode_deadline(clock, until);
  const auto attempt = [=] { return REAL(sem_trywait)(semaphore) == 0 ? 0 : errno; };
  const int result = block_until(how, attempt, attempt);
  if (result == 0) return waited(0, pc, semaphore);
  if (result == EINTR) pthread_testcancel();
  errno = result;
  return -1;
}

// Barriers while the mode decides who runs: one that is full lets all go. Those in use, by address.
struct Arrivals {
  const pthread_barrier_t* barrier;
  uint32_t arrived;
  uint32_t round;
};
constexpr size_t kMaxBarriers = 1024;
Arrivals arrivals[kMaxBarriers];
Lock arrivals_lock;

Arrivals* arrivals_at(const pthread_barrier_t* barrier) {
  const Locked locked(arrivals_lock);
  for (Arrivals& one : arrivals) {
    if (one.barrier != nullptr && one.barrier != barrier) continue;
    one.barrier = barrier;
    return &one;
  }
  return nullptr;
}

void forget_arrivals(const pthread_barrier_t* barrier) {
  if (!scheduled(self())) return;
  const Locked locked(arrivals_lock);
  for (Arrivals& one : arrivals)
    if (one.barrier == barrier) one.arrived = 0;
}

constexpr int kNotModelled = -2;  // shared with other processes, or too many

struct GlibcBarrier {  // its beginning, since glibc 2.23
  uint32_t in, round, count;
  int shared;
};

int wait_barrier(Thread* thread, Address pc, pthread_barrier_t* barrier) {
  const auto& fields = *reinterpret_cast<const GlibcBarrier*>(barrier);
  Arrivals* const here = fields.shared == 0 ? arrivals_at(barrier) : nullptr;
  if (here == nullptr) return kNotModelled;
  mode_point(thread, pc, Point::kBarrier, address_of(barrier));
  const uint32_t round = here->round;
  if (++here->arrived >= fields.count) {
    here->arrived = 0;
    ++here->round;
    released(barrier);
    return PTHREAD_BARRIER_SERIAL_THREAD;
  }
  while (here->round == round)
    mode_block(thread, pc, Point::kBarrier, address_of(barrier), kForever);
  return 0;
}

}  // namespace

INTERCEPT(int, pthread_barrier_init,
          (pthread_barrier_t * barrier, const pthread_barrierattr_t* how, unsigned count)) {
  const int result = REAL(pthread_barrier_init)(barrier, how, count);
  if (result == 0) was_written(self(), CALLER, barrier, 1);
  return result;
}

INTERCEPT(int, pthread_barrier_destroy, (pthread_barrier_t * barrier)) {
  was_written(self(), CALLER, barrier, 1);
  forget_arrivals(barrier);
  return REAL(pthread_barrier_destroy)(barrier);
}

INTERCEPT(int, pthread_barrier_wait, (pthread_barrier_t * barrier)) {
  Thread* const thread = self();
  if (thread == nullptr) return REAL(pthread_barrier_wait)(barrier);
  was_read(thread, CALLER, barrier, 1);
  on_barrier_enter(thread, CALLER, address_of(barrier));
  int result = scheduled(thread) ? wait_barrier(thread, CALLER, barrier) : kNotModelled;
  if (result == kNotModelled) result = REAL(pthread_barrier_wait)(barrier);
  if (result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD)
    on_barrier_leave(thread, CALLER, address_of(barrier));
  return result;
}

INTERCEPT(int, sem_post, (sem_t * semaphore)) {
  if (!nothing_to_do() && self() != nullptr)
    on_semaphore_post(self(), CALLER, address_of(semaphore));
  point(self(), CALLER, Point::kSemaphore, semaphore);
  const int result = REAL(sem_post)(semaphore);
  released(semaphore);
  return result;
}

INTERCEPT(int, sem_wait, (sem_t * semaphore)) {
  return wait_semaphore(semaphore, CALLER, 0, nullptr, [=] { return REAL(sem_wait)(semaphore); });
}

EXPORTED int intercept_sem_trywait(sem_t* semaphore) __asm__("sem_trywait");
extern "C" int intercept_sem_trywait(sem_t* semaphore) {
  point(self(), CALLER, Point::kTry, semaphore);
  return waited(REAL(sem_trywait)(semaphore), CALLER, semaphore);
}

INTERCEPT(int, sem_timedwait, (sem_t * semaphore, const timespec* until)) {
  return wait_semaphore(semaphore, CALLER, CLOCK_REALTIME, until,
                        [=] { return REAL(sem_timedwait)(semaphore, until); });
}

INTERCEPT(int, sem_clockwait, (sem_t * semaphore, clockid_t clock, const timespec* until)) {
  return wait_semaphore(semaphore, CALLER, clock, until,
                        [=] { return REAL(sem_clockwait)(semaphore, clock, until); });
}

INTERCEPT(int, sem_init, (sem_t * semaphore, int shared, unsigned tokens)) {
  const int result = REAL(sem_init)(semaphore, shared, tokens);
  // Other processes may post and wait, too.
  if (result == 0 && self() != nullptr)
    on_semaphore_init(self(), CALLER, address_of(semaphore), shared == 0 ? tokens : kUnknownTokens);
  return result;
}

INTERCEPT(int, sem_getvalue, (sem_t * semaphore, int* value)) {
  const int result = REAL(sem_getvalue)(semaphore, value);
  if (result != 0) return result;
  if (self() != nullptr) on_semaphore_seen(self(), CALLER, address_of(semaphore));
  was_written(self(), CALLER, value, sizeof *value);
  return result;
}

// sem_open and similar calls do not reset history: a semaphore recreated at an address inherits the
// edges of the old one, which can hide a race but never invent one.

}  // namespace deadheat::runtime
