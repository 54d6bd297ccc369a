#include "lib/process/sources/ptrace/tracee.h"

#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lib/base/scoped_fd.h"
#include "lib/process/recording/event.h"
#include "lib/process/recording/syscall_table.h"

// glibc's sys/ptrace.h and linux/ptrace.h cannot be included together; this constant is in both
// since 5.3.
#ifndef PTRACE_GET_SYSCALL_INFO
#define PTRACE_GET_SYSCALL_INFO static_cast<__ptrace_request>(0x420e)
#endif

namespace deadheat::process::sources {
namespace {

// Reads a file of /proc; what fits is enough.
std::string proc_file(int task, const char* name) {
  char path[64], buffer[4096];
  std::snprintf(path, sizeof path, "/proc/%d/%s", task, name);
  const ScopedFd file(::open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t size = file.valid() ? ::read(file.get(), buffer, sizeof buffer) : -1;
  return size > 0 ? std::string(buffer, static_cast<size_t>(size)) : std::string();
}

bool bit_in_mask(const std::string& status, const char* field, int signal) {
  const size_t at = status.find(field);
  if (at == std::string::npos) return false;
  const uint64_t mask = std::strtoull(status.c_str() + at + std::strlen(field), nullptr, 16);
  return (mask >> (signal - 1)) & 1;
}

bool is_sleep(long number) { return recording::only_sleeps(static_cast<uint32_t>(number)); }

// False: it is running, or has ended.
bool call_that_it_sleeps_in(int task, long& number, unsigned long (&a)[6]) {
  const std::string text = proc_file(task, "syscall");
  return std::sscanf(text.c_str(), "%ld %lx %lx %lx %lx %lx %lx", &number, &a[0], &a[1], &a[2],
                     &a[3], &a[4], &a[5]) == 7;
}

}  // namespace

std::optional<std::string> Tracee::read(RemoteAddress from, size_t size) const {
  std::string bytes(size, '\0');
  const iovec local{bytes.data(), size}, remote{reinterpret_cast<void*>(from.value), size};
  if (::process_vm_readv(task_, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(size))
    return std::nullopt;
  return bytes;
}

std::optional<std::string> Tracee::read_string(RemoteAddress from, size_t most) const {
  std::string text;
  while (text.size() < most) {
    // Up to the end of the page: the next may not be mapped.
    char piece[4096];
    const size_t wanted = std::min<size_t>(4096 - from.value % 4096, most - text.size());
    const iovec local{piece, wanted}, remote{reinterpret_cast<void*>(from.value), wanted};
    const ssize_t got = ::process_vm_readv(task_, &local, 1, &remote, 1, 0);
    if (got <= 0) return std::nullopt;
    const size_t length = strnlen(piece, static_cast<size_t>(got));
    text.append(piece, length);
    if (length < static_cast<size_t>(got)) break;
    from = from + static_cast<uint64_t>(got);
  }
  return text;
}

bool Tracee::write(RemoteAddress to, std::string_view bytes) const {
  const iovec local{const_cast<char*>(bytes.data()), bytes.size()},
      remote{reinterpret_cast<void*>(to.value), bytes.size()};
  return ::process_vm_writev(task_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes.size());
}

std::optional<CallInfo> Tracee::call() const {
  user_regs_struct registers;
  if (::ptrace(PTRACE_GETREGS, task_, nullptr, &registers) != 0) return std::nullopt;
  CallInfo info;
  info.number = static_cast<uint32_t>(registers.orig_rax);
  const uint64_t arguments[6] = {registers.rdi, registers.rsi, registers.rdx,
                                 registers.r10, registers.r8,  registers.r9};
  std::memcpy(info.arguments, arguments, sizeof arguments);
  info.instruction = registers.rip;
  return info;
}

std::optional<int64_t> Tracee::result() const {
  errno = 0;
  const long value = ::ptrace(PTRACE_PEEKUSER, task_, offsetof(user_regs_struct, rax), nullptr);
  if (value == -1 && errno != 0) return std::nullopt;
  return value;
}

bool Tracee::skip_call() const {
  return ::ptrace(PTRACE_POKEUSER, task_, offsetof(user_regs_struct, orig_rax), -1L) == 0;
}

bool Tracee::set_result(int64_t result) const {
  return ::ptrace(PTRACE_POKEUSER, task_, offsetof(user_regs_struct, rax), result) == 0;
}

bool Tracee::set_number(uint32_t number) const {
  return ::ptrace(PTRACE_POKEUSER, task_, offsetof(user_regs_struct, orig_rax),
                  static_cast<long>(number)) == 0;
}

std::optional<uint64_t> Tracee::signal_mask() const {
  uint64_t mask = 0;
  if (::ptrace(PTRACE_GETSIGMASK, task_, sizeof mask, &mask) != 0) return std::nullopt;
  return mask;
}

bool Tracee::set_signal_mask(uint64_t mask) const {
  return ::ptrace(PTRACE_SETSIGMASK, task_, sizeof mask, &mask) == 0;
}

bool Tracee::set_argument(int index, uint64_t value) const {
  static constexpr size_t kOffsets[6] = {
      offsetof(user_regs_struct, rdi), offsetof(user_regs_struct, rsi),
      offsetof(user_regs_struct, rdx), offsetof(user_regs_struct, r10),
      offsetof(user_regs_struct, r8),  offsetof(user_regs_struct, r9)};
  return ::ptrace(PTRACE_POKEUSER, task_, kOffsets[index], value) == 0;
}

bool Tracee::make_call_again(uint32_t number) const {
  user_regs_struct registers;
  if (::ptrace(PTRACE_GETREGS, task_, nullptr, &registers) != 0) return false;
  registers.rip -= 2;  // the length of the syscall instruction
  registers.rax = number;
  return ::ptrace(PTRACE_SETREGS, task_, nullptr, &registers) == 0;
}

uint64_t Tracee::message() const {
  unsigned long value = 0;
  ::ptrace(PTRACE_GETEVENTMSG, task_, nullptr, &value);
  return value;
}

std::optional<deadheat_process_object> Tracee::object(int descriptor) const {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", task_, descriptor);
  struct stat about;
  if (::stat(path, &about) != 0) return std::nullopt;
  deadheat_process_object object{};
  object.device = about.st_dev;
  object.inode = about.st_ino;
  object.size = static_cast<uint64_t>(about.st_size);
  object.mode = about.st_mode;
  return object;
}

bool Tracee::is_random_device(int descriptor) const {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", task_, descriptor);
  struct stat about;
  return ::stat(path, &about) == 0 && S_ISCHR(about.st_mode) &&
         (about.st_rdev == makedev(1, 8) || about.st_rdev == makedev(1, 9));
}

uint64_t Tracee::ticks() const {
  const std::string text = proc_file(task_, "stat");
  const size_t at = text.rfind(')');
  unsigned long user = 0, system = 0;
  if (at == std::string::npos ||
      std::sscanf(text.c_str() + at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                  &system) != 2)
    return 0;
  return user + system;
}

char Tracee::state() const {
  const std::string text = proc_file(task_, "stat");
  const size_t at = text.rfind(')');
  return at == std::string::npos || at + 2 >= text.size() ? '\0' : text[at + 2];
}

bool Tracee::waits_for_time() const {
  long number = -1;
  unsigned long a[6] = {};
  return call_that_it_sleeps_in(task_, number, a) &&
         recording::has_time_limit(static_cast<uint32_t>(number), a);
}

bool Tracee::only_sleeps() const {
  long number = -1;
  unsigned long a[6] = {};
  return call_that_it_sleeps_in(task_, number, a) && is_sleep(number);
}

bool Tracee::end_sleep() const {
  const long number =
      ::ptrace(PTRACE_PEEKUSER, task_, offsetof(user_regs_struct, orig_rax), nullptr);
  const auto now = result();
  return is_sleep(number) && now && recording::was_interrupted(*now) && set_result(0);
}

bool Tracee::pending(int signal) const {
  const std::string status = proc_file(task_, "status");
  return bit_in_mask(status, "SigPnd:", signal) || bit_in_mask(status, "ShdPnd:", signal);
}

bool Tracee::catches(int signal) const {
  return bit_in_mask(proc_file(task_, "status"), "SigCgt:", signal);
}

std::string Tracee::command_line() const { return proc_file(task_, "cmdline"); }

bool Tracee::make_repeatable() const {
  user_regs_struct registers;
  if (::ptrace(PTRACE_GETREGS, task_, nullptr, &registers) != 0) return false;
  RemoteAddress at{registers.rsp};
  const auto count = read_as<uint64_t>(at);
  if (!count) return false;
  at = at + 8 * (*count + 2);  // argc, argv, its zero
  while (true) {
    const auto word = read_as<uint64_t>(at);
    if (!word) return false;
    at = at + 8;
    if (*word == 0) break;
  }
  for (;; at = at + sizeof(Elf64_auxv_t)) {
    auto entry = read_as<Elf64_auxv_t>(at);
    if (!entry) return false;
    if (entry->a_type == AT_NULL) return true;
    if (entry->a_type == AT_SYSINFO_EHDR) {
      entry->a_type = AT_IGNORE;
      if (!write(at, {reinterpret_cast<const char*>(&*entry), sizeof *entry})) return false;
    } else if (entry->a_type == AT_RANDOM) {
      if (!write({entry->a_un.a_val}, "deadheat-random-")) return false;  // 16 bytes
    }
  }
}

}  // namespace deadheat::process::sources
