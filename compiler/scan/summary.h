// What a function does to locks and threads, relative to its entry: at each access, at each call,
// and at its end. Bottom up over the call graph, with a fixed point for recursion.
//
// This is RELAY's relative lock set: `acquired` must be held, `released` may have been released,
// both since the entry. The caller's locks are added when contexts are known (contexts.h).
#pragma once

#include <llvm/ADT/SmallBitVector.h>
#include <llvm/IR/Instructions.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/scan/accesses.h"
#include "compiler/scan/paths.h"

namespace deadheat::scan {

enum class LockMode : uint8_t { kShared, kExclusive };

// Represents all descriptors that one side reads from and the other writes to.
inline constexpr Location kDescriptors = ~Location{0};

struct Lock {
  PathId path = kNoPath;   // in terms of the function; kNoPath: no name here
  LocationList locations;  // what it may be
  LockMode mode = LockMode::kExclusive;
  const llvm::Instruction* taken = nullptr;  // for people; not part of what it is
  friend bool operator==(const Lock& a, const Lock& b) {
    return a.path == b.path && a.mode == b.mode && a.locations == b.locations;
  }
  friend bool operator<(const Lock& a, const Lock& b) {
    return std::tie(a.path, a.mode, a.locations) < std::tie(b.path, b.mode, b.locations);
  }
};
using Locks = std::multiset<Lock>;    // recursive locks are there twice
using Spawns = llvm::SmallBitVector;  // by number of the spawning call

struct State {
  bool reached = false;
  Locks acquired, released;
  bool released_all = false;  // any lock may have been released
  Spawns started, joined;     // may be running; certainly ended
  // May: semaphores, conditions, flags that something was waited for at.
  std::set<LocationList> waited;

  void note_release(const Lock& lock);
  // The state after `next`, relative to the same entry as this one.
  void then(const State& next);
  void meet(const State& other);  // where two paths come together
  friend bool operator==(const State&, const State&) = default;
};

struct CallPoint {
  const llvm::CallBase* call = nullptr;
  size_t state = 0;  // index in `states`, before the call
};
struct AccessPoint {
  Access access;
  size_t state = 0;
};

struct Summary {
  std::vector<State> states;
  std::vector<AccessPoint> accesses;
  std::vector<CallPoint> calls;
  State exit;
  std::set<LocationList> signals;  // released to waiters: semaphores posted, flags stored
  std::set<Location> barriers;
  Spawns ever;  // started at some point
};

class Summaries {
 public:
  Summaries(llvm::Module& module, PointsTo& points_to, Paths& paths, AccessFinder& finder,
            const Budget& budget);
  void compute();
  const Summary& of(const llvm::Function* function) const { return summaries_.at(function); }
  bool has(const llvm::Function* function) const { return summaries_.contains(function); }
  const std::vector<const llvm::CallBase*>& spawns() const { return spawns_; }
  int spawn_number(const llvm::CallBase* call) const;
  // Starts whose threads are assumed to have ended after a join that may cover only some of them.
  const Spawns& joined_by_assumption() const { return assumed_; }
  const std::vector<llvm::Function*>& order() const { return order_; }  // callees first
  // False: the time ran out before the pointers or all functions were analysed in full.
  bool is_complete() const { return points_to_.is_complete() && skipped_ == 0; }
  Counters counters() const;

 private:
  friend class FunctionFlow;
  void find_spawns();
  void find_order();
  State call_effect(const llvm::CallBase& call);
  void bound(State& state);

  llvm::Module& module_;
  PointsTo& points_to_;
  Paths& paths_;
  AccessFinder& finder_;
  const Budget& budget_;
  std::map<const llvm::Function*, Summary> summaries_;
  std::vector<const llvm::CallBase*> spawns_;
  llvm::DenseMap<const llvm::CallBase*, int> numbers_;
  std::vector<llvm::Function*> order_;
  std::vector<size_t> component_;  // of order_[i]
  Spawns assumed_;
  std::map<std::vector<LocationList>, LocationList> unions_;  // bound()
  uint64_t joins_unresolved_ = 0, joins_of_all_ = 0, not_settled_ = 0, skipped_ = 0,
           releases_merged_ = 0;
};

}  // namespace deadheat::scan
