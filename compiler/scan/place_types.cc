// Whether a record of some type may lie at a place.
//
// C programs pass everything through pointers to void, and an analysis without contexts then
// confuses all records: fields of one type, at offsets of another, in all objects. A place of
// known type may hold a record of another type only if that type begins with the same fields
// (C's common initial sequence) or if the place is raw storage: a union, or an array of
// bytes.
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugProgramInstruction.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <algorithm>

#include "compiler/scan/locations.h"

namespace deadheat::scan {
namespace {

// struct.conn.12 and class.Base.base are struct.conn and class.Base.
llvm::StringRef plain_name(const llvm::StructType& type) {
  if (!type.hasName()) return "";
  llvm::StringRef name = type.getName();
  const auto [before, after] = name.rsplit('.');
  if (!after.empty() && after.find_first_not_of("0123456789") == llvm::StringRef::npos)
    name = before;
  name.consume_back(".base");
  return name;
}

bool is_raw(const llvm::Type& type) {
  if (const auto* record = llvm::dyn_cast<llvm::StructType>(&type))
    return !record->hasName() || record->isOpaque() || record->getName().starts_with("union.");
  const auto* array = llvm::dyn_cast<llvm::ArrayType>(&type);
  return array != nullptr && array->getElementType()->isIntegerTy(8);
}

// All pointers have one type here: that two records both begin with two pointers means little.
// Records that share a header by a macro, or by copying it, also share its names.
bool begins_alike(const llvm::StructType& a, const llvm::StructType& b, const MemberNames& names) {
  const unsigned count = std::min(a.getNumElements(), b.getNumElements());
  unsigned same = 0;
  while (same < count && a.getElementType(same) == b.getElementType(same)) ++same;
  // One of them may have the other's first fields as a record of their own.
  if (same < count && (llvm::isa<llvm::StructType>(a.getElementType(same)) ||
                       llvm::isa<llvm::StructType>(b.getElementType(same))))
    return true;
  const auto of_a = names.find(std::string_view(plain_name(a))),
             of_b = names.find(std::string_view(plain_name(b)));
  if (of_a == names.end() || of_b == names.end()) return same == count || same >= 2;
  const size_t named = std::min({of_a->second.size(), of_b->second.size(), size_t{2}});
  return same >= std::min(count, 2U) &&
         std::equal(of_a->second.begin(), of_a->second.begin() + static_cast<ptrdiff_t>(named),
                    of_b->second.begin());
}

bool fits(llvm::Type* place, uint64_t offset, llvm::StructType& type,
          const llvm::DataLayout& layout, const MemberNames& names) {
  for (;;) {
    if (is_raw(*place)) return true;
    if (auto* array = llvm::dyn_cast<llvm::ArrayType>(place)) {
      place = array->getElementType();
      const uint64_t size = layout.getTypeAllocSize(place).getFixedValue();
      if (size == 0) return true;
      offset %= size;
      continue;
    }
    auto* record = llvm::dyn_cast<llvm::StructType>(place);
    if (record == nullptr) return false;  // inside a number or a pointer
    if (offset == 0 && (record == &type || plain_name(*record) == plain_name(type) ||
                        begins_alike(*record, type, names)))
      return true;
    const llvm::StructLayout* places = layout.getStructLayout(record);
    if (record->getNumElements() == 0 || offset >= places->getSizeInBytes().getFixedValue())
      return true;  // behind its end: the rule for offsets decides
    const unsigned field = places->getElementContainingOffset(offset);
    offset -= places->getElementOffset(field).getFixedValue();
    place = record->getElementType(field);
  }
}

bool is_bytes(llvm::Type* place, uint64_t offset, const llvm::DataLayout& layout) {
  while (auto* record = llvm::dyn_cast<llvm::StructType>(place)) {
    const llvm::StructLayout* places = layout.getStructLayout(record);
    if (record->getNumElements() == 0 || offset >= places->getSizeInBytes().getFixedValue())
      return false;
    const unsigned field = places->getElementContainingOffset(offset);
    offset -= places->getElementOffset(field).getFixedValue();
    place = record->getElementType(field);
  }
  const auto* array = llvm::dyn_cast<llvm::ArrayType>(place);
  return (array != nullptr ? array->getElementType() : place)->isIntegerTy(8);
}

}  // namespace

// Of C's records: those of C++ are found by their whole names, which debug information has not.
void Locations::learn_members(const llvm::Module& module) {
  llvm::DebugInfoFinder finder;
  finder.processModule(module);
  for (const llvm::DIType* type : finder.types()) {
    const auto* record = llvm::dyn_cast<llvm::DICompositeType>(type);
    if (record == nullptr || record->getTag() != llvm::dwarf::DW_TAG_structure_type ||
        record->getName().empty() || record->isForwardDecl())
      continue;
    std::vector<std::string> names;
    for (const llvm::DINode* element : record->getElements())
      if (const auto* member = llvm::dyn_cast<llvm::DIDerivedType>(element))
        names.push_back(member->getName().str());
    members_["struct." + record->getName().str()] = std::move(names);
  }
}

namespace {

// The record of C that a pointer of this type means.
llvm::StructType* pointed_record(const llvm::DIType* type, llvm::LLVMContext& context) {
  const auto plain = [](const llvm::DIType* of) {
    while (const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(of)) {
      if (derived->getTag() == llvm::dwarf::DW_TAG_pointer_type) break;
      of = derived->getBaseType();
    }
    return of;
  };
  const auto* pointer = llvm::dyn_cast_or_null<llvm::DIDerivedType>(plain(type));
  if (pointer == nullptr) return nullptr;
  const auto* record = llvm::dyn_cast_or_null<llvm::DICompositeType>(plain(pointer->getBaseType()));
  if (record == nullptr || record->getTag() != llvm::dwarf::DW_TAG_structure_type ||
      record->getName().empty())
    return nullptr;
  auto* found = llvm::StructType::getTypeByName(context, "struct." + record->getName().str());
  return found != nullptr && found->isSized() ? found : nullptr;
}

}  // namespace

llvm::StructType* taken_for(const llvm::Value& value) {
  const llvm::Function* function = nullptr;
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(&value)) {
    function = argument->getParent();
  } else if (const auto* made = llvm::dyn_cast<llvm::Instruction>(&value)) {
    function = made->getFunction();
  }
  if (function == nullptr || !is_c(*function) || !value.getType()->isPointerTy()) return nullptr;
  llvm::StructType* only = nullptr;
  for (const llvm::User* user : value.users()) {
    const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(user);
    if (gep == nullptr || gep->getPointerOperand() != &value || gep->getNumIndices() < 2) continue;
    auto* type = llvm::dyn_cast<llvm::StructType>(gep->getSourceElementType());
    if (type == nullptr || (only != nullptr && only != type)) return nullptr;
    only = type;
  }
  if (only != nullptr || !llvm::isa<llvm::Argument>(value)) return only;
  // A parameter that is only handed on is taken for what it is declared to be.
  const llvm::DITypeRefArray types = function->getSubprogram()->getType() == nullptr
                                         ? llvm::DITypeRefArray(nullptr)
                                         : function->getSubprogram()->getType()->getTypeArray();
  const unsigned number = llvm::cast<llvm::Argument>(value).getArgNo();
  if (!types || types.size() != function->arg_size() + 1) return nullptr;
  return pointed_record(types[number + 1], function->getContext());
}

// Without a user that names its fields here, a block is what the variable that it goes into is
// declared to point to: `global = malloc(sizeof *global)`, whose users load it again.
llvm::StructType* declared_type(const llvm::CallBase& call) {
  llvm::StructType* only = nullptr;
  bool some_differ = false;
  const auto note = [&](const llvm::DIType* type) {
    llvm::StructType* found = pointed_record(type, call.getContext());
    some_differ |= found == nullptr || (only != nullptr && found != only);
    only = found;
  };
  for (const llvm::User* user : call.users()) {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
    if (store == nullptr || store->getValueOperand() != &call) continue;
    const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(store->getPointerOperand());
    if (global == nullptr) continue;
    llvm::SmallVector<llvm::DIGlobalVariableExpression*, 1> described;
    global->getDebugInfo(described);
    if (described.size() == 1) note(described[0]->getVariable()->getType());
  }
  llvm::SmallVector<llvm::DbgValueInst*, 2> values;
  llvm::SmallVector<llvm::DbgVariableRecord*, 2> records;
  llvm::findDbgValues(values, const_cast<llvm::CallBase*>(&call), &records);
  for (const llvm::DbgVariableRecord* one : records)
    if (one->getExpression()->getNumElements() == 0) note(one->getVariable()->getType());
  for (const llvm::DbgValueInst* one : values)
    if (one->getExpression()->getNumElements() == 0) note(one->getVariable()->getType());
  return some_differ ? nullptr : only;
}

bool Locations::is_buffer(Location location) const {
  constexpr uint64_t kLargestRecord = 512;  // of a block of which only the size is known
  const Object& object = of(location);
  if (object.type == nullptr) return object.size == 0 || object.size > kLargestRecord;
  return is_bytes(object.type, static_cast<uint64_t>(offset_of(location)), layout_);
}

bool Locations::may_be(Location location, llvm::StructType* type) const {
  const Where where = where_[location];
  const Object& object = objects_[where.object];
  if (object.kind == ObjectKind::kFunction || object.kind == ObjectKind::kThread || is_raw(*type))
    return true;
  if (!object.typed && object.size == 0) return true;
  const auto offset = static_cast<uint64_t>(where.offset);
  if (object.typed) return fits(object.type, offset, *type, layout_, members_);
  // A record may be cut short where its last member is an array that grows.
  const llvm::StructLayout* places = layout_.getStructLayout(type);
  const unsigned count = type->getNumElements();
  return count == 0 || offset + places->getElementOffset(count - 1).getFixedValue() <= object.size;
}

const Set& Locations::fitting(llvm::StructType* type) {
  std::unique_ptr<Fitting>& known = fitting_[type];
  if (known == nullptr) known = std::make_unique<Fitting>();
  for (; known->known < where_.size(); ++known->known)
    if (may_be(known->known, type)) known->places.set(known->known);
  return known->places;
}

const Set& Locations::buffers() {
  for (; buffers_.known < where_.size(); ++buffers_.known)
    if (is_buffer(buffers_.known)) buffers_.places.set(buffers_.known);
  return buffers_.places;
}

const Set& Locations::functions() {
  for (; functions_.known < where_.size(); ++functions_.known)
    if (of(functions_.known).kind == ObjectKind::kFunction) functions_.places.set(functions_.known);
  return functions_.places;
}

}  // namespace deadheat::scan
