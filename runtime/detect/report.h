// Races, first as data and then as text: JSON lines for the host, or text in the format of
// ThreadSanitizer's for people (abi/raw_report.md).
//
// One pair of instructions is reported once per process; repetitions are counted.
#pragma once

#include "runtime/common/print.h"
#include "runtime/common/raw.h"
#include "runtime/detect/check.h"

namespace deadheat::runtime {

// `earlier` is a slot of the granule's cell that conflicts with `access`, which the thread performs
// now or, if `past`, performed before in its current tick.
void report_race(Thread& self, Address granule, Slot mask, Slot earlier, const AccessInfo& access,
                 bool past = false);

void start_reports();   // the process line
void finish_reports();  // the end line, with the counters; once
void reports_before_fork();
void reports_after_fork_parent();
void reports_after_fork_child();
uint64_t races_found();  // distinct
uint64_t races_repeated();

struct Frames {
  Address pcs[kMaxHistoryStack + 1];  // innermost first
  size_t depth = 0;
};

struct ReportedAccess {
  bool write = false, atomic = false, freed = false;
  Address address = 0;
  size_t size = 0;
  uint32_t thread = 0;
  bool stack_lost = false;
  Frames frames;
  HeldLock locks[kMaxHistoryLocks];
  size_t lock_count = 0;
};

struct ReportedThread {
  uint32_t number = 0;
  uint32_t kernel_id = 0;
  uint32_t parent = 0;
  bool running = false;
  char name[16] = {};
  KeptStack creation;
};

enum class LocationKind : uint8_t { kUnknown, kGlobal, kHeap, kStack, kTls };

struct RaceReport {
  uint64_t number = 0;
  Address address = 0;  // first byte in common
  size_t size = 0;
  ReportedAccess accesses[2];  // the current one, then the earlier one
  ReportedThread threads[2];
  LocationKind location = LocationKind::kUnknown;
  Address block = 0;  // heap
  size_t block_size = 0;
  uint32_t location_thread = 0;
  KeptStack allocation;
  bool near_region = false;
};

void write_json(const RaceReport& report);
void write_text(const RaceReport& report);
void tell_program(Thread& self, const RaceReport& report);  // its __tsan_on_report
void write_end_json();
void write_end_text();

inline constexpr size_t kCounters = 17 + kCommonCounters;
void collect_counters(CounterEntry (&counters)[kCounters]);

}  // namespace deadheat::runtime
