#include "lib/analysis/incomplete/hidden_sync_trace.h"

#include <algorithm>

#include "lib/base/random.h"

namespace deadheat::analysis {

using trace::Event;
using trace::EventKind;
using trace::MemoryOrder;

namespace {

constexpr uint32_t kThreads = 5;
constexpr uint64_t kEvents = 220;
constexpr uint64_t kDataBase = 0x10000, kObjectBase = 0x80000, kPrivateBase = 0xa0000;

class Execution {
 public:
  Execution(uint64_t seed, uint32_t left_out)
      : random_(seed), left_out_(kLibraryClasses), holder_(kLibraryClasses), held_(kThreads) {
    std::vector<uint32_t> classes(kLibraryClasses);
    for (uint32_t i = 0; i < kLibraryClasses; ++i) classes[i] = i;
    for (uint32_t i = 0; i < left_out; ++i) {
      std::swap(classes[i], classes[i + random_.below(kLibraryClasses - i)]);
      left_out_[classes[i]] = true;
    }
    result_.classes_left_out = left_out;
  }

  HiddenSyncTrace run() {
    for (uint32_t t = 1; t < kThreads; ++t) both(0, EventKind::kFork, 0, 0, 1).other(t);
    while (result_.complete.events.size() < kEvents)
      step(static_cast<uint32_t>(random_.below(kThreads)));
    return std::move(result_);
  }

 private:
  struct Handle {
    HiddenSyncTrace& result;
    void other(uint32_t thread) {
      result.complete.events.back().other = thread;
      result.incomplete.events.back().other = thread;
    }
  };

  static Event make(uint32_t thread, EventKind kind, uint64_t address, uint64_t size,
                    uint32_t site) {
    Event event;
    event.thread = thread;
    event.kind = kind;
    event.address = address;
    event.size = size;
    event.site = site;
    return event;
  }

  Handle both(uint32_t thread, EventKind kind, uint64_t address, uint64_t size, uint32_t site) {
    const Event event = make(thread, kind, address, size, site);
    result_.complete.events.push_back(event);
    result_.incomplete.events.push_back(event);
    return {result_};
  }

  void access(uint32_t thread, uint64_t variable) {
    const bool write = random_.chance(0.5);
    const auto site =
        static_cast<uint32_t>(100 + variable * 6 + (write ? 0 : 3) + random_.below(3));
    both(thread, write ? EventKind::kWrite : EventKind::kRead, kDataBase + variable * 8, 8, site);
  }

  static uint64_t object(uint32_t library_class) { return kObjectBase + library_class * 64ULL; }

  // A call into the class: the complete trace records its synchronisation, the other one only if
  // the class is instrumented.
  void call(uint32_t thread, uint32_t library_class, std::initializer_list<Event> synchronisation) {
    const bool hidden = left_out_[library_class];
    auto& incomplete = result_.incomplete;
    if (hidden) {
      ++result_.regions;
      const auto first = static_cast<uint32_t>(incomplete.ranges.size());
      add_reach(thread, library_class);
      Event begin =
          make(thread, EventKind::kRegionBegin, library_class, incomplete.ranges.size() - first, 2);
      begin.other = first;
      incomplete.events.push_back(begin);
    }
    for (const Event& event : synchronisation) {
      result_.complete.events.push_back(event);
      if (hidden) ++result_.events_hidden;
      if (!hidden) incomplete.events.push_back(event);
    }
    if (hidden)
      incomplete.events.push_back(make(thread, EventKind::kRegionEnd, library_class, 0, 3));
  }

  void add_reach(uint32_t thread, uint32_t library_class) {
    auto& ranges = result_.incomplete.ranges;
    ranges.push_back({object(library_class), object(library_class) + 64});
    for (uint64_t n = random_.below(4); n > 0; --n) {
      const uint64_t own = kPrivateBase + thread * 4096 + random_.below(32) * 64;
      ranges.push_back({own, own + 64});
    }
    if (random_.chance(0.08)) {  // an object that other calls reach too
      const uint64_t shared = object(static_cast<uint32_t>(random_.below(kLibraryClasses)));
      ranges.push_back({shared, shared + 64});
    }
  }

  // Every class guards its own variable and is a lock, a mailbox or a flag.
  void step(uint32_t thread) {
    if (held_[thread] != 0) return finish_lock(thread);
    const auto library_class = static_cast<uint32_t>(random_.below(kLibraryClasses));
    const uint64_t variable = library_class;
    if (random_.chance(0.06)) return access(thread, variable);  // without synchronisation
    const uint64_t sync = object(library_class);
    switch (library_class % 4) {
      case 0:
      case 1:
        if (holder_[library_class] != 0) return;
        holder_[library_class] = thread + 1;
        held_[thread] = library_class + 1;
        return call(thread, library_class, {make(thread, EventKind::kAcquire, sync, 0, 10)});
      case 2:
        if (random_.chance(0.5)) {
          access(thread, variable);
          return call(thread, library_class,
                      {make(thread, EventKind::kSemaphorePost, sync, 0, 11)});
        }
        call(thread, library_class, {make(thread, EventKind::kSemaphoreWait, sync, 0, 12)});
        return access(thread, variable);
      default: {
        Event update = make(thread, EventKind::kReadModifyWrite, sync, 8, 13);
        update.order = MemoryOrder::kAcqRel;
        access(thread, variable);
        call(thread, library_class, {update});
        return access(thread, variable);
      }
    }
  }

  void finish_lock(uint32_t thread) {
    const uint32_t library_class = held_[thread] - 1;
    access(thread, library_class);
    if (random_.chance(0.4)) access(thread, library_class);
    if (random_.chance(0.3)) return;  // continues inside
    holder_[library_class] = 0;
    held_[thread] = 0;
    call(thread, library_class, {make(thread, EventKind::kRelease, object(library_class), 0, 14)});
  }

  Random random_;
  std::vector<bool> left_out_;
  std::vector<uint32_t> holder_;  // per class: thread + 1
  std::vector<uint32_t> held_;    // per thread: class + 1
  HiddenSyncTrace result_;
};

}  // namespace

HiddenSyncTrace hidden_sync_trace(uint64_t seed, uint32_t classes_left_out) {
  return Execution(seed, classes_left_out).run();
}

}  // namespace deadheat::analysis
