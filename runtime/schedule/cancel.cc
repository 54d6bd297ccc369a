// A thread that waits in the mode is not at a libc cancellation point: it is woken, and its
// interceptor checks for cancellation.
#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/intercept/thread_table.h"
#include "runtime/schedule/schedule.h"

namespace deadheat::runtime {

INTERCEPT(int, pthread_cancel, (pthread_t name)) {
  point(self(), CALLER, Point::kSignal, nullptr);
  Thread* const target = thread_table_find(name);
  const int result = REAL(pthread_cancel)(name);
  if (result != 0 || target == nullptr) return result;
  const Locked locked(schedule_lock);
  const bool cancellable = target->next.point == Point::kWait ||
                           target->next.point == Point::kSleep ||
                           target->next.point == Point::kSemaphore;
  if (target->state == State::kBlocked && cancellable) wake(*target, Woken::kInterrupted);
  return result;
}

}  // namespace deadheat::runtime
