// Tables of virtual functions that stand in for the program's. An object of the program that is
// handed to the library gets a table of ours, in which some functions are replaced; the others are
// the program's. There is one such table for each class and replacement; nothing is kept for an
// object.
#pragma once

#include "runtime/common/tbb/library.h"

namespace deadheat::runtime::tbb {

// As the compilers lay out an object with virtual functions.
struct Virtual {
  const void* const* table;
};

inline constexpr size_t kReplaced = 4;
using Replacement = const void* [kReplaced];  // null: the program's own

// The object's program functions come through us from now on. False: no memory for a table.
bool put_before(Virtual* object, const Replacement& ours);
// The table that the program gave to an object that put_before() was called for.
const void* const* program_table(const Virtual* object);

}  // namespace deadheat::runtime::tbb
