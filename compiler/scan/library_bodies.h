// Bodies for functions of the C++ runtime that call back into the program: the equivalent of
// libstdc++'s machine code, as IR.
#pragma once

#include <llvm/IR/Module.h>

namespace deadheat::scan {

void add_library_bodies(llvm::Module& module);

}  // namespace deadheat::scan
