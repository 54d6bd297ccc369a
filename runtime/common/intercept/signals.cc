// Signals. The kernel is given our handler, which calls the program's: with errno saved, with the
// thread's signal_depth raised, ordered after its installation and after every kill() of this
// process. What the program asks for with sigaction is what it gave.
//
// A handler that comes while the runtime itself is at work (signals.h) waits in a short queue of
// the thread. If the queue is full it runs at once and unseen: its synchronisation is missed.
#include "runtime/common/intercept/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/types.h>
#include <ucontext.h>

#include "runtime/common/intercept/descriptors.h"

namespace deadheat::runtime {

REAL_FUNCTION(int, pthread_sigmask, (int how, const sigset_t* set, sigset_t* old))

namespace {

constexpr int kSignals = 65;
constexpr uint32_t kMaxPending = 8;

using Handler = void (*)(int, siginfo_t*, void*);

struct Installed {
  Handler handler;  // also for one-argument handlers, which ignore the others
  sigset_t mask;
  bool with_info;  // the program's SA_SIGINFO
};

Installed installed[kSignals];

struct Pending {
  int signal;
  siginfo_t info;
};

struct HandlerFrame {
  Address frame;
  HandlerFrame* outer;
  Thread* hidden;  // the result of on_signal_begin
};

bool is_busy(Thread* thread) { return common(thread).inside != 0 || common(thread).critical != 0; }

__thread Pending pending[kMaxPending] __attribute__((tls_model("initial-exec")));
__thread HandlerFrame* frames __attribute__((tls_model("initial-exec")));

Address signal_object(int signal) { return address_of(&installed[signal]); }

bool valid(int signal) { return signal > 0 && signal < kSignals; }

// Which signal a timer sends, and which ones a descriptor gets, is not followed: each has one
// object, which gets every event as soon as the process has a timer or such a descriptor.
uint64_t timers, signal_descriptors;  // their addresses are the objects
bool has_timers, has_signal_descriptors;

void tells_signal_descriptors(Address pc) {
  if (__atomic_load_n(&has_signal_descriptors, __ATOMIC_RELAXED))
    on_happens_before(self(), pc, address_of(&signal_descriptors));
}

// To this process or another, which may answer.
void sends(int signal, Address pc) {
  if (!valid(signal) || self() == nullptr) return;
  object_publishes(self(), pc, signal_object(signal));
  tells_signal_descriptors(pc);
}

void sets_timer(Address pc) {
  __atomic_store_n(&has_timers, true, __ATOMIC_RELAXED);
  if (self() == nullptr) return;
  on_happens_before(self(), pc, address_of(&timers));
  tells_signal_descriptors(pc);
}

void got_signal(Thread* thread, Address pc, int signal) {
  on_happens_after(thread, pc, signal_object(signal));
  if (__atomic_load_n(&has_timers, __ATOMIC_RELAXED))
    on_happens_after(thread, pc, address_of(&timers));
}

bool synchronous(int signal, const siginfo_t* info) {
  const bool fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
                     signal == SIGFPE || signal == SIGTRAP || signal == SIGSYS;
  return fault && info->si_code > 0;
}

CALLS_PROGRAM void run_handler(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const Handler handler = __atomic_load_n(&installed[signal].handler, __ATOMIC_ACQUIRE);
  Thread* const thread = self();
  if (handler == nullptr) return;
  if (thread == nullptr) {
    handler(signal, info, context);
    errno = saved;
    return;
  }
  ++common(thread).signal_depth;
  HandlerFrame frame{address_of(__builtin_frame_address(0)), frames, on_signal_begin(thread)};
  frames = &frame;
  if (frame.hidden == nullptr) got_signal(thread, CALLER, signal);
  handler(signal, info, context);
  frames = frame.outer;
  on_signal_end(frame.hidden);
  --common(thread).signal_depth;
  errno = saved;
}

void on_signal(int signal, siginfo_t* info, void* context) {
  Thread* const thread = self();
  if (thread == nullptr || !is_busy(thread)) {
    run_handler(signal, info, context);
    return;
  }
  if (!synchronous(signal, info) && local.pending_signals < kMaxPending) {
    pending[local.pending_signals] = {signal, *info};
    ++local.pending_signals;
    common(thread).signal_waits = true;
    return;
  }
  tls_self = nullptr;
  run_handler(signal, info, context);
  tls_self = thread;
}

bool ours(const struct sigaction& action) { return action.sa_sigaction == on_signal; }

bool catches(const struct sigaction& action) {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

int waited(int signal, Address pc) {
  if (valid(signal) && self() != nullptr) got_signal(self(), pc, signal);
  return signal;
}

}  // namespace

void run_pending_signals() {
  Thread* const thread = self();
  if (thread == nullptr || is_busy(thread)) return;
  common(thread).signal_waits = false;
  while (local.pending_signals > 0) {
    Pending next = pending[0];
    sigset_t mask = installed[next.signal].mask, old;
    sigaddset(&mask, next.signal);
    REAL(pthread_sigmask)(SIG_BLOCK, &mask, &old);
    for (uint32_t i = 1; i < local.pending_signals; ++i) pending[i - 1] = pending[i];
    --local.pending_signals;
    ucontext_t context;
    getcontext(&context);
    run_handler(next.signal, &next.info, &context);
    REAL(pthread_sigmask)(SIG_SETMASK, &old, nullptr);
  }
}

void leave_handlers(Address target) {
  Thread* const thread = self();
  while (frames != nullptr && frames->frame < target) {
    on_signal_end(frames->hidden);
    if (thread != nullptr && common(thread).signal_depth > 0) --common(thread).signal_depth;
    frames = frames->outer;
  }
}

namespace {

// Installs `action` behind our handler, and translates the previous one to what the program set.
template <typename Real>
int install(int signal, const struct sigaction* action, struct sigaction* old, Address pc,
            Real real) {
  if (!valid(signal) || signal == SIGKILL || signal == SIGSTOP) return real(signal, action, old);
  const Handler former = installed[signal].handler;
  const bool wrapped = action != nullptr && catches(*action);
  struct sigaction changed;
  if (wrapped) {
    changed = *action;
    changed.sa_sigaction = on_signal;
    changed.sa_flags |= SA_SIGINFO;
    if (self() != nullptr) on_happens_before(self(), pc, signal_object(signal));
    installed[signal].mask = action->sa_mask;
    __atomic_store_n(&installed[signal].handler, action->sa_sigaction, __ATOMIC_RELEASE);
  }
  struct sigaction found;
  const int result = real(signal, wrapped ? &changed : action, &found);
  if (result != 0) {
    if (wrapped) __atomic_store_n(&installed[signal].handler, former, __ATOMIC_RELEASE);
    return result;
  }
  if (old != nullptr) {
    *old = found;
    if (ours(found)) {
      old->sa_sigaction = former;
      if (!installed[signal].with_info) old->sa_flags &= ~SA_SIGINFO;
    }
  }
  if (wrapped) installed[signal].with_info = (action->sa_flags & SA_SIGINFO) != 0;
  return result;
}

}  // namespace

INTERCEPT(int, sigaction, (int signal, const struct sigaction* action, struct sigaction* old)) {
  return install(signal, action, old, CALLER, REAL(sigaction));
}

INTERCEPT_ALIAS(int, __sigaction,
                (int signal, const struct sigaction* action, struct sigaction* old)) {
  return install(signal, action, old, CALLER, REAL(sigaction));
}

namespace {

sighandler_t set_handler(int signal, sighandler_t handler, int flags, Address pc) {
  struct sigaction action = {}, old;
  action.sa_handler = handler;
  action.sa_flags = flags;
  if ((flags & SA_RESETHAND) == 0) sigaddset(&action.sa_mask, signal);
  if (handler == SIG_ERR || !valid(signal)) {
    errno = EINVAL;
    return SIG_ERR;
  }
  return install(signal, &action, &old, pc, REAL(sigaction)) == 0 ? old.sa_handler : SIG_ERR;
}

}  // namespace

#define SETS_HANDLER(name, flags)                                                          \
  EXPORTED sighandler_t intercept_##name(int signal, sighandler_t handler) __asm__(#name); \
  extern "C" sighandler_t intercept_##name(int signal, sighandler_t handler) {             \
    return set_handler(signal, handler, flags, CALLER);                                    \
  }

SETS_HANDLER(signal, SA_RESTART)
SETS_HANDLER(bsd_signal, SA_RESTART)
SETS_HANDLER(ssignal, SA_RESTART)
SETS_HANDLER(sysv_signal, SA_RESETHAND | SA_NODEFER)
SETS_HANDLER(__sysv_signal, SA_RESETHAND | SA_NODEFER)
#undef SETS_HANDLER

INTERCEPT(int, raise, (int signal)) {
  sends(signal, CALLER);
  return REAL(raise)(signal);
}

INTERCEPT(int, kill, (pid_t process, int signal)) {
  sends(signal, CALLER);
  return REAL(kill)(process, signal);
}

INTERCEPT(int, tgkill, (pid_t process, pid_t thread, int signal)) {
  sends(signal, CALLER);
  return REAL(tgkill)(process, thread, signal);
}

INTERCEPT(int, pthread_kill, (pthread_t thread, int signal)) {
  sends(signal, CALLER);
  return REAL(pthread_kill)(thread, signal);
}

INTERCEPT(int, sigqueue, (pid_t process, int signal, const sigval value)) {
  sends(signal, CALLER);
  return REAL(sigqueue)(process, signal, value);
}

INTERCEPT(int, pthread_sigqueue, (pthread_t thread, int signal, const sigval value)) {
  sends(signal, CALLER);
  return REAL(pthread_sigqueue)(thread, signal, value);
}

INTERCEPT(int, sigwait, (const sigset_t* set, int* signal)) {
  const int result = REAL(sigwait)(set, signal);
  if (result == 0) waited(*signal, CALLER);
  return result;
}

INTERCEPT(int, sigwaitinfo, (const sigset_t* set, siginfo_t* info)) {
  return waited(REAL(sigwaitinfo)(set, info), CALLER);
}

INTERCEPT(int, sigtimedwait, (const sigset_t* set, siginfo_t* info, const timespec* timeout)) {
  return waited(REAL(sigtimedwait)(set, info, timeout), CALLER);
}

INTERCEPT(int, signalfd, (int fd, const sigset_t* set, int flags)) {
  __atomic_store_n(&has_signal_descriptors, true, __ATOMIC_RELAXED);
  const int result = REAL(signalfd)(fd, set, flags);
  if (result >= 0) descriptor_stands_for(result, address_of(&signal_descriptors));
  return result;
}

INTERCEPT(int, setitimer, (int which, const itimerval* time, itimerval* old)) {
  sets_timer(CALLER);
  return REAL(setitimer)(which, time, old);
}

INTERCEPT(unsigned, alarm, (unsigned seconds)) {
  sets_timer(CALLER);
  return REAL(alarm)(seconds);
}

INTERCEPT(int, timer_settime, (timer_t timer, int flags, const itimerspec* time, itimerspec* old)) {
  sets_timer(CALLER);
  return REAL(timer_settime)(timer, flags, time, old);
}

}  // namespace deadheat::runtime
