// Functions of the program itself that hand out memory, and those that take it back.
//
// Each call of such a function is an allocation site of its own, as a call of malloc is. Without
// that, all blocks of a program with an allocator of its own (a pool, a free list, statistics, a
// table of function pointers in front of malloc) are one object, and every pointer means
// everything.
//
// Two rules. A function that only passes on what it has allocated is a wrapper. And one that is
// called so ("alloc" in its name) and returns `void *` or `char *` is taken for an allocator
// whatever it does inside; one with "free" in its name that returns nothing takes back its last
// `void *`. What may be missed: a race between two users of one recycled block, as with malloc.
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
