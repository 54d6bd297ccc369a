// <sanitizer/common_interface_defs.h>: the destination of reports, the callback when one ends the
// program, and names of code locations. Names come from dynamic symbols only: lines are the host's
// work (`deadheat run`, `deadheat symbolize`).
#include <dlfcn.h>
#include <string.h>

#include "runtime/common/intercept/interceptor.h"
#include "runtime/common/intercept/start.h"
#include "runtime/common/mode.h"
#include "runtime/common/os.h"
#include "runtime/common/print.h"

using deadheat::runtime::Address;
using deadheat::runtime::address_of;
using deadheat::runtime::find_module;
using deadheat::runtime::Module;
using deadheat::runtime::self;
using deadheat::runtime::Text;

namespace deadheat::runtime {

[[gnu::weak]] size_t call_depth(const Thread*) { return 0; }
[[gnu::weak]] size_t calls_of(const Thread*, Address*, size_t) { return 0; }
[[gnu::weak]] size_t locks_held(const Thread*) { return 0; }
[[gnu::weak]] void mode_flush_memory() {}

namespace {

void (*death_callback)();

}  // namespace

void program_dies() {
  void (*const callback)() = __atomic_exchange_n(&death_callback, nullptr, __ATOMIC_ACQ_REL);
  if (callback != nullptr) callback();
}

}  // namespace deadheat::runtime

namespace {

const char* name_of(Address address, Address* begin) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0) return nullptr;
  *begin = address_of(info.dli_saddr);
  return info.dli_sname;
}

void put_module(Text& out, Address pc) {
  const Module* const module = find_module(pc);
  out << '(';
  if (module != nullptr) out << module->path << '+';
  out.hex(module == nullptr ? pc : pc - module->base) << ')';
}

// Prints one code location in the given format; unknown parts (files, lines) are left out.
void put_place(Text& out, const char* format, Address pc) {
  Address begin = 0;
  const char* const name = name_of(pc, &begin);
  const Module* const module = find_module(pc);
  for (; *format != '\0'; ++format) {
    if (*format != '%') {
      out << *format;
      continue;
    }
    switch (*++format) {
      case '\0':
        return;
      case '%':
        out << '%';
        break;
      case 'n':
        out << '0';
        break;
      case 'p':
        out.hex(pc);
        break;
      case 'm':
        out << (module == nullptr ? "<null>" : module->path);
        break;
      case 'o':
        out.hex(module == nullptr ? pc : pc - module->base);
        break;
      case 'f':
      case 'g':
        out << (name == nullptr ? "<null>" : name);
        break;
      case 'q':
        out.hex(name == nullptr ? 0 : pc - begin);
        break;
      case 'F':
        if (name != nullptr) out << "in " << name;
        break;
      case 'l':
      case 'c':
        out << '0';
        break;
      case 's':
        out << "<null>";
        break;
      default:  // 'S', 'L', 'M': the whole location
        put_module(out, pc);
        break;
    }
  }
}

void put_text(const Text& text, char* to, size_t room) {
  if (room == 0) return;
  const size_t size = text.size() < room - 1 ? text.size() : room - 1;
  memcpy(to, text.data(), size);
  to[size] = '\0';
}

}  // namespace

EXPORTED void __sanitizer_set_report_path(const char* path) {
  deadheat::runtime::set_log_path(path == nullptr ? "stderr" : path);
}
EXPORTED void __sanitizer_set_report_fd(void* fd) {
  deadheat::runtime::set_log_fd(static_cast<int>(reinterpret_cast<intptr_t>(fd)));
}
EXPORTED const char* __sanitizer_get_report_path() { return deadheat::runtime::log_file(); }

EXPORTED void __sanitizer_set_death_callback(void (*callback)()) {
  __atomic_store_n(&deadheat::runtime::death_callback, callback, __ATOMIC_RELEASE);
}
// The caller that gets 1 may write about the crash.
EXPORTED int __sanitizer_acquire_crash_state() {
  static bool taken;
  return __atomic_exchange_n(&taken, true, __ATOMIC_ACQ_REL) ? 0 : 1;
}

EXPORTED int __sanitizer_get_module_and_offset_for_pc(void* pc, char* path, size_t room,
                                                      void** offset) {
  const Module* const module = find_module(address_of(pc));
  if (module == nullptr) return 0;
  deadheat::runtime::TextBuffer<sizeof module->path> text;
  text << module->path;
  if (path != nullptr) put_text(text, path, room);
  *offset = reinterpret_cast<void*>(address_of(pc) - module->base);
  return 1;
}

EXPORTED void __sanitizer_symbolize_pc(void* pc, const char* format, char* to, size_t room) {
  deadheat::runtime::TextBuffer<4096> text;
  put_place(text, format, address_of(pc));
  put_text(text, to, room);
}
EXPORTED void __sanitizer_symbolize_global(void* data, const char* format, char* to, size_t room) {
  __sanitizer_symbolize_pc(data, format, to, room);
}

// The format that `deadheat symbolize` completes.
EXPORTED void __sanitizer_print_stack_trace() {
  constexpr size_t kMost = 256;
  Address calls[kMost + 1] = {CALLER};
  size_t depth = 1;
  if (self() != nullptr) depth += deadheat::runtime::calls_of(self(), calls + 1, kMost);
  static char buffer[128 << 10];
  static deadheat::runtime::Lock lock;
  const deadheat::runtime::Locked locked(lock);
  Text text(buffer, sizeof buffer);
  for (size_t i = 0; i < depth; ++i) {
    Address begin = 0;
    const char* const name = name_of(calls[i] - 1, &begin);
    text << "    #";
    text.decimal(i) << ' ' << (name == nullptr ? "<null>" : name) << " <null> ";
    put_module(text, calls[i] - 1);
    text << '\n';
  }
  text << '\n';
  deadheat::runtime::write_log(text.data(), text.size());
}

// --- Functions that a program may define itself.
#define REPLACEABLE extern "C" __attribute__((weak, visibility("default")))

REPLACEABLE void __sanitizer_report_error_summary(const char* line) {
  deadheat::runtime::write_log(line, strlen(line));
  deadheat::runtime::write_log("\n", 1);
}
REPLACEABLE void __tsan_on_initialize() {}
REPLACEABLE int __tsan_on_finalize(int failed) { return failed; }
REPLACEABLE void __tsan_on_report(void*) {}

// --- The report passed to __tsan_on_report: a mode with reports defines these.
REPLACEABLE void* __tsan_get_current_report() { return nullptr; }
REPLACEABLE int __tsan_get_report_data() { return 0; }
REPLACEABLE int __tsan_get_report_stack() { return 0; }
REPLACEABLE int __tsan_get_report_mop() { return 0; }
REPLACEABLE int __tsan_get_report_loc() { return 0; }
REPLACEABLE int __tsan_get_report_loc_object_type() { return 0; }
REPLACEABLE int __tsan_get_report_mutex() { return 0; }
REPLACEABLE int __tsan_get_report_thread() { return 0; }
REPLACEABLE int __tsan_get_report_unique_tid() { return 0; }
REPLACEABLE int __tsan_get_report_tag() { return 0; }

EXPORTED void __tsan_flush_memory() { deadheat::runtime::mode_flush_memory(); }
EXPORTED void __tsan_check_no_mutexes_held() {
  const size_t held = self() == nullptr ? 0 : deadheat::runtime::locks_held(self());
  if (held == 0) return;
  deadheat::runtime::TextBuffer<256> text;
  text << "__tsan_check_no_mutexes_held(): the thread holds ";
  text.decimal(held) << (held == 1 ? " lock, at " : " locks, at ");
  put_module(text, CALLER - 1);
  deadheat::runtime::say(text.c_str());
}
