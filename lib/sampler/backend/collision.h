// Collision: two threads at one place at one time, as seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/sampler/backend/backend.h"
#include "lib/sampler/code/decode.h"

namespace deadheat::sampler {

// A place in a module's file; module is an index into the session's modules, -1 for none.
struct CodePlace {
  int module = -1;
  uint64_t address = 0;  // in the file; absolute where there is no module
  friend bool operator==(const CodePlace&, const CodePlace&) = default;
  friend auto operator<=>(const CodePlace&, const CodePlace&) = default;
};

// What an access is in the source; see nature.h.
enum class Nature : uint8_t { kUnknown, kPlain, kAtomic };

struct Side {
  std::string thread;  // "4711 'worker'"
  CodePlace place;
  std::string text;                    // of the instruction; empty when it is not known
  bool reads = false, writes = false;  // both false: not known
  bool locked = false;
  bool bulk = false;          // a vector or string instruction
  bool in_loader = false;     // code of the dynamic linker
  bool in_lock_code = false;  // the kernel's locks themselves
  bool reads_ahead = false;   // perhaps more than what counts: a string function of the C library
  bool elsewhere = false;     // its instruction is known and touches none of the held bytes
  bool ended_before = false;  // so it did: what it looked for lies before the other's bytes
  bool at_clock = false;      // the kernel's tick counter
  bool copies = false;        // stands before a call of memcpy or its like
  bool in_go = false;         // code of a program of Go's
  bool in_go_runtime = false;
  Nature nature = Nature::kUnknown;
  uint64_t address = 0;
  uint32_t size = 0;
  std::vector<CodePlace> stack;  // callers, innermost first, without `place`
  // So many of `place` and its callers are of a C library, or of what moves memory for Go, that is
  // one file with the program: who called them is the one to name.
  size_t library_frames = 0;
};

struct Collision {
  Side held;                  // stood before its access
  std::optional<Side> other;  // came; none: the value changed and nobody was seen
  std::vector<uint8_t> before, after;
  uint64_t count = 1;
};

}  // namespace deadheat::sampler
