#include "compiler/scan/paths.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

namespace deadheat::scan {

PathId Paths::add(Path path) {
  if (path.kind != PathKind::kRoot) {
    path.depth = paths_[path.from].depth + 1;
    // Two offsets in a row are one.
    if (path.kind == PathKind::kField && paths_[path.from].kind == PathKind::kField)
      return add({PathKind::kField, paths_[path.from].from, nullptr,
                  path.offset + paths_[path.from].offset});
    if (path.kind == PathKind::kField && path.offset == 0) return path.from;
  }
  const auto [entry, fresh] = ids_.try_emplace(path, static_cast<PathId>(paths_.size()));
  if (fresh) paths_.push_back(path);
  return entry->second;
}

PathId Paths::of(const llvm::Value* value) {
  const auto known = known_.find(value);
  if (known != known_.end()) return known->second;
  known_[value] = add({PathKind::kRoot, kNoPath, value});  // a cycle begins at this value
  PathId path = compute(value);
  if (paths_[path].depth > kDeepest) path = add({PathKind::kRoot, kNoPath, value});
  return known_[value] = path;
}

PathId Paths::compute(const llvm::Value* value) {
  if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(value)) {
    const Offsets by = offsets_of(*gep, points_to_.locations().layout());
    PathId path = of(gep->getPointerOperand());
    for (const llvm::Use& index : gep->indices())
      if (!llvm::isa<llvm::Constant>(index)) path = add({PathKind::kElement, path, index.get()});
    return add({PathKind::kField, path, nullptr, by.fields + by.elements});
  }
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(value))
    return add({PathKind::kLoad, of(load->getPointerOperand())});
  if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(value)) return of(cast->getOperand(0));
  if (const auto* alias = llvm::dyn_cast<llvm::GlobalAlias>(value)) return of(alias->getAliasee());
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value))
    if (call->getIntrinsicID() == llvm::Intrinsic::threadlocal_address)
      return of(call->getArgOperand(0));
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(value))
    if (const llvm::Value* only = phi->hasConstantValue()) return of(only);
  return add({PathKind::kRoot, kNoPath, value});
}

const llvm::Value* Paths::root(PathId id) const {
  while (paths_[id].kind != PathKind::kRoot) id = paths_[id].from;
  return paths_[id].value;
}

bool Paths::is_global(PathId id) const {
  for (; paths_[id].kind != PathKind::kRoot; id = paths_[id].from)
    if (paths_[id].kind == PathKind::kElement) return false;
  return paths_[id].value != nullptr && llvm::isa<llvm::GlobalVariable>(paths_[id].value);
}

bool Paths::is_fixed(PathId id) const {
  if (paths_[id].kind == PathKind::kField) id = paths_[id].from;
  return paths_[id].kind == PathKind::kRoot && paths_[id].value != nullptr &&
         llvm::isa<llvm::GlobalVariable>(paths_[id].value);
}

PathId Paths::replace(PathId path, PathId from, PathId to) {
  if (path == from) return to;
  const Path here = paths_[path];
  if (here.kind == PathKind::kRoot) return kNoPath;
  // An offset may begin in the middle of `from`: arg0+8 begins with arg0+0 of the same root.
  if (here.kind == PathKind::kField && paths_[from].kind == PathKind::kField &&
      paths_[from].from == here.from)
    return add({PathKind::kField, to, nullptr, here.offset - paths_[from].offset});
  const PathId inner = replace(here.from, from, to);
  if (inner == kNoPath || paths_[inner].depth >= kDeepest) return kNoPath;
  return add({here.kind, inner, here.value, here.offset});
}

PathId Paths::to_caller(PathId path, const llvm::CallBase& call, const llvm::Function& callee) {
  if (path == kNoPath || is_global(path)) return path;
  const auto* argument = llvm::dyn_cast<llvm::Argument>(root(path));
  if (argument == nullptr || argument->getParent() != &callee ||
      argument->getArgNo() >= call.arg_size())
    return kNoPath;
  return replace(path, of(argument), of(call.getArgOperand(argument->getArgNo())));
}

PathId Paths::to_callee(PathId path, const llvm::CallBase& call, const llvm::Function& callee) {
  if (path == kNoPath || is_global(path)) return path;
  for (unsigned i = 0; i < call.arg_size() && i < callee.arg_size(); ++i) {
    const llvm::Value* actual = call.getArgOperand(i);
    if (!actual->getType()->isPointerTy() || llvm::isa<llvm::Constant>(actual)) continue;
    if (const PathId found = replace(path, of(actual), of(callee.getArg(i)))) return found;
  }
  return kNoPath;
}

std::pair<PathId, int64_t> Paths::split_offset(PathId path) const {
  if (paths_[path].kind == PathKind::kField) return {paths_[path].from, paths_[path].offset};
  return {path, 0};
}

LocationList Paths::list(std::vector<Location> locations) {
  const auto [entry, fresh] =
      lists_.try_emplace(std::move(locations), static_cast<uint32_t>(lists_.size()));
  return {entry->first, entry->second};
}

LocationList Paths::list(const Set& set) {
  std::vector<Location> out;
  for (const Location one : set) out.push_back(one);
  return list(std::move(out));
}

// Many paths lead to the same places, and in some programs those are half of all: each set is
// listed once, and what a list of places holds is looked up once.
LocationList Paths::find_locations(const Path& path) {
  if (path.kind == PathKind::kRoot) {
    if (path.value == nullptr) return list(std::vector<Location>());
    const Node set = points_to_.set_of(path.value);
    const auto known = of_sets_.find(set);
    if (known != of_sets_.end()) return known->second;
    return of_sets_.try_emplace(set, list(points_to_.of(path.value))).first->second;
  }
  const LocationList from = locations(path.from);
  // A pool of objects is closed under steps: a step from all of them is to all of them.
  constexpr size_t kWide = 1000;
  if (path.kind == PathKind::kElement || (path.kind == PathKind::kField && from.size() > kWide))
    return from;
  Set found;
  if (path.kind == PathKind::kField) {
    for (const Location one : from)
      if (const auto at = points_to_.locations().step(one, path.offset, 0)) found.set(*at);
    return list(found);
  }
  if (const auto known = loaded_.find(from); known != loaded_.end()) return known->second;
  llvm::DenseSet<Node> sets;
  for (const Location one : from)
    if (sets.insert(points_to_.stored_set(one)).second) found |= points_to_.stored_at(one);
  return loaded_.try_emplace(from, list(found)).first->second;
}

LocationList Paths::locations(PathId id) {
  if (const auto known = locations_.find(id); known != locations_.end()) return known->second;
  const Path path = paths_[id];
  return locations_.try_emplace(id, find_locations(path)).first->second;
}

}  // namespace deadheat::scan
