#include "compiler/scan/allocators.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

namespace deadheat::scan {
namespace {

enum class Pointee : uint8_t { kNoPointer, kVoid, kBytes, kOther };

const llvm::DIType* without_names(const llvm::DIType* type) {
  while (const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type)) {
    const unsigned tag = derived->getTag();
    if (tag != llvm::dwarf::DW_TAG_typedef && tag != llvm::dwarf::DW_TAG_const_type &&
        tag != llvm::dwarf::DW_TAG_volatile_type && tag != llvm::dwarf::DW_TAG_restrict_type)
      break;
    type = derived->getBaseType();
  }
  return type;
}

Pointee pointee_of(const llvm::DIType* type) {
  const auto* pointer = llvm::dyn_cast_or_null<llvm::DIDerivedType>(without_names(type));
  if (pointer == nullptr || pointer->getTag() != llvm::dwarf::DW_TAG_pointer_type)
    return Pointee::kNoPointer;
  const llvm::DIType* to = without_names(pointer->getBaseType());
  if (to == nullptr) return Pointee::kVoid;
  const auto* basic = llvm::dyn_cast<llvm::DIBasicType>(to);
  return basic != nullptr && basic->getSizeInBits() == 8 ? Pointee::kBytes : Pointee::kOther;
}

// What it returns, then its parameters, as the source has them.
llvm::DITypeRefArray types_of(const llvm::Function& function) {
  const llvm::DISubprogram* described = function.getSubprogram();
  if (function.isDeclaration() || described == nullptr || described->getType() == nullptr)
    return nullptr;
  return described->getType()->getTypeArray();
}

// The name as it was written, in small letters; nothing for the standard library's own functions,
// whose wrappers are small.
std::string plain_name(const llvm::Function& function) {
  if (function.getName().starts_with("_ZNS") || function.getName().contains("gnu_cxx")) return "";
  return function.getSubprogram()->getName().lower();
}

bool returns_memory(const llvm::Function& function) {
  const llvm::DITypeRefArray types = types_of(function);
  if (!types || types.size() == 0 || !function.getReturnType()->isPointerTy()) return false;
  const Pointee pointee = pointee_of(types[0]);
  return pointee == Pointee::kVoid || pointee == Pointee::kBytes;
}

// Its last parameter that points to nothing in particular.
std::optional<unsigned> last_block(const llvm::Function& function) {
  const llvm::DITypeRefArray types = types_of(function);
  for (auto i = static_cast<unsigned>(function.arg_size()); i-- > 0;)
    if (i + 1 < types.size() && pointee_of(types[i + 1]) == Pointee::kVoid &&
        function.getArg(i)->getType()->isPointerTy())
      return i;
  return std::nullopt;
}

// Whether everything that a function returns was allocated in it and has not been accessed since.
bool is_new(const llvm::Value* value, std::set<const llvm::Value*>& visited,
            const std::function<bool(const llvm::CallBase&)>& allocates, bool& any) {
  if (!visited.insert(value).second || llvm::isa<llvm::ConstantPointerNull>(value)) return true;
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(value)) {
    for (const llvm::Value* incoming : phi->incoming_values())
      if (!is_new(incoming, visited, allocates, any)) return false;
    return true;
  }
  if (const auto* select = llvm::dyn_cast<llvm::SelectInst>(value))
    return is_new(select->getTrueValue(), visited, allocates, any) &&
           is_new(select->getFalseValue(), visited, allocates, any);
  const auto* call = llvm::dyn_cast<llvm::CallBase>(value);
  if (call == nullptr || !allocates(*call)) return false;
  for (const llvm::User* user : call->users()) {
    if (llvm::isa<llvm::ICmpInst, llvm::PHINode, llvm::SelectInst, llvm::ReturnInst,
                  llvm::AnyMemSetInst>(user))
      continue;
    return false;
  }
  return any = true;
}

}  // namespace

bool is_called_allocator(const llvm::Function& function) {
  return returns_memory(function) && plain_name(function).find("alloc") != std::string::npos;
}

std::optional<unsigned> given_back(const llvm::Function& function) {
  if (!is_called_allocator(function) || plain_name(function).find("realloc") == std::string::npos)
    return std::nullopt;
  return last_block(function);
}

std::optional<unsigned> taken_back(const llvm::Function& function) {
  const llvm::DITypeRefArray types = types_of(function);
  if (!types || !function.getReturnType()->isVoidTy() ||
      plain_name(function).find("free") == std::string::npos)
    return std::nullopt;
  return last_block(function);
}

bool only_passes_on(const llvm::Function& function,
                    const std::function<bool(const llvm::CallBase&)>& allocates) {
  if (function.isDeclaration() || !function.getReturnType()->isPointerTy()) return false;
  bool any = false;
  std::set<const llvm::Value*> visited;
  for (const llvm::BasicBlock& block : function)
    if (const auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
      if (!is_new(end->getReturnValue(), visited, allocates, any)) return false;
  return any;
}

}  // namespace deadheat::scan
