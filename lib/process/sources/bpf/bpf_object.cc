#include "lib/process/sources/bpf/bpf_object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lib/base/file.h"
#include "lib/base/scoped_fd.h"
#include "lib/process/recording/syscall_table.h"

extern "C" const char deadheat_process_bpf[], deadheat_process_bpf_end[];

namespace deadheat::process::sources {
namespace {

static_assert(DEADHEAT_BPF_SYSCALLS == recording::kMostSyscalls);
static_assert(DEADHEAT_BPF_PATH0 == uint32_t{recording::kPath0} &&
              DEADHEAT_BPF_PATH3 == uint32_t{recording::kPath3});
static_assert(DEADHEAT_BPF_NEW_FD == uint32_t{recording::kNewFd} &&
              DEADHEAT_BPF_FD_PAIR0 == uint32_t{recording::kFdPair0});
static_assert(DEADHEAT_BPF_FD_PAIR3 == uint32_t{recording::kFdPair3} &&
              DEADHEAT_BPF_LOCK2 == uint32_t{recording::kLock2});
static_assert(DEADHEAT_BPF_OPEN_HOW2 == uint32_t{recording::kOpenHow2} &&
              DEADHEAT_BPF_POLLED0 == uint32_t{recording::kPolled0});
static_assert(DEADHEAT_BPF_ADDRESS1 == uint32_t{recording::kAddress1} &&
              DEADHEAT_BPF_ADDRESS4 == uint32_t{recording::kAddress4});
static_assert(DEADHEAT_BPF_ADDRESS_OUT1 == uint32_t{recording::kAddressOut1});
static_assert(DEADHEAT_BPF_ADDRESS_OUT4 == uint32_t{recording::kAddressOut4});
static_assert(DEADHEAT_BPF_MESSAGE1 == uint32_t{recording::kMessage1});
static_assert(DEADHEAT_BPF_WAIT_STATUS1 == uint32_t{recording::kWaitStatus1});
static_assert(DEADHEAT_BPF_WAIT_INFO2 == uint32_t{recording::kWaitInfo2} &&
              DEADHEAT_BPF_DATA0 == uint32_t{recording::kData0});
static_assert(DEADHEAT_BPF_CLOCK0 == uint32_t{recording::kClock0} &&
              DEADHEAT_BPF_CLOCK1 == uint32_t{recording::kClock1});
static_assert(DEADHEAT_BPF_SHARED_MAP_ONLY == uint32_t{recording::kSharedMapOnly});

constexpr char kInstead[] = "the ptrace source needs neither root nor BPF";

Error because(const std::string& what, int code) {
  if (code == EPERM || code == EACCES)
    return {what + ": " + std::strerror(code), std::string("run it as root; ") + kInstead};
  return {what + ": " + std::strerror(code), kInstead};
}

uint32_t spec_of(uint32_t number) {
  const recording::SyscallEntry& entry = recording::syscall_entry(number);
  // The place of a signal within a program is unknown here, so it could not be moved.
  if (entry.effect == recording::Effect::kPrivate ||
      entry.effect == recording::Effect::kSignalState)
    return 0;
  uint32_t spec = entry.capture | DEADHEAT_BPF_RECORDED;
  // The programs record no payload.
  spec &= ~uint32_t{recording::kFdArg0 | recording::kFdArg1};
  if (entry.effect == recording::Effect::kUnmodelled) spec |= DEADHEAT_BPF_COUNTED;
  if (entry.effect == recording::Effect::kFork) spec |= DEADHEAT_BPF_FORKS;
  if (entry.is(recording::kExecutes)) spec |= DEADHEAT_BPF_EXECS;
  if (entry.effect == recording::Effect::kExit) spec |= DEADHEAT_BPF_ENDS;
  if (entry.effect == recording::Effect::kReceive) spec |= DEADHEAT_BPF_RECEIVED;
  return spec;
}

// A ring smaller than the longest event would never deliver it.
constexpr uint64_t kLeastRing = 16384;

uint64_t ring_size_for(uint64_t buffer_bytes, size_t processors) {
  return std::bit_floor(std::max(buffer_bytes / processors, kLeastRing));
}

// The consumer is woken at an eighth: events that arrive before it runs still fit.
deadheat_bpf_settings settings_for(uint64_t ring_size) {
  deadheat_bpf_settings settings{};
  settings.ring_bytes = ring_size;
  settings.wake_at = ring_size / 8;
  for (uint32_t number = 0; number < recording::kMostSyscalls; number++)
    settings.specs[number] = spec_of(number);
  return settings;
}

// One more than the highest PID.
uint32_t pid_limit() {
  const auto text = read_file("/proc/sys/kernel/pid_max");
  const long limit = text ? std::strtol(text.value().c_str(), nullptr, 10) : 0;
  return limit > 0 ? static_cast<uint32_t>(limit) : 4194304;
}

// libbpf's own message. If the verifier refused, the reason is the line before its statistics;
// later warnings are less specific.
thread_local std::string reason;

int keep_warning(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  va_list again;
  va_copy(again, arguments);
  std::string text(static_cast<size_t>(std::max(0, std::vsnprintf(nullptr, 0, format, again))) + 1,
                   '\0');
  va_end(again);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  const size_t statistics = text.find("\nprocessed ");
  if (statistics != std::string::npos) {
    const size_t line = text.rfind('\n', statistics - 1) + 1;
    reason = text.substr(line, statistics - line);
  } else if (reason.empty()) {
    reason = text.substr(0, text.find('\n'));
  }
  return 0;
}

}  // namespace

Status BpfObject::size_maps(uint64_t buffer_bytes) {
  const int processors = libbpf_num_possible_cpus();
  if (processors <= 0) return because("cannot count the processors", -processors);
  processors_ = static_cast<size_t>(processors);
  ring_size_ = ring_size_for(buffer_bytes, processors_);
  stride_ = ring_size_ + DEADHEAT_BPF_RING_SLACK;
  const deadheat_bpf_settings settings = settings_for(ring_size_);
  bpf_map* const settings_map = bpf_object__find_map_by_name(object_, ".rodata.settings");
  bpf_map* const rings = bpf_object__find_map_by_name(object_, "rings");
  bpf_map* const bytes = bpf_object__find_map_by_name(object_, "ring_bytes");
  bpf_map* const slots = bpf_object__find_map_by_name(object_, "slots");
  if (!settings_map || !rings || !bytes || !slots ||
      bpf_map__set_initial_value(settings_map, &settings, sizeof settings) ||
      bpf_map__set_max_entries(rings, static_cast<uint32_t>(processors)) ||
      bpf_map__set_max_entries(bytes, static_cast<uint32_t>(processors)) ||
      bpf_map__set_value_size(bytes, static_cast<uint32_t>(stride_)) ||
      bpf_map__set_max_entries(slots, pid_limit()))
    return because("the BPF programs are not those of this build", EINVAL);
  return Ok{};
}

Status BpfObject::map_rings() {
  const int rings = bpf_object__find_map_fd_by_name(object_, "rings");
  const int bytes = bpf_object__find_map_fd_by_name(object_, "ring_bytes");
  void* const heads = ::mmap(nullptr, processors_ * sizeof(deadheat_bpf_ring),
                             PROT_READ | PROT_WRITE, MAP_SHARED, rings, 0);
  if (heads == MAP_FAILED) return because("cannot map the rings", errno);
  rings_ = static_cast<deadheat_bpf_ring*>(heads);
  void* const contents = ::mmap(nullptr, processors_ * stride_, PROT_READ, MAP_SHARED, bytes, 0);
  if (contents == MAP_FAILED) return because("cannot map the rings", errno);
  bytes_ = static_cast<const char*>(contents);
  return Ok{};
}

Result<std::unique_ptr<BpfObject>> BpfObject::load(uint64_t buffer_bytes) {
  libbpf_set_print(keep_warning);
  reason.clear();
  bpf_object_open_opts open_options{};
  open_options.sz = sizeof open_options;
  open_options.object_name = "deadheat";
  bpf_object* object = bpf_object__open_mem(
      deadheat_process_bpf, static_cast<size_t>(deadheat_process_bpf_end - deadheat_process_bpf),
      &open_options);
  if (object == nullptr) return because("cannot read the BPF programs (" + reason + ")", errno);
  std::unique_ptr<BpfObject> loaded(new BpfObject(object));
  if (const Status sized = loaded->size_maps(buffer_bytes); !sized) return sized.error();
  if (const int failed = bpf_object__load(object))
    return because("the kernel does not take the BPF programs (" + reason + ")", -failed);
  if (const Status mapped = loaded->map_rings(); !mapped) return mapped.error();
  loaded->aside_ = bpf_object__find_map_fd_by_name(object, "aside");
  loaded->roots_ = bpf_object__find_map_fd_by_name(object, "roots");
  loaded->counters_ = bpf_object__find_map_fd_by_name(object, ".data.counters");
  return loaded;
}

BpfObject::~BpfObject() {
  detach();
  if (rings_ != nullptr) ::munmap(rings_, processors_ * sizeof(deadheat_bpf_ring));
  if (bytes_ != nullptr) ::munmap(const_cast<char*>(bytes_), processors_ * stride_);
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
  const int key = task.get();
  const uint32_t mark = 1;
  if (bpf_map_update_elem(roots_, &key, &mark, BPF_ANY))
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

}  // namespace deadheat::process::sources
