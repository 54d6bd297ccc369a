// The end of the process. In Java, the paper's language, it ends with its last thread; here the
// first call of exit, or main's return, ends all other threads wherever they are. So in two of
// three trials, a thread about to exit is held back until no other can run: the others may be on
// their way to the race. In the third it continues, since a running thread may race with the
// handlers.
#include "runtime/common/intercept/interceptor.h"
#include "runtime/schedule/busy.h"
#include "runtime/schedule/strategy.h"
#include "runtime/schedule/trial.h"

namespace deadheat::runtime {

REAL_FUNCTION(int, on_exit, (void (*function)(int, void*), void* argument))

namespace {

bool registered;

// The decision log has no coin: a trial that follows it knows the seed.
bool lingers() { return strategy == &serial || trial().seed % 3 != 0; }

void linger(int, void*) {
  Thread* const self = tls_self;
  if (self == nullptr || !mode_schedules(self) || alone(*self) || !lingers()) return;
  hold_until_last(*self, {.point = Point::kFinish});
}

}  // namespace

// Registered late, it runs before the handlers and destructors of what was there before threads.
void linger_at_exit() {
  if (registered) return;
  registered = true;
  REAL(on_exit)(linger, nullptr);
}

}  // namespace deadheat::runtime
