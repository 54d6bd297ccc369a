// Since C++20 a relaxed store also ends the release sequences of its own thread; in C and older C++
// it continues them. ThreadSanitizer's store hook does not distinguish these, so the calls for
// C++20 are created here, with a bit in their order. The driver passes the language through the
// plugin's name, because a module does not know it.
#include <dlfcn.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "abi/regions.h"
#include "compiler/pass/passes.h"

namespace deadheat::pass {
namespace {

bool is_relaxed(const llvm::StoreInst& store) {
  return store.getOrdering() == llvm::AtomicOrdering::Monotonic ||
         store.getOrdering() == llvm::AtomicOrdering::Unordered;
}

bool replace(llvm::StoreInst& store) {
  llvm::Module& module = *store.getModule();
  llvm::Value* value = store.getValueOperand();
  const uint64_t bits = module.getDataLayout().getTypeStoreSizeInBits(value->getType());
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128) return false;
  llvm::IRBuilder<> builder(&store);
  llvm::Type* type = builder.getIntNTy(static_cast<unsigned>(bits));
  value = builder.CreateBitOrPointerCast(value, type);
  const std::string name = "__tsan_atomic" + std::to_string(bits) + "_store";
  llvm::FunctionCallee hook = module.getOrInsertFunction(
      name, builder.getVoidTy(), builder.getPtrTy(), type, builder.getInt32Ty());
  mark_ours(*builder.CreateCall(
      hook, {store.getPointerOperand(), value, builder.getInt32(DEADHEAT_ORDER_CXX20)}));
  store.eraseFromParent();
  return true;
}

}  // namespace

bool compiles_cxx20() {
  Dl_info info;
  return ::dladdr(reinterpret_cast<void*>(&compiles_cxx20), &info) != 0 &&
         llvm::StringRef(info.dli_fname).ends_with(DEADHEAT_PASS_CXX20);
}

uint32_t mark_last_stores(llvm::Function& function) {
  llvm::SmallVector<llvm::StoreInst*> stores;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      if (store == nullptr || !store->isAtomic() || !is_relaxed(*store)) continue;
      if (store->hasMetadata(llvm::LLVMContext::MD_nosanitize)) continue;
      if (store->getPointerAddressSpace() == 0) stores.push_back(store);
    }
  }
  uint32_t replaced = 0;
  for (llvm::StoreInst* store : stores) replaced += replace(*store) ? 1 : 0;
  return replaced;
}

}  // namespace deadheat::pass
