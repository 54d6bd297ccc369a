#include "bench/workload/workload.h"

#include <algorithm>

namespace deadheat::bench {

using trace::Event;
using trace::EventKind;

Workload::Workload(const WorkloadOptions& options)
    : options_(options),
      random_(options.seed),
      threads_(options.threads),
      lock_holder_(options.locks) {}

Event Workload::make(uint32_t thread, EventKind kind, uint64_t address, uint32_t site) {
  Event event;
  event.kind = kind;
  event.thread = thread;
  event.address = address;
  event.site = site;
  return event;
}

Event Workload::access(uint32_t thread, uint64_t variable, double write, uint32_t site) {
  // A site either reads or writes, as in a program.
  const bool writes = static_cast<double>(site % 100) < write * 100;
  Event event =
      make(thread, writes ? EventKind::kWrite : EventKind::kRead, kVariables + variable * 8, site);
  event.size = 8;
  return event;
}

// A critical section: its variables belong to its lock, its sites to its lock as well.
void Workload::plan_locked(uint32_t thread) {
  const auto lock = static_cast<uint32_t>(random_.below(options_.locks));
  auto& queue = threads_[thread].queue;
  const uint64_t address = kLocks + lock * 8ULL;
  const uint32_t site = 1000 + lock * 16 % (options_.sites - 1000);
  queue.push_back(make(thread, EventKind::kRelease, address, site + 15));
  for (uint64_t n = random_.between(2, 10); n > 0; --n) {
    const uint64_t per_lock = options_.shared_variables / options_.locks;
    const uint64_t variable = lock * per_lock + skewed(per_lock);
    queue.push_back(access(thread, variable, 0.4,
                           site + static_cast<uint32_t>(variable % 3 * 4 + random_.below(4))));
  }
  queue.push_back(make(thread, EventKind::kAcquire, address, site + 14));
}

void Workload::plan_region(uint32_t thread) {
  auto& queue = threads_[thread].queue;
  const auto first = static_cast<uint32_t>(ranges_.size());
  const uint64_t count = random_.between(1, 4);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t begin = kRegionObjects + random_.below(20000) * 64;
    ranges_.push_back({begin, begin + 64});
  }
  Event end = make(thread, EventKind::kRegionEnd, 0, 998);
  Event begin = make(thread, EventKind::kRegionBegin, 0, 997);
  begin.size = count;
  begin.other = first;
  queue.push_back(end);
  queue.push_back(begin);
}

// A loop over private arrays: two reads and a write per iteration, always from the same three
// sites.
void Workload::plan_loop(uint32_t thread) {
  const uint64_t array = options_.private_variables / 3;
  const uint64_t base = private_base(thread), start = skewed(array);
  const auto site = static_cast<uint32_t>(start / 64 % 40 * 3);  // an array belongs to few loops
  auto& queue = threads_[thread].queue;
  for (uint64_t n = random_.between(4, 16), i = 0; i < n; ++i) {
    const uint64_t at = (start + n - 1 - i) % array;  // the queue is taken from its end
    queue.push_back(access(thread, base + 2 * array + at, 1, site + 2));
    queue.push_back(access(thread, base + array + at, 0, site + 1));
    queue.push_back(access(thread, base + at, 0, site));
  }
}

// Four fifths of the choices fall on a fifth of the things, as in programs.
uint64_t Workload::skewed(uint64_t bound) {
  return random_.below(random_.chance(0.8) ? (bound + 4) / 5 : bound);
}

uint64_t Workload::private_base(uint32_t thread) const {
  return options_.shared_variables + options_.read_shared_variables + options_.racy_variables +
         static_cast<uint64_t>(thread) * options_.private_variables;
}

void Workload::plan(uint32_t thread) {
  auto& queue = threads_[thread].queue;
  if (options_.regions > 0 && random_.chance(options_.regions)) plan_region(thread);
  if (random_.chance(0.25)) return plan_locked(thread);
  if (random_.chance(0.4)) return plan_loop(thread);
  const auto start = skewed(options_.private_variables);
  for (uint64_t n = random_.between(4, 20), i = 0; i < n; ++i) {
    if (random_.chance(options_.racy)) {
      const uint64_t racy = random_.below(options_.racy_variables);
      const uint64_t variable = options_.shared_variables + options_.read_shared_variables + racy;
      const uint64_t site = 900 + racy * 4 % 90;  // below 950 sites write, above they read
      queue.push_back(
          access(thread, variable, 0.5, static_cast<uint32_t>(site + random_.below(4))));
    } else if (random_.chance(0.2)) {
      const uint64_t variable = options_.shared_variables + skewed(options_.read_shared_variables);
      queue.push_back(access(thread, variable, 0,
                             700 + static_cast<uint32_t>(variable % 49 * 4 + random_.below(4))));
    } else {
      // A walk over private data, as loops do.
      const uint64_t variable = private_base(thread) + (start + i) % options_.private_variables;
      queue.push_back(
          access(thread, variable, 0.35,
                 static_cast<uint32_t>(120 + variable / 16 * 5 % 576 + random_.below(4))));
    }
  }
}

bool Workload::next(Event& event) {
  if (emitted_ + options_.threads - 1 >= options_.events) {  // the joins
    if (joined_ >= options_.threads) return false;
    event = make(0, EventKind::kJoin, 0, 999);
    event.other = joined_++;
    ++emitted_;
    return true;
  }
  ++emitted_;
  if (forked_ < options_.threads) {
    event = make(0, EventKind::kFork, 0, 996);
    event.other = forked_++;
    return true;
  }
  // Threads run in short bursts, as they appear in a trace that was stamped on several cores.
  for (;;) {
    if (burst_ == 0) {
      current_ = static_cast<uint32_t>(random_.below(options_.threads));
      burst_ = static_cast<uint32_t>(random_.between(1, 12));
    }
    auto& queue = threads_[current_].queue;
    if (queue.empty()) plan(current_);
    event = queue.back();
    if (event.kind == EventKind::kAcquire) {
      uint32_t& holder = lock_holder_[(event.address - kLocks) / 8];
      if (holder != 0) {  // blocked: another thread runs
        burst_ = 0;
        continue;
      }
      holder = current_ + 1;
    } else if (event.kind == EventKind::kRelease) {
      lock_holder_[(event.address - kLocks) / 8] = 0;
    }
    queue.pop_back();
    --burst_;
    return true;
  }
}

}  // namespace deadheat::bench
