#include "compiler/scan/spins.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IntrinsicInst.h>

namespace deadheat::scan {
namespace {

bool only_passes_time(const llvm::CallBase& call) {
  if (call.isInlineAsm() || llvm::isa<llvm::IntrinsicInst>(call)) return true;
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr) return false;
  for (const char* name :
       {"sched_yield", "usleep", "nanosleep", "sleep", "thrd_yield", "pthread_yield"})
    if (callee->getName() == name) return true;
  return false;
}

bool changes_nothing(const llvm::Loop& loop) {
  for (const llvm::BasicBlock* block : loop.blocks())
    for (const llvm::Instruction& one : *block) {
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&one)) {
        if (!only_passes_time(*call)) return false;
      } else if (one.mayWriteToMemory() && !llvm::isa<llvm::LoadInst, llvm::FenceInst>(one)) {
        return false;
      }
    }
  // Counting is work of its own: `for (i = 0; i < n; ++i)`.
  for (const llvm::PHINode& phi : loop.getHeader()->phis())
    if (phi.getType()->isIntegerTy() || phi.getType()->isPointerTy()) return false;
  return true;
}

bool decides_exit(const llvm::Instruction& load, const llvm::Loop& loop) {
  std::set<const llvm::Value*> visited{&load};
  std::vector<const llvm::Value*> work{&load};
  while (!work.empty()) {
    const llvm::Value* value = work.back();
    work.pop_back();
    for (const llvm::User* user : value->users()) {
      const auto* one = llvm::dyn_cast<llvm::Instruction>(user);
      if (one == nullptr || !loop.contains(one)) continue;
      if (one->isTerminator() && loop.isLoopExiting(one->getParent())) return true;
      if (!llvm::isa<llvm::LoadInst>(one) && visited.insert(one).second) work.push_back(one);
    }
  }
  return false;
}

}  // namespace

void mark_spins(const llvm::Function& function, std::vector<Access>& accesses) {
  if (accesses.empty()) return;
  llvm::DominatorTree tree(const_cast<llvm::Function&>(function));
  const llvm::LoopInfo loops(tree);
  if (loops.empty()) return;
  for (Access& access : accesses) {
    const llvm::Loop* loop = loops.getLoopFor(access.instruction->getParent());
    if (loop == nullptr || !llvm::isa<llvm::LoadInst>(access.instruction)) continue;
    access.spins = changes_nothing(*loop) && decides_exit(*access.instruction, *loop);
  }
}

}  // namespace deadheat::scan
