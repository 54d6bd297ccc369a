#include "compiler/scan/spins.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

#include "compiler/pass/waiting_loop.h"

namespace deadheat::scan {

void mark_spins(const llvm::Function& function, std::vector<Access>& accesses) {
  if (accesses.empty()) return;
  llvm::DominatorTree tree(const_cast<llvm::Function&>(function));
  const llvm::LoopInfo loops(tree);
  if (loops.empty()) return;
  for (Access& access : accesses)
    access.spins = pass::only_waits(*access.instruction, loops, pass::Sleeping::kIsWaiting);
}

}  // namespace deadheat::scan
