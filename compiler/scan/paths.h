// Access paths: how a function reaches a lock or a piece of data, from a global, an argument or a
// value of its own, by offsets, elements and loads. Equal paths in one activation are assumed to be
// the same place: a lock is not replaced under its users. 0 is no path.
#pragma once

#include <llvm/IR/Value.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/scan/points_to.h"

namespace deadheat::scan {

using PathId = uint32_t;
inline constexpr PathId kNoPath = 0;

enum class PathKind : uint8_t { kRoot, kField, kElement, kLoad };

struct Path {
  PathKind kind = PathKind::kRoot;
  PathId from = kNoPath;
  const llvm::Value* value = nullptr;  // kRoot: where it begins; kElement: the index
  int64_t offset = 0;                  // kField
  int depth = 0;
  friend auto operator<=>(const Path&, const Path&) = default;
};

// A sorted list of locations. Equal lists are one: what may be a thousand places is copied and
// compared as a number.
class LocationList {
 public:
  LocationList(const std::vector<Location>& list, uint32_t number)
      : list_(&list), number_(number) {}
  auto begin() const { return list_->begin(); }
  auto end() const { return list_->end(); }
  size_t size() const { return list_->size(); }
  bool empty() const { return list_->empty(); }
  Location operator[](size_t i) const { return (*list_)[i]; }
  friend bool operator==(LocationList a, LocationList b) { return a.number_ == b.number_; }
  friend auto operator<=>(LocationList a, LocationList b) { return a.number_ <=> b.number_; }

 private:
  const std::vector<Location>* list_;
  uint32_t number_;
};

class Paths {
 public:
  explicit Paths(PointsTo& points_to) : points_to_(points_to), paths_(1) {}

  PathId of(const llvm::Value* value);
  const Path& operator[](PathId id) const { return paths_[id]; }
  const llvm::Value* root(PathId id) const;
  bool is_global(PathId id) const;  // means the same in every function
  bool is_fixed(PathId id) const;   // a global, and an offset in it
  // `path` with its beginning `from` replaced by `to`; kNoPath if it does not begin so.
  PathId replace(PathId path, PathId from, PathId to);
  // The path of a callee in terms of its caller, and vice versa.
  PathId to_caller(PathId path, const llvm::CallBase& call, const llvm::Function& callee);
  PathId to_callee(PathId path, const llvm::CallBase& call, const llvm::Function& callee);
  PathId load(PathId from) { return from == kNoPath ? kNoPath : add({PathKind::kLoad, from}); }
  // The path without its last offsets and elements, and their sum.
  std::pair<PathId, int64_t> split_offset(PathId path) const;
  // The possible addresses of the path.
  LocationList locations(PathId path);
  LocationList list(std::vector<Location> locations);  // ascending

 private:
  static constexpr int kDeepest = 8;  // longer ones begin at a value of their own
  PathId add(Path path);
  PathId compute(const llvm::Value* value);
  LocationList list(const Set& set);
  LocationList find_locations(const Path& path);

  PointsTo& points_to_;
  std::vector<Path> paths_;
  std::map<Path, PathId> ids_;
  llvm::DenseMap<const llvm::Value*, PathId> known_;
  std::map<std::vector<Location>, uint32_t> lists_;
  std::map<PathId, LocationList> locations_;
  std::map<Node, LocationList> of_sets_;
  std::map<LocationList, LocationList> loaded_;  // what is stored at the places of a list
};

}  // namespace deadheat::scan
