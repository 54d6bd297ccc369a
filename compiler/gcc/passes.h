// gcc's plugin, part by part: what compiler/pass does for clang, in the same order and by the same
// rules. It works behind gcc's own thread sanitizer pass: what is inserted here has no checks, and
// a check that is not needed is a call to remove.
//
//   library locks    before anything is inlined: a lock of libstdc++'s is given back with release
//
//   drop checks      calls of __tsan_readN and __tsan_writeN that cannot find a race of their own
//   loop checks      accesses of a loop that does not synchronise: one check before it
//   string calls     copies and fills of constant size, which gcc expands in line
//   last stores      relaxed stores of C++20 say that they are
//   inline assembly  atomic operations and stores in assembly get acquire and release
//   inline copies    which inline functions synchronise: another object's copy may run
//   regions          calls that may leave instrumented code get begin and end
//   functions        the section with the addresses of instrumented functions
//
// Wide accesses need nothing: gcc's pass checks them as ranges.
#pragma once

#include "compiler/gcc/gcc.h"

namespace deadheat::gcc {

std::string assembler_name(const_tree declaration);
// A function of the runtime, by its name in the object; the same tree for each call in this
// translation unit.
tree runtime_function(const char* name, tree type);

bool is_library_unlock(const_tree declaration);
void order_library_unlock(function* fun);

struct DropCounts {
  unsigned accesses = 0;
  unsigned locals = 0;
  unsigned covered = 0;
};
// Between two accesses of a thread it may order one of them with what others do.
bool may_synchronise(gimple* statement);
// Size of a check of one access, 0 for other calls; sets `write`.
HOST_WIDE_INT checked_size(gcall* call, bool& write);
DropCounts drop_checks(function* fun);
unsigned check_loops_once(function* fun);
// No other thread can know the memory at the address.
bool is_private_memory(tree address);
unsigned check_string_calls(function* fun);
unsigned mark_last_stores(function* fun);
unsigned order_inline_assembly(function* fun);

// Before the functions of the unit are expanded one by one, when all bodies can be seen
// (inline_copies.cc).
void find_synchronising_copies();
bool copy_may_hide(tree callee);
bool is_known_function(tree callee);
bool is_harmless_call(tree callee);
unsigned mark_regions(function* fun);

void note_instrumented(function* fun);
bool is_noted(function* fun);   // the last one was this
void emit_functions_section();  // at the end of the unit

}  // namespace deadheat::gcc
