// Finds which writable global variables code can name: those that a call into uninstrumented code
// reaches without receiving them.
//
// Nothing records which part of a module's data belongs to which function, so this reads the
// machine code of the callee. Every four bytes that could be an instruction-relative address count
// as a reference: to a variable, to a table of constants (the GOT, virtual tables) or to another
// function, which is followed unless it is instrumented (then it is a callback) or in a modelled
// library. The result may contain too many references, never too few. Where this does not work (no
// symbols, no function table, an executable with absolute addresses), the code reaches all of the
// module's data.
#pragma once

#include "runtime/common/globals.h"

namespace deadheat::runtime {

struct CodeReach {
  MemoryRange* globals = nullptr;
  uint32_t count = 0;
  const Module* whole = nullptr;  // a module whose data all counts as reached
};

// For a function, by its start, or for a table of constants. Answers are cached. Null: nothing is
// reached.
const CodeReach* code_reach(Address start);

}  // namespace deadheat::runtime
