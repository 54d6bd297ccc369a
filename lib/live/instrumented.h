// Whether a program is instrumented. Checked in the file before it runs, so that a program without
// hooks gets an explanation instead of a clean result.
#pragma once

#include <string>

namespace deadheat::live {

enum class Instrumented : uint8_t {
  kYes,      // the program, or a library that it needs, calls the hooks
  kNo,       // an ELF program without hooks
  kUnknown,  // a script or an unreadable file: what it starts may be instrumented
};

// `program` is a path. Libraries are searched as the dynamic linker does.
Instrumented instrumented(const std::string& program);

}  // namespace deadheat::live
