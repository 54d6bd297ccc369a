#include "compiler/scan/locations.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

#include <set>

namespace deadheat::scan {
namespace {

bool is_vtable(const llvm::Value* site) {
  const llvm::StringRef name = site->getName();
  return name.starts_with("_ZTV") || name.starts_with("_ZTC") || name.starts_with("_ZTT");
}

// Vtables and type information are never written to, also those of other libraries.
bool is_constant(const llvm::GlobalVariable& global) {
  const llvm::StringRef name = global.getName();
  return global.isConstant() || is_vtable(&global) || name.starts_with("_ZTI") ||
         name.starts_with("_ZTS");
}

// Of malloc(24), new T, calloc(1, 24); 0 where it is not a constant.
uint64_t allocated_size(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || call.arg_size() == 0) return 0;
  const llvm::StringRef name = callee->getName();
  const auto constant = [&](unsigned i) -> uint64_t {
    const auto* value =
        i < call.arg_size() ? llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(i)) : nullptr;
    return value == nullptr ? 0 : value->getZExtValue();
  };
  if (name == "malloc" || name == "valloc" || name.starts_with("_Znw") || name.starts_with("_Zna"))
    return constant(0);
  if (name == "calloc") return constant(0) * constant(1);
  if (name == "aligned_alloc" || name == "memalign") return constant(1);
  // The program's own: pool_alloc(pool, 24), but not own_calloc(4, 24).
  uint64_t size = 0, numbers = 0;
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    if (!call.getArgOperand(i)->getType()->isIntegerTy()) continue;
    size = constant(i);
    ++numbers;
  }
  return numbers == 1 ? size : 0;
}

// The type that its users take the block for, by the fields that they name: the largest.
llvm::StructType* named_type(const llvm::CallBase& call, const llvm::DataLayout& layout) {
  std::set<const llvm::Value*> visited{&call};
  std::vector<const llvm::Value*> work{&call};
  llvm::StructType* best = nullptr;
  while (!work.empty()) {
    const llvm::Value* value = work.back();
    work.pop_back();
    for (const llvm::User* user : value->users()) {
      if (llvm::isa<llvm::PHINode, llvm::SelectInst>(user) && visited.insert(user).second)
        work.push_back(user);
      const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(user);
      if (gep == nullptr || gep->getPointerOperand() != value) continue;
      auto* type = llvm::dyn_cast<llvm::StructType>(gep->getSourceElementType());
      if (type != nullptr && type->isSized() &&
          (best == nullptr || layout.getTypeAllocSize(best) < layout.getTypeAllocSize(type)))
        best = type;
    }
  }
  return best;
}

// Elements of an array of records are one, also on the heap. A record that text follows is left
// untyped where its size is known.
void describe_block(Object& object, const llvm::CallBase& call, const llvm::DataLayout& layout) {
  object.size = allocated_size(call);
  if (!is_c(*call.getFunction())) return;  // containers and constructors name parts and bases
  llvm::StructType* type = named_type(call, layout);
  if (type == nullptr && object.size > 0) type = declared_type(call);
  const uint64_t unit = type == nullptr ? 0 : layout.getTypeAllocSize(type).getFixedValue();
  if (unit == 0 || object.size % unit != 0) return;
  object.type = object.size == unit
                    ? static_cast<llvm::Type*>(type)
                    : llvm::ArrayType::get(type, object.size == 0 ? 0 : object.size / unit);
  object.typed = object.size > 0 || taken_for(call) == type;
}

void describe(Object& object, const llvm::DataLayout& layout) {
  if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object.site)) {
    object.type = global->getValueType();
    object.exact = is_vtable(global);
    object.constant = is_constant(*global);
    if (global->isThreadLocal()) object.kind = ObjectKind::kThreadLocal;
  } else if (const auto* slot = llvm::dyn_cast<llvm::AllocaInst>(object.site)) {
    if (!slot->isArrayAllocation()) object.type = slot->getAllocatedType();
  } else if (const auto* given = llvm::dyn_cast<llvm::Argument>(object.site);
             given != nullptr && object.kind == ObjectKind::kExternal) {
    object.type = taken_for(*given);  // of a library's entry, by its callers
  }
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(object.site);
      call != nullptr && object.kind == ObjectKind::kHeap)
    return describe_block(object, *call, layout);
  if (object.type != nullptr && object.type->isSized())
    object.size = layout.getTypeAllocSize(object.type).getFixedValue();
  // `extern struct T table[]` has no size here.
  if (object.size == 0) object.type = nullptr;
  object.typed = object.type != nullptr;
}

}  // namespace

bool is_c(const llvm::Function& function) {
  const llvm::DISubprogram* described = function.getSubprogram();
  if (described == nullptr || described->getUnit() == nullptr) return false;
  const unsigned language = described->getUnit()->getSourceLanguage();
  return language == llvm::dwarf::DW_LANG_C || language == llvm::dwarf::DW_LANG_C89 ||
         language == llvm::dwarf::DW_LANG_C99 || language == llvm::dwarf::DW_LANG_C11 ||
         language == llvm::dwarf::DW_LANG_C17;
}

int64_t first_element(llvm::Type* type, int64_t offset, const llvm::DataLayout& layout) {
  int64_t out = 0;
  while (type != nullptr) {
    if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
      type = array->getElementType();
      const auto size = static_cast<int64_t>(layout.getTypeAllocSize(type).getFixedValue());
      if (size == 0) break;
      offset %= size;
    } else if (auto* record = llvm::dyn_cast<llvm::StructType>(type)) {
      const llvm::StructLayout* places = layout.getStructLayout(record);
      if (record->getNumElements() == 0 || offset < 0 ||
          static_cast<uint64_t>(offset) >= places->getSizeInBytes().getFixedValue())
        break;
      const unsigned field = places->getElementContainingOffset(static_cast<uint64_t>(offset));
      const auto begin = static_cast<int64_t>(places->getElementOffset(field).getFixedValue());
      out += begin;
      offset -= begin;
      type = record->getElementType(field);
    } else {
      break;
    }
  }
  return out + offset;
}

ObjectId Locations::object(ObjectKind kind, const llvm::Value* site) {
  const auto [entry, fresh] =
      ids_.try_emplace({site, static_cast<unsigned>(kind)}, static_cast<ObjectId>(objects_.size()));
  if (!fresh) return entry->second;
  Object object;
  object.kind = kind;
  object.site = site;
  describe(object, layout_);
  objects_.push_back(std::move(object));
  return entry->second;
}

std::optional<Location> Locations::at(ObjectId id, int64_t offset) {
  Object& object = objects_[id];
  // A step from one element of an array to another: all of them are one.
  if (auto* array = llvm::dyn_cast_or_null<llvm::ArrayType>(object.type);
      array != nullptr && !object.exact && offset < 0)
    if (const auto size =
            static_cast<int64_t>(layout_.getTypeAllocSize(array->getElementType()).getFixedValue());
        size > 0)
      offset = (offset % size + size) % size;
  if (offset < 0 || (object.size > 0 && static_cast<uint64_t>(offset) > object.size)) {
    ++out_of_object_;
    return std::nullopt;
  }
  if (object.type != nullptr && !object.exact) offset = first_element(object.type, offset, layout_);
  const bool is_record =
      object.type != nullptr || (object.size > 0 && object.size <= kLargestKnown);
  if (object.parts.size() >= (is_record ? kMostParts : kMostPartsUntyped) &&
      !object.parts.contains(offset))
    offset = 0;
  const auto [entry, fresh] =
      object.parts.try_emplace(offset, static_cast<Location>(where_.size()));
  if (fresh) where_.push_back({id, offset});
  return entry->second;
}

std::optional<Location> Locations::step(Location from, int64_t fields, int64_t elements) {
  if (fields == 0 && elements == 0) return from;
  const Where where = where_[from];
  const Object& object = objects_[where.object];
  if (object.kind == ObjectKind::kFunction || object.kind == ObjectKind::kThread) return from;
  const int64_t distance = fields + (object.exact ? elements : 0);
  if (distance == 0) return from;
  if (object.type == nullptr || distance != static_cast<int32_t>(distance))
    return at(where.object, where.offset + distance);  // cheap enough
  const uint64_t key = spread(from, static_cast<uint32_t>(distance));
  const auto known = steps_.find(key);
  if (known != steps_.end())
    return known->second == kNowhere ? std::nullopt : std::optional(known->second);
  const std::optional<Location> to = at(where.object, where.offset + distance);
  steps_.try_emplace(key, to.value_or(kNowhere));
  return to;
}

}  // namespace deadheat::scan
