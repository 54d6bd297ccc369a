// A call in progress, and what the table says to attach to its event: strings and addresses at
// entry; objects, statuses and data at exit. For sources that can read the task while it is stopped
// (ptrace).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/process/sources/ptrace/tracee.h"

namespace deadheat::process::sources {

class PendingCall {
 public:
  struct Attached {
    uint16_t type = 0, argument = 0;
    std::string bytes;
  };

  // At the entry stop. `begin`: the recording's counter.
  void enter(const Tracee& tracee, const CallInfo& call, int process, uint64_t begin);
  // At the exit stop; reads what is attached then.
  void leave(const Tracee& tracee, int64_t result, uint64_t end);
  // The task ended inside the call.
  void attach_read(const Tracee& tracee);  // the data that a read received
  void abandon(uint64_t end);
  // The whole event.
  std::string event() const;

  const deadheat_process_event& head() const { return head_; }
  uint32_t number() const { return head_.number; }
  uint64_t argument(int index) const { return head_.arguments[index]; }
  const std::string* path(uint16_t argument) const;
  void attach(uint16_t type, uint16_t argument, std::string bytes);
  // For events derived from a call: FORK and EXEC.
  deadheat_process_event& edit() { return head_; }

 private:
  void attach_path(const Tracee& tracee, uint16_t argument);
  void attach_object(const Tracee& tracee, int descriptor, uint16_t argument);
  void attach_pair(const Tracee& tracee, uint16_t argument);
  void attach_address(const Tracee& tracee, uint16_t argument, uint64_t length);
  void attach_message(const Tracee& tracee);
  void attach_status(const Tracee& tracee, uint32_t capture);
  void read_sets(const Tracee& tracee);
  void attach_selected(const Tracee& tracee);

  deadheat_process_event head_{};
  std::vector<Attached> attached_;
  std::array<std::string, 3>
      sets_;  // of select, as they were given: to read, to write, exceptional
};

}  // namespace deadheat::process::sources
