#include "runtime/common/raw.h"

#include <fcntl.h>
#include <string.h>

#include "runtime/common/intercept/descriptors.h"
#include "runtime/common/modules.h"
#include "runtime/common/options.h"
#include "runtime/common/os.h"

extern "C" __attribute__((weak, visibility("default"))) const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return ""; }

namespace deadheat::runtime {

namespace {

constexpr size_t kMaxModuleIds = 4096;
bool module_written[kMaxModuleIds];
uint64_t lines_cut;

// A library whose synchronisation the interceptors model takes no proof away, although its own code
// has no hooks.
const char* instrumentation_name(const Module& module) {
  static const char* const kNames[] = {"no", "yes", "regions"};
  if (module.instrumented == Instrumentation::kNo && module.known) return "modelled";
  return kNames[static_cast<size_t>(module.instrumented)];
}

}  // namespace

void raw_module(const Module& module) {
  if (module.id >= kMaxModuleIds || module_written[module.id]) return;
  module_written[module.id] = true;
  TextBuffer<4096> line;  // a path of 511 bytes, each escaped
  line << R"({"t":"module","pid":)";
  line.decimal(process_id()) << R"(,"id":)";
  line.decimal(module.id) << R"(,"path":)";
  line.quoted(module.path) << R"(,"build_id":)";
  line.quoted(module.build_id) << R"(,"base":)";
  line.decimal(module.base) << R"(,"begin":)";
  line.decimal(module.begin) << R"(,"end":)";
  line.decimal(module.end) << R"(,"instrumented":")" << instrumentation_name(module) << "\"}\n";
  append_raw(line);
}

void raw_place(Text& out, Address pc) {
  const Module* const module = find_module(pc);
  if (module == nullptr) {
    out << "[-1,";
    out.decimal(pc) << ']';
    return;
  }
  raw_module(*module);
  out << '[';
  out.decimal(module->id) << ',';
  out.decimal(pc - module->base) << ']';
}

void raw_stack(Text& out, const Address* pcs, size_t depth, Address step_back) {
  out << R"("stack":[)";
  bool first = true;
  for (size_t i = 0; i < depth; ++i) {
    const Module* const module = find_module(pcs[i] - step_back);
    if (module != nullptr && module->ours) continue;  // our wrappers are no part of the program
    if (!first) out << ',';
    first = false;
    raw_place(out, pcs[i] - step_back);
  }
  out << ']';
}

namespace {

void put_command(Text& out) {
  char text[2048];
  const int fd = open_file("/proc/self/cmdline", O_RDONLY);
  const long size = fd < 0 ? 0 : read_file(fd, text, sizeof text - 1);
  if (fd >= 0) close_file(fd);
  text[size > 0 ? size : 0] = '\0';
  out << '[';
  for (long at = 0; at < size; at += static_cast<long>(strlen(text + at)) + 1) {
    if (at > 0) out << ',';
    out.quoted(text + at);
  }
  out << ']';
}

}  // namespace

const char* raw_compiler_name() {
  bool plain = false, regions = false;
  for (size_t i = 0; const Module* const module = module_at(i); ++i) {
    plain |= module->plain_objects > module->pass_objects;
    regions |= module->pass_objects > 0;
  }
  if (regions) return plain ? "mixed" : "clang+regions";
  return plain ? "plain" : "none";
}

bool raw_reports() { return runtime_options().raw_path[0] != '\0'; }

void count_line_cut() { __atomic_fetch_add(&lines_cut, 1, __ATOMIC_RELAXED); }

void append_raw(const Text& line) {
  if (line.cut()) return count_line_cut();
  const int fd = open_file(runtime_options().raw_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd < 0) {
    static bool said;
    if (!said) say("cannot write raw_path: reports are lost");
    said = true;
    return;
  }
  write_all(fd, line.data(), line.size());
  close_file(fd);
}

void raw_process_line(const char* mode) {
  memset(module_written, 0, sizeof module_written);
  if (!raw_reports()) return;
  static char buffer[64 << 10];
  Text line(buffer, sizeof buffer);
  line << R"({"t":"process","v":1,"pid":)";
  line.decimal(process_id()) << R"(,"ppid":)";
  line.decimal(static_cast<uint64_t>(system_call(SYS_getppid)))
      << R"(,"mode":")" << mode << R"(","command":)";
  put_command(line);
  // The one that decides what an unordered pair is worth.
  const bool ignores = runtime_options().missing_policy == MissingPolicy::kIgnore;
  line << R"(,"options":")" << (ignores ? "missing=ignore" : "") << R"(","suppressions":)";
  const size_t so_far = line.size();
  line.quoted(__tsan_default_suppressions()) << "}\n";
  if (line.cut()) {  // without them more is reported, not less
    line.back_to(so_far);
    line << "\"\"}\n";
    count_line_cut();
  }
  append_raw(line);
}

void raw_instrumented_modules() {
  for (size_t i = 0; const Module* const module = module_at(i); ++i)
    if (module->instrumented != Instrumentation::kNo) raw_module(*module);
}

void common_counters(CounterEntry* out) {
  const CounterEntry all[kCommonCounters] = {
      {"report_lines_cut", __atomic_load_n(&lines_cut, __ATOMIC_RELAXED),
       "report lines that were too long: left out, or written without a part", true},
      {"modules_not_kept", modules_not_kept(),
       "loaded modules beyond the first 4096: their code counts as being in no file", true},
      {"descriptors_not_followed", descriptors_not_followed(),
       "uses of descriptors from 65536 on, which give no order", true},
  };
  memcpy(out, all, sizeof all);
}

void raw_counters(Text& out, const CounterEntry* counters, size_t count) {
  out << R"("counters":[)";
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) out << ',';
    out << R"({"name":")" << counters[i].name << R"(","value":)";
    out.decimal(counters[i].value) << R"(,"what":")" << counters[i].what << R"(","loss":)"
                                   << (counters[i].loss ? "true" : "false") << '}';
  }
  out << ']';
}

}  // namespace deadheat::runtime
