// Parses one line of the text form (docs/formats/std.md). This is the complete, slow parser;
// StdSource has a fast path for the most common lines, and std_test.cc compares the two.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/trace/event.h"

namespace deadheat::trace {

struct StdLine {
  enum class Kind : uint8_t {
    kEvent,
    kIgnored,  // begin, end, branch
    kBlank,    // empty or a comment
    kBad       // `error` says why
  };

  // An object as written: a name, or an address.
  struct Object {
    std::string_view name;  // empty: address
    uint64_t address = 0;
    uint64_t size = 8;
  };

  Kind kind = Kind::kBlank;
  const char* error = "";
  std::string_view thread;
  std::string_view other_thread;  // fork, join
  uint32_t tokens = 0;            // semaphore init
  EventKind event = EventKind::kRead;
  MemoryOrder order = MemoryOrder::kPlain;
  bool unstamped = false;
  Object object;               // lock, address, function, module of a region
  std::vector<Object> ranges;  // of a region
  std::string_view location;   // may be empty: no site
};

// `line` has no line end. `strict`: RAPID's operations only, and every operand is a name.
void parse_std_line(std::string_view line, bool strict, StdLine& out);

// "0x1000", "0x1000:4", "NAME", "NAME:4"; false if empty or beyond the address space. `strict`:
// always a name.
bool parse_std_object(std::string_view text, bool strict, StdLine::Object& out);

// The parts of a location "@module+0x12#build-id"; false if it is a label.
bool parse_place(std::string_view location, SiteInfo& out);

}  // namespace deadheat::trace
