// The check of an access without a call, where the thread did as much to the same bytes in its
// tick, which is what most checks find (abi/checks.h says what is compared).
//
// ThreadSanitizer's pass is run from here, so that it decides as always what is checked; then its
// calls (and those of loop_checks.cc) of the hooks for 1, 2, 4, 8 and 16 bytes, and those of
// wide_accesses.cc for up to 64, become
//
//   if (no slot of the cell covers the access) __tsan_read4(address);
//
// The hook does the whole check again: what is inlined only leaves out calls that would do nothing.
// Modes that need every access offer a cell that covers nothing. A signal handler that synchronises
// between the load of the cell and that of the words may make them differ, or equal by the tick
// before; the hook has the same gap between its two loads.
//
// Not inlined: in cold blocks and functions, with -Os, at -O0, and beyond kMostChecks in a function
// (code size: each takes about 60 bytes). DEADHEAT_INLINE=0 in the compiler's environment switches
// it off.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "abi/checks.h"
#include "compiler/pass/passes.h"

namespace deadheat::pass {
namespace {

constexpr size_t kMostChecks = 3000;

struct Hook {
  unsigned size = 0;
  bool write = false;
};

// Of wide_accesses.cc: whole cells.
std::optional<Hook> range_of(const llvm::CallInst& call, Hook hook) {
  const auto* size = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(1));
  if (size == nullptr || call.getParamAlign(0).valueOrOne() < llvm::Align(8)) return std::nullopt;
  hook.size = static_cast<unsigned>(size->getLimitedValue(~0U));
  if (hook.size % 8 != 0 || hook.size > DEADHEAT_CHECK_MOST_BYTES) return std::nullopt;
  return hook;
}

std::optional<Hook> hook_of(const llvm::CallInst& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr) return std::nullopt;
  llvm::StringRef name = callee->getName();
  if (!name.consume_front("__tsan_")) return std::nullopt;
  Hook hook;
  hook.write = name.consume_front("write");
  if (!hook.write && !name.consume_front("read")) return std::nullopt;
  if (name == "_range") return range_of(call, hook);
  if (call.arg_size() != 1 || name.getAsInteger(10, hook.size)) return std::nullopt;
  return hook;
}

class Checks {
 public:
  explicit Checks(llvm::Module& module)
      : module_(module),
        types_(module.getContext()),
        vector_(llvm::FixedVectorType::get(types_.getInt32Ty(), 4)) {}

  void build(llvm::CallInst& call, Hook hook) {
    llvm::IRBuilder<> builder(&call);
    llvm::Value* address = builder.CreatePtrToInt(call.getArgOperand(0), types_.getInt64Ty());
    llvm::Value* hot = builder.CreateIntrinsic(llvm::Intrinsic::threadlocal_address,
                                               {types_.getPtrTy()}, {words()});
    llvm::Value* segments = load(builder, types_.getPtrTy(), hot, 32, 8);
    llvm::Value* number = builder.CreateLShr(address, 32);
    llvm::Value* segment = builder.CreateLoad(
        types_.getPtrTy(), builder.CreateGEP(types_.getPtrTy(), segments, number));
    llvm::Value* inside =
        builder.CreateAnd(address, load(builder, types_.getInt64Ty(), hot, 40, 8));
    llvm::Value* cell = builder.CreateGEP(types_.getInt16Ty(), segment, inside);
    llvm::Value* wanted = load(builder, vector_, hot, hook.write ? 16 : 0, 16);
    llvm::Value* bits = compared(builder, address, hook);
    llvm::Value* hit = covered(builder, cell, 0, wanted, bits);
    for (unsigned at = 8; at < hook.size; at += 8)
      hit = builder.CreateAnd(hit, covered(builder, cell, 2UL * at, wanted, bits));
    llvm::MDNode* weights = llvm::MDBuilder(module_.getContext()).createUnlikelyBranchWeights();
    llvm::Instruction* miss =
        llvm::SplitBlockAndInsertIfThen(builder.CreateNot(hit), &call, false, weights);
    call.moveBefore(miss);
  }

 private:
  static llvm::Value* load(llvm::IRBuilder<>& builder, llvm::Type* type, llvm::Value* base,
                           uint64_t offset, uint64_t alignment) {
    return builder.CreateAlignedLoad(
        type, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset),
        llvm::Align(alignment));
  }

  llvm::Value* covered(llvm::IRBuilder<>& builder, llvm::Value* cell, uint64_t offset,
                       llvm::Value* wanted, llvm::Value* bits) {
    llvm::Value* slots = load(builder, vector_, cell, offset, 16);
    llvm::Value* differs = builder.CreateAnd(builder.CreateXor(slots, wanted), bits);
    llvm::Value* equal = builder.CreateICmpEQ(differs, llvm::Constant::getNullValue(vector_));
    llvm::Value* any = builder.CreateBitCast(equal, builder.getIntNTy(4));
    return builder.CreateIsNotNull(any);
  }

  llvm::Constant* compared(Hook hook, unsigned first) {
    const uint32_t bytes = hook.size >= 8 ? 0xff : ((1U << hook.size) - 1) << first & 0xff;
    const uint32_t kind =
        DEADHEAT_CHECK_KIND_BITS | (hook.write ? DEADHEAT_CHECK_WRITE_BIT : 0) | bytes;
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(4), types_.getInt32(kind));
  }

  // By the first byte in its eight, for those that need not begin with it.
  llvm::Value* compared(llvm::IRBuilder<>& builder, llvm::Value* address, Hook hook) {
    if (hook.size >= 8) return compared(hook, 0);
    llvm::Value* first = builder.CreateAnd(address, 7);
    llvm::Value* place = builder.CreateGEP(vector_, table(hook), first);
    return builder.CreateAlignedLoad(vector_, place, llvm::Align(16));
  }

  llvm::Constant* table(Hook hook) {
    llvm::GlobalVariable*& made = tables_[hook.write ? 1 : 0][hook.size / 2];
    if (made != nullptr) return made;
    llvm::SmallVector<llvm::Constant*, 8> entries;
    for (unsigned first = 0; first < 8; ++first) entries.push_back(compared(hook, first));
    auto* type = llvm::ArrayType::get(vector_, entries.size());
    made = new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::PrivateLinkage,
                                    llvm::ConstantArray::get(type, entries), "deadheat.compared");
    made->setAlignment(llvm::Align(16));
    return made;
  }

  llvm::GlobalVariable* words() {
    if (llvm::GlobalVariable* found = module_.getNamedGlobal(DEADHEAT_CHECK_WORDS_NAME))
      return found;
    auto* type = llvm::ArrayType::get(types_.getInt64Ty(), 6);
    auto* made = new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::ExternalLinkage,
                                          nullptr, DEADHEAT_CHECK_WORDS_NAME, nullptr,
                                          llvm::GlobalValue::InitialExecTLSModel);
    made->setAlignment(llvm::Align(16));
    return made;
  }

  llvm::Module& module_;
  llvm::IRBuilder<> types_;
  llvm::FixedVectorType* vector_;
  llvm::GlobalVariable* tables_[2][3] = {};
};

bool is_cold(const llvm::BasicBlock& block) {
  return llvm::isa<llvm::UnreachableInst>(block.getTerminator()) || block.isEHPad();
}

}  // namespace

bool inlines_checks() {
  const char* value = std::getenv("DEADHEAT_INLINE");  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr || std::string(value) != "0";
}

uint32_t inline_checks(llvm::Function& function) {
  if (function.hasOptSize() || function.hasFnAttribute(llvm::Attribute::Cold)) return 0;
  llvm::SmallVector<std::pair<llvm::CallInst*, Hook>> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call == nullptr || is_cold(*call->getParent())) continue;
    if (const std::optional<Hook> hook = hook_of(*call)) calls.push_back({call, *hook});
  }
  if (calls.size() > kMostChecks) return 0;
  Checks checks(*function.getParent());
  for (const auto& [call, hook] : calls) checks.build(*call, hook);
  return static_cast<uint32_t>(calls.size());
}

}  // namespace deadheat::pass
