#include "runtime/detect/regions.h"

#include "runtime/common/options.h"
#include "runtime/common/reach.h"
#include "runtime/detect/record_history.h"
#include "runtime/detect/region_clocks.h"

namespace deadheat::runtime {

namespace {

RegionCounters counters;

uint32_t reach_limit() { return static_cast<uint32_t>(runtime_options().region_reach); }

OpenRegion* innermost(Thread& self) {
  return self.region_count > 0 && self.region_count <= kMaxRegions
             ? &self.regions[self.region_count - 1]
             : nullptr;
}

Address* hard_limit(const Thread& self) { return self.stack + kMaxStack; }

// The depths at which the next entry or exit takes the slow path.
void set_borders(Thread& self) {
  hot.stack_limit = hard_limit(self);
  hot.stack_floor = self.stack;
  if (self.deep > 0) {
    hot.stack_floor = hot.stack_top;
    return;
  }
  const OpenRegion* const region = innermost(self);
  if (region == nullptr) {
    // The outermost call may come from uninstrumented code: check the caller.
    if (hot.stack_top == self.stack) {
      hot.stack_limit = self.stack;
    } else {
      hot.stack_floor = self.stack + 1;
    }
    return;
  }
  if (region->in_callback) {
    hot.stack_floor = self.stack + region->stack_depth + 1;
  } else {
    hot.stack_limit = hot.stack_floor = hot.stack_top;
  }
}

// A callee that reached everything several times in a row is assumed to do so for a while: a scan
// that only finds its bound is most of a region's cost. This orders more, never less; such regions
// count as reaching everything.
class Habit {
 public:
  explicit Habit(Address callee)
      : times_(times[(callee * 0x9e3779b97f4a7c15ULL) >> 52]), known_(read()) {}
  bool everything(const Thread& self) const { return known_ >= kUsual && self.tick % kTryAgain; }
  void reached(bool everything) {
    const uint8_t now = everything ? (known_ < kUsual ? known_ + 1 : kUsual) : 0;
    if (now != known_) __atomic_store_n(&times_, now, __ATOMIC_RELAXED);
  }

 private:
  static constexpr uint8_t kUsual = 4;
  static constexpr uint32_t kTryAgain = 64;
  uint8_t read() const { return __atomic_load_n(&times_, __ATOMIC_RELAXED); }

  static inline uint8_t times[4096];  // by hash of the callee; collisions are harmless
  uint8_t& times_;
  uint8_t known_;
};

void reach_at_begin(ReachedSet& set, Address callee, const Address* arguments, size_t count) {
  reach_code(set, callee, reach_limit());
  reach_from(set, arguments, count, reach_limit());
}

void push(Thread& self, Address pc) {
  *hot.stack_top++ = pc;
  history_entry(self, pc);
}

// What uninstrumented code knows at a callback: what it reached before, and what its stack and
// registers hold since. (Changes inside the objects are considered when the region ends: there are
// too many callbacks for that.) `frame`: the hook's.
void reach_from_frames(OpenRegion& region, Address frame, Address end) {
  ReachedSet* const set = region.reached;
  if (set == nullptr || set->everything) return;
  Address saved[6];
  asm("mov %%rbx, 0(%0)\n mov %%rbp, 8(%0)\n mov %%r12, 16(%0)\n mov %%r13, 24(%0)\n"
      "mov %%r14, 32(%0)\n mov %%r15, 40(%0)"
      :
      : "r"(saved)
      : "memory");
  const auto registers = reinterpret_cast<Address>(&saved);
  reach_from_stack(*set, registers, registers + sizeof saved, reach_limit());
  if (frame < end) reach_from_stack(*set, frame & ~Address{7}, end, reach_limit());
  if (set->everything) __atomic_fetch_add(&counters.reach_everything, 1, __ATOMIC_RELAXED);
}

// The outermost instrumented call of a thread, if it comes from uninstrumented code: the thread is
// in a region that never ends.
void open_base_region(Thread& self, Address pc) {
  if (runtime_options().missing_policy == MissingPolicy::kIgnore || !is_outside(pc)) return;
  __atomic_fetch_add(&counters.regions, 1, __ATOMIC_RELAXED);
  OpenRegion& region = self.regions[self.region_count++];
  region = {};
  region.frame = self.stack_end;
  if (runtime_options().missing_policy == MissingPolicy::kNaive) return;
  region.reached = arena_new<ReachedSet>();
  if (region.reached != nullptr) reach_code(*region.reached, function_of(pc), reach_limit());
}

void close_region(Thread& self) {
  OpenRegion* const region = innermost(self);
  ReachedSet* const reached = region == nullptr ? nullptr : region->reached;
  synchronise_region(self, reached);
  if (reached != nullptr) {
    reach_free(*reached);
    arena_free(reached, sizeof(ReachedSet));
    region->reached = nullptr;
  }
  --self.region_count;
}

}  // namespace

void entry_slow(Thread& self, Address pc) {
  if (self.stack == nullptr) return;  // there was no memory for it: its reports have no stacks
  const Busy busy(self);
  if (hot.stack_top == hard_limit(self)) {
    ++self.deep;
    set_borders(self);
    return;
  }
  if (self.region_count == 0 && hot.stack_top == self.stack) open_base_region(self, pc);
  OpenRegion* const region = innermost(self);
  if (region != nullptr && !region->in_callback) {
    region->stack_depth = static_cast<size_t>(hot.stack_top - self.stack);
    region->in_callback = true;
    reach_from_frames(*region, reinterpret_cast<Address>(__builtin_frame_address(0)),
                      region->frame);
    synchronise_region(self, region->reached);
  }
  push(self, pc);
  set_borders(self);
}

void exit_slow(Thread& self) {
  if (self.stack == nullptr) return;
  const Busy busy(self);
  if (self.deep > 0) {
    --self.deep;
    set_borders(self);
    return;
  }
  if (hot.stack_top == self.stack) return;  // an exit without its entry
  --hot.stack_top;
  history_exit(self);
  OpenRegion* const region = innermost(self);
  if (region != nullptr && region->in_callback) {
    region->in_callback = false;
    synchronise_region(self, region->reached);
  } else {
    // The caller returns without the region's end: a jump left it.
    while (innermost(self) != nullptr && innermost(self)->stack_depth > stack_depth(self))
      close_region(self);
  }
  set_borders(self);
}

void on_jump(Thread* self, const Address* begin, const Address* end) {
  while (hot.stack_top != nullptr && hot.stack_top != self->stack) {
    const Address call = hot.stack_top[-1];
    while (begin < end && *begin != call) ++begin;
    if (begin == end) return;
    on_function_exit(self);
  }
}

void on_region_begin(Thread* self, Address, Address callee, const Address* arguments,
                     size_t count) {
  const Busy busy(*self);
  __atomic_fetch_add(&counters.regions, 1, __ATOMIC_RELAXED);
  const MissingPolicy policy = runtime_options().missing_policy;
  if (policy == MissingPolicy::kIgnore) return;
  if (++self->region_count > kMaxRegions) {
    __atomic_fetch_add(&counters.too_deep, 1, __ATOMIC_RELAXED);
    synchronise_region(*self, nullptr);
    return;
  }
  OpenRegion& region = self->regions[self->region_count - 1];
  region.in_callback = false;
  region.frame = reinterpret_cast<Address>(__builtin_frame_address(0));
  region.stack_depth = static_cast<size_t>(hot.stack_top - self->stack);
  region.unscanned = self->alone && policy == MissingPolicy::kRdit && count <= kKeptArguments;
  if (region.unscanned) {
    region.reached = nullptr;
    region.callee = callee;
    region.argument_count = count;
    for (size_t i = 0; i < count; ++i) region.arguments[i] = arguments[i];
    set_borders(*self);
    return;
  }
  if (policy == MissingPolicy::kNaive) {
    region.reached = nullptr;
    synchronise_region(*self, nullptr);
    set_borders(*self);
    return;
  }
  region.reached = arena_new<ReachedSet>();
  if (region.reached != nullptr) {
    Habit habit(callee);
    if (habit.everything(*self)) {
      region.reached->everything = true;
    } else {
      reach_at_begin(*region.reached, callee, arguments, count);
      habit.reached(region.reached->everything);
    }
    if (region.reached->everything)
      __atomic_fetch_add(&counters.reach_everything, 1, __ATOMIC_RELAXED);
  }
  synchronise_region(*self, region.reached);
  set_borders(*self);
}

void scan_open_regions(Thread& self) {
  for (uint32_t i = 0; i < self.region_count && i < kMaxRegions; ++i) {
    OpenRegion& region = self.regions[i];
    if (!region.unscanned) continue;
    region.unscanned = false;
    region.reached = arena_new<ReachedSet>();
    if (region.reached == nullptr) continue;
    reach_at_begin(*region.reached, region.callee, region.arguments, region.argument_count);
    if (region.reached->everything)
      __atomic_fetch_add(&counters.reach_everything, 1, __ATOMIC_RELAXED);
  }
}

void on_region_end(Thread* self, Address, const Address* results, size_t count) {
  if (self->region_count == 0) return;
  const Busy busy(*self);
  OpenRegion* const region = innermost(*self);
  if (region != nullptr && region->reached != nullptr) {
    // Again: what the region's objects point to may have changed, and its result is new.
    ReachedSet& set = *region->reached;
    const bool bounded = !set.everything;
    reach_again(set, reach_limit());
    reach_from(set, results, count, reach_limit());
    if (bounded && set.everything)
      __atomic_fetch_add(&counters.reach_everything, 1, __ATOMIC_RELAXED);
  }
  close_region(*self);
  set_borders(*self);
}

Address thread_stack_end(Address address) {
  if (!may_be_stack(address)) return 0;
  Address end = 0;
  for_each_thread([&](const Thread& thread) {
    if (address >= thread.stack_begin && address < thread.stack_end) end = thread.stack_end;
  });
  return end;
}

const RegionCounters& region_counters() { return counters; }

}  // namespace deadheat::runtime
