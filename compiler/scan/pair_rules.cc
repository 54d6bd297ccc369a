// Why two accesses are no pair although they may run in parallel: a common lock, or an object that
// only one of the threads has.
#include <algorithm>
#include <deque>

#include "compiler/scan/pairs.h"

namespace deadheat::scan {

// Whether an abstract object stands for at most one lock.
bool PairFinder::is_unique(ObjectId id) const {
  const auto [entry, fresh] = unique_.try_emplace(id, true);
  const Object& object = points_to_.locations().object(id);
  if (!fresh || object.kind == ObjectKind::kGlobal) return entry->second;
  const auto* made = llvm::dyn_cast<llvm::Instruction>(object.site);
  return entry->second = made != nullptr && !contexts_.runs_often(made);
}

PairFinder::Guard PairFinder::guard(const Lock& x, const Lock& y) const {
  if (x.mode == LockMode::kShared && y.mode == LockMode::kShared) return Guard::kNone;
  if (x.path != kNoPath && x.path == y.path && paths_.is_global(x.path)) return Guard::kCommon;
  if (paths_.is_fixed(x.path) && paths_.is_fixed(y.path)) return Guard::kNone;  // two addresses
  const bool may_be = std::any_of(x.locations.begin(), x.locations.end(), [&](Location one) {
    return std::binary_search(y.locations.begin(), y.locations.end(), one);
  });
  if (!may_be) return Guard::kNone;
  if (x.locations.size() == 1 && y.locations.size() == 1) {
    const ObjectId object = points_to_.locations().object_of(x.locations[0]);
    // Only its path distinguishes an element of an array of locks.
    const bool element =
        paths_[x.path].kind == PathKind::kElement || paths_[y.path].kind == PathKind::kElement;
    if (is_unique(object) && !element) return Guard::kCommon;
  }
  return Guard::kSameSite;
}

PairFinder::Guard PairFinder::guard(const Way& a, const Way& b) {
  const auto [entry, fresh] = guards_.try_emplace(spread(a.locks, b.locks), Guard::kNone);
  if (!fresh) return entry->second;
  Guard best = Guard::kNone;
  for (const uint32_t x : a.lock_numbers)
    for (const uint32_t y : b.lock_numbers) {
      const auto [known, unknown] = lock_guards_.try_emplace(spread(x, y), Guard::kNone);
      if (unknown) known->second = guard(*locks_[x], *locks_[y]);
      best = std::max(best, known->second);
    }
  return entry->second = best;
}

// A lock inside the accessed object: the same object has the same lock.
bool PairFinder::guarded_by_itself(const Way& a, const Access& access_a, const Way& b,
                                   const Access& access_b) const {
  const auto [base_a, offset_a] = paths_.split_offset(access_a.path);
  const auto [base_b, offset_b] = paths_.split_offset(access_b.path);
  for (const Lock& x : a.held) {
    const auto [lock_base_a, lock_offset_a] = paths_.split_offset(x.path);
    if (x.path == kNoPath || lock_base_a != base_a) continue;
    for (const Lock& y : b.held) {
      if (y.path == kNoPath || (x.mode == LockMode::kShared && y.mode == LockMode::kShared))
        continue;
      const auto [lock_base_b, lock_offset_b] = paths_.split_offset(y.path);
      if (lock_base_b == base_b && lock_offset_a - offset_a == lock_offset_b - offset_b)
        return true;
    }
  }
  return false;
}

namespace {

// Whether `again` can run twice without anything of `between` in the meantime.
bool repeats_without(const llvm::Instruction& again, const llvm::BasicBlock* between) {
  if (again.getParent() == between) return false;
  std::set<const llvm::BasicBlock*> visited;
  std::deque<const llvm::BasicBlock*> work{again.getParent()};
  while (!work.empty()) {
    const llvm::BasicBlock* block = work.front();
    work.pop_front();
    for (const llvm::BasicBlock* next : llvm::successors(block)) {
      if (next == again.getParent()) return true;
      if (next != between && visited.insert(next).second) work.push_back(next);
    }
  }
  return false;
}

const llvm::Value* without_casts(const llvm::Value* value) {
  while (const auto* cast = llvm::dyn_cast_or_null<llvm::CastInst>(value))
    value = cast->getOperand(0);
  return value;
}

}  // namespace

// Made for each start anew, or another element of an array for each start.
bool PairFinder::is_given_alone(const Object& object, const llvm::CallBase& spawn) const {
  const Clause* model = clause(points_to_.model_of(spawn), Effect::kSpawn);
  const auto* made = llvm::dyn_cast<llvm::Instruction>(object.site);
  if (model == nullptr || model->c < 0 || made == nullptr) return false;
  const PathId path = paths_.of(spawn.getArgOperand(static_cast<unsigned>(model->c)));
  if (paths_.root(path) == object.site && llvm::isa<llvm::CallBase>(made) &&
      paths_[path].kind != PathKind::kLoad && paths_[path].kind != PathKind::kElement)
    return made->getFunction() == spawn.getFunction() && !repeats_without(spawn, made->getParent());
  if (paths_[path].kind != PathKind::kElement) return false;
  const llvm::Value* index = without_casts(paths_[path].value);
  if (index == nullptr || llvm::isa<llvm::Constant>(index)) return false;
  const auto* counted = llvm::dyn_cast<llvm::Instruction>(index);
  return !repeats_without(spawn, counted == nullptr ? nullptr : counted->getParent());
}

// What threads reach through data that several of them were given.
const std::set<ObjectId>& PairFinder::shared_by_threads() {
  if (shared_known_) return shared_;
  shared_known_ = true;
  const Locations& locations = points_to_.locations();
  std::set<ObjectId> alone;
  for (const llvm::CallBase* spawn : summaries_.spawns()) {
    const Clause* model = clause(points_to_.model_of(*spawn), Effect::kSpawn);
    if (model == nullptr || model->c < 0) continue;
    for (const Location one :
         points_to_.of(spawn->getArgOperand(static_cast<unsigned>(model->c)))) {
      const ObjectId id = locations.object_of(one);
      (is_given_alone(locations.object(id), *spawn) ? alone : shared_).insert(id);
    }
  }
  std::vector<ObjectId> work(shared_.begin(), shared_.end());
  llvm::DenseSet<Node> looked;
  while (!work.empty()) {
    const ObjectId id = work.back();
    work.pop_back();
    for (const auto& [offset, part] : locations.object(id).parts) {
      if (!looked.insert(points_to_.stored_set(part)).second) continue;
      for (const Location inner : points_to_.stored_at(part))
        if (const ObjectId next = locations.object_of(inner);
            !alone.contains(next) && shared_.insert(next).second)
          work.push_back(next);
    }
  }
  return shared_;
}

// An object that a thread created for itself, or that was created for this start alone, is not
// shared with the other threads of the same start.
bool PairFinder::is_own(ObjectId id, size_t root_number) {
  if (!options_.own_objects || finder_.escapes_through_global(id)) return false;
  const Root& root = contexts_.roots()[root_number];
  const Object& object = points_to_.locations().object(id);
  const auto* made = llvm::dyn_cast<llvm::Instruction>(object.site);
  if (made == nullptr || root.spawn < 0) return false;
  const auto where = roots_of_.find(made->getFunction());
  if (where != roots_of_.end() && where->second.size() == 1 && where->second.contains(root_number))
    return !shared_by_threads().contains(id);
  const llvm::CallBase* spawn = summaries_.spawns()[static_cast<size_t>(root.spawn)];
  const Clause* model = clause(points_to_.model_of(*spawn), Effect::kSpawn);
  if (model == nullptr || model->c < 0) return false;
  bool given = false;
  for (const Location one : points_to_.of(spawn->getArgOperand(static_cast<unsigned>(model->c))))
    given |= points_to_.locations().object_of(one) == id;
  return given && is_given_alone(object, *spawn);
}

// The creator initialises an element before it starts the thread that gets it.
bool PairFinder::handed_over(const Access& access, const Way& way, const Way& other) const {
  const Root& younger = contexts_.roots()[other.root];
  if (younger.spawn < 0 || way.root == other.root) return false;
  const llvm::CallBase* spawn = summaries_.spawns()[static_cast<size_t>(younger.spawn)];
  const Clause* model = clause(points_to_.model_of(*spawn), Effect::kSpawn);
  if (model == nullptr || model->c < 0 || access.instruction->getFunction() != spawn->getFunction())
    return false;
  const PathId data = paths_.of(spawn->getArgOperand(static_cast<unsigned>(model->c)));
  if (paths_[data].kind != PathKind::kElement || paths_.replace(access.path, data, data) == kNoPath)
    return false;
  const auto* index = llvm::dyn_cast_or_null<llvm::Instruction>(without_casts(paths_[data].value));
  if (index == nullptr) return false;
  // Can the access come after the start, for the same index?
  if (access.instruction->getParent() == spawn->getParent() &&
      spawn->comesBefore(access.instruction))
    return false;
  std::set<const llvm::BasicBlock*> visited;
  std::deque<const llvm::BasicBlock*> work{spawn->getParent()};
  while (!work.empty()) {
    const llvm::BasicBlock* block = work.front();
    work.pop_front();
    for (const llvm::BasicBlock* next : llvm::successors(block)) {
      if (next == index->getParent() || !visited.insert(next).second) continue;
      if (next == access.instruction->getParent()) return false;
      work.push_back(next);
    }
  }
  return true;
}

}  // namespace deadheat::scan
