// Virtual function tables that replace the program's. An object that the program passes to
// the library gets a table of ours, in which some functions are replaced; the others are
// the program's. There is one such table per class and replacement, and no state per
// object.
#pragma once

#include "runtime/common/tbb/library.h"

namespace deadheat::runtime::tbb {

// The compilers' layout of an object with virtual functions.
struct Virtual {
  const void* const* table;
};

inline constexpr size_t kReplaced = 4;
using Replacement = const void* [kReplaced];  // null: the program's own

// Calls of the object's functions go through us from now on. False: no memory for a table.
bool put_before(Virtual* object, const Replacement& ours);
// The program's table of an object for which put_before() was called.
const void* const* program_table(const Virtual* object);

}  // namespace deadheat::runtime::tbb
