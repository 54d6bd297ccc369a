#include "compiler/scan/contexts.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

#include <algorithm>

#include "compiler/scan/library_entries.h"

namespace deadheat::scan {

Contexts::Contexts(PointsTo& points_to, Paths& paths, AccessFinder& finder,
                   const Summaries& summaries, const ContextOptions& options)
    : points_to_(points_to),
      paths_(paths),
      finder_(finder),
      summaries_(summaries),
      options_(options) {}

State Contexts::at(const Context& context, const State& relative) const {
  State state = context.entry;
  state.then(relative);
  return state;
}

void Contexts::add_root(RootKind kind, const llvm::Function* start, int spawn, State entry) {
  if (start->isDeclaration()) return;
  size_t index = 0;
  while (index < roots_.size() && (roots_[index].start != start || roots_[index].spawn != spawn))
    ++index;
  if (index < roots_.size() && kind != RootKind::kMain) return;  // nothing that it inherits matters
  roots_.push_back({kind, start, spawn, kind == RootKind::kEntry});
  index = roots_.size() - 1;
  entry.reached = true;
  const auto size = static_cast<unsigned>(summaries_.spawns().size());
  entry.started.resize(size);
  entry.joined.resize(size);
  Context context;
  context.function = start;
  context.root = index;
  context.entry = std::move(entry);
  add(std::move(context));
}

void Contexts::add(Context context) {
  std::vector<size_t>& known = of_function_[{context.function, context.root}];
  for (const size_t index : known) {
    const Context& other = contexts_[index];
    if (other.fresh == context.fresh && other.entry == context.entry) return;
  }
  const bool hurry = options_.budget != nullptr && options_.budget->is_over(kContextShare);
  if (known.size() < (hurry ? 1 : options_.most)) {
    known.push_back(contexts_.size());
    work_.push_back(contexts_.size());
    contexts_.push_back(std::move(context));
    return;
  }
  // The last one stands for all that follow.
  Context& rest = contexts_[known.back()];
  const State before = rest.entry;
  const uint64_t fresh_before = rest.fresh;
  rest.merged = true;
  rest.fresh &= context.fresh;
  rest.entry.meet(context.entry);
  ++merged_;
  if (!(rest.entry == before) || rest.fresh != fresh_before) work_.push_back(known.back());
}

void Contexts::enter_call(size_t index, const CallPoint& point) {
  const Context from = contexts_[index];
  const Summary& summary = summaries_.of(from.function);
  const State state = at(from, summary.states[point.state]);
  for (const llvm::Function* callee : points_to_.callees(*point.call)) {
    if (!summaries_.has(callee)) continue;
    callers_[callee].insert(point.call);
    Context next;
    next.function = callee;
    next.root = from.root;
    next.entry = state;
    next.entry.released.clear();
    next.entry.released_all = false;
    next.entry.acquired.clear();
    for (Lock lock : state.acquired) {
      lock.path = paths_.to_callee(lock.path, *point.call, *callee);
      next.entry.acquired.insert(std::move(lock));
    }
    for (unsigned i = 0; i < point.call->arg_size() && i < callee->arg_size() && i < 64; ++i) {
      const llvm::Value* actual = point.call->getArgOperand(i);
      int argument = -1;
      if (!actual->getType()->isPointerTy()) continue;
      const bool fresh = finder_.is_fresh(actual, point.call, argument) ||
                         (argument >= 0 && argument < 64 && ((from.fresh >> argument) & 1) != 0);
      if (fresh) next.fresh |= uint64_t{1} << i;
    }
    next.parent = static_cast<int>(index);
    next.call = point.call;
    add(std::move(next));
  }
  enter_started(index, point, state);
}

void Contexts::enter_started(size_t index, const CallPoint& point, const State& state) {
  const size_t root = contexts_[index].root;
  for (const Started& started : points_to_.started(*point.call)) {
    callers_[started.function].insert(point.call);
    if (started.effect == Effect::kSpawn || started.effect == Effect::kHandler) {
      add_root(started.effect == Effect::kSpawn ? RootKind::kThread : RootKind::kHandler,
               started.function, summaries_.spawn_number(point.call), {});
      continue;
    }
    if (!summaries_.has(started.function)) continue;
    const llvm::Function* direct = point.call->getCalledFunction();
    const llvm::StringRef name = direct == nullptr ? "" : direct->getName();
    if (name == "atexit" || name == "on_exit" || name == "__cxa_atexit" || name == "quick_exit") {
      at_end_.insert({started.function, false});
      continue;
    }
    if (name == "pthread_key_create" || name == "tss_create" || name == "__cxa_thread_atexit") {
      at_end_.insert({started.function, true});
      continue;
    }
    Context next;
    next.function = started.function;
    next.root = root;
    next.entry = state;
    next.entry.released.clear();
    next.entry.released_all = false;
    next.entry.acquired.clear();
    for (Lock lock : state.acquired) {
      if (!paths_.is_global(lock.path)) lock.path = kNoPath;
      next.entry.acquired.insert(std::move(lock));
    }
    if (started.effect == Effect::kOnce) {
      const PathId path = paths_.of(point.call->getArgOperand(0));
      next.entry.acquired.insert({paths_.is_global(path) ? path : kNoPath, paths_.locations(path),
                                  LockMode::kExclusive, point.call});
    }
    next.parent = static_cast<int>(index);
    next.call = point.call;
    add(std::move(next));
  }
}

void Contexts::expand(size_t index) {
  // Contexts may be added while this one is looked at: no reference into the list survives.
  const std::vector<CallPoint>& calls = summaries_.of(contexts_[index].function).calls;
  for (const CallPoint& point : calls) enter_call(index, point);
}

// Code that runs when the program, or a thread, ends: concurrent with whatever may be running then.
void Contexts::add_end_of_program() {
  State end;
  end.reached = true;
  end.started.resize(static_cast<unsigned>(summaries_.spawns().size()));
  end.joined = end.started;
  const State& exit = summaries_.of(roots_[0].start).exit;
  if (exit.reached) {
    end = exit;
    end.acquired.clear();
    end.released.clear();
  } else {
    end.started |= summaries_.of(roots_[0].start).ever;
  }
  for (const auto& [function, each_thread] : at_end_)
    for (size_t root = 0; root < roots_.size(); ++root) {
      if (each_thread ? roots_[root].kind != RootKind::kThread
                      : roots_[root].kind != RootKind::kMain)
        continue;
      Context context;
      context.function = function;
      context.root = root;
      context.entry = end;
      if (each_thread) context.entry.started.reset();
      add(std::move(context));
      if (!each_thread) break;
    }
}

bool Contexts::in_loop(const llvm::Instruction* instruction) const {
  const llvm::Function* function = instruction->getFunction();
  const auto [entry, fresh] = loops_.try_emplace(function);
  if (fresh) {
    llvm::DominatorTree tree(const_cast<llvm::Function&>(*function));
    const llvm::LoopInfo loops(tree);
    for (const llvm::BasicBlock& block : *function)
      if (loops.getLoopFor(&block) != nullptr) entry->second.insert(&block);
  }
  return entry->second.contains(instruction->getParent());
}

bool Contexts::runs_often(const llvm::Instruction* instruction) const {
  return repeated_.contains(instruction->getFunction()) || in_loop(instruction);
}

void Contexts::find_repeated() {
  for (bool again = true; again;) {
    again = false;
    for (Root& root : roots_) {
      if (root.many || root.kind == RootKind::kMain || root.kind == RootKind::kHandler) continue;
      const llvm::CallBase* spawn =
          root.spawn < 0 ? nullptr : summaries_.spawns()[static_cast<size_t>(root.spawn)];
      const bool team = spawn != nullptr && spawn->getCalledFunction() != nullptr &&
                        spawn->getCalledFunction()->getName() == "__kmpc_fork_call";
      if (spawn == nullptr || (!team && !runs_often(spawn))) continue;
      root.many = again = true;
    }
    for (const auto& [function, calls] : callers_) {
      if (repeated_.contains(function)) continue;
      bool often = calls.size() > 1;
      for (const llvm::CallBase* call : calls)
        often = often || call->getFunction() == function || runs_often(call);
      for (const Root& root : roots_) often = often || (root.start == function && root.many);
      if (often) again = repeated_.insert(function).second;
    }
  }
}

bool Contexts::compute(llvm::Module& module) {
  const llvm::Function* main = module.getFunction("main");
  if (main != nullptr && !main->isDeclaration()) {
    add_root(RootKind::kMain, main, -1, {});
    // What runs before main runs alone.
    if (const llvm::GlobalVariable* list = module.getGlobalVariable("llvm.global_ctors");
        list != nullptr && list->hasInitializer())
      if (const auto* array = llvm::dyn_cast<llvm::ConstantArray>(list->getInitializer()))
        for (const llvm::Use& entry : array->operands()) {
          const auto* function =
              llvm::dyn_cast<llvm::Function>(llvm::cast<llvm::Constant>(entry)->getOperand(1));
          if (function == nullptr || !summaries_.has(function)) continue;
          Context context;
          context.function = function;
          context.entry = contexts_[0].entry;
          add(std::move(context));
        }
  }
  for (const llvm::Function* entry : library_entries(module, options_.entries))
    add_root(RootKind::kEntry, entry, -1, {});
  if (roots_.empty()) return false;
  const auto drain = [this] {
    while (!work_.empty()) {
      const size_t index = work_.back();
      work_.pop_back();
      expand(index);
    }
  };
  drain();
  add_end_of_program();
  drain();
  find_repeated();
  return true;
}

Counters Contexts::counters() const {
  uint64_t threads = 0;
  for (const Root& root : roots_) threads += root.kind == RootKind::kThread ? 1 : 0;
  return {
      {"thread_roots", threads, "functions that threads start with", false},
      {"contexts", contexts_.size(), "ways to reach functions", false},
      {"contexts_merged", merged_,
       "ways to reach functions were merged (--contexts): costs precision, misses nothing", false}};
}

}  // namespace deadheat::scan
