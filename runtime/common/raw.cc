#include "runtime/common/raw.h"

#include <fcntl.h>
#include <string.h>

#include "runtime/common/intercept/descriptors.h"
#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/intercept/unseen_threads.h"
#include "runtime/common/modules.h"
#include "runtime/common/options.h"
#include "runtime/common/os.h"

extern "C" __attribute__((weak, visibility("default"))) const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return ""; }

namespace deadheat::runtime {

namespace key = raw::key;

namespace {

constexpr size_t kMaxModuleIds = 4096;
bool module_written[kMaxModuleIds];
uint64_t lines_cut;

// A library whose synchronisation the interceptors model does not weaken a proof, although its own
// code has no hooks.
const char* instrumentation_name(const Module& module) {
  if (module.instrumented == Instrumentation::kYes) return raw::instrumented::yes_;
  if (module.instrumented == Instrumentation::kRegions) return raw::instrumented::regions_;
  return module.known ? raw::instrumented::modelled_ : raw::instrumented::no_;
}

}  // namespace

void raw_module(const Module& module) {
  if (module.id >= kMaxModuleIds || module_written[module.id]) return;
  module_written[module.id] = true;
  TextBuffer<4096> line;  // a path of 511 bytes, each escaped
  RawObject(line, raw::line::module_)
      .put(key::module_pid, process_id())
      .put(key::module_id, module.id)
      .put(key::module_path, module.path)
      .put(key::module_build_id, module.build_id)
      .put(key::module_base, module.base)
      .put(key::module_begin, module.begin)
      .put(key::module_end, module.end)
      .put(key::module_instrumented, instrumentation_name(module))
      .close_line();
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

RawObject::RawObject(Text& out, const char* line) : out_(out) {
  out_ << R"({"t":")" << line << '"';
  first_ = false;
}

RawObject& RawObject::put(raw::Key<raw::type::places> stack, const Address* pcs, size_t depth,
                          Address step_back) {
  begin(stack.name) << '[';
  bool first = true;
  for (size_t i = 0; i < depth; ++i) {
    const Module* const module = find_module(pcs[i] - step_back);
    if (module != nullptr && module->ours) continue;  // our wrappers are not part of the program
    if (!first) out_ << ',';
    first = false;
    raw_place(out_, pcs[i] - step_back);
  }
  out_ << ']';
  return *this;
}

namespace {

// The words of the command line, in order.
class Command {
 public:
  Command() {
    const int fd = open_file("/proc/self/cmdline", O_RDONLY);
    const long size = fd < 0 ? 0 : read_file(fd, text_, sizeof text_ - 1);
    if (fd >= 0) close_file(fd);
    end_ = text_ + (size > 0 ? size : 0);
    *end_ = '\0';
    for (const char* at = text_; at < end_; at += strlen(at) + 1) ++count_;
  }
  size_t count() const { return count_; }
  const char* next() {
    const char* const word = at_;
    at_ += strlen(at_) + 1;
    return word;
  }

 private:
  char text_[2048];
  char* end_;
  const char* at_ = text_;
  size_t count_ = 0;
};

const char* compiler_name() {
  bool plain = false, regions = false;
  for (size_t i = 0; const Module* const module = module_at(i); ++i) {
    plain |= module->plain_objects > module->pass_objects;
    regions |= module->pass_objects > 0;
  }
  if (regions) return plain ? "mixed" : "clang+regions";
  return plain ? "plain" : "none";
}

}  // namespace

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
  Command command;
  RawObject object(line, raw::line::process_);
  object.put(key::process_v, DHR_VERSION)
      .put(key::process_pid, process_id())
      .put(key::process_ppid, static_cast<uint64_t>(system_call(SYS_getppid)))
      .put(key::process_mode, mode)
      .put(key::process_command, command.count(), [&](size_t) { line.quoted(command.next()); });
  // The one option that decides what an unordered pair is worth.
  const bool ignores = runtime_options().missing_policy == MissingPolicy::kIgnore;
  object.put(key::process_options, ignores ? "missing=ignore" : "");
  const size_t so_far = line.size();
  object.put(key::process_suppressions, __tsan_default_suppressions()).close_line();
  if (line.cut()) {  // without them more is reported, not less
    line.back_to(so_far);
    object.put(key::process_suppressions, "").close_line();
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
      {"threads_unseen", unseen_thread_starts(),
       "starts of threads by other means than pthread_create (timers, asynchronous I/O, clone): "
       "what those do is not looked at",
       true},
      {"fibers_not_announced", unannounced_switches(),
       "switches to fibers that the program did not announce: two fibers of one thread are in its "
       "order",
       true},
  };
  memcpy(out, all, sizeof all);
}

void raw_end_line(Text& line, uint64_t races, const CounterEntry* counters, size_t count) {
  RawObject(line, raw::line::end_)
      .put(key::end_pid, process_id())
      .put(key::end_races, races)
      .put(key::end_compiler, compiler_name())
      .put(key::end_counters, count,
           [&](size_t i) {
             RawObject(line)
                 .put(key::counter_name, counters[i].name)
                 .put(key::counter_value, counters[i].value)
                 .put(key::counter_what, counters[i].what)
                 .put(key::counter_loss, counters[i].loss)
                 .close();
           })
      .close_line();
  append_raw(line);
}

}  // namespace deadheat::runtime
