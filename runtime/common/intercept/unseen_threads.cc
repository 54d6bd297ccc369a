#include "runtime/common/intercept/unseen_threads.h"

#include <aio.h>
#include <mqueue.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "runtime/common/intercept/interceptor.h"

namespace deadheat::runtime {

namespace {

uint64_t starts;

void looks_at(const sigevent* event) {
  if (event != nullptr && event->sigev_notify == SIGEV_THREAD) thread_is_unseen();
}

}  // namespace

void thread_is_unseen() { __atomic_fetch_add(&starts, 1, __ATOMIC_RELAXED); }
bool has_unseen_threads() { return unseen_thread_starts() != 0; }
uint64_t unseen_thread_starts() { return __atomic_load_n(&starts, __ATOMIC_RELAXED); }

INTERCEPT(int, timer_create, (clockid_t clock, sigevent* event, timer_t* timer)) {
  looks_at(event);
  return REAL(timer_create)(clock, event, timer);
}

INTERCEPT(int, mq_notify, (mqd_t queue, const sigevent* event)) {
  looks_at(event);
  return REAL(mq_notify)(queue, event);
}

// The input and output itself is a thread's work, whatever it notifies with.
#define BEGINS_THREAD(name, parameters, arguments) \
  INTERCEPT(int, name, parameters) {               \
    thread_is_unseen();                            \
    return REAL(name) arguments;                   \
  }

BEGINS_THREAD(aio_read, (aiocb * one), (one))
BEGINS_THREAD(aio_read64, (aiocb64 * one), (one))
BEGINS_THREAD(aio_write, (aiocb * one), (one))
BEGINS_THREAD(aio_write64, (aiocb64 * one), (one))
BEGINS_THREAD(aio_fsync, (int operation, aiocb* one), (operation, one))
BEGINS_THREAD(aio_fsync64, (int operation, aiocb64* one), (operation, one))
BEGINS_THREAD(lio_listio, (int mode, aiocb* const* list, int count, sigevent* event),
              (mode, list, count, event))
BEGINS_THREAD(lio_listio64, (int mode, aiocb64* const* list, int count, sigevent* event),
              (mode, list, count, event))
BEGINS_THREAD(getaddrinfo_a, (int mode, gaicb** list, int count, sigevent* event),
              (mode, list, count, event))
#undef BEGINS_THREAD

// Variadic in its header; arguments that are not there are passed on as they come.
INTERCEPT(int, clone,
          (int (*body)(void*), void* stack, int flags, void* argument, void* a, void* b, void* c)) {
  if ((flags & CLONE_VM) != 0 && (flags & CLONE_VFORK) == 0) thread_is_unseen();
  return REAL(clone)(body, stack, flags, argument, a, b, c);
}

}  // namespace deadheat::runtime
