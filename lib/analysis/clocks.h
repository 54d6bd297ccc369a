// Clocks: what each thread knows of every other, driven by the synchronisation events of a trace.
//
// Every engine is this class plus a shadow. A release publishes the thread's clock and then starts
// a new tick, so that (thread, tick) names exactly one published clock; therefore covering an epoch
// means covering everything that its thread knew when the tick ended, and a lock whose last release
// is covered needs no join.
//
// Which events make edges is data (EdgeSet): happens-before has all; the hybrid engine has none for
// locks, and with the paper's edges only start, join and notify.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "lib/analysis/lockset_table.h"
#include "lib/base/counter.h"
#include "lib/base/flat_index.h"
#include "lib/order/semaphore.h"
#include "lib/order/vector_clock.h"
#include "lib/trace/event.h"

namespace deadheat::analysis {

struct EdgeSet {
  bool locks = true;
  bool notify = true;
  bool rendezvous = true;  // barriers, semaphores, once
  bool atomics = true;     // atomic orders, fences, annotations
};

class Clocks {
 public:
  // Beyond `memory_limit` bytes of clocks, clocks stop growing: edges are lost and counted.
  Clocks(EdgeSet edges, uint64_t memory_limit) : edges_(edges), memory_limit_(memory_limit) {}

  // Threads from this number on cannot be tracked (a shadow entry has 20 bits for the thread).
  static constexpr uint32_t kMaxThreads = 1U << 20;
  bool knows(trace::ThreadId thread) const { return thread < threads_.size(); }
  bool admit(trace::ThreadId thread) {
    if (thread < threads_.size()) return true;
    return admit_new(thread);
  }

  // Synchronisation other than atomic accesses; ignores accesses, function and region
  // events.
  void apply(const trace::Event& event);
  // An atomic access is an acquire, then the access itself, then a release.
  void atomic_acquire(const trace::Event& event);
  void atomic_release(const trace::Event& event);

  const order::VectorClock& clock(trace::ThreadId thread) const { return threads_[thread].clock; }
  order::Tick tick(trace::ThreadId thread) const { return threads_[thread].tick; }
  LocksetId lockset(trace::ThreadId thread) const { return threads_[thread].lockset; }
  // Counts every change of the thread's knowledge of others; equal versions mean equal knowledge.
  uint64_t version(trace::ThreadId thread) const { return threads_[thread].version; }

  void join(trace::ThreadId thread, const order::VectorClock& other);
  // Ends the tick: call after publishing clock(thread).
  void advance(trace::ThreadId thread);

  LocksetTable& locksets() { return locksets_; }
  uint64_t lock_address(uint32_t lock) const { return lock_addresses_[lock]; }
  void add_counters(Counters& counters) const;

  // How the last invalid event is wrong ("releases a lock that it does not hold"), and the number
  // of such events: the trace lacks synchronisation, so what looks unordered may be ordered.
  uint64_t oddities() const {
    return unmatched_releases_ + contested_acquires_ + odd_forks_ + odd_joins_ + odd_barriers_;
  }
  const char* last_oddity() const { return last_oddity_; }

 private:
  struct Thread {
    order::VectorClock clock;
    order::Tick tick = 1;
    LocksetId lockset = kNoLocks;
    bool joined = false;
    uint64_t version = 0;
    order::VectorClock release_fence;            // clock at the last release fence
    order::VectorClock acquire_pending;          // from relaxed loads, for the next acquire fence
    std::map<uint32_t, uint32_t> depth;          // recursive holds beyond the first, by lock
    std::map<uint64_t, uint64_t> barrier_phase;  // where it entered
  };
  struct Lock {
    order::VectorClock exclusive, shared;
    order::Epoch last_release;
    trace::ThreadId holder = 0;
    uint32_t holds = 0;  // by the holder; 0: free
    uint32_t readers = 0;
  };
  // An atomic object. It may have release sequences of several threads: a read-modify-write
  // continues them all, a store only those of its own thread (in C, and in C++ before 20).
  struct Atomic {
    order::VectorClock clock;        // what a read of the object acquires: all of them
    trace::ThreadId head = kNobody;  // the head's thread, if there is only one
    std::vector<std::pair<trace::ThreadId, order::VectorClock>> heads;  // if of several: apart
  };
  struct Barrier {
    std::map<uint64_t, std::pair<order::VectorClock, uint32_t>>
        phases;  // clock and the threads still inside
    uint64_t filling = 0;
  };

  static constexpr trace::ThreadId kNobody = ~trace::ThreadId{0};
  void end_sequences(const trace::Event& store, Atomic& atomic);
  void add_to_sequence(trace::ThreadId thread, Atomic& atomic, const order::VectorClock& clock);
  bool admit_new(trace::ThreadId thread);
  void acquire_lock(const trace::Event& event, bool exclusive);
  void release_lock(const trace::Event& event, bool exclusive);
  void fork(const trace::Event& event);
  void join_thread(const trace::Event& event);
  void fence(const trace::Event& event);
  void enter_barrier(const trace::Event& event);
  void leave_barrier(const trace::Event& event);
  void publish(trace::ThreadId thread, order::VectorClock& object);
  void init_semaphore(const trace::Event& event);
  void post_semaphore(const trace::Event& event);
  void wait_semaphore(const trace::Event& event);
  // Whether memory allows `into` to absorb all of `from`.
  bool make_room(const order::VectorClock& into, const order::VectorClock& from);
  void store(order::VectorClock& into, const order::VectorClock& from) {
    if (make_room(into, from)) into.assign(from);
  }
  void add(order::VectorClock& into, const order::VectorClock& from) {
    if (make_room(into, from)) into.join(from);
  }
  order::VectorClock& object(trace::EventKind kind, uint64_t address);
  uint32_t lock_index(uint64_t address);

  EdgeSet edges_;
  uint64_t memory_limit_;
  uint64_t memory_ = 0;  // bytes requested for clocks
  uint64_t edges_dropped_ = 0;
  std::vector<Thread> threads_;
  LocksetTable locksets_;
  FlatIndex lock_ids_;
  std::vector<Lock> locks_;
  std::vector<uint64_t> lock_addresses_;
  FlatIndex atomic_ids_;
  std::vector<Atomic> atomics_;
  std::vector<order::VectorClock> spare_;  // from ended sequences: their memory is counted
  FlatIndex object_ids_[4];  // notify, semaphore, once, annotation: one address may serve as each
  std::vector<order::VectorClock> objects_[4];
  // Those whose initialisation is in the trace. Others order every earlier post before a wait.
  std::unordered_map<uint64_t, order::SemaphoreOrder<order::VectorClock>> semaphores_;
  std::map<uint64_t, Barrier> barriers_;
  void odd(uint64_t& counter, const char* what) {
    ++counter;
    last_oddity_ = what;
  }

  const char* last_oddity_ = "";
  uint64_t unmatched_releases_ = 0, contested_acquires_ = 0, odd_forks_ = 0, odd_joins_ = 0,
           odd_barriers_ = 0;
};

}  // namespace deadheat::analysis
