// The pool: one node for all that may mean very many places, once the analysis has to be coarse.
//
// A wide node costs its places times its loads, stores and steps, and in a program with a few
// hundred thousand of each that product never ends. So the objects that the pool means are taken as
// wholes: it means all their parts, so steps without a type lead back to it, and their parts share
// one memory, so a load or a store is one edge. That is Steensgaard's analysis for these objects,
// and linear. Two things stay exact: steps to a field of a record lead only to places where such a
// record may lie, and constants keep their contents, as tables of functions do.
#include "compiler/scan/solver.h"

namespace deadheat::scan {

bool Solver::is_pool(Node node) { return pool_ != kNone && find(node) == find(pool_); }

bool Solver::is_pooled(Location location) const {
  const ObjectId object = locations_.object_of(location);
  return object < pooled_.size() && pooled_[object];
}

// Nobody stores there: what is loaded from it through the pool is known without merging it.
bool Solver::keeps_memory(Location location) const {
  const Object& object = locations_.of(location);
  return object.constant || object.kind == ObjectKind::kFunction ||
         object.kind == ObjectKind::kThread;
}

void Solver::add_to_pool(Node node) {
  if (pool_ == kNone) {
    pool_ = add_node();
    pool_memory_ = add_node();
  }
  if (find(node) == find(pool_)) return;
  waiting_.emplace_back(pool_, node);
  ++merged_wide_;
}

void Solver::pool_part(Location part) {
  changed_ |= sets_[find(pool_)].test_and_set(part);
  if (part >= memory_.size() || memory_[part] == kNone) return;  // memory() knows
  if (keeps_memory(part)) {
    add_edge(memory_[part], pool_memory_);
  } else if (find(memory_[part]) != find(pool_memory_)) {
    waiting_.emplace_back(pool_memory_, memory_[part]);
  }
}

// What came into the pool brings the rest of its object.
void Solver::close_pool() {
  if (pool_ == kNone) return;
  for (bool again = true; again;) {
    unite_waiting();
    Set fresh = sets_[find(pool_)];
    fresh.intersectWithComplement(pool_seen_);
    pool_seen_ |= fresh;
    again = !fresh.empty();
    for (const Location location : fresh) {
      const ObjectId object = locations_.object_of(location);
      if (object >= pooled_.size()) pooled_.resize(object + 1);
      if (pooled_[object]) continue;
      pooled_[object] = true;
      for (const auto& [offset, part] : locations_.object(object).parts) pool_part(part);
    }
    for (; parts_seen_ < locations_.size(); ++parts_seen_)
      if (is_pooled(parts_seen_)) pool_part(parts_seen_);
  }
}

void Solver::apply_to_pool(const Complex& one, const Set& news) {
  if (one.kind == Kind::kLoad) {
    add_edge(pool_memory_, one.other);
  } else if (one.kind == Kind::kStore) {
    add_edge(one.other, pool_memory_);
  } else if (one.kind == Kind::kStep && one.type == nullptr) {
    waiting_.emplace_back(pool_, one.other);
  } else {
    apply(one, news);
  }
  ++work_;
}

// A copy from or to the pool's memory, whose offsets mean nothing.
void Solver::copy_with_pool(MemoryCopy& copy) {
  const bool from = is_pool(copy.from);
  if (from && is_pool(copy.to)) return;
  Set places = sets_[find(from ? copy.to : copy.from)];
  if (from && copy.to_records) places.intersectWithComplement(locations_.buffers());
  for (const Location place : places) {
    const ObjectId object = locations_.object_of(place);
    ++work_;
    if (object >= stored_.size()) continue;
    size_t& seen = copy.with_pool[place];
    for (; seen < stored_[object].size(); ++seen) {
      const Location part = stored_[object][seen];
      const int64_t distance = locations_.offset_of(part) - locations_.offset_of(place);
      if (distance < 0 || (copy.size > 0 && static_cast<uint64_t>(distance) >= copy.size)) continue;
      if (from) {
        add_edge(pool_memory_, memory_[part]);
      } else {
        add_edge(memory_[part], pool_memory_);
      }
    }
  }
}

}  // namespace deadheat::scan
