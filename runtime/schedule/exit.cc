// The end of the process. In Java, the language of the paper, it ends with its last thread; here
// the first who calls exit, or main when it returns, ends all others wherever they stand. So who is
// about to exit is held back, in two of three trials, until nobody else can run: the others may be
// on their way to the race. In the third it goes on, since a thread that still runs may race with
// the handlers.
#include "runtime/common/intercept/interceptor.h"
#include "runtime/schedule/busy.h"
#include "runtime/schedule/strategy.h"
#include "runtime/schedule/trial.h"

namespace deadheat::runtime {

REAL_FUNCTION(int, on_exit, (void (*function)(int, void*), void* argument))

namespace {

bool registered;

// The log of decisions has no coin: a trial that follows it knows the seed.
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
