// What a binary and its libraries were built of, read from their files: which of them are
// instrumented, by which compiler, whether calls into other code are marked, and whether our
// runtime would be used. Nothing of the binary is run.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"

namespace deadheat::verify {

enum class Role {
  kProgram,  // the binary itself, or a library that is neither of the others
  kRuntime,  // libdeadheat
  kKnown,    // libc and the like: the runtime models what they do
  kForeign,  // ThreadSanitizer's runtime: must not be there
  kMissing,  // needed, and the dynamic linker does not find it
};

struct Module {
  std::string name;  // as it is needed; of the binary, as it was given
  std::string path;
  Role role = Role::kProgram;
  bool instrumented = false;
  bool marks_regions = false;               // section deadheat_functions: compiled by our pass
  std::vector<std::string> compilers = {};  // from .comment: "clang 19.1.7", "gcc 12.2.0"
};

struct Inspection {
  std::vector<Module> modules;  // the binary first, then as the dynamic linker loads them
  bool is_static = false;
  bool static_tsan = false;  // libtsan is part of the binary itself
  std::string first_needed;  // of the binary
  std::string runtime;       // path of the libdeadheat that it would run with, empty if none
};

Result<Inspection> inspect(const std::string& binary);

// What prevents detection, as {the problem, the one thing to do}; nothing: no problem.
struct Problem {
  std::string what;
  std::string to_do;
};
std::vector<Problem> judge(const Inspection& inspection);

// A line a module; known libraries together.
std::string describe(const Inspection& inspection);

// "libfoo.so.1 => /lib/libfoo.so.1 (0x...)" lines of the dynamic linker's --list.
std::vector<Module> parse_list(const std::string& text);
// "Debian clang version 19.1.7 (...)" to "clang 19.1.7"; empty if it is no compiler's.
std::string compiler_name(const std::string& comment);

}  // namespace deadheat::verify
