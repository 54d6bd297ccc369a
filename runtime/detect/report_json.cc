// JSON lines for the host.
#include <fcntl.h>
#include <string.h>

#include "runtime/common/modules.h"
#include "runtime/common/options.h"
#include "runtime/common/unseen.h"
#include "runtime/detect/report.h"

namespace deadheat::runtime {

namespace key = raw::key;

namespace {

char line_buffer[256 << 10];

const char* kind_name(const ReportedAccess& access) {
  if (access.freed) return raw::access::free_;
  if (access.atomic) return access.write ? raw::access::atomic_write_ : raw::access::atomic_read_;
  return access.write ? raw::access::write_ : raw::access::read_;
}

void put_access(Text& out, const ReportedAccess& access) {
  RawObject(out)
      .put(key::access_kind, kind_name(access))
      .put(key::access_size, access.size)
      .put(key::access_address, access.address)
      .put(key::access_thread, static_cast<int32_t>(access.thread))
      .put(key::access_stack, access.frames.pcs, access.frames.depth, 0)
      .put(key::access_stack_lost, access.stack_lost)
      .put(key::access_locks, access.lock_count,
           [&](size_t i) {
             RawObject(out)
                 .put(key::lock_address, access.locks[i].address)
                 .put(key::lock_shared, access.locks[i].shared)
                 .put(key::lock_stack, &access.locks[i].pc, 1, 1)
                 .close();
           })
      .close();
}

const char* location_name(LocationKind kind) {
  static const char* const kNames[] = {raw::location::unknown_, raw::location::global_,
                                       raw::location::heap_, raw::location::stack_,
                                       raw::location::tls_};
  return kNames[static_cast<size_t>(kind)];
}

void put_location(Text& out, const RaceReport& report) {
  RawObject object(out);
  object.put(key::location_kind, location_name(report.location));
  if (report.location == LocationKind::kGlobal) {
    const Module* const module = find_module(report.address);
    if (module != nullptr) {
      raw_module(*module);
      object.put(key::location_module, module->id)
          .put(key::location_offset, report.address - module->base);
    }
  } else if (report.location == LocationKind::kHeap) {
    object.put(key::location_begin, report.block)
        .put(key::location_size, report.block_size)
        .put(key::location_thread, report.location_thread)
        .put(key::location_stack, report.allocation.frames, report.allocation.depth, 1);
  } else if (report.location != LocationKind::kUnknown) {
    object.put(key::location_thread, report.location_thread);
  }
  object.close();
}

void put_thread(Text& out, const ReportedThread& thread) {
  RawObject(out)
      .put(key::thread_number, thread.number)
      .put(key::thread_name, thread.name)
      .put(key::thread_kernel_id, thread.kernel_id)
      .put(key::thread_parent, thread.parent)
      .put(key::thread_running, thread.running)
      .put(key::thread_stack, thread.creation.frames, thread.creation.depth, 1)
      .close();
}

}  // namespace

void start_reports() { raw_process_line(raw::mode::detect_); }

void write_json(const RaceReport& report) {
  Text line(line_buffer, sizeof line_buffer);
  const size_t threads = report.accesses[1].thread != ~0U ? 2 : 1;
  Unseen unseen[static_cast<size_t>(Unseen::kCount)];
  size_t met = 0;
  for (size_t i = 0; i < static_cast<size_t>(Unseen::kCount); ++i)
    if (was_met(static_cast<Unseen>(i))) unseen[met++] = static_cast<Unseen>(i);
  RawObject(line, raw::line::race_)
      .put(key::race_pid, process_id())
      .put(key::race_n, report.number)
      .put(key::race_address, report.address)
      .put(key::race_size, report.size)
      .put(key::race_accesses, 2, [&](size_t i) { put_access(line, report.accesses[i]); })
      .put(key::race_location, [&](Text& out) { put_location(out, report); })
      .put(key::race_threads, threads, [&](size_t i) { put_thread(line, report.threads[i]); })
      .put(key::race_near_region, report.near_region)
      .put(key::race_unseen, met, [&](size_t i) { line.quoted(words_of(unseen[i])); })
      .put(key::race_count, 1)
      .close_line();
  append_raw(line);
}

void write_end_json() {
  raw_instrumented_modules();
  CounterEntry counters[kCounters];
  collect_counters(counters);
  Text line(line_buffer, sizeof line_buffer);
  raw_end_line(line, races_found() + races_repeated(), counters, kCounters);
}

}  // namespace deadheat::runtime
