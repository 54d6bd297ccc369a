// Which writable global variables code can name: the globals that a call into uninstrumented code
// reaches without being given them.
//
// Nobody tells us which part of a module's data belongs to which function. So the machine code of
// the callee is read: every four bytes that could be an address relative to the instruction count
// as a reference, to a variable, to a table of constants (the GOT, virtual tables) or to another
// function, which is followed unless it is instrumented: then it is a call-back, or in a library
// that we model. More than the true references may be found, never less. Where that does not work
// (no symbols, no table of functions, an executable with absolute addresses) the code reaches the
// module's data as a whole.
#pragma once

#include "runtime/common/globals.h"

namespace deadheat::runtime {

struct CodeReach {
  MemoryRange* globals = nullptr;
  uint32_t count = 0;
  const Module* whole = nullptr;  // a module of which all data counts as reached
};

// Of a function, by its start, or of a table of constants. Kept: the same answer each time.
// Null: nothing is reached.
const CodeReach* code_reach(Address start);

}  // namespace deadheat::runtime
