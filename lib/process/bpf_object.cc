#include "lib/process/bpf_object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "lib/base/scoped_fd.h"
#include "lib/process/syscall_table.h"

extern "C" const char deadheat_process_bpf[], deadheat_process_bpf_end[];

namespace deadheat::process {
namespace {

static_assert(DEADHEAT_BPF_SYSCALLS == kMostSyscalls);
static_assert(DEADHEAT_BPF_PATH0 == uint32_t{kPath0} && DEADHEAT_BPF_PATH3 == uint32_t{kPath3});
static_assert(DEADHEAT_BPF_NEW_FD == uint32_t{kNewFd} &&
              DEADHEAT_BPF_FD_PAIR0 == uint32_t{kFdPair0});
static_assert(DEADHEAT_BPF_FD_PAIR3 == uint32_t{kFdPair3} &&
              DEADHEAT_BPF_LOCK2 == uint32_t{kLock2});
static_assert(DEADHEAT_BPF_OPEN_HOW2 == uint32_t{kOpenHow2} &&
              DEADHEAT_BPF_POLLED0 == uint32_t{kPolled0});
static_assert(DEADHEAT_BPF_ADDRESS1 == uint32_t{kAddress1} &&
              DEADHEAT_BPF_ADDRESS4 == uint32_t{kAddress4});
static_assert(DEADHEAT_BPF_ADDRESS_OUT1 == uint32_t{kAddressOut1});
static_assert(DEADHEAT_BPF_ADDRESS_OUT4 == uint32_t{kAddressOut4});
static_assert(DEADHEAT_BPF_MESSAGE1 == uint32_t{kMessage1});
static_assert(DEADHEAT_BPF_WAIT_STATUS1 == uint32_t{kWaitStatus1});
static_assert(DEADHEAT_BPF_WAIT_INFO2 == uint32_t{kWaitInfo2} &&
              DEADHEAT_BPF_DATA0 == uint32_t{kData0});
static_assert(DEADHEAT_BPF_CLOCK0 == uint32_t{kClock0} && DEADHEAT_BPF_CLOCK1 == uint32_t{kClock1});
static_assert(DEADHEAT_BPF_SHARED_MAP_ONLY == uint32_t{kSharedMapOnly});

constexpr char kInstead[] = "the ptrace source needs neither root nor BPF";

Error because(const std::string& what, int code) {
  if (code == EPERM || code == EACCES)
    return {what + ": " + std::strerror(code), std::string("run it as root; ") + kInstead};
  return {what + ": " + std::strerror(code), kInstead};
}

uint32_t spec_of(uint32_t number) {
  const SyscallEntry& entry = syscall_entry(number);
  if (entry.effect == Effect::kPrivate) return 0;
  uint32_t spec = entry.capture | DEADHEAT_BPF_RECORDED;
  // The programs follow no payload.
  spec &= ~uint32_t{kFdArg0 | kFdArg1};
  if (entry.effect == Effect::kUnmodelled) spec |= DEADHEAT_BPF_COUNTED;
  if (entry.effect == Effect::kFork) spec |= DEADHEAT_BPF_FORKS;
  if (entry.effect == Effect::kExec || entry.effect == Effect::kExecAt) spec |= DEADHEAT_BPF_EXECS;
  if (entry.effect == Effect::kExit) spec |= DEADHEAT_BPF_ENDS;
  if (entry.effect == Effect::kReceive) spec |= DEADHEAT_BPF_RECEIVED;
  return spec;
}

deadheat_bpf_settings settings_for(uint64_t buffer_bytes) {
  deadheat_bpf_settings settings{};
  settings.wake_at = buffer_bytes / 8;
  for (uint32_t number = 0; number < kMostSyscalls; number++)
    settings.specs[number] = spec_of(number);
  return settings;
}

// libbpf's own words: the last warning is the reason that a user can act on.
thread_local std::string last_warning;

int keep_warning(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  last_warning = text;
  while (!last_warning.empty() && last_warning.back() == '\n') last_warning.pop_back();
  return 0;
}

}  // namespace

Result<std::unique_ptr<BpfObject>> BpfObject::load(uint64_t buffer_bytes) {
  libbpf_set_print(keep_warning);
  bpf_object_open_opts open_options{};
  open_options.sz = sizeof open_options;
  open_options.object_name = "deadheat";
  bpf_object* object = bpf_object__open_mem(
      deadheat_process_bpf, static_cast<size_t>(deadheat_process_bpf_end - deadheat_process_bpf),
      &open_options);
  if (object == nullptr)
    return because("cannot read the BPF programs (" + last_warning + ")", errno);
  std::unique_ptr<BpfObject> loaded(new BpfObject(object));
  const deadheat_bpf_settings settings = settings_for(buffer_bytes);
  bpf_map* const settings_map = bpf_object__find_map_by_name(object, ".rodata.settings");
  bpf_map* const events = bpf_object__find_map_by_name(object, "events");
  if (settings_map == nullptr || events == nullptr ||
      bpf_map__set_initial_value(settings_map, &settings, sizeof settings) ||
      bpf_map__set_max_entries(events, static_cast<uint32_t>(buffer_bytes)))
    return because("the BPF programs are not those of this build", EINVAL);
  if (const int failed = bpf_object__load(object))
    return because("the kernel does not take the BPF programs (" + last_warning + ")", -failed);
  loaded->events_ = bpf_map__fd(events);
  loaded->tasks_ = bpf_object__find_map_fd_by_name(object, "tasks");
  loaded->counters_ = bpf_object__find_map_fd_by_name(object, ".data.counters");
  return loaded;
}

BpfObject::~BpfObject() {
  detach();
  bpf_object__close(object_);
}

Status BpfObject::attach() {
  bpf_program* program;
  bpf_object__for_each_program(program, object_) {
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr)
      return because(std::string("cannot attach to ") + bpf_program__section_name(program), errno);
    links_.push_back(link);
  }
  return Ok{};
}

void BpfObject::detach() {
  for (bpf_link* link : links_) bpf_link__destroy(link);
  links_.clear();
}

Status BpfObject::mark(int pid) {
  const ScopedFd task(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!task.valid()) return because("cannot follow process " + std::to_string(pid), errno);
  const auto state = std::make_unique<deadheat_bpf_task>();
  state->mode = DEADHEAT_BPF_WAITING;
  state->level = -1;
  const int key = task.get();
  if (bpf_map_update_elem(tasks_, &key, state.get(), BPF_ANY))
    return because("cannot follow process " + std::to_string(pid), errno);
  return Ok{};
}

deadheat_bpf_counters BpfObject::counters() const {
  deadheat_bpf_counters counters{};
  const int key = 0;
  if (bpf_map_lookup_elem(counters_, &key, &counters)) return {};
  return counters;
}

uint64_t BpfObject::missed() const {
  uint64_t missed = 0;
  bpf_program* program;
  bpf_object__for_each_program(program, object_) {
    bpf_prog_info info{};
    uint32_t size = sizeof info;
    if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0)
      missed += info.recursion_misses;
  }
  return missed;
}

}  // namespace deadheat::process
