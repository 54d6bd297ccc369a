#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "compiler/pass/passes.h"

namespace deadheat::pass {
namespace {

bool checked_by_thread_sanitizer(uint64_t bits) {
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128;
}

}  // namespace

bool instrumented(const llvm::Function& function) {
  return !function.isDeclarationForLinker() &&
         function.hasFnAttribute(llvm::Attribute::SanitizeThread) &&
         !function.hasFnAttribute(llvm::Attribute::Naked) &&
         !function.hasFnAttribute(llvm::Attribute::DisableSanitizerInstrumentation) &&
         !function.isPresplitCoroutine();
}

void mark_ours(llvm::Instruction& instruction) {
  llvm::LLVMContext& context = instruction.getContext();
  instruction.setMetadata(llvm::LLVMContext::MD_nosanitize, llvm::MDNode::get(context, {}));
}

uint32_t check_wide_accesses(llvm::Function& function) {
  llvm::Module& module = *function.getParent();
  const llvm::DataLayout& layout = module.getDataLayout();
  llvm::SmallVector<llvm::Instruction*> wide;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
      if (pointer == nullptr || instruction.isAtomic() || instruction.isVolatile()) continue;
      if (instruction.hasMetadata(llvm::LLVMContext::MD_nosanitize)) continue;
      if (pointer->getType()->getPointerAddressSpace() != 0) continue;  // %fs: and %gs: relative
      const llvm::TypeSize size = layout.getTypeStoreSize(llvm::getLoadStoreType(&instruction));
      if (size.isScalable() || checked_by_thread_sanitizer(size.getFixedValue() * 8)) continue;
      wide.push_back(&instruction);
    }
  }
  for (llvm::Instruction* instruction : wide) {
    llvm::IRBuilder<> builder(instruction);
    const bool write = llvm::isa<llvm::StoreInst>(instruction);
    const uint64_t size =
        layout.getTypeStoreSize(llvm::getLoadStoreType(instruction)).getFixedValue();
    llvm::FunctionCallee hook =
        module.getOrInsertFunction(write ? "__tsan_write_range" : "__tsan_read_range",
                                   builder.getVoidTy(), builder.getPtrTy(), builder.getInt64Ty());
    llvm::CallInst* call = builder.CreateCall(
        hook, {llvm::getLoadStorePointerOperand(instruction), builder.getInt64(size)});
    // For inline_checks.cc.
    call->addParamAttr(0, llvm::Attribute::getWithAlignment(
                              module.getContext(), llvm::getLoadStoreAlignment(instruction)));
    mark_ours(*call);
  }
  return static_cast<uint32_t>(wide.size());
}

}  // namespace deadheat::pass
