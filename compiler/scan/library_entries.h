// What may run in parallel in a library, and what its callers hand over.
#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <vector>

namespace deadheat::scan {

// The named functions; without names and without a main, all that is exported.
std::vector<llvm::Function*> library_entries(llvm::Module& module,
                                             const std::vector<std::string>& names);

}  // namespace deadheat::scan
