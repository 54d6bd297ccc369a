// The program's own functions that allocate memory, and those that free it.
//
// Each call of such a function is a separate allocation site, like a call of malloc. Otherwise
// all blocks of a program with its own allocator (a pool, a free list, statistics, a table of
// function pointers in front of malloc) would be one object, and every pointer would point to
// everything.
//
// Two rules. A function that only returns what it has allocated is a wrapper. And a function with
// "alloc" in its name that returns `void *` or `char *` counts as an allocator whatever it does
// inside; one with "free" in its name that returns nothing frees its last `void *`. This may miss
// a race between two users of one recycled block, as with malloc.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>

#include <functional>
#include <optional>
#include <set>
#include <string>

namespace deadheat::scan {

bool is_called_allocator(const llvm::Function& function);
// The argument that such a function may return: it has "realloc" in its name.
std::optional<unsigned> given_back(const llvm::Function& function);
// The argument that it takes back; nothing if it is not called so.
std::optional<unsigned> taken_back(const llvm::Function& function);
// The functions that only pass on what `allocates` says is new.
bool only_passes_on(const llvm::Function& function,
                    const std::function<bool(const llvm::CallBase&)>& allocates);

}  // namespace deadheat::scan
