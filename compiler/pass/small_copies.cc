// Copies and fills of 16, 24 or 32 bytes as loads and stores, as clang does for up to 8: their
// checks are then inlined and dropped like any other, where __tsan_memcpy and __tsan_memset are a
// call for each. Equivalent: a copy loads all before it stores any, and the bytes are the same.
//
// Left: what is not aligned to 8 bytes (its hooks are not inlined), volatile, or in another address
// space, and functions that must not use vector registers.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "compiler/pass/passes.h"

namespace deadheat::pass {
namespace {

constexpr uint64_t kSmallest = 16, kLargest = 32;
constexpr uint64_t kAligned = 8;

bool is_near(const llvm::Value* pointer) {
  return pointer->getType()->getPointerAddressSpace() == 0;
}

bool is_small(const llvm::MemIntrinsic& call) {
  const auto* size = llvm::dyn_cast<llvm::ConstantInt>(call.getLength());
  if (size == nullptr || call.isVolatile() || call.hasMetadata(llvm::LLVMContext::MD_nosanitize))
    return false;
  const uint64_t bytes = size->getZExtValue();
  if (bytes < kSmallest || bytes > kLargest || bytes % 8 != 0) return false;
  if (!is_near(call.getRawDest()) || call.getDestAlign().valueOrOne().value() < kAligned)
    return false;
  const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&call);
  return copy == nullptr ||
         (is_near(copy->getRawSource()) && copy->getSourceAlign().valueOrOne().value() >= kAligned);
}

// Calls `part(offset, type)` for parts of 16 bytes and one of 8.
template <typename Part>
void for_each_part(const llvm::MemIntrinsic& call, Part part) {
  const uint64_t size = llvm::cast<llvm::ConstantInt>(call.getLength())->getZExtValue();
  llvm::Type* byte = llvm::Type::getInt8Ty(call.getContext());
  for (uint64_t at = 0; at < size; at += 16)
    part(at, llvm::FixedVectorType::get(byte, size - at >= 16 ? 16 : 8));
}

llvm::Value* place(llvm::IRBuilder<>& builder, llvm::Value* begin, uint64_t offset) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), begin, offset);
}

void expand(llvm::MemIntrinsic& call) {
  llvm::IRBuilder<> builder(&call);
  llvm::SmallVector<llvm::Value*, 2> values;
  for_each_part(call, [&](uint64_t at, llvm::FixedVectorType* type) {
    if (const auto* fill = llvm::dyn_cast<llvm::MemSetInst>(&call))
      values.push_back(builder.CreateVectorSplat(type->getNumElements(), fill->getValue()));
    else
      values.push_back(builder.CreateAlignedLoad(
          type, place(builder, llvm::cast<llvm::MemTransferInst>(call).getRawSource(), at),
          llvm::Align(kAligned)));
  });
  for_each_part(call, [&](uint64_t at, llvm::FixedVectorType*) {
    builder.CreateAlignedStore(values[at / 16], place(builder, call.getRawDest(), at),
                               llvm::Align(kAligned));
  });
  call.eraseFromParent();
}

}  // namespace

uint32_t expand_small_copies(llvm::Function& function) {
  if (function.hasOptSize() || function.hasFnAttribute(llvm::Attribute::NoImplicitFloat)) return 0;
  llvm::SmallVector<llvm::MemIntrinsic*> small;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction);
    if (call != nullptr && is_small(*call)) small.push_back(call);
  }
  for (llvm::MemIntrinsic* call : small) expand(*call);
  return static_cast<uint32_t>(small.size());
}

}  // namespace deadheat::pass
