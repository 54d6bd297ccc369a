#include "compiler/scan/flow.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>

#include <deque>

namespace deadheat::scan {
namespace {

bool acquires(llvm::AtomicOrdering order) {
  return order == llvm::AtomicOrdering::Acquire || order == llvm::AtomicOrdering::AcquireRelease ||
         order == llvm::AtomicOrdering::SequentiallyConsistent;
}
bool releases(llvm::AtomicOrdering order) {
  return order == llvm::AtomicOrdering::Release || order == llvm::AtomicOrdering::AcquireRelease ||
         order == llvm::AtomicOrdering::SequentiallyConsistent;
}

bool is_guard(const llvm::Value* pointer) {
  return pointer->getName().starts_with("_ZGV");  // of a static local variable
}

}  // namespace

FunctionFlow::FunctionFlow(Summaries& all, llvm::Function& function)
    : all_(all), function_(function), tree_(function), loops_(tree_) {
  for (const llvm::Instruction& one : llvm::instructions(function))
    fenced_ |= llvm::isa<llvm::FenceInst>(one);
  for (const Access& access : all_.finder_.find(function))
    accesses_[access.instruction].push_back(access);
  note_loop_joins();
}

Lock FunctionFlow::lock_at(const llvm::Value* pointer, LockMode mode, const llvm::Instruction& at) {
  const PathId path = all_.paths_.of(pointer);
  return {path, all_.paths_.locations(path), mode, &at};
}

// Which starts a join ends. By the exact handle if it is known, otherwise by its possible values: a
// loop of joins is assumed to join everything that its handles can refer to.
Spawns FunctionFlow::joined_by(const llvm::CallBase& call, bool by_pointer, int argument) {
  Spawns out(static_cast<unsigned>(all_.spawns_.size()));
  if (argument < 0 || static_cast<unsigned>(argument) >= call.arg_size()) return out;
  const llvm::Value* handle = call.getArgOperand(static_cast<unsigned>(argument));
  PathId path = all_.paths_.of(handle);
  if (!by_pointer && all_.paths_[path].kind == PathKind::kLoad) path = all_.paths_[path].from;
  for (size_t i = 0; i < all_.spawns_.size(); ++i) {
    const llvm::CallBase* spawn = all_.spawns_[i];
    const Clause* model = clause(all_.points_to_.model_of(*spawn), Effect::kSpawn);
    if (model == nullptr || model->a < 0 || spawn->getFunction() != &function_) continue;
    if (all_.paths_.of(spawn->getArgOperand(static_cast<unsigned>(model->a))) == path)
      out.set(static_cast<unsigned>(i));
  }
  if (out.count() == 1) return out;
  Spawns may(static_cast<unsigned>(all_.spawns_.size()));
  const auto add = [&](Location location) {
    const Object& object = all_.points_to_.locations().of(location);
    if (object.kind != ObjectKind::kThread) return;
    const int number = all_.spawn_number(llvm::cast<llvm::CallBase>(object.site));
    if (number >= 0) may.set(static_cast<unsigned>(number));
  };
  for (const Location location : all_.points_to_.of(handle)) {
    add(location);
    if (by_pointer)
      for (const Location inner : all_.points_to_.stored_at(location)) add(inner);
  }
  const bool loop = loops_.getLoopFor(call.getParent()) != nullptr;
  if (may.count() <= 1 || loop) {
    all_.joins_of_all_ += may.any() ? 1 : 0;
    all_.assumed_ |= may;
    return may;
  }
  ++all_.joins_unresolved_;
  return Spawns(static_cast<unsigned>(all_.spawns_.size()));
}

// A loop that joins threads which it does not start has joined them all when it ends, even if the
// analysis sees a path around its body.
void FunctionFlow::note_loop_joins() {
  for (const llvm::Instruction& one : llvm::instructions(function_)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&one);
    if (call == nullptr) continue;
    const Model* model = all_.points_to_.model_of(*call);
    const Clause* join = clause(model, Effect::kJoin);
    const Clause* join_at = clause(model, Effect::kJoinAt);
    if (join == nullptr && join_at == nullptr) continue;
    const Spawns joined = joined_by(*call, join == nullptr, join != nullptr ? join->a : join_at->a);
    joins_[call] = joined;
    for (unsigned i = 0; i < joined.size(); ++i) {
      if (!joined.test(i)) continue;
      const llvm::Loop* outer = nullptr;
      for (const llvm::Loop* loop = loops_.getLoopFor(call->getParent()); loop != nullptr;
           loop = loop->getParentLoop())
        if (!loop->contains(all_.spawns_[i])) outer = loop;
      if (outer == nullptr) continue;
      Spawns& at = joined_at_header_[outer->getHeader()];
      at.resize(static_cast<unsigned>(joined.size()));
      at.set(i);
    }
  }
}

size_t FunctionFlow::keep(const State& state) {
  if (summary_.states.empty() || !(summary_.states.back() == state))
    summary_.states.push_back(state);
  return summary_.states.size() - 1;
}

State FunctionFlow::enter(const llvm::BasicBlock& block) {
  State state;
  const auto size = static_cast<unsigned>(all_.spawns_.size());
  if (&block == &function_.getEntryBlock()) {
    state.reached = true;
    state.started.resize(size);
    state.joined.resize(size);
  }
  for (const llvm::BasicBlock* before : llvm::predecessors(&block)) {
    const auto found = after_.find(before);
    if (found == after_.end() || !found->second.reached) continue;
    State incoming = found->second;
    if (const auto edge = on_edge_.find({before, &block}); edge != on_edge_.end()) {
      incoming.acquired.insert(edge->second.locks.begin(), edge->second.locks.end());
      incoming.started.reset(edge->second.joined);
      incoming.joined |= edge->second.joined;
    }
    state.meet(incoming);
  }
  if (const auto joined = joined_at_header_.find(&block);
      joined != joined_at_header_.end() && state.reached) {
    state.started.reset(joined->second);
    state.joined |= joined->second;
  }
  all_.bound(state);
  return state;
}

// `result == 0` means that the lock was acquired, or the thread joined: it holds on the edges that
// imply this.
void FunctionFlow::note_try(const llvm::CallBase& call, const Lock* lock, const Spawns& joined) {
  struct Meaning {
    const llvm::Value* value;
    bool zero_is_success;
  };
  std::vector<Meaning> work{{&call, true}};
  std::set<const llvm::Value*> visited;
  while (!work.empty()) {
    const Meaning at = work.back();
    work.pop_back();
    if (!visited.insert(at.value).second) continue;
    for (const llvm::User* user : at.value->users()) {
      if (const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(user)) {
        const auto* zero = llvm::dyn_cast<llvm::ConstantInt>(compare->getOperand(1));
        if (zero == nullptr || !zero->isZero() || !compare->isEquality()) continue;
        const bool equal = compare->getPredicate() == llvm::ICmpInst::ICMP_EQ;
        work.push_back({user, equal ? !at.zero_is_success : at.zero_is_success});
      } else if (llvm::isa<llvm::ZExtInst, llvm::TruncInst, llvm::SExtInst, llvm::FreezeInst>(
                     user)) {
        work.push_back({user, at.zero_is_success});
      } else if (const auto* turn = llvm::dyn_cast<llvm::BinaryOperator>(user)) {
        const auto* mask = llvm::dyn_cast<llvm::ConstantInt>(turn->getOperand(1));
        if (turn->getOpcode() == llvm::Instruction::Xor && mask != nullptr && mask->isOne())
          work.push_back({user, !at.zero_is_success});
      } else if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(user)) {
        const llvm::BasicBlock* success = branch->getSuccessor(at.zero_is_success ? 1 : 0);
        Success& here = on_edge_[{branch->getParent(), success}];
        here.joined |= joined;
        if (lock != nullptr &&
            std::find(here.locks.begin(), here.locks.end(), *lock) == here.locks.end())
          here.locks.push_back(*lock);
      }
    }
  }
}

void FunctionFlow::apply_clause(const llvm::CallBase& call, const Clause& clause, State& state) {
  const auto argument = [&](int number) -> const llvm::Value* {
    return number >= 0 && static_cast<unsigned>(number) < call.arg_size()
               ? call.getArgOperand(static_cast<unsigned>(number))
               : nullptr;
  };
  const llvm::Value* first = argument(clause.a);
  switch (clause.effect) {
    case Effect::kLock:
    case Effect::kReadLock:
      if (first != nullptr) {
        const auto* mode = llvm::dyn_cast_or_null<llvm::ConstantInt>(argument(clause.b));
        const bool reads =
            clause.effect == Effect::kReadLock || (mode != nullptr && mode->isZero());
        state.acquired.insert(
            lock_at(first, reads ? LockMode::kShared : LockMode::kExclusive, call));
      }
      return;
    case Effect::kTryLock:
    case Effect::kTryReadLock:
      if (first != nullptr) {
        const Lock lock = lock_at(
            first, clause.effect == Effect::kTryLock ? LockMode::kExclusive : LockMode::kShared,
            call);
        note_try(call, &lock, {});
      }
      return;
    case Effect::kTryJoin:
      note_try(call, nullptr, joined_by(call, false, clause.a));
      return;
    case Effect::kUnlock:
      if (first != nullptr) {
        const Lock lock = lock_at(first, LockMode::kExclusive, call);
        if (!release(state.acquired, lock)) state.note_release(lock);
      }
      return;
    case Effect::kOnce:
      if (first != nullptr) state.acquired.insert(lock_at(first, LockMode::kShared, call));
      return;
    case Effect::kWait:
      if (clause.a < 0) state.waited.insert(all_.paths_.list({kDescriptors}));
      if (first != nullptr) state.waited.insert(all_.paths_.locations(all_.paths_.of(first)));
      return;
    case Effect::kSignal:
      if (clause.a < 0) summary_.signals.insert(all_.paths_.list({kDescriptors}));
      if (first != nullptr) summary_.signals.insert(all_.paths_.locations(all_.paths_.of(first)));
      return;
    case Effect::kBarrier:
      if (first != nullptr)
        for (const Location location : all_.paths_.locations(all_.paths_.of(first)))
          summary_.barriers.insert(location);
      return;
    case Effect::kJoin:
    case Effect::kJoinAt: {
      const Spawns& joined = joins_[&call];
      state.started.reset(joined);
      state.joined |= joined;
      return;
    }
    case Effect::kExits:
      state.reached = false;
      return;
    default:
      return;
  }
}

void FunctionFlow::apply_call(const llvm::CallBase& call, State& state, bool record) {
  const bool starts = !all_.points_to_.started(call).empty();
  if (record && (starts || !all_.points_to_.callees(call).empty()))
    summary_.calls.push_back({&call, keep(state)});
  if (const int number = all_.spawn_number(&call); number >= 0) {
    const llvm::Function* callee = call.getCalledFunction();
    // A team of OpenMP has ended when the call returns.
    if (callee == nullptr || callee->getName() != "__kmpc_fork_call") {
      state.started.set(static_cast<unsigned>(number));
      state.joined.reset(static_cast<unsigned>(number));
    }
  }
  const llvm::Function* direct = call.getCalledFunction();
  const Model* model = all_.points_to_.model_of(call);
  if (model != nullptr) {
    if (direct->getName() == "__cxa_guard_acquire")
      state.acquired.insert(lock_at(call.getArgOperand(0), LockMode::kExclusive, call));
    if (direct->getName() == "__cxa_guard_release" || direct->getName() == "__cxa_guard_abort") {
      std::erase_if(state.acquired, [&](const Lock& lock) {
        return lock.mode == LockMode::kExclusive &&
               lock.path == all_.paths_.of(call.getArgOperand(0));
      });
      state.acquired.insert(lock_at(call.getArgOperand(0), LockMode::kShared, call));
    }
    for (const Clause& one : *model) apply_clause(call, one, state);
    return;
  }
  if (call.doesNotReturn() && (direct == nullptr || direct->isDeclaration())) {
    state.reached = false;
    return;
  }
  if (!all_.points_to_.callees(call).empty()) state.then(all_.call_effect(call));
}

void FunctionFlow::apply_atomic(const llvm::Instruction& one, State& state) {
  const auto wait = [&](const llvm::Value* pointer) {
    state.waited.insert(all_.paths_.locations(all_.paths_.of(pointer)));
  };
  const auto signal = [&](const llvm::Value* pointer) {
    summary_.signals.insert(all_.paths_.locations(all_.paths_.of(pointer)));
  };
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&one)) {
    if (!load->isAtomic() || !(acquires(load->getOrdering()) || fenced_)) return;
    wait(load->getPointerOperand());
    const PathId guard = all_.paths_.of(load->getPointerOperand());
    if (is_guard(load->getPointerOperand()) && state.acquired.size() < 64) {
      const Lock lock{guard, all_.paths_.locations(guard), LockMode::kShared, load};
      if (!state.acquired.contains(lock)) state.acquired.insert(lock);
    }
  } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&one)) {
    if (store->isAtomic() && (releases(store->getOrdering()) || fenced_))
      signal(store->getPointerOperand());
  } else if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&one)) {
    if (acquires(update->getOrdering())) wait(update->getPointerOperand());
    if (releases(update->getOrdering())) signal(update->getPointerOperand());
  } else if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&one)) {
    if (acquires(exchange->getSuccessOrdering()) || acquires(exchange->getFailureOrdering()))
      wait(exchange->getPointerOperand());
    if (releases(exchange->getSuccessOrdering())) signal(exchange->getPointerOperand());
  }
}

void FunctionFlow::apply(const llvm::Instruction& one, State& state, bool record) {
  const auto found = accesses_.find(&one);
  if (found != accesses_.end()) {
    for (const Access& access : found->second) {
      if (record) summary_.accesses.push_back({access, keep(state)});
      if (access.spins && access.kind == model::AccessKind::kRead)
        state.waited.insert(all_.paths_.locations(access.path));
    }
  }
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&one)) {
    apply_call(*call, state, record);
  } else {
    apply_atomic(one, state);
  }
}

void FunctionFlow::walk(const llvm::BasicBlock& block, State& state, bool record) {
  for (const llvm::Instruction& one : block) {
    if (!state.reached) return;
    apply(one, state, record);
  }
}

Summary FunctionFlow::without_order() {
  ++all_.skipped_;
  const auto size = static_cast<unsigned>(all_.spawns_.size());
  State any;
  any.reached = any.released_all = true;
  any.started.resize(size, true);
  any.joined.resize(size);
  summary_ = {};
  summary_.states = {any};
  summary_.exit = any;
  summary_.ever = any.started;
  for (const llvm::Instruction& one : llvm::instructions(function_)) {
    if (const auto found = accesses_.find(&one); found != accesses_.end())
      for (const Access& access : found->second) summary_.accesses.push_back({access, 0});
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&one))
      if (!all_.points_to_.started(*call).empty() || !all_.points_to_.callees(*call).empty())
        summary_.calls.push_back({call, 0});
  }
  return std::move(summary_);
}

Summary FunctionFlow::run() {
  std::vector<const llvm::BasicBlock*> order;
  for (const llvm::BasicBlock* block :
       llvm::ReversePostOrderTraversal<const llvm::Function*>(&function_))
    order.push_back(block);
  bool again = true;
  for (int visit = 0; again && visit < kMostVisits; ++visit) {
    again = false;
    if (all_.budget_.is_over(kSummaryShare)) return without_order();
    for (const llvm::BasicBlock* block : order) {
      State state = enter(*block);
      if (!state.reached) continue;
      walk(*block, state, false);
      State& known = after_[block];
      if (known == state) continue;
      known = std::move(state);
      again = true;
    }
  }
  for (const llvm::BasicBlock* block : order) {
    State state = enter(*block);
    if (!state.reached) continue;
    walk(*block, state, true);
    summary_.ever |= state.started;
    if (state.reached && llvm::isa<llvm::ReturnInst>(block->getTerminator()))
      summary_.exit.meet(state);
  }
  return std::move(summary_);
}

}  // namespace deadheat::scan
