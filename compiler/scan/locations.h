// Locations: the analysis's model of memory. An object is a global, a function, a stack slot, an
// allocation site, a thread (its handle) or something that a library created; a location is a byte
// offset in one. Elements of an array share one location; vtables are exact.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SparseBitVector.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deadheat::scan {

using Location = uint32_t;
using ObjectId = uint32_t;
using Set = llvm::SparseBitVector<512>;  // of locations

// Two numbers as a key of LLVM's hash tables, which use only the lower half of a key: each bit of
// both affects it, and no two keys collide.
inline uint64_t spread(uint32_t a, uint32_t b) {
  const uint64_t mixed = ((static_cast<uint64_t>(a) << 32) | b) * 0x9E3779B97F4A7C15;
  return mixed ^ (mixed >> 32);
}

enum class ObjectKind : uint8_t {
  kGlobal,
  kFunction,
  kStack,
  kHeap,
  kThread,
  kExternal,
  kThreadLocal
};

struct Object {
  ObjectKind kind = ObjectKind::kGlobal;
  const llvm::Value* site = nullptr;  // the global, function, alloca or call
  llvm::Type* type = nullptr;         // where it is known
  uint64_t size = 0;                  // 0: unknown
  bool typed = false;                 // its type is certain
  bool exact = false;                 // array elements are told apart
  bool constant = false;              // nobody writes to it
  std::map<int64_t, Location> parts;
};

// The members of C's records, by the record's name.
using MemberNames = std::map<std::string, std::vector<std::string>, std::less<>>;

class Locations {
 public:
  explicit Locations(const llvm::DataLayout& layout) : layout_(layout) {}

  ObjectId object(ObjectKind kind, const llvm::Value* site);
  // Offsets outside of the object are no location: pointer arithmetic stays inside.
  std::optional<Location> at(ObjectId object, int64_t offset);
  // `fields`: offset by struct fields; `elements`: by constant array indices, for exact objects.
  std::optional<Location> step(Location from, int64_t fields, int64_t elements);

  void learn_members(const llvm::Module& module);
  // All places where a record of this type may lie: pointers that mean a place of another type are
  // not stepped from by its fields. Places without a type of their own may be anything that fits.
  const Set& fitting(llvm::StructType* type);
  // A buffer of bytes, as far as is known: text, a packet, or elements of a container.
  bool is_buffer(Location location) const;
  const Set& buffers();
  const Set& functions();

  const Object& of(Location location) const { return objects_[where_[location].object]; }
  ObjectId object_of(Location location) const { return where_[location].object; }
  int64_t offset_of(Location location) const { return where_[location].offset; }
  const Object& object(ObjectId id) const { return objects_[id]; }
  size_t objects() const { return objects_.size(); }
  size_t size() const { return where_.size(); }
  uint64_t out_of_object() const { return out_of_object_; }
  const llvm::DataLayout& layout() const { return layout_; }

 private:
  bool may_be(Location location, llvm::StructType* type) const;
  struct Where {
    ObjectId object;
    int64_t offset;
  };
  // Beyond: offset 0 represents the rest. A block of unknown type is usually a buffer, through
  // which pointers walk, unless it is small and of a known size: then it is a record.
  static constexpr size_t kMostParts = 500, kMostPartsUntyped = 24;
  static constexpr uint64_t kLargestKnown = 1024;

  const llvm::DataLayout& layout_;
  std::vector<Object> objects_;
  std::vector<Where> where_;
  llvm::DenseMap<std::pair<const llvm::Value*, unsigned>, ObjectId> ids_;
  // What step() has answered: solving asks the same many times. kNowhere: not in the object.
  llvm::DenseMap<uint64_t, Location> steps_;
  static constexpr Location kNowhere = ~Location{0};
  struct Fitting {
    Set places;
    Location known = 0;  // places before this one were asked
  };
  llvm::DenseMap<llvm::StructType*, std::unique_ptr<Fitting>> fitting_;
  Fitting buffers_, functions_;
  MemberNames members_;
  uint64_t out_of_object_ = 0;
};

// The only record that a function of C takes this value of its for, if there is one.
llvm::StructType* taken_for(const llvm::Value& value);
// What the variables that an allocated block goes into are declared to point to, if they agree.
llvm::StructType* declared_type(const llvm::CallBase& call);
// Whether it was written in C, and not in C++.
bool is_c(const llvm::Function& function);
// The offset with all array indices 0: elements of an array are one.
int64_t first_element(llvm::Type* type, int64_t offset, const llvm::DataLayout& layout);

}  // namespace deadheat::scan
