// Accesses through pointers that may mean very many places: half of a program's objects, where the
// pointers were followed in a coarse way. Compared at each of these objects with each access there,
// they would be millions of pairs, all unlikely, and hide the others. So each is compared at a few
// objects, those that the fewest others access: a place of the program is in some pair, and
// `accesses_to_many` counts. Nothing is proven about accesses to any object that they may mean.
#include <algorithm>

#include "compiler/scan/pairs.h"

namespace deadheat::scan {

void PairFinder::note_wide(const llvm::Value* pointer) {
  if (!wide_sets_.insert(points_to_.set_of(pointer)).second) return;
  const Locations& locations = points_to_.locations();
  wide_objects_.resize(locations.objects());
  for (const Location one : points_to_.of(pointer)) wide_objects_[locations.object_of(one)] = true;
}

bool PairFinder::touches_wide(const llvm::Value* pointer) {
  if (wide_objects_.empty()) return false;
  const auto [entry, fresh] = touches_wide_.try_emplace(points_to_.set_of(pointer), false);
  if (!fresh) return entry->second;
  for (const Location one : points_to_.of(pointer))
    if (const ObjectId object = points_to_.locations().object_of(one);
        object < wide_objects_.size() && wide_objects_[object])
      return entry->second = true;
  return false;
}

bool PairFinder::is_compared(ObjectId id) const {
  const Object& object = points_to_.locations().object(id);
  return finder_.escapes(id) && !object.constant && object.kind != ObjectKind::kFunction &&
         object.kind != ObjectKind::kThread;
}

ObjectId PairFinder::first_shared(const Set& places) const {
  ObjectId first = kNoObject;
  for (const Location one : places)
    if (const ObjectId id = points_to_.locations().object_of(one); id < first && is_compared(id))
      first = id;
  return first;
}

void PairFinder::collect_wide() {
  std::vector<std::pair<size_t, ObjectId>> by_uses;
  for (const auto& [object, uses] : uses_)
    if (object < wide_objects_.size() && wide_objects_[object])
      by_uses.emplace_back(uses.size(), object);
  std::sort(by_uses.begin(), by_uses.end());
  std::map<Node, std::vector<std::pair<ObjectId, std::vector<int64_t>>>> of_set;
  for (const size_t alike : wide_) {
    const llvm::Value* pointer = sites_[alike_[alike].front()].point->access.pointer;
    for (const size_t number : alike_[alike]) sites_[number].left_out = true;
    wide_accesses_ += alike_[alike].size();
    const auto [entry, fresh] = of_set.try_emplace(points_to_.set_of(pointer));
    auto& chosen = entry->second;
    if (fresh) {
      const Set& places = points_to_.of(pointer);
      const auto choose = [&](ObjectId object) {
        std::vector<int64_t> offsets;
        for (const auto& [offset, part] : points_to_.locations().object(object).parts)
          if (places.test(part)) offsets.push_back(offset);
        if (!offsets.empty()) chosen.emplace_back(object, std::move(offsets));
      };
      // Where they meet each other: the first one, which is the same for most of them.
      const ObjectId meeting = first_shared(places);
      if (meeting != kNoObject) choose(meeting);
      for (const auto& [uses, object] : by_uses) {
        if (chosen.size() >= kObjectsOfWide) break;
        if (object != meeting) choose(object);
      }
    }
    for (const auto& [object, offsets] : chosen) uses_[object].push_back({alike, offsets});
  }
}

}  // namespace deadheat::scan
