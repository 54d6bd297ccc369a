// Calls of the compilers' hooks in a module's machine code, and switching them off: for modes that
// look at few places of a program that was built to be looked at everywhere.
//
// A hook is called through a PLT stub (`jmp *GOT`) or through the GOT itself. A call of a stub of a
// hook is found by its target: four bytes that point exactly there are no accident. The call
// becomes a nop; a jump (the tail call of __tsan_func_exit) becomes a return. This runs before the
// module's code does, so nobody is there.
#pragma once

#include <link.h>

#include "runtime/common/modules.h"

namespace deadheat::runtime {

struct HookChoice {
  bool (*only_looks)(const char* hook);       // calls of this hook may go
  bool (*is_wanted)(Address return_address);  // but not this one
};

// Of each module that is loaded, the program's and not ours, once a loading.
const Module* module_once(const dl_phdr_info& info);
// How many calls were switched off. A module whose code cannot be written stays as it is: slower.
uint64_t switch_off_hooks(const dl_phdr_info& info, const HookChoice& choice);

// A module as the host names it: by build id, or, where it has none (empty or "-"), by its file's
// name.
bool is_module(const Module& module, const char* build_id, const char* path);

}  // namespace deadheat::runtime
