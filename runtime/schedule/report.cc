#include "runtime/schedule/report.h"

#include <execinfo.h>
#include <signal.h>
#include <string.h>

#include "runtime/common/flat_set.h"
#include "runtime/common/heap.h"
#include "runtime/common/modules.h"
#include "runtime/common/options.h"
#include "runtime/common/raw.h"
#include "runtime/schedule/trial.h"

namespace deadheat::runtime {

namespace key = raw::key;

namespace {

constexpr int kStuckStatus = 75;

char line_buffer[64 << 10];
FlatSet told;  // pairs of pcs and which thread went first
uint64_t races;
bool finished;

struct OutsideCall {
  const char* name;
  uint64_t count;
};
OutsideCall outside_calls[64];

const char* access_name(const Next& next, const Next& other) {
  if (next.freed) return raw::access::free_;
  if (next.lock && other.lock) return raw::access::acquire_;
  if (next.atomic) return next.write ? raw::access::atomic_write_ : raw::access::atomic_read_;
  return next.write ? raw::access::write_ : raw::access::read_;
}

void put_access(Text& out, const Thread& thread, const Thread& other) {
  const size_t locks = thread.held_count < kMaxHeld ? thread.held_count : kMaxHeld;
  RawObject(out)
      .put(key::access_kind, access_name(thread.next, other.next))
      .put(key::access_size, thread.next.size)
      .put(key::access_address, thread.next.object)
      .put(key::access_thread, thread.common.number)
      .put(key::access_stack, thread.stack, thread.depth, 1)
      .put(key::access_stack_lost, false)
      .put(key::access_locks, locks,
           [&](size_t i) {
             RawObject(out)
                 .put(key::lock_address, thread.held[i])
                 .put(key::lock_shared, false)
                 .put(key::lock_stack, nullptr, 0, 0)
                 .close();
           })
      .close();
}

bool is_order(const Next& a, const Next& b) { return (a.atomic && b.atomic) || (a.lock && b.lock); }

void put_thread(Text& out, const Thread& thread) {
  RawObject(out)
      .put(key::thread_number, thread.common.number)
      .put(key::thread_name, thread.common.name)
      .put(key::thread_kernel_id, thread.common.kernel_id)
      .put(key::thread_parent, thread.common.parent)
      .put(key::thread_running, true)
      .put(key::thread_stack, &thread.creation_pc, thread.creation_pc == 0 ? 0 : 1, 1)
      .close();
}

void put_location(Text& out, Address address) {
  const Module* const module = find_module(address);
  RawObject object(out);
  object.put(key::location_kind,
             module == nullptr ? raw::location::unknown_ : raw::location::global_);
  if (module != nullptr) {
    raw_module(*module);
    object.put(key::location_module, module->id).put(key::location_offset, address - module->base);
  }
  object.close();
}

// The thread is inside our hook: raw_stack omits the runtime's frames, but the innermost frame must
// be the access itself.
void trim(Thread& thread) {
  size_t from = 0;
  while (from < thread.depth && thread.stack[from] != thread.next.pc) ++from;
  if (from == thread.depth) {  // unwinding failed
    thread.stack[0] = thread.next.pc;
    thread.depth = thread.next.pc == 0 ? 0 : 1;
    return;
  }
  memmove(thread.stack, thread.stack + from, (thread.depth - from) * sizeof(Address));
  thread.depth -= from;
}

const char* wait_name(const Thread& thread) {
  if (thread.state == State::kOutside) return raw::waits::outside_;
  if (thread.state != State::kBlocked) return raw::waits::nothing_;
  if (thread.waits_for != nullptr) return raw::waits::join_;
  if (thread.fd >= 0) return raw::waits::descriptor_;
  switch (thread.next.point) {
    case Point::kWait:
      return raw::waits::condition_;
    case Point::kBarrier:
      return raw::waits::barrier_;
    case Point::kSemaphore:
      return raw::waits::semaphore_;
    case Point::kOnce:
      return raw::waits::once_;
    case Point::kFutex:
      return raw::waits::futex_;
    case Point::kSleep:
      return raw::waits::time_;
    default:
      return raw::waits::lock_;
  }
}

int64_t owner_of(Address lock) {
  for (const Thread* thread = threads; thread != nullptr; thread = thread->next_thread)
    for (uint32_t i = 0; i < thread->held_count && i < kMaxHeld; ++i)
      if (thread->held[i] == lock) return thread->common.number;
  return -1;
}

// A moving thread cannot describe its stack: its last point is used.
bool stands(const Thread& thread) {
  if (&thread == tls_self) return true;
  return thread.state == State::kBlocked && &thread != holder;
}

void put_waiting(Text& out, Thread& thread) {
  thread.depth = 0;
  if (stands(thread)) ask_for_stack(thread);
  trim(thread);
  const int64_t owner = thread.waits_for != nullptr
                            ? static_cast<int64_t>(thread.waits_for->common.number)
                            : owner_of(thread.next.object);
  RawObject(out)
      .put(key::waiter_number, thread.common.number)
      .put(key::waiter_name, thread.common.name)
      .put(key::waiter_waits, wait_name(thread))
      .put(key::waiter_object, thread.next.object)
      .put(key::waiter_owner, owner)
      .put(key::waiter_stack, thread.stack, thread.depth, 1)
      .close();
}

void send(const Text& line) {
  if (raw_reports()) append_raw(line);
}

uint64_t mix(uint64_t a, uint64_t b) {
  const uint64_t hash = a * 0x9e3779b97f4a7c15ULL ^ (b + 1) * 0xc2b2ae3d27d4eb4fULL;
  return hash == 0 ? 1 : hash ^ hash >> 29;
}

}  // namespace

uint64_t races_found() { return races; }

void describe_stack(Thread& self) {
  void* frames[kMaxFrames];
  const int count = backtrace(frames, kMaxFrames);
  self.depth = 0;
  for (int i = 0; i < count; ++i) self.stack[self.depth++] = reinterpret_cast<Address>(frames[i]);
}

void count_outside(const char* name) {
  ++counts.outside;
  for (OutsideCall& call : outside_calls) {
    if (call.name != nullptr && strcmp(call.name, name) != 0) continue;
    call.name = name;
    ++call.count;
    return;
  }
}

void start_reports() {
  finished = false;
  void* one[1];
  backtrace(one, 1);  // loads the unwinder now
  raw_process_line(raw::mode::schedule_);
  raw_instrumented_modules();
}

void report_race(Thread& arrived, Thread& held, bool arrived_first) {
  ++races;
  arrived.next.flags |= DHD_RACE | (arrived_first ? DHD_LET_GO_FIRST : 0);
  if (!told.insert(mix(mix(arrived.next.pc, held.next.pc), arrived_first ? 1 : 2))) return;
  ask_for_stack(arrived);
  trim(arrived);
  ask_for_stack(held);
  trim(held);
  const Address begin =
      arrived.next.object > held.next.object ? arrived.next.object : held.next.object;
  Text line(line_buffer, sizeof line_buffer);
  Thread* const sides[] = {&arrived, &held};
  RawObject(line, raw::line::race_)
      .put(key::race_pid, process_id())
      .put(key::race_n, races)
      .put(key::race_decision, decisions)
      .put(key::race_first, arrived_first ? 0 : 1)
      .put(key::race_atomic, is_order(arrived.next, held.next))
      .put(key::race_address, begin)
      .put(key::race_size, arrived.next.size)
      .put(key::race_accesses, 2, [&](size_t i) { put_access(line, *sides[i], *sides[1 - i]); })
      .put(key::race_location, [&](Text& out) { put_location(out, begin); })
      .put(key::race_threads, 2, [&](size_t i) { put_thread(line, *sides[i]); })
      .put(key::race_near_region, false)
      .put(key::race_count, 1)
      .close_line();
  send(line);
  if (trial().stop_at_race) system_call(SYS_tgkill, process_id(), kernel_thread_id(), SIGTRAP);
}

namespace {

// All threads that have not ended and whose stacks fit into the line: the stop is always reported,
// and omitted threads are counted.
void put_waiters(Text& line) {
  line << '[';
  bool first = true;
  for (Thread* thread = threads; thread != nullptr; thread = thread->next_thread) {
    if (thread->state == State::kEnded) continue;
    const size_t so_far = line.size();
    if (!first) line << ',';
    put_waiting(line, *thread);
    if (line.cut()) {
      line.back_to(so_far);
      count_line_cut();
      break;
    }
    first = false;
  }
}

// "deadlock" and "hang" share the members `pid`, `decision` and `threads`.
[[noreturn]] void end_stuck(const char* what, const char* words) {
  constexpr size_t kRoomForTheEnd = 8;
  Text line(line_buffer, sizeof line_buffer - kRoomForTheEnd);
  RawObject(line, what)
      .put(key::deadlock_pid, process_id())
      .put(key::deadlock_decision, decisions)
      .put(raw::Key<raw::type::record>{key::deadlock_threads.name}, put_waiters);
  Text whole(line_buffer, sizeof line_buffer);
  whole.back_to(line.size());
  whole << "]}\n";
  send(whole);
  finish_reports();
  say(words);
  exit_process(kStuckStatus);
}

}  // namespace

void report_deadlock() {
  end_stuck(raw::line::deadlock_, "deadlock: every thread waits for another one");
}

void report_hang() {
  end_stuck(raw::line::hang_, "hang: every thread was let go, and the program did not end");
}

void report_released() {
  TextBuffer<256> line;
  RawObject(line, raw::line::released_)
      .put(key::released_pid, process_id())
      .put(key::released_decision, decisions)
      .close_line();
  send(line);
}

void report_diverged(uint64_t index, const Decision* expected, const Decision& found) {
  TextBuffer<1024> text;
  if (expected == nullptr) {
    text << "the followed execution had ended here";
  } else {
    text << "expected thread ";
    text.decimal(expected->thread) << " at point kind ";
    text.decimal(expected->kind) << ", then thread ";
    text.decimal(expected->chosen) << "; found thread ";
    text.decimal(found.thread) << " at point kind ";
    text.decimal(found.kind) << ", then thread ";
    text.decimal(found.chosen);
  }
  TextBuffer<2048> line;
  RawObject(line, raw::line::diverged_)
      .put(key::diverged_pid, process_id())
      .put(key::diverged_decision, index)
      .put(key::diverged_text, text.c_str())
      .close_line();
  send(line);
}

void report_crash(Thread* self, int signal, Address pc) {
  void* frames[kMaxFrames];
  const int count = backtrace(frames, kMaxFrames);
  Address stack[kMaxFrames + 1];
  size_t depth = 0;
  int from = 0;
  while (from < count && reinterpret_cast<Address>(frames[from]) != pc) ++from;
  stack[depth++] = pc + 1;
  for (int i = from < count ? from + 1 : 2; i < count; ++i)
    stack[depth++] = reinterpret_cast<Address>(frames[i]);
  Text line(line_buffer, sizeof line_buffer);
  RawObject(line, raw::line::crash_)
      .put(key::crash_pid, process_id())
      .put(key::crash_signal, static_cast<uint64_t>(signal))
      .put(key::crash_thread, self == nullptr ? -1 : static_cast<int64_t>(self->common.number))
      .put(key::crash_decision, decisions)
      .put(key::crash_stack, stack, depth, 1)
      .close_line();
  send(line);
}

void finish_reports() {
  if (finished || !raw_reports()) return;
  finished = true;
  raw_instrumented_modules();
  TextBuffer<1024> names;
  names << "calls that wait for the world, left to the system";
  for (const OutsideCall& call : outside_calls) {
    if (call.name == nullptr) break;
    names << (&call == outside_calls ? ": " : ", ") << call.name << ' ';
    names.decimal(call.count);
  }
  constexpr size_t kOwn = 13;
  CounterEntry entries[kOwn + kCommonCounters] = {
      {"decisions", decisions, "scheduling decisions", false},
      {"switches", counts.switches, "switches of threads", false},
      {"held_back", counts.held_back, "times that a thread was held back at the candidate", false},
      {"let_go", counts.let_go, "times that one was let go without a race", false},
      {"outside", counts.outside, names.c_str(), counts.outside > 0},
      {"uncontrolled", counts.uncontrolled,
       "times that a thread ran beside the scheduled one: the execution may not repeat",
       counts.uncontrolled > 0},
      {"signals", counts.signals, "signal handlers that ran: when, the system decided",
       counts.signals > 0},
      {"spurious", counts.spurious, "waits for a condition that ended for no reason", false},
      {"virtual_ns", virtual_ns, "nanoseconds of virtual time", false},
      {"sites_on", sites_on(), "sites of the candidate in the program", false},
      {"sites_off", sites_off(), "other sites, switched off", false},
      {"decisions_unlogged", decisions_unlogged(), "decisions that the log has no room for",
       decisions_unlogged() > 0},
      {"sites_dropped", sites_dropped(),
       "sites of the candidate beyond the first 4096: no thread is held back there",
       sites_dropped() > 0},
  };
  common_counters(entries + kOwn);
  Text line(line_buffer, sizeof line_buffer);
  raw_end_line(line, races, entries, sizeof entries / sizeof entries[0]);
}

}  // namespace deadheat::runtime
