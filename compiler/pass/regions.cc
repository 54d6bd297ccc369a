// Marks calls that may leave instrumented code, for RDIT: abi/regions.h shows the compiled form.
//
// Only the running program knows whether the callee is instrumented. A direct call asks once per
// callee and object and remembers the answer in a byte; an indirect one remembers the site's last
// callee that needs no region. Unchanged: calls whose callee is certainly the one defined here or
// known by name, inline assembly, noreturn and musttail calls (the last two have no "after").
#include "abi/regions.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "compiler/pass/passes.h"

namespace deadheat::pass {
namespace {

constexpr uint8_t kKnown = DEADHEAT_CALLEE_KNOWN;

bool may_leave(const llvm::CallBase& call, const llvm::TargetLibraryInfo& library,
               const InlineCopies& copies) {
  if (call.isInlineAsm() || llvm::isa<llvm::CallBrInst>(call) || call.doesNotReturn() ||
      call.isMustTailCall() || call.hasMetadata(llvm::LLVMContext::MD_nosanitize))
    return false;
  if (call.hasFnAttr(llvm::Attribute::ReturnsTwice) || call.doesNotAccessMemory()) return false;
  const auto* callee = llvm::dyn_cast<llvm::Function>(call.getCalledOperand()->stripPointerCasts());
  if (const auto* alias = llvm::dyn_cast<llvm::GlobalAlias>(call.getCalledOperand()))
    callee = llvm::dyn_cast_or_null<llvm::Function>(alias->getAliaseeObject());
  if (callee == nullptr) return !llvm::isa<llvm::Constant>(call.getCalledOperand());
  if (callee->isIntrinsic()) return false;
  return callee->isDeclarationForLinker() ? !is_known_function(*callee, library)
                                          : copies.may_hide(*callee);
}

// The byte of a callee: one per object, named so that all calls in it share it.
llvm::GlobalVariable* state_of(llvm::Module& module, const llvm::Function& callee) {
  const std::string name = ("deadheat.state." + callee.getName()).str();
  if (llvm::GlobalVariable* state = module.getNamedGlobal(name)) return state;
  auto* byte = llvm::Type::getInt8Ty(module.getContext());
  return new llvm::GlobalVariable(module, byte, false, llvm::GlobalValue::InternalLinkage,
                                  llvm::ConstantInt::get(byte, 0), name);
}

class Marker {
 public:
  explicit Marker(llvm::Function& function)
      : module_(*function.getParent()), types_(module_.getContext()) {
    llvm::IRBuilder<> entry(&*function.getEntryBlock().getFirstInsertionPt());
    entered_ = entry.CreateAlloca(types_.getInt32Ty(), nullptr, "deadheat.entered");
    mark_ours(*entry.CreateStore(types_.getInt32(0), entered_));
  }

  void mark(llvm::CallBase& call) {
    begin(call);
    if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&call)) {
      llvm::BasicBlock* normal = llvm::SplitEdge(invoke->getParent(), invoke->getNormalDest());
      llvm::Instruction& after = *normal->getFirstInsertionPt();
      end(after, result_of(after, call));
      pads_.insert(invoke->getUnwindDest());
    } else {
      llvm::Instruction& after = *std::next(call.getIterator());
      end(after, result_of(after, call));
    }
  }

  // Exceptions arrive at pads shared by marked and other calls: the variable distinguishes them.
  void finish() {
    for (llvm::BasicBlock* pad : pads_) {
      llvm::Instruction& first = *pad->getFirstInsertionPt();
      end(first, llvm::ConstantPointerNull::get(types_.getPtrTy()));
    }
    if (arguments_ != nullptr)
      arguments_->setAllocatedType(llvm::ArrayType::get(types_.getPtrTy(), most_));
    llvm::DominatorTree tree(*entered_->getFunction());
    llvm::PromoteMemToReg({entered_}, tree);
  }

 private:
  void begin(llvm::CallBase& call) {
    llvm::IRBuilder<> builder(&call);
    llvm::Value* callee = call.getCalledOperand();
    auto* direct = llvm::dyn_cast<llvm::Function>(callee->stripPointerCasts());
    llvm::Value* memory = nullptr;
    llvm::Value* asks = nullptr;
    if (direct != nullptr) {
      memory = state_of(module_, *direct);
      llvm::LoadInst* state = builder.CreateLoad(builder.getInt8Ty(), memory);
      ours(state);
      asks = builder.CreateICmpNE(state, builder.getInt8(kKnown));
      // Through the GOT: a non-PIC object's own address of the function would be a PLT slot.
      if (direct->isDeclarationForLinker() && direct->hasDefaultVisibility())
        direct->setDSOLocal(false);
    } else {
      memory = new llvm::GlobalVariable(
          module_, types_.getPtrTy(), false, llvm::GlobalValue::InternalLinkage,
          llvm::ConstantPointerNull::get(types_.getPtrTy()), "deadheat.known");
      llvm::LoadInst* known = builder.CreateLoad(types_.getPtrTy(), memory);
      ours(known);
      asks = builder.CreateICmpNE(known, callee);
    }
    llvm::Instruction* slow = llvm::SplitBlockAndInsertIfThen(asks, &call, false, unlikely());
    builder.SetInsertPoint(slow);
    builder.SetCurrentDebugLocation(call.getDebugLoc());
    const unsigned count = store_arguments(builder, call);
    llvm::FunctionCallee hook = module_.getOrInsertFunction(
        direct != nullptr ? "__deadheat_region_begin" : "__deadheat_region_begin_indirect",
        builder.getInt32Ty(), types_.getPtrTy(), types_.getPtrTy(), types_.getPtrTy(),
        builder.getInt32Ty());
    llvm::Value* array = count > 0 ? static_cast<llvm::Value*>(arguments_)
                                   : llvm::ConstantPointerNull::get(types_.getPtrTy());
    llvm::CallInst* entered =
        builder.CreateCall(hook, {callee, memory, array, builder.getInt32(count)});
    entered->setDoesNotThrow();
    mark_ours(*entered);
    mark_ours(*builder.CreateStore(entered, entered_));
  }

  unsigned store_arguments(llvm::IRBuilder<>& builder, const llvm::CallBase& call) {
    unsigned count = 0;
    for (llvm::Value* argument : call.args()) {
      if (!argument->getType()->isPointerTy() ||
          argument->getType()->getPointerAddressSpace() != 0 ||
          llvm::isa<llvm::ConstantPointerNull>(argument))
        continue;
      if (arguments_ == nullptr) {
        llvm::IRBuilder<> entry(entered_);
        arguments_ = entry.CreateAlloca(llvm::ArrayType::get(types_.getPtrTy(), 1), nullptr,
                                        "deadheat.arguments");
      }
      mark_ours(*builder.CreateStore(
          with_size(builder, argument),
          builder.CreateConstInBoundsGEP1_32(types_.getPtrTy(), arguments_, count)));
      ++count;
    }
    most_ = std::max(most_, count);
    return count;
  }

  // A pointer to a variable of this frame is passed as the variable, with its size above the
  // address: its neighbours on the stack are not reachable through it.
  llvm::Value* with_size(llvm::IRBuilder<>& builder, llvm::Value* argument) {
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(argument));
    if (variable == nullptr || !variable->isStaticAlloca()) return argument;
    const std::optional<llvm::TypeSize> size = variable->getAllocationSize(module_.getDataLayout());
    if (!size || size->isScalable() || size->getFixedValue() == 0 ||
        size->getFixedValue() >> 16 != 0)
      return argument;
    llvm::Value* word = builder.CreatePtrToInt(variable, builder.getInt64Ty());
    word = builder.CreateOr(word, builder.getInt64(size->getFixedValue() << DEADHEAT_SIZE_SHIFT));
    return builder.CreateIntToPtr(word, types_.getPtrTy());
  }

  // The pointer that the call returned, directly or as the first one in a structure.
  llvm::Value* result_of(llvm::Instruction& after, llvm::CallBase& call) {
    llvm::Type* type = call.getType();
    if (type == types_.getPtrTy()) return &call;
    if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
      for (unsigned i = 0; i < structure->getNumElements(); ++i) {
        if (structure->getElementType(i) == types_.getPtrTy())
          return llvm::IRBuilder<>(&after).CreateExtractValue(&call, i);
      }
    }
    return llvm::ConstantPointerNull::get(types_.getPtrTy());
  }

  void end(llvm::Instruction& before, llvm::Value* result) {
    llvm::IRBuilder<> builder(&before);
    llvm::LoadInst* entered = builder.CreateLoad(types_.getInt32Ty(), entered_);
    ours(entered);
    llvm::Value* inside = builder.CreateICmpNE(entered, types_.getInt32(0));
    llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(inside, &before, false, unlikely());
    builder.SetInsertPoint(then);
    builder.SetCurrentDebugLocation(before.getDebugLoc());
    llvm::FunctionCallee hook =
        module_.getOrInsertFunction("__deadheat_region_end", types_.getVoidTy(), types_.getPtrTy());
    llvm::CallInst* call = builder.CreateCall(hook, {result});
    call->setDoesNotThrow();
    mark_ours(*call);
    mark_ours(*builder.CreateStore(types_.getInt32(0), entered_));
  }

  static void ours(llvm::Instruction* instruction) { mark_ours(*instruction); }
  llvm::MDNode* unlikely() {
    return llvm::MDBuilder(module_.getContext()).createBranchWeights(1, 1000);
  }

  llvm::Module& module_;
  llvm::IRBuilder<> types_;
  llvm::AllocaInst* entered_ = nullptr;    // whether the region of the call in progress was entered
  llvm::AllocaInst* arguments_ = nullptr;  // one array for all calls, as long as the longest
  unsigned most_ = 0;
  llvm::SmallSetVector<llvm::BasicBlock*, 8> pads_;
};

}  // namespace

uint32_t mark_regions(llvm::Function& function, const llvm::TargetLibraryInfo& library,
                      const InlineCopies& copies) {
  llvm::SmallVector<llvm::CallBase*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call != nullptr && may_leave(*call, library, copies)) calls.push_back(call);
  }
  if (calls.empty()) return 0;
  Marker marker(function);
  for (llvm::CallBase* call : calls) marker.mark(*call);
  marker.finish();
  return static_cast<uint32_t>(calls.size());
}

}  // namespace deadheat::pass
