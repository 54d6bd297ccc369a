#include "compiler/scan/summary.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SCCIterator.h>
#include <llvm/IR/InstIterator.h>

#include <algorithm>

#include "compiler/scan/flow.h"

namespace deadheat::scan {

Summaries::Summaries(llvm::Module& module, PointsTo& points_to, Paths& paths, AccessFinder& finder,
                     const Budget& budget)
    : module_(module), points_to_(points_to), paths_(paths), finder_(finder), budget_(budget) {
  find_spawns();
  find_order();
}

void Summaries::find_spawns() {
  for (const llvm::Function& function : module_)
    for (const llvm::Instruction& one : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&one);
      if (call == nullptr) continue;
      bool spawns = false;
      for (const Started& started : points_to_.started(*call))
        spawns |= started.effect == Effect::kSpawn || started.effect == Effect::kHandler;
      if (!spawns) continue;
      numbers_[call] = static_cast<int>(spawns_.size());
      spawns_.push_back(call);
    }
  assumed_.resize(static_cast<unsigned>(spawns_.size()));
}

int Summaries::spawn_number(const llvm::CallBase* call) const {
  const auto found = numbers_.find(call);
  return found == numbers_.end() ? -1 : found->second;
}

// Tarjan over the call graph, without recursion: components come out callees first.
void Summaries::find_order() {
  std::vector<llvm::Function*> functions;
  std::map<const llvm::Function*, size_t> number;
  for (llvm::Function& function : module_)
    if (!function.isDeclaration()) {
      number[&function] = functions.size();
      functions.push_back(&function);
    }
  std::vector<std::vector<size_t>> edges(functions.size());
  for (size_t i = 0; i < functions.size(); ++i)
    for (const llvm::Instruction& one : llvm::instructions(*functions[i])) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&one);
      if (call == nullptr) continue;
      for (const llvm::Function* callee : points_to_.callees(*call))
        if (number.contains(callee)) edges[i].push_back(number[callee]);
      for (const Started& started : points_to_.started(*call))
        if (number.contains(started.function)) edges[i].push_back(number[started.function]);
    }
  std::vector<uint32_t> index(functions.size(), 0), low(functions.size(), 0);
  std::vector<bool> on_stack(functions.size(), false);
  std::vector<size_t> stack;
  std::vector<std::pair<size_t, size_t>> work;
  uint32_t next = 0;
  size_t components = 0;
  for (size_t start = 0; start < functions.size(); ++start) {
    if (index[start] != 0) continue;
    work.emplace_back(start, 0);
    while (!work.empty()) {
      const size_t at = work.back().first;
      if (index[at] == 0) {
        index[at] = low[at] = ++next;
        stack.push_back(at);
        on_stack[at] = true;
      }
      bool descended = false;
      while (work.back().second < edges[at].size()) {
        const size_t to = edges[at][work.back().second++];
        if (index[to] == 0) {
          work.emplace_back(to, 0);
          descended = true;
          break;
        }
        if (on_stack[to]) low[at] = std::min(low[at], index[to]);
      }
      if (descended) continue;
      if (low[at] == index[at]) {
        for (size_t member = functions.size(); member != at;) {
          member = stack.back();
          stack.pop_back();
          on_stack[member] = false;
          order_.push_back(functions[member]);
          component_.push_back(components);
        }
        ++components;
      }
      work.pop_back();
      if (!work.empty()) low[work.back().first] = std::min(low[work.back().first], low[at]);
    }
  }
}

void Summaries::compute() {
  constexpr int kMostRounds =
      8;  // a lock chain through recursion that is longer has never been seen
  for (llvm::Function* function : order_) summaries_[function];
  for (size_t begin = 0, end = 0; begin < order_.size(); begin = end) {
    while (end < order_.size() && component_[end] == component_[begin]) ++end;
    bool again = true;
    for (int round = 0; again && round < kMostRounds; ++round) {
      again = false;
      for (size_t i = begin; i < end; ++i) {
        // Callees come first: of the functions that are left, the order of what they do is not
        // analysed. That adds candidates and loses none.
        const bool is_over = budget_.is_over(kSummaryShare);
        if (is_over && round > 0) continue;
        FunctionFlow flow(*this, *order_[i]);
        Summary made = is_over ? flow.without_order() : flow.run();
        Summary& known = summaries_[order_[i]];
        again |= end - begin > 1 && !(made.exit == known.exit);
        known = std::move(made);
      }
      if (end - begin == 1 && round == 0) {
        // A function that calls itself needs a second look, at its own summary.
        for (const CallPoint& point : summaries_[order_[begin]].calls)
          for (const llvm::Function* callee : points_to_.callees(*point.call))
            again |= callee == order_[begin];
      }
    }
    if (again && end - begin > 1) ++not_settled_;
  }
}

// A function that reaches half of a program through tables may release hundreds of locks, each by
// many names. Beyond a limit they are one lock without a name, which may be any of them: that
// releases more, which adds candidates and loses none.
void Summaries::bound(State& state) {
  constexpr size_t kMostReleased = 32, kMostWaited = 64;
  while (state.waited.size() > kMostWaited) state.waited.erase(std::prev(state.waited.end()));
  if (state.released.size() <= kMostReleased) return;
  ++releases_merged_;
  std::set<LocationList> lists;  // many names have the same
  for (const Lock& lock : state.released) {
    // Only its name tells where it is released.
    if (lock.locations.empty()) state.released_all = true;
    lists.insert(lock.locations);
  }
  const std::vector<LocationList> key(lists.begin(), lists.end());
  auto known = unions_.find(key);
  if (known == unions_.end()) {
    Set all;
    for (const LocationList list : lists)
      for (const Location one : list) all.set(one);
    std::vector<Location> ascending;
    for (const Location one : all) ascending.push_back(one);
    known = unions_.emplace(key, paths_.list(std::move(ascending))).first;
  }
  state.released.clear();
  state.released.insert({kNoPath, known->second, LockMode::kExclusive, nullptr});
}

// What a call does, in terms of its caller. Several targets: what all of them do.
State Summaries::call_effect(const llvm::CallBase& call) {
  State effect;
  bool any = false;
  const auto add = [&](const llvm::Function* callee) {
    const auto found = summaries_.find(callee);
    if (found == summaries_.end()) return;
    any = true;
    const State& exit = found->second.exit;
    if (!exit.reached) return;
    State translated;
    translated.reached = true;
    const auto rename = [&](const Locks& from, Locks& to) {
      for (Lock lock : from) {
        lock.path = paths_.to_caller(lock.path, call, *callee);
        if (lock.path != kNoPath) lock.locations = paths_.locations(lock.path);
        to.insert(lock);
      }
    };
    rename(exit.acquired, translated.acquired);
    rename(exit.released, translated.released);
    translated.released_all = exit.released_all;
    translated.started = exit.started;
    translated.joined = exit.joined;
    translated.waited = exit.waited;
    bound(translated);
    effect.meet(translated);
    bound(effect);
  };
  for (const llvm::Function* callee : points_to_.callees(call)) add(callee);
  if (!any) {
    effect.reached = true;
    effect.started.resize(static_cast<unsigned>(spawns_.size()));
    effect.joined.resize(static_cast<unsigned>(spawns_.size()));
  }
  return effect;
}

Counters Summaries::counters() const {
  return {
      {"joins_unresolved", joins_unresolved_,
       "joins could not be matched with a start: the threads count as running on", false},
      {"joins_of_all", joins_of_all_, "joins were taken to end all the threads of their handle",
       true},
      {"functions_not_summarised", skipped_,
       "functions: the order of what they do was not analysed because the time was over "
       "(--time): they count as holding no lock, with all threads running, and nothing is proven",
       true},
      {"releases_merged", releases_merged_,
       "sets of locks that may be released were taken to be one lock that may be any of them: "
       "that misses no race, but adds candidates",
       false},
      {"recursion_not_settled", not_settled_,
       "recursive groups of functions did not come to a fixed point", true}};
}

}  // namespace deadheat::scan
