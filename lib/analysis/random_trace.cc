#include "lib/analysis/random_trace.h"

#include <map>
#include <optional>

#include "lib/base/random.h"

namespace deadheat::analysis {

using trace::Event;
using trace::EventKind;
using trace::MemoryOrder;

namespace {

constexpr uint64_t kMemory = 0x10000;

class Generator {
 public:
  Generator(uint64_t seed, const RandomTraceOptions& options)
      : random_(seed), o_(options), open_regions_(options.threads) {}

  Trace run() {
    for (uint32_t t = 1; t < o_.threads; ++t)
      if (random_.chance(0.7)) emit(EventKind::kFork, 0, 0, 0).other = t;
    while (trace_.events.size() < o_.events) step(static_cast<uint32_t>(random_.below(o_.threads)));
    return std::move(trace_);
  }

 private:
  Event& emit(EventKind kind, uint32_t thread, uint64_t address, uint64_t size) {
    Event event;
    event.kind = kind;
    event.thread = thread;
    event.address = address;
    event.size = size;
    event.site = static_cast<trace::SiteId>(random_.below(o_.sites));
    trace_.events.push_back(event);
    return trace_.events.back();
  }

  void step(uint32_t thread) {
    if (o_.semaphores > 0 && random_.chance(o_.semaphores)) return semaphore(thread);
    const uint64_t choice = random_.below(100);
    if (choice < 40) return plain(thread);
    if (choice < 65) return lock(thread);
    if (choice < 80) return o_.atomics ? atomic(thread) : plain(thread);
    if (choice < 90) return o_.rendezvous ? rendezvous(thread) : lock(thread);
    if (choice < 93) return o_.memory ? memory(thread) : plain(thread);
    if (choice < 98) return o_.regions ? region(thread) : lock(thread);
    auto other = static_cast<uint32_t>(random_.below(o_.threads));
    if (random_.chance(0.5) || random_.chance(o_.broken))
      emit(random_.chance(0.5) ? EventKind::kJoin : EventKind::kFork, thread, 0, 0).other = other;
  }

  uint64_t variable() { return kMemory + 8 * random_.below(o_.variables); }

  // Disciplined traces access a variable mostly under its lock, so that most pairs are ordered.
  void guarded(uint32_t thread) {
    const uint64_t index = random_.below(o_.variables), lock = 1 + index % o_.locks;
    auto& state = locks_[lock];
    const bool free = state.count == 0 && state.readers.empty();
    if (free) emit(EventKind::kAcquire, thread, lock, 0);
    if (free || (state.count > 0 && state.holder == thread))
      emit(random_.chance(0.5) ? EventKind::kRead : EventKind::kWrite, thread, kMemory + 8 * index,
           8);
    if (free) emit(EventKind::kRelease, thread, lock, 0);
  }

  void plain(uint32_t thread) {
    if (random_.chance(o_.disciplined)) return guarded(thread);
    const EventKind kind = random_.chance(0.5) ? EventKind::kRead : EventKind::kWrite;
    if (!o_.odd_sizes || random_.chance(0.6)) {
      emit(kind, thread, variable(), 8);
    } else {
      const uint64_t size = 1ULL << random_.below(5);
      emit(kind, thread, kMemory + random_.below(8 * o_.variables), size);
    }
  }

  void lock(uint32_t thread) {
    const uint64_t lock = 1 + random_.below(o_.locks);
    auto& [holder, count, readers] = locks_[lock];
    const bool broken = random_.chance(o_.broken);
    if (broken) {
      static constexpr EventKind kKinds[] = {EventKind::kAcquire, EventKind::kRelease,
                                             EventKind::kAcquireShared, EventKind::kReleaseShared};
      emit(kKinds[random_.below(4)], thread, lock, 0);
    } else if (count > 0 && holder == thread) {
      const bool again = random_.chance(0.1);
      count = again ? count + 1 : count - 1;
      emit(again ? EventKind::kAcquire : EventKind::kRelease, thread, lock, 0);
    } else if (readers.count(thread) != 0) {
      readers.erase(thread);
      emit(EventKind::kReleaseShared, thread, lock, 0);
    } else if (count == 0 && random_.chance(0.3)) {
      readers[thread] = true;
      emit(EventKind::kAcquireShared, thread, lock, 0);
    } else if (count == 0 && readers.empty()) {
      holder = thread;
      count = 1;
      emit(EventKind::kAcquire, thread, lock, 0);
    } else {
      plain(thread);
    }
  }

  void atomic(uint32_t thread) {
    const auto order =
        static_cast<MemoryOrder>(1 + random_.below(static_cast<uint64_t>(MemoryOrder::kCount) - 1));
    if (random_.chance(0.2)) {
      emit(EventKind::kFence, thread, 0, 0).order = order;
    } else {
      static constexpr EventKind kKinds[] = {EventKind::kRead, EventKind::kWrite,
                                             EventKind::kReadModifyWrite};
      emit(kKinds[random_.below(3)], thread, variable(), 8).order = order;
    }
  }

  // Counted ones: initialised now and then, waited for while they have tokens.
  void semaphore(uint32_t thread) {
    const uint64_t address = 3 + random_.below(2);
    auto& tokens = tokens_[address];
    const bool broken = random_.chance(o_.broken);
    if (!tokens || random_.chance(0.05)) {
      tokens = random_.below(4);
      emit(EventKind::kSemaphoreInit, thread, address, 0).other = static_cast<uint32_t>(*tokens);
    } else if (broken && random_.chance(0.3)) {
      emit(EventKind::kSemaphoreInit, thread, address, 0).other = trace::kUnknownTokens;
    } else if (random_.chance(0.05)) {
      emit(EventKind::kSemaphoreSeen, thread, address, 0);
    } else if (random_.chance(0.5)) {
      ++*tokens;
      emit(EventKind::kSemaphorePost, thread, address, 0);
    } else if (*tokens > 0 || broken) {
      *tokens -= *tokens > 0 ? 1 : 0;
      emit(EventKind::kSemaphoreWait, thread, address, 0);
    } else {
      plain(thread);
    }
  }

  void rendezvous(uint32_t thread) {
    static constexpr EventKind kKinds[] = {EventKind::kNotify,        EventKind::kWait,
                                           EventKind::kSemaphorePost, EventKind::kSemaphoreWait,
                                           EventKind::kOnceDone,      EventKind::kOnceSeen,
                                           EventKind::kHappensBefore, EventKind::kHappensAfter,
                                           EventKind::kBarrierEnter,  EventKind::kBarrierLeave};
    emit(kKinds[random_.below(10)], thread, 1 + random_.below(2), 0);
  }

  void memory(uint32_t thread) {
    const uint64_t begin = random_.below(8 * o_.variables), size = 1 + random_.below(24);
    emit(random_.chance(0.5) ? EventKind::kAlloc : EventKind::kFree, thread, kMemory + begin, size);
  }

  void region(uint32_t thread) {
    const bool ends = open_regions_[thread] > 0 && random_.chance(0.6);
    if (!ends && open_regions_[thread] == 0 && random_.chance(o_.broken)) {
      emit(EventKind::kRegionEnd, thread, 0, 0).other = 0;
      return;
    }
    open_regions_[thread] += ends ? -1 : 1;
    const auto first = static_cast<uint32_t>(trace_.ranges.size());
    const uint64_t count = ends ? (random_.chance(0.3) ? 1 : 0) : random_.below(4);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t begin = 0x50000 + random_.below(40);
      trace_.ranges.push_back({begin, begin + random_.below(5)});
    }
    Event& event = emit(ends ? EventKind::kRegionEnd : EventKind::kRegionBegin, thread,
                        ends ? 0 : 1 + random_.below(3), count);
    event.other = first;
  }

  struct LockState {
    uint32_t holder = 0;
    uint32_t count = 0;
    std::map<uint32_t, bool> readers;
  };
  Random random_;
  const RandomTraceOptions& o_;
  Trace trace_;
  std::map<uint64_t, LockState> locks_;
  std::vector<int> open_regions_;
  std::map<uint64_t, std::optional<uint64_t>> tokens_;
};

}  // namespace

Trace random_trace(uint64_t seed, const RandomTraceOptions& options) {
  return Generator(seed, options).run();
}

}  // namespace deadheat::analysis
