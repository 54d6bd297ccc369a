// JSON lines for the host.
#include <fcntl.h>
#include <string.h>

#include "runtime/common/modules.h"
#include "runtime/common/options.h"
#include "runtime/detect/report.h"

namespace deadheat::runtime {

namespace {

char line_buffer[256 << 10];

const char* kind_name(const ReportedAccess& access) {
  if (access.freed) return "free";
  if (access.atomic) return access.write ? "atomic_write" : "atomic_read";
  return access.write ? "write" : "read";
}

void put_access(Text& out, const ReportedAccess& access) {
  out << R"({"kind":")" << kind_name(access) << R"(","size":)";
  out.decimal(access.size) << R"(,"address":)";
  out.decimal(access.address) << R"(,"thread":)";
  out.signed_decimal(static_cast<int32_t>(access.thread)) << ',';
  raw_stack(out, access.frames.pcs, access.frames.depth, 0);
  out << R"(,"stack_lost":)" << (access.stack_lost ? "true" : "false") << R"(,"locks":[)";
  for (size_t i = 0; i < access.lock_count; ++i) {
    if (i > 0) out << ',';
    out << R"({"address":)";
    out.decimal(access.locks[i].address)
        << R"(,"shared":)" << (access.locks[i].shared ? "true" : "false") << ',';
    raw_stack(out, &access.locks[i].pc, 1, 1);
    out << '}';
  }
  out << "]}";
}

void put_location(Text& out, const RaceReport& report) {
  static const char* const kNames[] = {"unknown", "global", "heap", "stack", "tls"};
  out << R"({"kind":")" << kNames[static_cast<size_t>(report.location)] << '"';
  if (report.location == LocationKind::kGlobal) {
    const Module* const module = find_module(report.address);
    if (module != nullptr) {
      raw_module(*module);
      out << R"(,"module":)";
      out.decimal(module->id) << R"(,"offset":)";
      out.decimal(report.address - module->base);
    }
  } else if (report.location == LocationKind::kHeap) {
    out << R"(,"begin":)";
    out.decimal(report.block) << R"(,"size":)";
    out.decimal(report.block_size) << R"(,"thread":)";
    out.decimal(report.location_thread) << ',';
    raw_stack(out, report.allocation.frames, report.allocation.depth, 1);
  } else if (report.location != LocationKind::kUnknown) {
    out << R"(,"thread":)";
    out.decimal(report.location_thread);
  }
  out << '}';
}

void put_thread(Text& out, const ReportedThread& thread) {
  out << R"({"number":)";
  out.decimal(thread.number) << R"(,"name":)";
  out.quoted(thread.name) << R"(,"kernel_id":)";
  out.decimal(thread.kernel_id) << R"(,"parent":)";
  out.decimal(thread.parent) << R"(,"running":)" << (thread.running ? "true" : "false") << ',';
  raw_stack(out, thread.creation.frames, thread.creation.depth, 1);
  out << '}';
}

}  // namespace

void start_reports() { raw_process_line("detect"); }

void write_json(const RaceReport& report) {
  Text line(line_buffer, sizeof line_buffer);
  line << R"({"t":"race","pid":)";
  line.decimal(process_id()) << R"(,"n":)";
  line.decimal(report.number) << R"(,"address":)";
  line.decimal(report.address) << R"(,"size":)";
  line.decimal(report.size) << R"(,"accesses":[)";
  put_access(line, report.accesses[0]);
  line << ',';
  put_access(line, report.accesses[1]);
  line << R"(],"location":)";
  put_location(line, report);
  line << R"(,"threads":[)";
  put_thread(line, report.threads[0]);
  if (report.accesses[1].thread != ~0U) {
    line << ',';
    put_thread(line, report.threads[1]);
  }
  line << R"(],"near_region":)" << (report.near_region ? "true" : "false") << R"(,"count":1})"
       << '\n';
  append_raw(line);
}

void write_end_json() {
  raw_instrumented_modules();
  CounterEntry counters[kCounters];
  collect_counters(counters);
  Text line(line_buffer, sizeof line_buffer);
  line << R"({"t":"end","pid":)";
  line.decimal(process_id()) << R"(,"races":)";
  line.decimal(races_found() + races_repeated())
      << R"(,"compiler":")" << raw_compiler_name() << R"(",)";
  raw_counters(line, counters, kCounters);
  line << "}\n";
  append_raw(line);
}

}  // namespace deadheat::runtime
