#include "lib/sampler/backend/ptrace/task.h"

#include <linux/kcmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/file.h"
#include "lib/base/text.h"

namespace deadheat::sampler {
namespace {

constexpr int kControl = 7, kStatus = 6;

size_t offset_of(int number) {
  return offsetof(struct user, u_debugreg) + static_cast<size_t>(number) * sizeof(long);
}

bool poke(int task, int number, uint64_t value) {
  return ::ptrace(PTRACE_POKEUSER, task, offset_of(number), value) == 0;
}

// The registers that have fired since the last call.
uint8_t read_fired(int task) {
  const long status = ::ptrace(PTRACE_PEEKUSER, task, offset_of(kStatus), 0);
  if (status == -1 || (status & 0xf) == 0) return 0;
  poke(task, kStatus, 0);
  return static_cast<uint8_t>(status & 0xf);
}

// Enable bit, kind (1 write, 3 read or write) and length of one register.
uint64_t control_of(size_t slot, const WatchPiece& piece, bool reads_too) {
  const uint64_t length = piece.size == 8 ? 2 : piece.size - 1U;
  const uint64_t kind = reads_too ? 3 : 1;
  return (uint64_t{1} << (slot * 2)) | ((kind | (length << 2)) << (16 + slot * 4));
}

constexpr uint64_t kTrapBit = uint64_t{1} << (SIGTRAP - 1);

bool has_trap(const std::string& mask) {
  return (std::strtoull(mask.c_str(), nullptr, 16) & kTrapBit) != 0;
}

}  // namespace

std::string status_text(int task, const char* key) {
  const auto text = read_file("/proc/" + std::to_string(task) + "/status");
  if (!text) return {};
  const std::string wish = "\n" + std::string(key) + ":\t";
  const size_t at = text.value().find(wish);
  if (at == std::string::npos) return {};
  const size_t from = at + wish.size();
  return text.value().substr(from, text.value().find('\n', from) - from);
}

// A task can be stopped between the trap and its signal: what fired then belongs to the watchpoints
// that it had.
bool clear_watchpoints(PtraceTask& task) {
  if (!task.has_watchpoints) return true;
  const uint8_t fired = read_fired(task.id);
  task.trap_to_come |= fired != 0;
  task.fired |= fired;
  task.has_watchpoints = false;
  return poke(task.id, kControl, 0);
}

bool set_watchpoints(PtraceTask& task, const WatchRegisters& wish) {
  task.generation = wish.generation;
  if (!clear_watchpoints(task)) return false;
  uint64_t control = 0;
  for (size_t i = 0; i < wish.all.size(); ++i) {
    const auto& one = wish.all[i];
    // A hit for a former watch no longer counts.
    if (task.serials[i] != one.serial) task.fired &= static_cast<uint8_t>(~(1U << i));
    task.serials[i] = one.serial;
    if (one.piece.size == 0 || one.except == task.id) continue;
    if (!poke(task.id, static_cast<int>(i), one.piece.address)) return false;  // none is free
    control |= control_of(i, one.piece, one.reads_too);
  }
  if (control == 0) return true;
  task.has_watchpoints = true;
  if (poke(task.id, kControl, control)) return true;
  const int why = errno;
  clear_watchpoints(task);
  errno = why;
  return false;
}

Fired take_fired(PtraceTask& task, const WatchRegisters& now) {
  const uint8_t fired = read_fired(task.id);
  const bool ours = fired != 0 || task.trap_to_come;
  Fired out{ours, {}};
  const auto bits = static_cast<uint8_t>(fired | std::exchange(task.fired, 0));
  task.trap_to_come = false;
  for (size_t i = 0; i < now.all.size(); ++i)
    if (((bits >> i) & 1) != 0 && task.serials[i] == now.all[i].serial && now.all[i].watch != 0)
      out.watches.push_back(now.all[i].watch);
  return out;
}

bool trap_pending(int task) { return has_trap(status_text(task, "SigPnd")); }

bool catches_trap(int process) { return has_trap(status_text(process, "SigCgt")); }

void unblock_trap(int task) {
  uint64_t mask = 0;
  if (::ptrace(PTRACE_GETSIGMASK, task, sizeof mask, &mask) != 0 || (mask & kTrapBit) == 0) return;
  mask &= ~kTrapBit;
  ::ptrace(PTRACE_SETSIGMASK, task, sizeof mask, &mask);
}

bool blocks_trap(int task) { return has_trap(status_text(task, "SigBlk")); }

std::optional<bool> shares_memory(int one, int other) {
  const long order = ::syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0);
  return order < 0 ? std::nullopt : std::optional(order == 0);
}

std::vector<int> children_of(int process) {
  std::vector<int> out;
  const std::string folder = "/proc/" + std::to_string(process) + "/task";
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator(folder, ignored)) {
    const auto text = read_file(task.path() / "children");
    if (!text) continue;
    for (const std::string_view word : split(text.value(), ' '))
      if (const int child = std::atoi(std::string(word).c_str()); child > 0) out.push_back(child);
  }
  return out;
}

int status_number(int task, const char* key) { return std::atoi(status_text(task, key).c_str()); }

}  // namespace deadheat::sampler
