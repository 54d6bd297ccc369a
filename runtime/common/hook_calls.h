// Finds calls of the compilers' hooks in a module's machine code and switches them off, for modes
// that need few sites of a program instrumented everywhere.
//
// A hook is called through a PLT stub (`jmp *GOT`) or through the GOT itself. A call of a hook's
// stub is recognised by its target: four bytes that point exactly there are no accident. The call
// becomes a nop; a jump (the tail call of __tsan_func_exit) becomes a return. This runs before the
// module's code does, so no thread executes there.
#pragma once

#include <link.h>

#include "runtime/common/modules.h"

namespace deadheat::runtime {

struct HookChoice {
  bool (*only_looks)(const char* hook);       // calls of this hook may be switched off
  bool (*is_wanted)(Address return_address);  // except this one
};

// For each module of the program that is loaded (not ours), once per loading.
const Module* module_once(const dl_phdr_info& info);
// How many calls were switched off. A module whose code cannot be written stays as it is: slower.
uint64_t switch_off_hooks(const dl_phdr_info& info, const HookChoice& choice);

// Whether this is the module that the host means: by build id, or, without one (empty or "-"), by
// its file's name.
bool is_module(const Module& module, const char* build_id, const char* path);

}  // namespace deadheat::runtime
