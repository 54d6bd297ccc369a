// Maps an address to the global variable that contains it, using the symbol table of the module's
// file. Each module is read once, on first use. Without symbols (stripped), the module's writable
// data is one object.
#pragma once

#include "runtime/common/modules.h"

namespace deadheat::runtime {

struct MemoryRange {
  Address begin = 0;
  Address end = 0;
};

// The variable that contains the address, if the module has a symbol for it.
bool find_symbol(const Module& module, Address address, MemoryRange* range);
// The address must be in the module's writable data.
MemoryRange find_global(const Module& module, Address address);
bool in_writable_data(const Module& module, Address address);
void globals_after_fork();

}  // namespace deadheat::runtime
