#include "lib/sampler/backend/ptrace/perf_registers.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "lib/sampler/backend/ptrace/task.h"

namespace deadheat::sampler {
namespace {

// The program's own events have other data: watches are numbered from 1.
constexpr uint64_t kMark = uint64_t{0xdeadea7} << 36, kNumber = (uint64_t{1} << 36) - 1;

// The C library's siginfo_t does not name these yet, and the kernel's header conflicts with it.
constexpr int kTrapPerf = 6;
constexpr uint32_t kAsync = 1;
struct PerfPart {
  uint64_t data;
  uint32_t type, flags;
};
constexpr size_t kPerfPart = 24;  // behind si_addr

PerfPart perf_part(const siginfo_t& info) {
  PerfPart part{};
  std::memcpy(&part, reinterpret_cast<const char*>(&info) + kPerfPart, sizeof part);
  return part;
}

perf_event_attr attributes(const WatchRegisters::Register& one) {
  perf_event_attr out{};
  out.size = sizeof out;
  out.type = PERF_TYPE_BREAKPOINT;
  out.sample_period = 1;
  out.bp_addr = one.piece.address;
  out.bp_len = one.piece.size;
  out.bp_type = one.reads_too ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
  out.exclude_kernel = 1;
  out.exclude_hv = 1;
  out.sigtrap = 1;
  out.remove_on_exec = 1;
  out.sig_data = kMark | (one.watch & kNumber);
  return out;
}

}  // namespace

PerfRegisters::Set PerfRegisters::change(int task, size_t number, const WatchRegisters& wish) {
  Event& event = events_[number];
  const WatchRegisters::Register& one = wish.all[number];
  event.serial = one.serial;
  const bool wanted = one.piece.size != 0 && one.except != task;
  if (!wanted) {
    if (event.on && ::ioctl(event.file.get(), PERF_EVENT_IOC_DISABLE, 0) != 0)
      event.file = ScopedFd();
    event.on = false;
    return Set::kYes;
  }
  perf_event_attr attr = attributes(one);
  event.on = true;
  if (event.file.valid()) {
    if (::ioctl(event.file.get(), PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr) == 0) return Set::kYes;
    ScopedFd old(std::move(event.file));  // closed before another event takes its register
  }
  event.file = ScopedFd(
      static_cast<int>(::syscall(SYS_perf_event_open, &attr, task, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  event.on = event.file.valid();
  if (event.on) return Set::kYes;
  return errno == ESRCH ? Set::kGone : Set::kRefused;
}

PerfRegisters::Set PerfRegisters::set(int task, const WatchRegisters& wish) {
  Set worst = Set::kYes;
  for (size_t i = 0; i < events_.size(); ++i) {
    if (events_[i].serial == wish.all[i].serial) continue;
    const Set done = change(task, i, wish);
    if (done != Set::kYes) worst = done;
  }
  return worst;
}

void PerfRegisters::close() {
  for (Event& event : events_) event = {};
}

uint64_t watch_of_trap(const siginfo_t& info) {
  if (info.si_code != kTrapPerf) return 0;
  const PerfPart part = perf_part(info);
  return part.type == PERF_TYPE_BREAKPOINT && (part.data & ~kNumber) == kMark ? part.data & kNumber
                                                                              : 0;
}

bool trap_was_blocked(const siginfo_t& info) { return (perf_part(info).flags & kAsync) != 0; }

}  // namespace deadheat::sampler
