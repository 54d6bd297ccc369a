#include "lib/analysis/clocks.h"

#include <algorithm>

#include "lib/trace/event_names.h"

namespace deadheat::analysis {

using order::VectorClock;
using trace::Event;
using trace::EventKind;
using trace::MemoryOrder;
using trace::ThreadId;

namespace {

bool acquires(MemoryOrder order) {
  return order == MemoryOrder::kAcquire || order == MemoryOrder::kConsume ||
         order == MemoryOrder::kAcqRel || order == MemoryOrder::kSeqCst;
}
bool releases(MemoryOrder order) {
  return order == MemoryOrder::kRelease || order == MemoryOrder::kAcqRel ||
         order == MemoryOrder::kSeqCst;
}

}  // namespace

bool Clocks::admit_new(ThreadId thread) {
  if (thread >= kMaxThreads) return false;
  for (auto fresh = static_cast<ThreadId>(threads_.size()); fresh <= thread; ++fresh) {
    // A thread's clock must include its own component.
    const uint64_t bytes = (uint64_t{fresh} + 1) * 2 * sizeof(order::Tick);
    if (memory_ + bytes > memory_limit_) return false;
    memory_ += bytes;
    threads_.emplace_back();
    threads_.back().clock.set(fresh, 1);
  }
  return true;
}

bool Clocks::make_room(const VectorClock& into, const VectorClock& from) {
  if (from.size() <= into.capacity()) return true;
  const uint64_t bytes = (uint64_t{from.size()} * 2 - into.capacity()) * sizeof(order::Tick);
  if (memory_ + bytes > memory_limit_) {
    ++edges_dropped_;
    return false;
  }
  memory_ += bytes;
  return true;
}

void Clocks::join(ThreadId thread, const VectorClock& other) {
  if (other.empty()) return;
  add(threads_[thread].clock, other);
  ++threads_[thread].version;
}

void Clocks::advance(ThreadId thread) {
  Thread& self = threads_[thread];
  // After 2^32 - 1 releases a thread stays at its last tick, which can hide races but never invents
  // one.
  if (self.tick != ~order::Tick{0}) self.clock.set(thread, ++self.tick);
}

void Clocks::publish(ThreadId thread, VectorClock& object) {
  add(object, threads_[thread].clock);
  advance(thread);
}

VectorClock& Clocks::object(EventKind kind, uint64_t address) {
  size_t space = 3;
  if (kind == EventKind::kNotify || kind == EventKind::kWait) space = 0;
  if (trace::is_semaphore(kind)) space = 1;
  if (kind == EventKind::kOnceDone || kind == EventKind::kOnceSeen) space = 2;
  const auto [index, is_new] = object_ids_[space].insert(address);
  if (is_new) objects_[space].emplace_back();
  return objects_[space][index];
}

uint32_t Clocks::lock_index(uint64_t address) {
  const auto [index, is_new] = lock_ids_.insert(address);
  if (is_new) {
    locks_.emplace_back();
    lock_addresses_.push_back(address);
  }
  return index;
}

void Clocks::apply(const Event& event) {
  switch (event.kind) {
    case EventKind::kAcquire:
      return acquire_lock(event, true);
    case EventKind::kAcquireShared:
      return acquire_lock(event, false);
    case EventKind::kRelease:
      return release_lock(event, true);
    case EventKind::kReleaseShared:
      return release_lock(event, false);
    case EventKind::kFork:
      return fork(event);
    case EventKind::kJoin:
      return join_thread(event);
    case EventKind::kFence:
      return fence(event);
    case EventKind::kBarrierEnter:
      return enter_barrier(event);
    case EventKind::kBarrierLeave:
      return leave_barrier(event);
    case EventKind::kNotify:
      if (edges_.notify) publish(event.thread, object(event.kind, event.address));
      return;
    case EventKind::kWait:
      if (edges_.notify) join(event.thread, object(event.kind, event.address));
      return;
    case EventKind::kSemaphoreInit:
      if (edges_.rendezvous) init_semaphore(event);
      return;
    case EventKind::kSemaphorePost:
      if (edges_.rendezvous) post_semaphore(event);
      return;
    case EventKind::kSemaphoreWait:
      if (edges_.rendezvous) wait_semaphore(event);
      return;
    case EventKind::kOnceDone:
      if (edges_.rendezvous) publish(event.thread, object(event.kind, event.address));
      return;
    case EventKind::kSemaphoreSeen:
    case EventKind::kOnceSeen:
      if (edges_.rendezvous) join(event.thread, object(event.kind, event.address));
      return;
    case EventKind::kHappensBefore:
      if (edges_.atomics) publish(event.thread, object(event.kind, event.address));
      return;
    case EventKind::kHappensAfter:
      if (edges_.atomics) join(event.thread, object(event.kind, event.address));
      return;
    default:
      return;
  }
}

void Clocks::acquire_lock(const Event& event, bool exclusive) {
  const uint32_t index = lock_index(event.address);
  Lock& lock = locks_[index];
  Thread& self = threads_[event.thread];
  const bool mine = lock.holds > 0 && lock.holder == event.thread;
  if (lock.holds > 0 && !mine)
    odd(contested_acquires_, "acquires a lock that another thread holds");
  if (exclusive) {
    lock.holds = mine ? lock.holds + 1 : 1;
    lock.holder = event.thread;
  } else {
    ++lock.readers;
  }
  if (locksets_.contains(self.lockset, index)) ++self.depth[index];
  self.lockset = locksets_.with(self.lockset, index, exclusive);

  if (!edges_.locks) return;
  if (!self.clock.covers(lock.last_release)) join(event.thread, lock.exclusive);
  if (exclusive) join(event.thread, lock.shared);
}

void Clocks::release_lock(const Event& event, bool exclusive) {
  const uint32_t index = lock_index(event.address);
  Lock& lock = locks_[index];
  Thread& self = threads_[event.thread];
  const bool mine = exclusive ? lock.holds > 0 && lock.holder == event.thread : lock.readers > 0;
  if (!mine) odd(unmatched_releases_, "releases a lock that it does not hold");
  if (mine) exclusive ? --lock.holds : --lock.readers;
  const auto deeper = self.depth.find(index);
  if (deeper == self.depth.end()) {
    self.lockset = locksets_.without(self.lockset, index);
  } else if (--deeper->second == 0) {
    self.depth.erase(deeper);
  }

  if (!edges_.locks) return;
  if (!exclusive) return publish(event.thread, lock.shared);
  // A holder has seen every earlier release, so its clock replaces the lock's; anyone else only
  // adds to it. The epoch that lets acquirers skip the join must stand for all of lock.exclusive.
  const bool seen_all = self.clock.covers(lock.exclusive);
  if (seen_all) {
    store(lock.exclusive, self.clock);
    lock.last_release = {event.thread, self.tick};
  } else {
    add(lock.exclusive, self.clock);
    lock.last_release = {event.thread, ~order::Tick{0}};
  }
  advance(event.thread);
}

void Clocks::fork(const Event& event) {
  if (!admit(event.other) || event.other == event.thread) {
    odd(odd_forks_, "starts itself");
    return;
  }
  if (threads_[event.other].tick > 1 || threads_[event.other].version > 0)
    odd(odd_forks_, "starts a thread that is running already");
  join(event.other, threads_[event.thread].clock);
  advance(event.thread);
}

void Clocks::join_thread(const Event& event) {
  if (!admit(event.other) || event.other == event.thread) {
    odd(odd_joins_, "waits for its own end");
    return;
  }
  join(event.thread, threads_[event.other].clock);
  // If the joined thread continues (a broken trace), its later events were not joined.
  advance(event.other);
}

void Clocks::fence(const Event& event) {
  if (!edges_.atomics) return;
  Thread& self = threads_[event.thread];
  if (acquires(event.order)) {
    join(event.thread, self.acquire_pending);
    self.acquire_pending.clear();
  }
  if (releases(event.order)) {
    store(self.release_fence, self.clock);
    advance(event.thread);
  }
}

void Clocks::atomic_acquire(const Event& event) {
  if (!edges_.atomics || event.kind == EventKind::kWrite) return;
  const uint32_t index = atomic_ids_.find(event.address);
  if (index == FlatIndex::kAbsent || atomics_[index].clock.empty()) return;
  if (acquires(event.order)) {
    join(event.thread, atomics_[index].clock);
  } else {
    add(threads_[event.thread].acquire_pending, atomics_[index].clock);
  }
}

// A store ends the release sequences of other threads and continues those of its own; a C++20
// store ends them all. (A releasing store knows everything that they published: no
// difference.)
void Clocks::end_sequences(const Event& store, Atomic& atomic) {
  const auto own = std::ranges::find_if(
      atomic.heads, [&](const auto& head) { return head.first == store.thread; });
  if (store.order == trace::MemoryOrder::kRelaxed20 || releases(store.order) ||
      (own == atomic.heads.end() && atomic.head != store.thread)) {
    atomic.clock.clear();
    atomic.head = kNobody;
  } else if (own != atomic.heads.end()) {
    atomic.clock.swap(own->second);
    atomic.head = store.thread;
  }
  for (auto& [thread, clock] : atomic.heads) {
    clock.clear();
    spare_.push_back(std::move(clock));
  }
  atomic.heads.clear();
}

void Clocks::add_to_sequence(ThreadId thread, Atomic& atomic, const VectorClock& clock) {
  if (atomic.heads.empty() && atomic.head == kNobody) atomic.head = thread;
  if (!atomic.heads.empty() || atomic.head != thread) {
    const auto head_of = [&](ThreadId who) -> VectorClock& {
      for (auto& [of, known] : atomic.heads)
        if (of == who) return known;
      if (spare_.empty()) spare_.emplace_back();
      VectorClock& known = atomic.heads.emplace_back(who, std::move(spare_.back())).second;
      spare_.pop_back();
      return known;
    };
    if (atomic.heads.empty()) store(head_of(atomic.head), atomic.clock);
    add(head_of(thread), clock);
    atomic.head = kNobody;
  }
  add(atomic.clock, clock);
}

// A read-modify-write continues the release sequences, a store ends some. A releasing operation
// heads a new one; a relaxed write heads one with what the thread's last release fence saw.
void Clocks::atomic_release(const Event& event) {
  if (!edges_.atomics || event.kind == EventKind::kRead) return;
  const auto [index, is_new] = atomic_ids_.insert(event.address);
  if (is_new) atomics_.emplace_back();
  Thread& self = threads_[event.thread];
  Atomic& atomic = atomics_[index];
  if (event.kind == EventKind::kWrite) end_sequences(event, atomic);
  if (releases(event.order)) {
    add_to_sequence(event.thread, atomic, self.clock);
    advance(event.thread);
  } else if (!self.release_fence.empty()) {
    add_to_sequence(event.thread, atomic, self.release_fence);
  }
}

// A semaphore that is initialised anew has nothing of what was posted before.
void Clocks::init_semaphore(const Event& event) {
  const auto known = semaphores_.find(event.address);
  if (event.other == trace::kUnknownTokens) {
    if (known != semaphores_.end()) known->second.lose_count();
    return;
  }
  if (known != semaphores_.end()) semaphores_.erase(known);
  semaphores_[event.address].start(
      event.other, threads_[event.thread].clock,
      [this](VectorClock& into, const VectorClock& from) { add(into, from); });
  VectorClock& posted = object(event.kind, event.address);
  posted.clear();
  publish(event.thread, posted);
}

void Clocks::post_semaphore(const Event& event) {
  const auto known = semaphores_.find(event.address);
  if (known != semaphores_.end())
    known->second.post(
        threads_[event.thread].clock, {event.thread, threads_[event.thread].tick},
        [this](VectorClock& into, const VectorClock& from) { add(into, from); },
        [this](VectorClock& into, const VectorClock& from) { store(into, from); });
  publish(event.thread, object(event.kind, event.address));
}

void Clocks::wait_semaphore(const Event& event) {
  const auto known = semaphores_.find(event.address);
  if (known != semaphores_.end()) known->second.wait();
  if (known == semaphores_.end() || !known->second.is_counted())
    return join(event.thread, object(event.kind, event.address));
  known->second.learn_needed(
      threads_[event.thread].clock,
      [this](VectorClock& into, const VectorClock& from) { add(into, from); });
  ++threads_[event.thread].version;
}

// Phases of a cyclic barrier: no thread leaves before all have entered, so the first leave closes
// the current phase, and a fast thread that enters again belongs to the next one.
void Clocks::enter_barrier(const Event& event) {
  if (!edges_.rendezvous) return;
  Barrier& barrier = barriers_[event.address];
  auto& [clock, inside] = barrier.phases[barrier.filling];
  ++inside;
  threads_[event.thread].barrier_phase[event.address] = barrier.filling;
  publish(event.thread, clock);
}

void Clocks::leave_barrier(const Event& event) {
  if (!edges_.rendezvous) return;
  Barrier& barrier = barriers_[event.address];
  auto& entered = threads_[event.thread].barrier_phase;
  const auto at = entered.find(event.address);
  if (at == entered.end()) {
    odd(odd_barriers_, "leaves a barrier that it did not enter");
    return;
  }
  const uint64_t phase = at->second;
  entered.erase(at);
  if (phase == barrier.filling) ++barrier.filling;
  auto& [clock, inside] = barrier.phases[phase];
  join(event.thread, clock);
  if (--inside == 0) barrier.phases.erase(phase);
}

void Clocks::add_counters(Counters& counters) const {
  counters.push_back({"unmatched_releases", unmatched_releases_,
                      "locks released by a thread that did not hold them; ordered as if it had",
                      true});
  counters.push_back(
      {"contested_acquires", contested_acquires_,
       "locks acquired while another thread held them: the trace lacks events or is not in order",
       true});
  counters.push_back({"odd_forks", odd_forks_,
                      "threads started twice, by themselves, or after their first event", true});
  counters.push_back({"odd_joins", odd_joins_, "threads that joined themselves", true});
  counters.push_back({"odd_barriers", odd_barriers_,
                      "barriers left that were not entered; no order taken from them", true});
  counters.push_back({"edges_dropped", edges_dropped_,
                      "edges were lost because clocks had reached their memory limit", true});
  counters.push_back({"locks_not_in_lockset", locksets_.dropped(),
                      "locks left out of a lockset that was full", true});
}

}  // namespace deadheat::analysis
