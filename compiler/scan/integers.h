// Which integers may be pointers.
//
// Integers as wide as a pointer are followed where they are only passed on: handles of threads,
// words of a copied record. Arithmetic is followed only where the function itself turns a pointer
// into the integer, or the integer into a pointer (tags in the low bits, alignment): counters,
// sizes and hashes would otherwise carry whatever the analysis takes their memory to hold into each
// other.
#pragma once

#include <llvm/IR/InstrTypes.h>

namespace deadheat::scan {

bool may_be_pointer(const llvm::BinaryOperator& made);

}  // namespace deadheat::scan
