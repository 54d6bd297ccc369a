// One thread at a time: the baton's holder runs until its next point, where the strategy chooses
// the next thread (docs/design/schedule.md).
//
// schedule_lock protects all state. A thread waits on its own futex word (`turn`) until it is
// chosen. Threads that the OS runs concurrently with the scheduled one (outside) touch the state
// only under the lock.
#pragma once

#include "runtime/common/blocking.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

enum class State : uint8_t {
  kReady,    // could run
  kRunning,  // has the baton
  kBlocked,  // waits for `object`, for `deadline_ns`, or for another thread's end
  kOutside,  // in a call that waits for the outside world, or considered so by the monitor
  kEnded
};

// A thread's next action.
struct Next {
  Point point = Point::kStart;
  Address pc = 0;
  Address object = 0;
  size_t size = 0;  // accesses: bytes from `object` on
  bool write = false, atomic = false, freed = false;
  bool lock = false;   // takes one: reads its first byte, if somebody writes or frees it
  bool done = false;   // the access has happened; the thread is directly after it
  uint16_t flags = 0;  // of the decision log
};

// Detects that a thread spins: it comes to the same few places for the same objects
// repeatedly, like a thread waiting in a loop. Counted, not timed: the same in every
// run.
class Circle {
 public:
  static constexpr uint32_t kRounds = 100;  // steps without a new place
  void step(Address pc, Address object) {
    for (const Place& place : places_)
      if (place.pc == pc && place.object == object) {
        if (steps_ < kRounds) ++steps_;
        return;
      }
    places_[next_] = {pc, object};
    next_ = (next_ + 1) % kPlaces;
    steps_ = 0;
  }
  bool closed() const { return steps_ >= kRounds; }
  void close() { steps_ = kRounds; }
  void open() { steps_ = 0; }

 private:
  static constexpr uint32_t kPlaces = 8;
  struct Place {
    Address pc = 0, object = 0;
  };
  Place places_[kPlaces];
  uint32_t next_ = 0, steps_ = 0;
};

inline constexpr size_t kMaxFrames = 64;
inline constexpr size_t kMaxHeld = 64;

struct Thread {
  ThreadCommon common;
  State state = State::kReady;
  uint32_t turn = 0;  // futex word: see Turn
  Next next;
  bool at_site = false;     // before an access of the candidate
  bool held_back = false;   // by the strategy
  bool leaves = false;      // held back because it ends the process
  uint64_t held_since = 0;  // decision number
  uint64_t yields_before = 0;
  uint64_t time_came = 0;  // decision number: when its last deadline passed
  Circle points;           // places that it came to
  Circle reads;            // reads that are not points, of plain or volatile memory
  uint64_t deadline_ns = kForever;
  Woken woken = Woken::kReleased;
  bool waits = false;           // for `next.object`, in kBlocked
  Thread* waits_for = nullptr;  // for its end
  int fd = -1;                  // kBlocked: until one of `events` is available
  short events = 0;
  const char* outside_name = nullptr;
  uint32_t outside_looks = 0;  // how many times the monitor found it there
  uint64_t outside_ns = 0;     // processor time, at the last look
  uint64_t priority = 0;       // pct, pos
  uint64_t turns = 0;          // turns since all threads were released

  Address held[kMaxHeld];  // locks
  uint32_t held_count = 0;
  Address stack[kMaxFrames];  // innermost first; filled on request
  size_t depth = 0;
  Address creation_pc = 0;
  Thread* next_thread = nullptr;
};

extern Lock schedule_lock;
extern Thread* threads;      // all not yet joined, in order of creation
extern Thread* holder;       // of the baton; null while only threads outside run
extern uint64_t decisions;   // so far
extern uint64_t virtual_ns;  // since the start

struct Counts {
  uint64_t switches = 0, held_back = 0, let_go = 0, outside = 0, uncontrolled = 0, signals = 0,
           spurious = 0, forks = 0;
};
extern Counts counts;

// --- Under schedule_lock.
bool is_enabled(const Thread& thread);  // and not held back
void wake(Thread& thread, Woken how);
void let_go(Thread& thread);  // ends its being held back
void count_yield();
// Gives the baton to the strategy's choice; true: the caller has it again.
bool hand_on(Thread& self, bool patient = true);
// The same, then waits for it. Unlocks.
void pass_baton(Thread& self);
// A thread that ran concurrently wants to be scheduled again. Unlocks.
void take_turn(Thread& self);
void forget_thread(Thread& thread);
// The thread describes its own stack.
void ask_for_stack(Thread& thread);

// --- Without it.
void point_at(Thread& self, const Next& next, bool at_site);
void hold_until_last(Thread& self, const Next& next);  // until no other thread can run
bool alone(const Thread& self);                        // no other thread is alive
void thread_created(Thread& thread);
void thread_started(Thread& self);
void thread_ended(Thread& self);
void only_thread(Thread& self);  // after a fork, in the child
void describe_stack(Thread& self);
bool is_readable(const Thread& thread);  // its descriptor has the awaited events
void count_outside(const char* name);
void start_monitor();
char state_of(uint32_t kernel_id);     // as in /proc: R, S, D, ...
uint64_t used_ns(uint32_t kernel_id);  // processor time used
void linger_at_exit();
void monitor_after_fork();
void start_clock();
void pin_to_processor();
void catch_crashes();
void never_created(Thread& thread);

// Whether the code at pc (a return address) is one of the candidate's (sites.cc).
bool is_site(Address pc);
void plug_sites();  // in the currently loaded modules
uint64_t sites_on();
uint64_t sites_off();
uint64_t sites_dropped();

}  // namespace deadheat::runtime
