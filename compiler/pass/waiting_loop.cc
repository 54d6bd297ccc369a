#include "compiler/pass/waiting_loop.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <set>
#include <vector>

namespace deadheat::pass {
namespace {

bool only_passes_time(const llvm::CallBase& call, Sleeping sleeping) {
  if (call.isInlineAsm() || llvm::isa<llvm::IntrinsicInst>(call)) return true;
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr) return false;
  const llvm::StringRef name = callee->getName();
  if (name == "sched_yield" || name == "thrd_yield" || name == "pthread_yield") return true;
  return sleeping == Sleeping::kIsWaiting &&
         (name == "usleep" || name == "nanosleep" || name == "sleep");
}

bool changes_nothing(const llvm::Loop& loop, Sleeping sleeping) {
  for (const llvm::BasicBlock* block : loop.blocks())
    for (const llvm::Instruction& one : *block) {
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&one)) {
        if (!only_passes_time(*call, sleeping)) return false;
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

bool only_waits(const llvm::Instruction& load, const llvm::LoopInfo& loops, Sleeping sleeping) {
  if (!llvm::isa<llvm::LoadInst>(load)) return false;
  const llvm::Loop* loop = loops.getLoopFor(load.getParent());
  return loop != nullptr && changes_nothing(*loop, sleeping) && decides_exit(load, *loop);
}

}  // namespace deadheat::pass
