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

namespace {

constexpr int kStuckStatus = 75;

char line_buffer[64 << 10];
FlatSet told;  // pairs of pcs and who went first
uint64_t races;
bool finished;

struct OutsideCall {
  const char* name;
  uint64_t count;
};
OutsideCall outside_calls[64];

const char* access_name(const Next& next, const Next& other) {
  if (next.freed) return "free";
  if (next.lock && other.lock) return "acquire";
  if (next.atomic) return next.write ? "atomic_write" : "atomic_read";
  return next.write ? "write" : "read";
}

void put_access(Text& out, const Thread& thread, const Thread& other) {
  out << R"({"kind":")" << access_name(thread.next, other.next) << R"(","size":)";
  out.decimal(thread.next.size) << R"(,"address":)";
  out.decimal(thread.next.object) << R"(,"thread":)";
  out.decimal(thread.common.number) << ',';
  raw_stack(out, thread.stack, thread.depth, 1);
  out << R"(,"stack_lost":false,"locks":[)";
  for (uint32_t i = 0; i < thread.held_count && i < kMaxHeld; ++i) {
    if (i > 0) out << ',';
    out << R"({"address":)";
    out.decimal(thread.held[i]) << R"(,"shared":false,"stack":[]})";
  }
  out << "]}";
}

bool is_order(const Next& a, const Next& b) { return (a.atomic && b.atomic) || (a.lock && b.lock); }

void put_thread(Text& out, const Thread& thread) {
  out << R"({"number":)";
  out.decimal(thread.common.number) << R"(,"name":)";
  out.quoted(thread.common.name) << R"(,"kernel_id":)";
  out.decimal(thread.common.kernel_id) << R"(,"parent":)";
  out.decimal(thread.common.parent) << R"(,"running":true,)";
  raw_stack(out, &thread.creation_pc, thread.creation_pc == 0 ? 0 : 1, 1);
  out << '}';
}

void put_location(Text& out, Address address) {
  const Module* const module = find_module(address);
  if (module != nullptr) {
    raw_module(*module);
    out << R"({"kind":"global","module":)";
    out.decimal(module->id) << R"(,"offset":)";
    out.decimal(address - module->base) << '}';
    return;
  }
  out << R"({"kind":"unknown"})";
}

// Stands in our hook: the frames of the runtime are left out by raw_stack, but the innermost one
// must be the access itself.
void trim(Thread& thread) {
  size_t from = 0;
  while (from < thread.depth && thread.stack[from] != thread.next.pc) ++from;
  if (from == thread.depth) {  // the unwinder lost its way
    thread.stack[0] = thread.next.pc;
    thread.depth = thread.next.pc == 0 ? 0 : 1;
    return;
  }
  memmove(thread.stack, thread.stack + from, (thread.depth - from) * sizeof(Address));
  thread.depth -= from;
}

const char* wait_name(const Thread& thread) {
  if (thread.state == State::kOutside) return "outside";
  if (thread.state != State::kBlocked) return "nothing";
  if (thread.waits_for != nullptr) return "join";
  if (thread.fd >= 0) return "descriptor";
  switch (thread.next.point) {
    case Point::kLock:
      return "mutex";
    case Point::kWait:
      return "condition";
    case Point::kBarrier:
      return "barrier";
    case Point::kSemaphore:
      return "semaphore";
    case Point::kOnce:
      return "once";
    case Point::kFutex:
      return "futex";
    case Point::kSleep:
      return "time";
    default:
      return "lock";
  }
}

int64_t owner_of(Address lock) {
  for (const Thread* thread = threads; thread != nullptr; thread = thread->next_thread)
    for (uint32_t i = 0; i < thread->held_count && i < kMaxHeld; ++i)
      if (thread->held[i] == lock) return thread->common.number;
  return -1;
}

// Who is on its way cannot describe its stack: the last point that it came to stands for it.
bool stands(const Thread& thread) {
  if (&thread == tls_self) return true;
  return thread.state == State::kBlocked && &thread != holder;
}

void put_waiting(Text& out, Thread& thread) {
  thread.depth = 0;
  if (stands(thread)) ask_for_stack(thread);
  trim(thread);
  out << R"({"number":)";
  out.decimal(thread.common.number) << R"(,"name":)";
  out.quoted(thread.common.name) << R"(,"waits":")" << wait_name(thread) << R"(","object":)";
  out.decimal(thread.next.object) << R"(,"owner":)";
  out.signed_decimal(thread.waits_for != nullptr
                         ? static_cast<int64_t>(thread.waits_for->common.number)
                         : owner_of(thread.next.object))
      << ',';
  raw_stack(out, thread.stack, thread.depth, 1);
  out << '}';
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
  raw_process_line("schedule");
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
  line << R"({"t":"race","pid":)";
  line.decimal(process_id()) << R"(,"n":)";
  line.decimal(races) << R"(,"decision":)";
  line.decimal(decisions) << R"(,"first":)" << (arrived_first ? '0' : '1') << R"(,"atomic":)"
                          << (is_order(arrived.next, held.next) ? "true" : "false")
                          << R"(,"address":)";
  line.decimal(begin) << R"(,"size":)";
  line.decimal(arrived.next.size) << R"(,"accesses":[)";
  put_access(line, arrived, held);
  line << ',';
  put_access(line, held, arrived);
  line << R"(],"location":)";
  put_location(line, begin);
  line << R"(,"threads":[)";
  put_thread(line, arrived);
  line << ',';
  put_thread(line, held);
  line << R"(],"near_region":false,"count":1})" << '\n';
  send(line);
  if (trial().stop_at_race) system_call(SYS_tgkill, process_id(), kernel_thread_id(), SIGTRAP);
}

namespace {

[[noreturn]] void end_stuck(const char* what, const char* words) {
  constexpr char kEnd[] = "]}\n";
  Text line(line_buffer, sizeof line_buffer - sizeof kEnd);
  line << R"({"t":")" << what << R"(","pid":)";
  line.decimal(process_id()) << R"(,"decision":)";
  line.decimal(decisions) << R"(,"threads":[)";
  bool first = true;
  for (Thread* thread = threads; thread != nullptr; thread = thread->next_thread) {
    if (thread->state == State::kEnded) continue;
    const size_t so_far = line.size();
    if (!first) line << ',';
    put_waiting(line, *thread);
    if (!line.cut()) {
      first = false;
      continue;
    }
    // The stop is told in any case; the threads from here on are left out of it.
    line.back_to(so_far);
    count_line_cut();
    break;
  }
  Text whole(line_buffer, sizeof line_buffer);
  whole.back_to(line.size());
  whole << kEnd;
  send(whole);
  finish_reports();
  say(words);
  exit_process(kStuckStatus);
}

}  // namespace

void report_deadlock() { end_stuck("deadlock", "deadlock: every thread waits for another one"); }

void report_hang() {
  end_stuck("hang", "hang: every thread was let go, and the program did not end");
}

void report_released() {
  TextBuffer<256> line;
  line << R"({"t":"released","pid":)";
  line.decimal(process_id()) << R"(,"decision":)";
  line.decimal(decisions) << "}\n";
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
  line << R"({"t":"diverged","pid":)";
  line.decimal(process_id()) << R"(,"decision":)";
  line.decimal(index) << R"(,"text":)";
  line.quoted(text.c_str()) << "}\n";
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
  line << R"({"t":"crash","pid":)";
  line.decimal(process_id()) << R"(,"signal":)";
  line.decimal(static_cast<uint64_t>(signal)) << R"(,"thread":)";
  line.signed_decimal(self == nullptr ? -1 : static_cast<int64_t>(self->common.number))
      << R"(,"decision":)";
  line.decimal(decisions) << ',';
  raw_stack(line, stack, depth, 1);
  line << "}\n";
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
       "sites of the candidate beyond the first 4096: nobody is held back there",
       sites_dropped() > 0},
  };
  common_counters(entries + kOwn);
  Text line(line_buffer, sizeof line_buffer);
  line << R"({"t":"end","pid":)";
  line.decimal(process_id()) << R"(,"races":)";
  line.decimal(races) << R"(,"compiler":")" << raw_compiler_name() << R"(",)";
  raw_counters(line, entries, sizeof entries / sizeof entries[0]);
  line << "}\n";
  send(line);
}

}  // namespace deadheat::runtime
