// Which integers may be pointers.
//
// Integers as wide as a pointer are tracked where they are only passed on: handles of threads,
// words of a copied record. Arithmetic is tracked only where the function itself converts a
// pointer to the integer, or the integer to a pointer (tags in the low bits, alignment):
// otherwise counters, sizes and hashes would propagate the assumed contents of their memory to
// each other.
#pragma once

#include <llvm/IR/InstrTypes.h>

namespace deadheat::scan {

bool may_be_pointer(const llvm::BinaryOperator& made);

}  // namespace deadheat::scan
