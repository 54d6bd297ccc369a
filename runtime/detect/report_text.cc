// Text for people, for a program started without `deadheat run`: places as module+offset, the
// format of ThreadSanitizer's reports, and the command that adds names and lines.
#include <string.h>

#include "runtime/common/modules.h"
#include "runtime/common/options.h"
#include "runtime/common/unseen.h"
#include "runtime/detect/report.h"

extern "C" __attribute__((visibility("default"))) void __sanitizer_report_error_summary(
    const char* line);

namespace deadheat::runtime {

namespace {

char text_buffer[128 << 10];

void frame(Text& out, size_t& number, Address pc) {
  const Module* const module = find_module(pc);
  if (module != nullptr && module->ours) return;  // our wrappers are not part of the program
  out << "    #";
  out.decimal(number++) << " <null> <null> (";
  if (module == nullptr) {
    out.hex(pc) << ")\n";
    return;
  }
  const char* path = module->path;
  const char* const prefix = runtime_options().strip_path_prefix;
  const size_t size = strlen(prefix);
  if (size > 0 && strncmp(path, prefix, size) == 0) path += size;
  out << path << '+';
  out.hex(pc - module->base) << ')';
  if (module->build_id[0] != '\0') out << " (BuildId: " << module->build_id << ')';
  out << '\n';
}

void frames(Text& out, const Address* pcs, size_t depth, Address step_back) {
  size_t number = 0;
  for (size_t i = 0; i < depth; ++i) frame(out, number, pcs[i] - step_back);
}

void thread_name(Text& out, uint32_t number) {
  if (number == ~0U) {
    out << "a finished thread";
  } else if (number == 0) {
    out << "main thread";
  } else {
    out << "thread T";
    out.decimal(number);
  }
}

void access(Text& out, const ReportedAccess& access, bool earlier) {
  static const char* const kNow[] = {"Read", "Write", "Atomic read", "Atomic write"};
  static const char* const kThen[] = {"Previous read", "Previous write", "Previous atomic read",
                                      "Previous atomic write"};
  const size_t kind = (access.write ? 1 : 0) | (access.atomic ? 2 : 0);
  out << "  " << (earlier ? kThen : kNow)[kind] << (access.freed ? " (free)" : "") << " of size ";
  out.decimal(access.size) << " at ";
  out.hex(access.address) << " by ";
  thread_name(out, access.thread);
  if (access.lock_count > 0) {
    out << " (mutexes:";
    for (size_t i = 0; i < access.lock_count; ++i) {
      out << (access.locks[i].shared ? " read " : " write ");
      out.hex(access.locks[i].address);
    }
    out << ')';
  }
  out << ":\n";
  if (access.stack_lost) out << "    [failed to restore the stack: option history_size]\n";
  frames(out, access.frames.pcs, access.frames.depth, 0);
  out << '\n';
}

void location(Text& out, const RaceReport& report) {
  switch (report.location) {
    case LocationKind::kHeap:
      out << "  Location is heap block of size ";
      out.decimal(report.block_size) << " at ";
      out.hex(report.block) << " allocated by ";
      thread_name(out, report.location_thread);
      out << ":\n";
      frames(out, report.allocation.frames, report.allocation.depth, 1);
      out << '\n';
      return;
    case LocationKind::kGlobal: {
      const Module* const module = find_module(report.address);
      out << "  Location is global at ";
      out.hex(report.address) << " (" << module->path << '+';
      out.hex(report.address - module->base) << ")\n\n";
      return;
    }
    case LocationKind::kStack:
    case LocationKind::kTls:
      out << (report.location == LocationKind::kTls ? "  Location is TLS of "
                                                    : "  Location is stack of ");
      thread_name(out, report.location_thread);
      out << ".\n\n";
      return;
    case LocationKind::kUnknown:
      return;
  }
}

void creation(Text& out, const ReportedThread& thread) {
  if (thread.number == 0) return;
  out << "  Thread T";
  out.decimal(thread.number) << " (tid=";
  out.decimal(thread.kernel_id) << (thread.running ? ", running" : ", finished") << ") created by ";
  thread_name(out, thread.parent);
  out << " at:\n";
  frames(out, thread.creation.frames, thread.creation.depth, 1);
  out << '\n';
}

void write_summary(const RaceReport& report) {
  TextBuffer<1024> line;
  const Address pc = report.accesses[0].frames.pcs[0];
  const Module* const module = find_module(pc);
  line << "SUMMARY: ThreadSanitizer: data race (" << (module == nullptr ? "" : module->path) << '+';
  line.hex(module == nullptr ? pc : pc - module->base) << ')';
  __sanitizer_report_error_summary(line.c_str());
  constexpr char kEnd[] = "==================\n";
  write_log(kEnd, sizeof kEnd - 1);
}

}  // namespace

void write_text(const RaceReport& report) {
  Text out(text_buffer, sizeof text_buffer);
  out << "==================\nWARNING: ThreadSanitizer: data race (pid=";
  out.decimal(process_id()) << ")\n";
  access(out, report.accesses[0], false);
  access(out, report.accesses[1], true);
  location(out, report);
  creation(out, report.threads[0]);
  if (report.accesses[1].thread != ~0U && report.threads[1].number != report.threads[0].number)
    creation(out, report.threads[1]);
  if (report.near_region)
    out << "  Note: one of the threads had just called code that is not instrumented.\n\n";
  for (size_t i = 0; i < static_cast<size_t>(Unseen::kCount); ++i)
    if (was_met(static_cast<Unseen>(i)))
      out << "  Note: " << words_of(static_cast<Unseen>(i))
          << " may have ordered the accesses.\n\n";
  write_log(out.data(), out.size());
  write_summary(report);
}

void write_end_text() {
  const uint64_t races = races_found();
  const bool verbose = runtime_options().verbosity > 0;
  if (races == 0 && !verbose) return;
  TextBuffer<512> line;
  line << "ThreadSanitizer: reported ";
  line.decimal(races) << " warnings\n";
  if (races > 0)
    line << "deadheat: names and lines: run it with 'deadheat run', or pipe this text through "
            "'deadheat symbolize'\n";
  write_log(line.data(), line.size());
  CounterEntry counters[kCounters];
  collect_counters(counters);
  for (const CounterEntry& counter : counters) {
    if (counter.value == 0 || !(verbose || counter.loss)) continue;
    TextBuffer<256> text;
    text.decimal(counter.value) << ' ' << counter.what;
    say(text.c_str());
  }
}

}  // namespace deadheat::runtime
