#include "runtime/detect/report.h"

#include <string.h>

#include "runtime/common/flat_set.h"
#include "runtime/common/heap.h"
#include "runtime/common/intercept/start.h"
#include "runtime/common/modules.h"
#include "runtime/common/options.h"
#include "runtime/common/quarantine.h"
#include "runtime/detect/regions.h"
#include "runtime/detect/strands.h"
#include "runtime/detect/sync.h"

namespace deadheat::runtime {

namespace {

Lock report_lock;
FlatSet reported;  // pairs of pcs
FlatSet seen;      // see first_look()
uint64_t found, repeated, lost_stacks;
RaceReport report;  // large: never on a thread's stack
PastAccess past;

struct Range {
  Address pc, begin, end;
};
constexpr size_t kMaxBenign = 256;
Range benign[kMaxBenign];
size_t benign_count;
uint64_t benign_dropped;

bool is_benign(Address address) {
  for (size_t i = 0; i < benign_count; ++i)
    if (address >= benign[i].begin && address < benign[i].end) return true;
  return false;
}

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t hash = a * 0x9e3779b97f4a7c15ULL ^ b * 0xc2b2ae3d27d4eb4fULL;
  hash ^= hash >> 29;
  return hash == 0 ? 1 : hash;
}

// Replaying the history is expensive, and a hot race recurs: per pc, granule and kind of earlier
// access, eight ticks of the other side are examined, and per pc and kind this many granules. A
// race of the same pc with yet another place is then missed (counted).
constexpr uint16_t kMaxLooks = 1024;
constexpr size_t kLookCounters = 4096;
uint16_t looks[kLookCounters];
uint64_t not_looked;

bool first_look(const AccessInfo& access, Address granule, Slot earlier) {
  const uint64_t kind = (earlier & (kWriteBit | kAtomicBit)) | (earlier >> kIdShift) % 8;
  if (!seen.insert(mix(access.pc ^ kind << 48, granule))) return false;
  uint16_t& count = looks[mix(access.pc, kind) % kLookCounters];
  if (count < kMaxLooks) return ++count != 0;
  ++not_looked;
  return false;
}

// Call sites are return addresses: the byte before belongs to the call.
void put_frames(Frames& frames, Address pc, const Address* calls, size_t depth) {
  frames.depth = 0;
  frames.pcs[frames.depth++] = pc - 1;
  for (size_t i = 0; i < depth && frames.depth <= kMaxHistoryStack; ++i)
    frames.pcs[frames.depth++] = calls[i] - 1;
}

void describe_current(const Thread& self, const AccessInfo& access, ReportedAccess& out) {
  out.write = (access.flags & kWriteBit) != 0;
  out.atomic = (access.flags & kAtomicBit) != 0;
  out.freed = access.freed;
  out.address = access.address;
  out.size = access.size;
  out.thread = current_strand(self).number;
  out.stack_lost = false;
  const size_t depth = stack_depth(self);
  const size_t kept = depth < kMaxHistoryStack ? depth : kMaxHistoryStack;
  out.frames.depth = 0;
  out.frames.pcs[out.frames.depth++] = access.pc - 1;
  for (size_t i = 0; i < kept; ++i)
    out.frames.pcs[out.frames.depth++] = self.stack[depth - 1 - i] - 1;
  out.lock_count = self.lock_count < kMaxHistoryLocks ? self.lock_count : kMaxHistoryLocks;
  memcpy(out.locks, self.locks, out.lock_count * sizeof(HeldLock));
}

void put_past(ReportedAccess& out) {
  out.stack_lost = !past.found;
  out.frames.depth = 0;
  out.lock_count = 0;
  if (!past.found) return;
  out.address = past.address;
  out.size = past.size;
  put_frames(out.frames, past.pc, past.stack, past.stack_depth);
  out.lock_count = past.lock_count;
  memcpy(out.locks, past.locks, past.lock_count * sizeof(HeldLock));
}

void describe_own_past(const Thread& self, Address granule, Slot mask, const AccessInfo& access,
                       ReportedAccess& out) {
  describe_current(self, access, out);
  past.found = false;
  find_past_access(self, self.tick, granule, mask, out.write, out.atomic, past);
  put_past(out);
}

// A thread, or a task that it ran.
void describe_thread(const Thread& thread, const StrandName& strand, ReportedThread& out) {
  out.number = thread.common.number;
  out.kernel_id = thread.common.kernel_id;
  out.parent = thread.common.parent;
  out.running = !thread.common.finished;
  memcpy(out.name, thread.common.name, sizeof out.name);
  get_stack(thread.creation_stack, &out.creation);
  if (!strand.is_task) return;
  out.number = strand.number;
  out.parent = strand.parent;
  strcpy(out.name, "task");
  get_stack(strand.creation, &out.creation);
}

void describe_earlier(Slot slot, Address granule, Slot mask, ReportedAccess& out,
                      ReportedThread& out_thread, bool* near_region) {
  const EpochEntry epoch = epoch_entry(slot >> kIdShift);
  past.found = false;
  bool thread_found = false;
  uint32_t carrier = ~0U;
  StrandName strand;
  find_strand(epoch, &carrier, &strand);
  for_each_thread([&](const Thread& thread) {
    // A slot has one owner at a time, and a later owner begins after the former's last tick.
    const bool has_it =
        thread.slot == epoch.slot && epoch.tick >= thread.first_tick && epoch.tick <= thread.tick;
    if (thread_found || (!has_it && thread.common.number != carrier)) return;
    thread_found = true;
    if (has_it) strand = current_strand(thread);
    find_past_access(thread, epoch.tick, granule, slot & mask & kMaskBits, (slot & kWriteBit) != 0,
                     (slot & kAtomicBit) != 0, past);
    describe_thread(thread, strand, out_thread);
    *near_region |= thread.met_region && thread.last_region_tick + 2 >= epoch.tick;
  });
  out.write = (slot & kWriteBit) != 0;
  out.atomic = (slot & kAtomicBit) != 0;
  out.freed = past.found && past.freed;
  out.thread = thread_found ? out_thread.number : ~0U;
  put_past(out);
  if (!past.found) {
    const Slot bytes = slot & mask & kMaskBits;
    out.address = granule + static_cast<unsigned>(__builtin_ctz(bytes));
    out.size = static_cast<unsigned>(__builtin_popcount(bytes));
  }
}

void describe_location(Address address) {
  report.location = LocationKind::kUnknown;
  Block block;
  if (heap_find(address, &block)) {
    report.location = LocationKind::kHeap;
    report.block = block.begin;
    report.block_size = block.size;
    report.location_thread = block.thread;
    get_stack(block.stack, &report.allocation);
    return;
  }
  for_each_thread([&](const Thread& thread) {
    if (address < thread.stack_begin || address >= thread.stack_end) return;
    const bool tls = address >= thread.tls_begin && address < thread.tls_end;
    report.location = tls ? LocationKind::kTls : LocationKind::kStack;
    report.location_thread = thread.common.number;
  });
  if (report.location != LocationKind::kUnknown) return;
  if (find_module(address) != nullptr) report.location = LocationKind::kGlobal;
}

void halt() {
  finish_reports();
  program_dies();
  const int64_t code = runtime_options().exitcode;
  exit_process(code != 0 ? static_cast<int>(code) : 66);
}

}  // namespace

void report_race(Thread& self, Address granule, Slot mask, Slot earlier, const AccessInfo& access,
                 bool past_one) {
  const Options& options = runtime_options();
  const Slot common_bytes = earlier & mask & kMaskBits;
  const Address address = granule + static_cast<unsigned>(__builtin_ctz(common_bytes));
  if (options.report_bugs == 0 || is_benign(address)) return;
  if (is_dead(address, epoch_entry(earlier >> kIdShift))) return;
  const Locked locked(report_lock);
  if (!first_look(access, granule, earlier)) {
    ++repeated;
    return;
  }
  report.near_region = self.met_region && self.last_region_tick + 2 >= self.tick;
  if (past_one) {
    describe_own_past(self, granule, mask, access, report.accesses[0]);
  } else {
    describe_current(self, access, report.accesses[0]);
  }
  describe_thread(self, current_strand(self), report.threads[0]);
  describe_earlier(earlier, granule, mask, report.accesses[1], report.threads[1],
                   &report.near_region);
  // Without its stack, only the thread of the earlier access is known: otherwise an array would be
  // as many races as it has elements.
  const Address other = report.accesses[1].stack_lost ? Address{report.threads[1].number}
                                                      : report.accesses[1].frames.pcs[0];
  const Address mine = access.pc - 1;
  if (!reported.insert(mix(mine < other ? mine : other, mine < other ? other : mine))) {
    ++repeated;
    return;
  }
  if (report.accesses[1].stack_lost) ++lost_stacks;
  if (options.max_reports > 0 && found >= static_cast<uint64_t>(options.max_reports)) {
    ++repeated;
    return;
  }
  report.number = ++found;
  report.address = address;
  report.size = static_cast<unsigned>(__builtin_popcount(common_bytes));
  describe_location(address);
  if (raw_reports()) {
    write_json(report);
  } else {
    write_text(report);
  }
  tell_program(self, report);
  if (options.halt_on_error != 0) halt();
}

void on_benign_race(Thread*, Address begin, size_t size, const char*) {
  const Locked locked(report_lock);
  for (size_t i = 0; i < benign_count; ++i)
    if (benign[i].begin <= begin && begin + size <= benign[i].end) return;
  if (benign_count < kMaxBenign) {
    benign[benign_count++] = {0, begin, begin + size};
  } else {
    ++benign_dropped;
  }
}

uint64_t races_found() { return found; }
uint64_t races_repeated() { return repeated; }

void collect_counters(CounterEntry (&counters)[kCounters]) {
  const RegionCounters& regions = region_counters();
  constexpr size_t kOwn = kCounters - kCommonCounters;
  const CounterEntry all[kOwn] = {
      {"threads", threads_started(), "threads started", false},
      {"races_repeated", repeated, "further occurrences of races that were reported", false},
      {"earlier_stacks_lost", lost_stacks,
       "races whose earlier stack had left the history (option history_size)", true},
      {"races_not_looked_at", not_looked,
       "occurrences whose other side was not looked for, after 1024 at one instruction", true},
      {"accesses_evicted", evicted_accesses(),
       "accesses forgotten because more than four unordered ones met in 8 bytes", true},
      {"accesses_unshadowed", unshadowed_accesses(), "accesses without memory for their shadow",
       true},
      {"shadow_resets", shadow_resets(),
       "times that all accesses were forgotten because epoch ids were spent", true},
      {"memory_limit_resets", memory_limit_clears(),
       "times that all accesses were forgotten to stay below memory_limit_mb", true},
      {"frees_marked_in_part", unmarked_frees(),
       "freed blocks of which only the first 1024 bytes are looked at for later use", true},
      {"frees_not_kept", quarantine_passed(),
       "freed blocks that were not kept back, so that later uses of them show less (quarantine_mb)",
       true},
      {"edges_lost", edges_lost(), "orders not taken for lack of memory", true},
      {"slots_shared", slots_shared(),
       "threads that share a clock with a finished one that they were not ordered with", true},
      {"stacks_dropped", stacks_dropped(), "allocation stacks not kept for lack of memory", true},
      {"tasks_in_thread_order", tasks_in_thread_order(),
       "tasks that are only looked at in the order in which their thread ran them", true},
      {"regions", regions.regions, "calls into code that is not instrumented", false},
      {"regions_reach_everything", regions.reach_everything + regions.too_deep,
       "such calls whose reach was too large to follow: ordered with all others", true},
      {"benign_ranges_dropped", benign_dropped,
       "ranges that the program calls benign, beyond the first 256: their races are reported",
       true},
  };
  memcpy(counters, all, sizeof all);
  common_counters(counters + kOwn);
}

void reports_before_fork() { report_lock.lock(); }
void reports_after_fork_parent() { report_lock.unlock(); }
void reports_after_fork_child() {
  report_lock.unlock();
  found = repeated = lost_stacks = 0;
  start_reports();
}

}  // namespace deadheat::runtime
