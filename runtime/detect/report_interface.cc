// The report passed to __tsan_on_report, piece by piece (<sanitizer/tsan_interface.h>). Valid only
// during that call; each function returns 0 if there is no such piece.
#include "runtime/common/intercept/interceptor.h"
#include "runtime/detect/report.h"

using deadheat::runtime::Address;
using deadheat::runtime::KeptStack;
using deadheat::runtime::LocationKind;
using deadheat::runtime::RaceReport;
using deadheat::runtime::ReportedAccess;
using deadheat::runtime::ReportedThread;

namespace {

const RaceReport* told;

const RaceReport& report_of(const void* report) { return *static_cast<const RaceReport*>(report); }

void put_trace(const Address* pcs, size_t depth, void** trace, unsigned long room) {
  for (size_t i = 0; i < room; ++i)
    trace[i] = i < depth ? reinterpret_cast<void*>(pcs[i]) : nullptr;
}

int threads_of(const RaceReport& report) {
  return report.accesses[1].thread != ~0U && report.threads[1].number != report.threads[0].number
             ? 2
             : 1;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void __tsan_on_report(void* report);

namespace deadheat::runtime {

// Ignores the program's code there: a race in it would need the report that is in use.
void tell_program(Thread& self, const RaceReport& report) {
  on_ignore_begin(&self, true, true, true);
  told = &report;
  __tsan_on_report(const_cast<RaceReport*>(told));
  told = nullptr;
  on_ignore_end(&self, true, true, true);
}

}  // namespace deadheat::runtime

EXPORTED void* __tsan_get_current_report() { return const_cast<RaceReport*>(told); }

EXPORTED int __tsan_get_report_data(void* report, const char** description, int* count,
                                    int* stack_count, int* mop_count, int* loc_count,
                                    int* mutex_count, int* thread_count, int* unique_tid_count,
                                    void** sleep_trace, unsigned long trace_size) {
  const RaceReport& race = report_of(report);
  *description =
      race.accesses[0].freed || race.accesses[1].freed ? "heap-use-after-free" : "data-race";
  *count = 1;
  *stack_count = 0;
  *mop_count = 2;
  *loc_count = race.location == LocationKind::kUnknown ? 0 : 1;
  *mutex_count = static_cast<int>(race.accesses[0].lock_count + race.accesses[1].lock_count);
  *thread_count = *unique_tid_count = threads_of(race);
  put_trace(nullptr, 0, sleep_trace, trace_size);
  return 1;
}

EXPORTED int __tsan_get_report_stack(void*, unsigned long, void**, unsigned long) { return 0; }

EXPORTED int __tsan_get_report_mop(void* report, unsigned long index, int* tid, void** address,
                                   int* size, int* write, int* atomic, void** trace,
                                   unsigned long trace_size) {
  if (index > 1) return 0;
  const ReportedAccess& access = report_of(report).accesses[index];
  *tid = static_cast<int>(access.thread);
  *address = reinterpret_cast<void*>(access.address);
  *size = static_cast<int>(access.size);
  *write = access.write ? 1 : 0;
  *atomic = access.atomic ? 1 : 0;
  put_trace(access.frames.pcs, access.frames.depth, trace, trace_size);
  return 1;
}

EXPORTED int __tsan_get_report_loc(void* report, unsigned long index, const char** type,
                                   void** address, void** start, unsigned long* size, int* tid,
                                   int* fd, int* suppressable, void** trace,
                                   unsigned long trace_size) {
  static const char* const kTypes[] = {"", "global", "heap", "stack", "tls"};
  const RaceReport& race = report_of(report);
  if (index > 0 || race.location == LocationKind::kUnknown) return 0;
  const bool heap = race.location == LocationKind::kHeap;
  *type = kTypes[static_cast<size_t>(race.location)];
  *address = reinterpret_cast<void*>(race.address);
  *start = reinterpret_cast<void*>(heap ? race.block : 0);
  *size = heap ? race.block_size : 0;
  *tid = race.location == LocationKind::kGlobal ? 0 : static_cast<int>(race.location_thread);
  *fd = 0;
  *suppressable = 0;
  put_trace(race.allocation.frames, heap ? race.allocation.depth : 0, trace, trace_size);
  return 1;
}

EXPORTED int __tsan_get_report_mutex(void* report, unsigned long index, uint64_t* id,
                                     void** address, int* destroyed, void** trace,
                                     unsigned long trace_size) {
  const RaceReport& race = report_of(report);
  const size_t first = race.accesses[0].lock_count;
  if (index >= first + race.accesses[1].lock_count) return 0;
  const auto& lock =
      index < first ? race.accesses[0].locks[index] : race.accesses[1].locks[index - first];
  *id = lock.address;
  *address = reinterpret_cast<void*>(lock.address);
  *destroyed = 0;
  put_trace(&lock.pc, 1, trace, trace_size);
  return 1;
}

EXPORTED int __tsan_get_report_thread(void* report, unsigned long index, int* tid, uint64_t* os_id,
                                      int* running, const char** name, int* parent_tid,
                                      void** trace, unsigned long trace_size) {
  const RaceReport& race = report_of(report);
  if (index >= static_cast<unsigned long>(threads_of(race))) return 0;
  const ReportedThread& thread = race.threads[index];
  *tid = static_cast<int>(thread.number);
  *os_id = thread.kernel_id;
  *running = thread.running ? 1 : 0;
  *name = thread.name;
  *parent_tid = static_cast<int>(thread.parent);
  put_trace(thread.creation.frames, thread.creation.depth, trace, trace_size);
  return 1;
}

EXPORTED int __tsan_get_report_unique_tid(void* report, unsigned long index, int* tid) {
  const RaceReport& race = report_of(report);
  if (index >= static_cast<unsigned long>(threads_of(race))) return 0;
  *tid = static_cast<int>(race.threads[index].number);
  return 1;
}
