// One traced task, accessed through ptrace: its memory, registers and descriptors. Contains no
// policy.
#pragma once

#include <signal.h>
#include <sys/user.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "abi/process_event.h"

namespace deadheat::process::sources {

// An address in a traced task.
struct RemoteAddress {
  uint64_t value = 0;
  RemoteAddress operator+(uint64_t bytes) const { return {value + bytes}; }
};

struct CallInfo {
  uint32_t number = 0;
  uint64_t arguments[6] = {};
  uint64_t instruction = 0;
};

class Tracee {
 public:
  explicit Tracee(int task) : task_(task) {}
  int task() const { return task_; }

  std::optional<std::string> read(RemoteAddress from, size_t size) const;
  std::optional<std::string> read_string(RemoteAddress from, size_t most = 4096) const;
  template <typename T>
  std::optional<T> read_as(RemoteAddress from) const {
    const auto bytes = read(from, sizeof(T));
    if (!bytes) return std::nullopt;
    T value;
    __builtin_memcpy(&value, bytes->data(), sizeof value);
    return value;
  }
  bool write(RemoteAddress to, std::string_view bytes) const;

  std::optional<CallInfo> call() const;    // at an entry stop
  std::optional<int64_t> result() const;   // at an exit stop
  bool skip_call() const;                  // at an entry stop: skips the call
  bool set_result(int64_t result) const;   // at an exit stop
  bool set_number(uint32_t number) const;  // at an exit stop: reverts skip_call
  bool end_sleep() const;  // at a stop that interrupted a sleep: its time counts as passed
  std::optional<uint64_t> signal_mask() const;
  bool set_signal_mask(uint64_t mask) const;
  bool set_argument(int index, uint64_t value) const;  // at an entry stop
  bool make_call_again(
      uint32_t number) const;  // at the exit stop of a skipped call: it comes once more
  uint64_t message() const;    // of an event stop

  std::optional<deadheat_process_object> object(int descriptor) const;
  uint64_t ticks() const;  // processor time used, in hundredths of a second
  bool is_random_device(int descriptor) const;
  char state() const;              // from /proc/N/stat: 'R', 'S', ...; 0 if it has ended
  bool waits_for_time() const;     // sleeps in a call with a timeout
  bool only_sleeps() const;        // and waits for nothing else there
  bool pending(int signal) const;  // for it or for its process
  bool catches(int signal) const;  // has a handler for it
  // The arguments in its memory since exec.
  std::string command_line() const;
  // Right after exec: clocks become system calls (no vDSO), and the loader's random bytes become
  // constant.
  bool make_repeatable() const;

 private:
  int task_;
};

}  // namespace deadheat::process::sources
