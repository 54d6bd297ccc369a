// Locks written in inline assembly. An assembly statement's memory accesses are not checked, and
// its ordering would be lost: everything that such a lock protects would look like a race.
//
// A statement that may synchronise gets __tsan_release of each object that it can name (a memory
// operand, or a pointer in a register) before it, and __tsan_acquire after it:
//   lock xchg ...       (an atomic operation, by its mnemonics): both
//   any other one that stores to a memory operand and clobbers memory ("movb $0, %0", the usual
//   unlock): release only
// A fence without an operand (mfence, lock addl $0, (%rsp)) is a fence of the language. A store
// directly after an empty statement that clobbers memory (barrier(); lock = 0, which suffices on
// x86-64) releases its target. This classifies too many statements as locks, and failed lock
// attempts as successful: it can hide a race, never invent one.
//
// Not seen: assembly files.
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <string>

#include "compiler/pass/assembly_text.h"
#include "compiler/pass/passes.h"

namespace deadheat::pass {
namespace {

struct Statement {
  AssemblyMeaning meaning = AssemblyMeaning::kNothing;
  llvm::SmallVector<llvm::Value*, 4> objects;
};

// Operands of the call in their order; outputs in registers are its results.
Statement read_statement(const llvm::CallBase& call) {
  const auto& assembly = *llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
  Statement statement;
  const std::string text = llvm::StringRef(assembly.getAsmString()).trim().lower();
  bool stores = false, clobbers = false;
  unsigned argument = 0;
  for (const llvm::InlineAsm::ConstraintInfo& operand : assembly.ParseConstraints()) {
    if (operand.Type == llvm::InlineAsm::isClobber) {
      for (const std::string& code : operand.Codes) clobbers |= code == "{memory}";
      continue;
    }
    if (operand.Type == llvm::InlineAsm::isLabel || !operand.hasArg()) continue;
    llvm::Value* value = call.getArgOperand(argument++);
    if (value->getType()->isPointerTy()) statement.objects.push_back(value);
    stores |= operand.Type == llvm::InlineAsm::isOutput && operand.isIndirect;
  }
  statement.meaning = meaning_of_assembly(text, !statement.objects.empty(), stores, clobbers);
  return statement;
}

class Orderer {
 public:
  explicit Orderer(llvm::Module& module) : module_(module) {}

  void order(llvm::CallBase& call, const Statement& statement) {
    if (statement.meaning == AssemblyMeaning::kFence) return fence(call);
    if (statement.meaning == AssemblyMeaning::kBarrier) return release_next_store(call);
    for (llvm::Value* object : statement.objects) insert("__tsan_release", object, call);
    if (statement.meaning != AssemblyMeaning::kAtomic) return;
    for (llvm::Instruction* after : places_after(call))
      for (llvm::Value* object : statement.objects) insert("__tsan_acquire", object, *after);
  }

 private:
  // After each exit. A branch (asm goto) has several; on the edge, so that no other path passes
  // it.
  static llvm::SmallVector<llvm::Instruction*, 2> places_after(llvm::CallBase& call) {
    if (!call.isTerminator()) return {&*std::next(call.getIterator())};
    llvm::SmallVector<llvm::Instruction*, 2> places;
    llvm::SmallVector<llvm::BasicBlock*, 2> targets(llvm::successors(call.getParent()));
    for (llvm::BasicBlock* target : targets) {
      llvm::BasicBlock* edge = target;
      if (target->getUniquePredecessor() == nullptr) {
        if (!llvm::isa<llvm::CallBrInst>(call) || target == call.getSuccessor(0))
          edge = llvm::SplitEdge(call.getParent(), target);
        else
          edge = llvm::SplitBlockPredecessors(target, {call.getParent()}, ".assembly");
      }
      if (edge != nullptr) places.push_back(&*edge->getFirstInsertionPt());
    }
    return places;
  }

  // The next thing that touches memory, if it is a store that others may see. Its check comes
  // before the release, which orders the store itself too.
  void release_next_store(llvm::CallBase& call) {
    for (llvm::Instruction* next = call.getNextNonDebugInstruction(); next != nullptr;
         next = next->getNextNonDebugInstruction()) {
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(next)) {
        llvm::Value* object = store->getPointerOperand();
        if (store->isAtomic() || llvm::isa<llvm::AllocaInst>(object->stripInBoundsOffsets()))
          return;
        check(*store);
        insert("__tsan_release", object, *store);
        return;
      }
      if (next->mayReadOrWriteMemory()) return;
    }
  }

  void check(llvm::StoreInst& store) {
    const uint64_t size =
        module_.getDataLayout().getTypeStoreSize(store.getValueOperand()->getType());
    if (store.hasMetadata(llvm::LLVMContext::MD_nosanitize)) return;
    if (size > 8 || !llvm::isPowerOf2_64(size)) return;
    const std::string name = "__tsan_write" + std::to_string(size);
    insert(name.c_str(), store.getPointerOperand(), store);
    mark_ours(store);
  }

  void insert(const char* name, llvm::Value* object, llvm::Instruction& before) {
    llvm::IRBuilder<> builder(&before);
    builder.SetCurrentDebugLocation(before.getDebugLoc());
    llvm::FunctionCallee hook =
        module_.getOrInsertFunction(name, builder.getVoidTy(), builder.getPtrTy());
    llvm::CallInst* call = builder.CreateCall(hook, {object});
    call->setDoesNotThrow();
    mark_ours(*call);
  }

  void fence(llvm::CallBase& call) {
    llvm::IRBuilder<> builder(&call);
    constexpr int kSequentiallyConsistent = 5;
    llvm::FunctionCallee hook = module_.getOrInsertFunction(
        "__tsan_atomic_thread_fence", builder.getVoidTy(), builder.getInt32Ty());
    llvm::CallInst* inserted =
        builder.CreateCall(hook, {builder.getInt32(kSequentiallyConsistent)});
    inserted->setDoesNotThrow();
    mark_ours(*inserted);
  }

  llvm::Module& module_;
};

}  // namespace

uint32_t order_inline_assembly(llvm::Function& function) {
  llvm::SmallVector<std::pair<llvm::CallBase*, Statement>, 4> found;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr || !call->isInlineAsm()) continue;
    Statement statement = read_statement(*call);
    if (statement.meaning != AssemblyMeaning::kNothing)
      found.emplace_back(call, std::move(statement));
  }
  Orderer orderer(*function.getParent());
  for (auto& [call, statement] : found) orderer.order(*call, statement);
  return static_cast<uint32_t>(found.size());
}

}  // namespace deadheat::pass
