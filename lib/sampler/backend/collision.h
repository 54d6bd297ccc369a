// Collision: two threads observed at one location at one time.
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
  uint64_t address = 0;  // in the file; absolute if there is no module
  friend bool operator==(const CodePlace&, const CodePlace&) = default;
  friend auto operator<=>(const CodePlace&, const CodePlace&) = default;
};

// How an access appears in the source; see nature.h.
enum class Nature : uint8_t { kUnknown, kPlain, kAtomic };

struct Side {
  std::string thread;  // "4711 'worker'"
  CodePlace place;
  std::string text;                    // of the instruction; empty if unknown
  bool reads = false, writes = false;  // both false: unknown
  bool locked = false;
  bool bulk = false;           // a vector or string instruction
  bool below_program = false;  // code of the dynamic linker, or of Deadheat's runtime
  bool in_lock_code = false;   // the kernel's locks themselves
  bool reads_ahead = false;    // a string function of the C library: may read more than it needs
  bool elsewhere = false;      // the instruction is known and touches none of the held bytes
  bool ended_before = false;   // confirmed: the end it looked for comes before the other's bytes
  bool at_clock = false;       // the kernel's tick counter
  bool copies = false;         // is stopped before a call of memcpy or similar
  bool in_go = false;          // code of a Go program
  bool in_go_runtime = false;
  Nature nature = Nature::kUnknown;
  uint64_t address = 0;
  uint32_t size = 0;
  std::vector<CodePlace> stack;  // callers, innermost first, without `place`
  // This many of `place` and its callers belong to a C library, or to Go's memory moving code, that
  // is in the same file as the program: the finding names their caller.
  size_t library_frames = 0;
};

struct Collision {
  Side held;                  // stopped before its access
  std::optional<Side> other;  // came; none: the value changed and nobody was seen
  std::vector<uint8_t> before, after;
  uint64_t count = 1;
};

}  // namespace deadheat::sampler
