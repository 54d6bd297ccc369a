// The lock inside std::atomic<std::shared_ptr>, as libstdc++ 12 has it: a bit of the pointer to the
// counts, which load() gives back with relaxed order. What load() read under it would race with the
// next store(); no processor lets that happen, and no program can do anything about it. From GCC 13
// on the header says that it is a lock when a race detector is there. So the order of giving it
// back is at least release, before the function is inlined.
#include "abi/library_locks.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include "compiler/pass/passes.h"

namespace deadheat::pass {

bool order_library_locks(llvm::Module& module) {
  bool any = false;
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || function.arg_size() != 2 ||
        !function.getName().contains(DEADHEAT_POINTER_UNLOCK) || function.getArg(1)->use_empty())
      continue;
    llvm::Argument& order = *function.getArg(1);
    order.replaceAllUsesWith(llvm::ConstantInt::get(order.getType(), __ATOMIC_RELEASE));
    any = true;
  }
  return any;
}

}  // namespace deadheat::pass
