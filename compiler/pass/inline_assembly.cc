// Locks written in inline assembly. What an assembly statement does to memory has no check, and
// what it orders would be lost: everything that such a lock protects would look like a race.
//
// A statement that may synchronise gets __tsan_release of each object that it can name (a memory
// operand, or a pointer in a register) in front of it, and __tsan_acquire behind it:
//   lock xchg ...       (an atomic operation, by its mnemonics): both
//   any other one that stores to a memory operand and clobbers memory ("movb $0, %0", the usual
//   unlock): release only
// A fence without an operand (mfence, lock addl $0, (%rsp)) is a fence of the language's. This
// takes too many statements for locks, and those that fail to lock for successful ones: it can hide
// a race, never invent one.
//
// Not seen: an unlock that is a plain store behind an empty assembly statement (by the language it
// is a race), assembly files, and all of it in code that gcc compiles.
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "compiler/pass/passes.h"

namespace deadheat::pass {
namespace {

enum class Meaning : uint8_t { kNothing, kStore, kAtomic, kFence };

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

// Whether a word of the text begins so ("xchg" is also in "lock cmpxchgl" and "xchgq").
bool has_word(llvm::StringRef text, llvm::StringRef beginning) {
  for (size_t at = text.find(beginning); at != llvm::StringRef::npos;
       at = text.find(beginning, at + 1))
    if (at == 0 || !is_letter(text[at - 1])) return true;
  return false;
}

struct Statement {
  Meaning meaning = Meaning::kNothing;
  llvm::SmallVector<llvm::Value*, 4> objects;
};

// Operands of the call in their order; outputs in registers are its results.
Statement read_statement(const llvm::CallBase& call) {
  const auto& assembly = *llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
  Statement statement;
  const std::string text = llvm::StringRef(assembly.getAsmString()).trim().lower();
  if (text.empty()) return statement;
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
  const bool atomic = has_word(text, "lock") || has_word(text, "xchg") || has_word(text, "xadd");
  const bool fence = has_word(text, "mfence") || atomic;
  if (atomic && !statement.objects.empty())
    statement.meaning = Meaning::kAtomic;
  else if (fence)
    statement.meaning = Meaning::kFence;
  else if (stores && clobbers)
    statement.meaning = Meaning::kStore;
  return statement;
}

class Orderer {
 public:
  explicit Orderer(llvm::Module& module) : module_(module) {}

  void order(llvm::CallBase& call, const Statement& statement) {
    if (statement.meaning == Meaning::kFence) return fence(call);
    for (llvm::Value* object : statement.objects) insert("__tsan_release", object, call);
    if (statement.meaning != Meaning::kAtomic) return;
    for (llvm::Instruction* after : places_after(call))
      for (llvm::Value* object : statement.objects) insert("__tsan_acquire", object, *after);
  }

 private:
  // Behind each way out. A branch (asm goto) has several; on the edge, so that no other way comes
  // by.
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
    if (statement.meaning != Meaning::kNothing) found.emplace_back(call, std::move(statement));
  }
  Orderer orderer(*function.getParent());
  for (auto& [call, statement] : found) orderer.order(*call, statement);
  return static_cast<uint32_t>(found.size());
}

}  // namespace deadheat::pass
