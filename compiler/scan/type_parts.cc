#include "compiler/scan/type_parts.h"

#include <llvm/BinaryFormat/Dwarf.h>

namespace deadheat::scan {
namespace {

constexpr int kDeepest = 100;

const llvm::DIType* plain(const llvm::DIType* type) {
  for (int i = 0; i < kDeepest; ++i) {
    const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type);
    if (derived == nullptr) return type;
    switch (derived->getTag()) {
      case llvm::dwarf::DW_TAG_typedef:
      case llvm::dwarf::DW_TAG_const_type:
      case llvm::dwarf::DW_TAG_volatile_type:
      case llvm::dwarf::DW_TAG_atomic_type:
      case llvm::dwarf::DW_TAG_restrict_type:
      case llvm::dwarf::DW_TAG_member:
      case llvm::dwarf::DW_TAG_inheritance:
        type = derived->getBaseType();
        break;
      default:
        return type;
    }
  }
  return type;
}

uint64_t size_of(const llvm::DIType* type) {
  type = plain(type);
  return type == nullptr ? 0 : type->getSizeInBits() / 8;
}

bool step_into(const llvm::DIType*& type, uint64_t& offset, std::string& part) {
  const auto* composite = llvm::dyn_cast_or_null<llvm::DICompositeType>(type);
  if (composite == nullptr) return false;
  if (composite->getTag() == llvm::dwarf::DW_TAG_array_type) {
    const llvm::DIType* inner = plain(composite->getBaseType());
    const uint64_t size = size_of(inner);
    if (size == 0) return false;
    // One pair of brackets for each dimension.
    for (size_t i = 0; i < composite->getElements().size(); ++i) part += "[]";
    offset %= size;
    type = inner;
    return true;
  }
  if (composite->getTag() != llvm::dwarf::DW_TAG_structure_type &&
      composite->getTag() != llvm::dwarf::DW_TAG_class_type)
    return false;
  for (const llvm::DINode* element : composite->getElements()) {
    const auto* member = llvm::dyn_cast_or_null<llvm::DIDerivedType>(element);
    if (member == nullptr || member->isStaticMember() || member->isBitField()) continue;
    if (member->getTag() != llvm::dwarf::DW_TAG_member &&
        member->getTag() != llvm::dwarf::DW_TAG_inheritance)
      continue;
    const uint64_t begin = member->getOffsetInBits() / 8;
    const llvm::DIType* inner = plain(member->getBaseType());
    if (offset < begin || offset - begin >= size_of(inner)) continue;
    if (member->getTag() == llvm::dwarf::DW_TAG_member && !member->getName().empty())
      part += "." + member->getName().str();
    offset -= begin;
    type = inner;
    return true;
  }
  return false;
}

}  // namespace

std::string part_at(const llvm::DIType* type, uint64_t offset, uint64_t access_size) {
  std::string part;
  type = plain(type);
  for (int i = 0; i < kDeepest && type != nullptr; ++i) {
    const auto* composite = llvm::dyn_cast<llvm::DICompositeType>(type);
    const bool array =
        composite != nullptr && composite->getTag() == llvm::dwarf::DW_TAG_array_type;
    // An access to the whole of something names the whole.
    if (offset == 0 && access_size > 0 && size_of(type) <= access_size && !array) break;
    if (!step_into(type, offset, part)) break;
  }
  return part;
}

}  // namespace deadheat::scan
