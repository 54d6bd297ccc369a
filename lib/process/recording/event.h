// An event of a recording, as a view of its bytes (abi/process_event.h); valid while the recording
// lives.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "abi/process_event.h"

namespace deadheat::process::recording {

struct Attachment {
  uint16_t type = 0;
  uint16_t argument = 0;
  std::string_view bytes;
};

class Event {
 public:
  // `bytes` holds a whole event whose sizes have been checked (recording.cc does).
  explicit Event(const char* bytes) : bytes_(bytes) {}

  const deadheat_process_event& head() const {
    return *reinterpret_cast<const deadheat_process_event*>(bytes_);
  }
  std::vector<Attachment> attachments() const;
  // The first of that type for that argument.
  std::optional<std::string_view> find(uint16_t type, uint16_t argument) const;
  std::optional<std::string_view> path(uint16_t argument) const {
    return find(DEADHEAT_ATTACH_PATH, argument);
  }
  std::optional<deadheat_process_object> object(uint16_t argument = DEADHEAT_ARGUMENT_RESULT) const;
  std::string_view raw() const { return {bytes_, head().size}; }

 private:
  const char* bytes_;
};

// A result that means that a signal interrupted the call, including those that only the kernel and
// a tracer see.
constexpr bool was_interrupted(int64_t result) {
  constexpr int64_t kInterrupted = -4, kFirstRestart = -516, kLastRestart = -512;
  return result == kInterrupted || (result >= kFirstRestart && result <= kLastRestart);
}

// Builds the bytes of one event; the ptrace source and the tests use it.
class EventBuilder {
 public:
  explicit EventBuilder(const deadheat_process_event& head);
  EventBuilder& attach(uint16_t type, uint16_t argument, std::string_view bytes);
  std::string take();  // whole; the builder is empty afterwards

 private:
  std::string bytes_;
};

}  // namespace deadheat::process::recording
