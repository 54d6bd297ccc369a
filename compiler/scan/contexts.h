// How each function is reached: top down from the roots, with the held locks and running threads at
// its entry.
//
// A context's chain of parents is the call path that a candidate shows. Contexts of one function
// beyond a limit are merged into one that contains only what all of them have in common.
#pragma once

#include "compiler/scan/summary.h"

namespace deadheat::scan {

enum class RootKind : uint8_t { kMain, kThread, kHandler, kEntry };

struct Root {
  RootKind kind = RootKind::kMain;
  const llvm::Function* start = nullptr;
  int spawn = -1;     // number of the call that starts it
  bool many = false;  // several may run at a time
};

struct Context {
  const llvm::Function* function = nullptr;
  size_t root = 0;
  State entry;         // what holds at the function's entry
  uint64_t fresh = 0;  // bit i: nobody else sees what argument i points to
  int parent = -1;
  const llvm::CallBase* call = nullptr;  // in the parent's function
  bool merged = false;
};

struct ContextOptions {
  size_t most = 12;  // of one function under one root; 1 when the time is over
  const Budget* budget = nullptr;
  std::vector<std::string> entries;  // roots of a library
};

class Contexts {
 public:
  Contexts(PointsTo& points_to, Paths& paths, AccessFinder& finder, const Summaries& summaries,
           const ContextOptions& options);
  // False: there is no root.
  bool compute(llvm::Module& module);

  const std::vector<Context>& all() const { return contexts_; }
  const std::vector<Root>& roots() const { return roots_; }
  // What holds at a point of the context's function.
  State at(const Context& context, const State& relative) const;
  // Whether an instruction runs more than once in a program's life.
  bool runs_often(const llvm::Instruction* instruction) const;
  Counters counters() const;

 private:
  void add_root(RootKind kind, const llvm::Function* start, int spawn, State entry);
  void add(Context context);
  void expand(size_t index);
  void enter_call(size_t index, const CallPoint& point);
  void enter_started(size_t index, const CallPoint& point, const State& state);
  void add_end_of_program();
  void find_repeated();
  bool in_loop(const llvm::Instruction* instruction) const;

  PointsTo& points_to_;
  Paths& paths_;
  AccessFinder& finder_;
  const Summaries& summaries_;
  const ContextOptions& options_;
  std::vector<Root> roots_;
  std::vector<Context> contexts_;
  std::vector<size_t> work_;
  std::map<std::pair<const llvm::Function*, size_t>, std::vector<size_t>> of_function_;
  std::map<const llvm::Function*, std::set<const llvm::CallBase*>> callers_;
  std::set<std::pair<const llvm::Function*, bool>> at_end_;  // of each thread (true) or the program
  std::set<const llvm::Function*> repeated_;
  mutable std::map<const llvm::Function*, std::set<const llvm::BasicBlock*>> loops_;
  uint64_t merged_ = 0;
};

}  // namespace deadheat::scan
