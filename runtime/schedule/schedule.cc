#include "runtime/schedule/schedule.h"

#include <linux/futex.h>
#include <string.h>

#include "runtime/schedule/busy.h"
#include "runtime/schedule/decision_log.h"
#include "runtime/schedule/release.h"
#include "runtime/schedule/report.h"
#include "runtime/schedule/strategy.h"
#include "runtime/schedule/trial.h"
#include "runtime/schedule/world.h"

namespace deadheat::runtime {

Lock schedule_lock;
Thread* threads;
Thread* holder;
uint64_t decisions;
uint64_t virtual_ns;
Counts counts;
const Strategy* strategy = &race_directed;

namespace {

// A held-back thread is released after this many decisions of others: they may be spinning until it
// acts (the paper's livelock breaker; counted rather than timed, so that a seed is reproducible).
constexpr uint64_t kPatience = 10000;
constexpr uint64_t kPatienceAtExit = 1000;     // others may run for ever
constexpr uint64_t kPatienceWithYields = 200;  // they spin, and say so by yielding
constexpr uint64_t kYieldsOfJump = 4;          // or wait for deadlines
uint64_t yields;

// Actions take time, even if no thread reads a clock: otherwise a thread that works without a pause
// would keep those asleep that are to end it. About the cost of a decision.
constexpr uint64_t kDecision_ns = 10'000;

enum Turn : uint32_t { kWait, kRun, kDescribe };

void futex_wait(uint32_t* word, uint32_t value) {
  system_call(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAIT_PRIVATE, value, 0);
}
void futex_wake(uint32_t* word) {
  system_call(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAKE_PRIVATE, 1);
}

uint32_t described;  // futex word
uint32_t alive;

void set_turn(Thread& thread, Turn turn) {
  __atomic_store_n(&thread.turn, turn, __ATOMIC_RELEASE);
  futex_wake(&thread.turn);
}

// With a time limit, because an unlimited wait resumes after a handler that was installed with
// SA_RESTART, and the deferred signal would never be handled. A signal may also arrive just before
// the call.
void futex_wait_a_while(uint32_t* word, uint32_t value, long time_ns) {
  const timespec time = {0, time_ns};
  system_call(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAIT_PRIVATE, value,
              reinterpret_cast<long>(&time));
}

// The lock's holder may be waiting for this thread to describe its stack: do not wait for it.
void wait_for_turn_or_signal(Thread& self) {
  if (!self.common.signal_waits) {
    futex_wait_a_while(&self.turn, kWait, 200'000'000);
    if (!self.common.signal_waits) return;
  }
  if (schedule_lock.try_lock()) {
    take_signal(self);
    schedule_lock.unlock();
  }
  futex_wait_a_while(&self.turn, kWait, 1'000'000);
}

void wait_turn(Thread& self) {
  for (;;) {
    switch (__atomic_exchange_n(&self.turn, kWait, __ATOMIC_ACQUIRE)) {
      case kRun:
        return;
      case kDescribe:
        describe_stack(self);
        __atomic_store_n(&described, 1, __ATOMIC_RELEASE);
        futex_wake(&described);
        break;
      default:
        wait_for_turn_or_signal(self);
        break;
    }
  }
}

void give_baton(Thread& next) {
  holder = &next;
  next.state = State::kRunning;
  ++next.turns;
  ++counts.switches;
  set_turn(next, kRun);
}

// Every fourth trial waits longer: others may sleep or yield a thousand times on their way.
uint64_t patience_with_yields() {
  constexpr uint64_t kPatientTrial = 20;
  return kPatienceWithYields * (trial().seed % 4 == 1 ? kPatientTrial : 1);
}

// A site that is passed thousands of times, each time in vain, gets less patience each time:
// otherwise the trial would not end.
uint64_t in_vain;
uint64_t shortened(uint64_t patience) {
  constexpr uint64_t kHalvings = 5;
  const uint64_t halvings = in_vain / 32;
  return patience >> (halvings < kHalvings ? halvings : kHalvings);
}

// Those who may be chosen. Wakes whose time has come, and lets go who was held back too long.
void gather(Choice& choice) {
  choice.count = 0;
  wake_readable();
  for (Thread* thread = threads; thread != nullptr; thread = thread->next_thread) {
    if (thread->state == State::kBlocked && thread->deadline_ns <= virtual_ns)
      wake(*thread, Woken::kTimedOut);
    const uint64_t patience = thread->leaves ? kPatienceAtExit : kPatience;
    if (thread->held_back && (decisions - thread->held_since > shortened(patience) ||
                              yields - thread->yields_before > shortened(patience_with_yields()))) {
      let_go(*thread);
      ++counts.let_go;
      ++in_vain;
    }
    if (is_enabled(*thread) && choice.count < kMaxChoice) choice.threads[choice.count++] = thread;
  }
}

// A sleep orders nothing: as long as a sleeping thread has not had its turn since the thread was
// held back, passing time does not mean that the wait is in vain.
bool all_had_their_turn(const Thread& held) {
  for (const Thread* thread = threads; thread != nullptr; thread = thread->next_thread)
    if (thread->state == State::kBlocked && thread->deadline_ns != kForever &&
        thread->time_came <= held.held_since)
      return false;
  return true;
}

// No thread can run, or runnable ones only wait in a loop: the clock advances to the next
// deadline.
bool advance_time() {
  uint64_t next = kForever;
  for (const Thread* thread = threads; thread != nullptr; thread = thread->next_thread)
    if (thread->state == State::kBlocked && thread->deadline_ns < next) next = thread->deadline_ns;
  if (next == kForever) return false;
  if (next > virtual_ns) virtual_ns = next;
  yields += kYieldsOfJump;
  for (Thread* thread = threads; thread != nullptr; thread = thread->next_thread)
    if (thread->held_back && !all_had_their_turn(*thread)) thread->yields_before += kYieldsOfJump;
  return true;
}

// The next that time would bring is a wait that gives up after more than a second (not a sleep): it
// would do so only because somebody is held back, as no system keeps a thread that can run from
// running for so long. What the program then does is not the race's doing.
bool would_give_up() {
  constexpr uint64_t kPlausible_ns = 1'000'000'000;
  const Thread* next = nullptr;
  for (const Thread* thread = threads; thread != nullptr; thread = thread->next_thread)
    if (thread->state == State::kBlocked && thread->deadline_ns != kForever &&
        (next == nullptr || thread->deadline_ns < next->deadline_ns))
      next = thread;
  return next != nullptr && next->next.point != Point::kSleep &&
         next->deadline_ns > virtual_ns + kPlausible_ns;
}

// All who could run go round in circles. They get some more rounds after time has passed.
bool all_spin(const Choice& choice) {
  for (size_t i = 0; i < choice.count; ++i)
    if (!choice.threads[i]->points.closed()) return false;
  for (size_t i = 0; i < choice.count; ++i) choice.threads[i]->points.open();
  return true;
}

void gather_held(Choice& choice, bool leaving) {
  choice.count = 0;
  for (Thread* thread = threads; thread != nullptr; thread = thread->next_thread)
    if (thread->state == State::kReady && thread->held_back && thread->leaves == leaving &&
        choice.count < kMaxChoice)
      choice.threads[choice.count++] = thread;
}

// Line 26 of Algorithm 1: all runnable threads are held back.
bool let_one_go(Choice& choice) {
  gather_held(choice, false);
  if (choice.count == 0) gather_held(choice, true);
  if (choice.count == 0) return false;
  Thread& freed = one_of(choice);
  let_go(freed);
  freed.next.flags |= DHD_LET_GO;
  ++counts.let_go;
  return true;
}

// Strategies that switch at every access hold no thread back: threads meet by chance. A thread that
// is ready before an access of the candidate could perform it now. If the chosen thread is about to
// perform a conflicting one, either could be next: that is the race, and the chosen one is first.
void report_meetings(Thread& chosen) {
  for (Thread* other = threads; other != nullptr; other = other->next_thread)
    if (other != &chosen && other->at_site && is_enabled(*other) &&
        would_race(chosen.next, other->next))
      report_race(chosen, *other, chosen.next.done || !other->next.done);
}

// Chooses the next thread; null: none can run now. While threads are outside they may return soon:
// no thread is woken before its deadline, or released because no others can run, until the monitor
// finds that this takes too long (`patient` false). Ends the process in a deadlock.
Thread* choose_next(Thread& self, bool patient) {
  static Choice choice;
  for (;;) {
    take_signal(self);
    gather(choice);
    if (choice.count > 0 && all_spin(choice) && advance_time()) continue;
    if (choice.count > 0) {
      ++decisions;
      __atomic_fetch_add(&virtual_ns, kDecision_ns, __ATOMIC_RELAXED);
      Thread& chosen = is_released() ? fair_choice(choice, self) : strategy->choose(choice, self);
      if (chosen.at_site && every_access() && !is_released()) report_meetings(chosen);
      if (choice.count > 1 || chosen.next.flags != 0 || self.next.flags != 0)
        log_decision(self, chosen, choice.count);
      chosen.next.flags = 0;
      return &chosen;
    }
    Waiting waiting;
    count_waiting(waiting);
    if (waiting.alive == 0 || (waiting.soon_back > 0 && patient)) return nullptr;
    if (world_answers(waiting) || (would_give_up() && let_one_go(choice)) || advance_time() ||
        let_one_go(choice))
      continue;
    if (waiting.outside > 0) return nullptr;
    if (waiting.fd_count > 0) {
      await_world(waiting, 20);
      continue;
    }
    if (signal_comes(self)) continue;
    report_deadlock();
  }
}

}  // namespace

void count_yield() { __atomic_fetch_add(&yields, 1, __ATOMIC_RELAXED); }

bool alone(const Thread&) { return __atomic_load_n(&alive, __ATOMIC_RELAXED) <= 1; }

bool is_enabled(const Thread& thread) { return thread.state == State::kReady && !thread.held_back; }

void wake(Thread& thread, Woken how) {
  thread.state = State::kReady;
  thread.woken = how;
  thread.waits = false;
  thread.waits_for = nullptr;
  thread.fd = -1;
  thread.deadline_ns = kForever;
  if (how != Woken::kTimedOut) return;
  thread.next.flags |= DHD_TIMED_OUT;
  thread.time_came = decisions;
}

void let_go(Thread& thread) { thread.held_back = false; }

bool hand_on(Thread& self, bool patient) {
  Thread* const next = choose_next(self, patient);
  if (next == &self) {
    self.state = State::kRunning;
    ++self.turns;
    holder = &self;
    return true;
  }
  holder = nullptr;
  if (next != nullptr) give_baton(*next);
  return false;
}

void pass_baton(Thread& self) {
  const bool own = hand_on(self);
  schedule_lock.unlock();
  if (!own) wait_turn(self);
}

void take_turn(Thread& self) {
  self.state = State::kReady;
  if (holder == nullptr) {
    holder = &self;
    pass_baton(self);
    return;
  }
  schedule_lock.unlock();
  wait_turn(self);
}

void point_at(Thread& self, const Next& next, bool at_site) {
  const Busy busy(self);
  schedule_lock.lock();
  self.next = next;
  if (self.state != State::kRunning) {  // it ran concurrently, and has returned
    take_turn(self);
    schedule_lock.lock();
  }
  if (is_released() && next.point == Point::kAccess) return schedule_lock.unlock();
  self.at_site = at_site;
  self.state = State::kReady;
  self.points.step(next.pc, next.object);
  if (at_site && !every_access() && !is_released()) {
    if (!strategy->arrives(self)) {
      ++decisions;
      log_decision(self, self, 1);
      self.next.flags = 0;
      self.state = State::kRunning;
      schedule_lock.unlock();
      self.at_site = false;
      return;
    }
    self.held_back = true;
    self.held_since = decisions;
    self.yields_before = yields;
    self.next.flags |= DHD_HELD_BACK;
    ++counts.held_back;
  }
  pass_baton(self);
  self.at_site = false;
}

void hold_until_last(Thread& self, const Next& next) {
  const Busy busy(self);
  schedule_lock.lock();
  if (self.state != State::kRunning) take_turn(self), schedule_lock.lock();
  self.next = next;
  self.next.flags |= DHD_HELD_BACK;
  self.state = State::kReady;
  self.held_back = self.leaves = !is_released();
  self.held_since = decisions;
  self.yields_before = yields;
  pass_baton(self);
  self.leaves = false;
}

void thread_created(Thread& thread) {
  const Locked locked(schedule_lock);
  Thread** end = &threads;
  while (*end != nullptr) end = &(*end)->next_thread;
  *end = &thread;
  ++alive;
}

void never_created(Thread& thread) {
  const Locked locked(schedule_lock);
  forget_thread(thread);
  --alive;
}

void thread_started(Thread& self) {
  const Busy busy(self);
  wait_turn(self);
}

void thread_ended(Thread& self) {
  schedule_lock.lock();
  if (self.state != State::kRunning) take_turn(self), schedule_lock.lock();
  self.next = {.point = Point::kFinish};
  self.state = State::kEnded;
  for (Thread* other = threads; other != nullptr; other = other->next_thread)
    if (other->state == State::kBlocked && other->waits_for == &self)
      wake(*other, Woken::kReleased);
  --alive;
  hand_on(self);
  __atomic_store_n(&self.common.finished, true, __ATOMIC_RELEASE);
  const bool forget = self.common.detached;
  if (forget) forget_thread(self);
  schedule_lock.unlock();
}

void forget_thread(Thread& thread) {
  for (Thread** one = &threads; *one != nullptr; one = &(*one)->next_thread) {
    if (*one != &thread) continue;
    *one = thread.next_thread;
    return;
  }
}

void only_thread(Thread& self) {
  schedule_lock.reset();
  threads = &self;
  alive = 1;
  self.next_thread = nullptr;
  self.state = State::kRunning;
  holder = &self;
}

void ask_for_stack(Thread& thread) {
  if (&thread == tls_self) return describe_stack(thread);
  __atomic_store_n(&described, 0, __ATOMIC_RELEASE);
  set_turn(thread, kDescribe);
  while (__atomic_load_n(&described, __ATOMIC_ACQUIRE) == 0) futex_wait(&described, 0);
}

}  // namespace deadheat::runtime
