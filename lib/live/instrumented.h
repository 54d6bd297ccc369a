// Is a program instrumented? Asked of the file before it runs, so that a program without hooks is
// told what it lacks instead of looking clean.
#pragma once

#include <string>

namespace deadheat::live {

enum class Instrumented : uint8_t {
  kYes,      // it, or a library that it needs, calls the hooks
  kNo,       // an ELF program without any
  kUnknown,  // a script, or a file that cannot be read: what it starts may be instrumented
};

// `program` is a path. Needed libraries are looked for where the dynamic linker would.
Instrumented instrumented(const std::string& program);

}  // namespace deadheat::live
