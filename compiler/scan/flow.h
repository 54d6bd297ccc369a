// The flow through one function: its states at accesses and calls, and at its end.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

#include "compiler/scan/summary.h"

namespace deadheat::scan {

bool release(Locks& held, const Lock& lock);

class FunctionFlow {
 public:
  FunctionFlow(Summaries& all, llvm::Function& function);
  Summary run();
  // All that it accesses and calls, as if no lock were held and every thread running.
  Summary without_order();

 private:
  void note_loop_joins();
  State enter(const llvm::BasicBlock& block);
  void walk(const llvm::BasicBlock& block, State& state, bool record);
  void apply(const llvm::Instruction& one, State& state, bool record);
  void apply_call(const llvm::CallBase& call, State& state, bool record);
  void apply_clause(const llvm::CallBase& call, const Clause& clause, State& state);
  void apply_atomic(const llvm::Instruction& one, State& state);
  struct Success {  // what holds where a call has succeeded
    std::vector<Lock> locks;
    Spawns joined;
  };
  void note_try(const llvm::CallBase& call, const Lock* lock, const Spawns& joined);
  Lock lock_at(const llvm::Value* pointer, LockMode mode, const llvm::Instruction& at);
  Spawns joined_by(const llvm::CallBase& call, bool by_pointer, int argument);
  size_t keep(const State& state);
  static constexpr int kMostVisits = 50;

  Summaries& all_;
  bool fenced_ = false;  // relaxed atomics order by the fences around them
  llvm::Function& function_;
  llvm::DominatorTree tree_;
  llvm::LoopInfo loops_;
  Summary summary_;
  std::map<const llvm::BasicBlock*, State> after_;
  std::map<const llvm::BasicBlock*, Spawns> joined_at_header_;
  std::map<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, Success> on_edge_;
  std::map<const llvm::CallBase*, Spawns> joins_;
  std::map<const llvm::Instruction*, std::vector<Access>> accesses_;
};

}  // namespace deadheat::scan
