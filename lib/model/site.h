// Site: a program point that accesses something. Not an address (that is a location).
//
// A site covers all its pcs: inlining, templates and loop unrolling give one source place many.
// Unknown fields are empty or 0; identity.h decides what two sites have in common.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace deadheat::model {

enum class SiteKind : uint8_t {
  kCode,     // a place in a program or library
  kSyscall,  // a system call made by an executable or a script
  kLabel,    // a place that only the trace names (STD's location field)
};

struct Site {
  SiteKind kind = SiteKind::kCode;

  // kCode
  std::string
      module;  // path or soname as found in the process; kLabel: the traced program, if known
  std::string build_id;       // lower-case hex
  std::vector<uint64_t> pcs;  // file addresses in that module, sorted, unique
  std::string function;       // demangled, with the signature if known
  std::string file;           // as in the debug information
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t function_line =
      0;  // where the function begins: line - function_line survives edits elsewhere
  std::string source_text;  // the line's text, white space folded
  std::string variable;     // field or variable accessed ("Account::balance", "g_total")

  // kSyscall
  std::string program;  // executable, or the script for an interpreter
  std::string syscall;  // name without decoration: "open" for openat and open
  std::string object;   // normalised object ("/tmp/*.lock", "pipe", "pid")

  // kLabel
  std::string label;

  friend bool operator==(const Site&, const Site&) = default;
  friend auto operator<=>(const Site&, const Site&) = default;
};

// One line for people: "transfer() bank.cc:31", "libfoo.so+0x4d2", "rm unlink(/tmp/x.lock)", "line
// 345". Never empty: a site without any known field is "unknown place".
std::string describe(const Site& site);

}  // namespace deadheat::model
