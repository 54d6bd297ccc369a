// One check for all accesses that an instruction of a loop makes.
//
// Requirements: a loop that does not synchronise, whose number of turns is known when it begins,
// and an access in it that happens in every turn at begin + turn * stride. Before the loop
//
//   checked = turns >= least && __deadheat_loop(begin, stride, turns, size and kind)
//
// and in the loop `if (!checked)` before the access's own check. The runtime decides: if every
// access counts (recording, schedules), it returns 0 and nothing changes.
//
// Why nothing is lost or invented. All turns happen: the loop has one exit, at its end, and
// nothing in it can leave it otherwise. All accesses belong to one tick of the thread, since
// nothing in the loop synchronises. A check compares with other threads' accesses so far, and
// their accesses during the loop are compared with the entries that it left. So the same pairs
// are found unordered; the runtime checks the same bytes and stores begin, stride, turns and
// size, so that a report gives the access, its address and size. A signal handler that
// synchronises in the middle of the loop is missed (as in drop_checks.cc).
// tests/compiler/pass_test.py has loops that must and must not be transformed;
// tests/programs/access/loop_*.c has races in them.
//
// Adjacent accesses of one source line (a[i - 1], a[i], a[i + 1]; an unrolled loop) share one
// check. A read of what the same turn writes needs none.
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include "abi/regions.h"
#include "compiler/pass/passes.h"

namespace deadheat::pass {
namespace {

// Below this many accesses, the one check costs as much as theirs.
constexpr uint64_t kLeastAccesses = 6;
// Turns that a loop makes at least where its checks are replaced.
constexpr uint64_t kLeastTurns = 2;
constexpr uint64_t kLargestAccess = 128;

// What an instruction of the loop accesses: begin + turn * stride, for a constant or unknown
// stride.
struct Pattern {
  llvm::Instruction* instruction = nullptr;
  const llvm::SCEV* begin = nullptr;
  const llvm::SCEV* stride = nullptr;
  int64_t known_stride = 0;  // 0: none, or not known
  uint64_t size = 0;
  bool write = false;
};

// A check before the loop. Several patterns without gaps: `times` accesses a turn.
struct Check {
  Pattern first;
  uint64_t times = 1;
  llvm::Value* begin = nullptr;
  llvm::Value* stride = nullptr;
  uint64_t more = 0;  // accesses beyond turns * times
};

struct Plan {
  llvm::Loop* loop = nullptr;
  const llvm::SCEV* back_edges = nullptr;
  llvm::Value* turns = nullptr;
  llvm::SmallVector<Pattern> patterns;
  llvm::SmallVector<Check> checks;
  llvm::BasicBlock* preheader = nullptr;
};

// The values are computed before the loop: nothing that costs more than the check, or can trap.
bool cheap(const llvm::SCEV* value) {
  return !llvm::SCEVExprContains(value, [](const llvm::SCEV* part) {
    const auto* quotient = llvm::dyn_cast<llvm::SCEVUDivExpr>(part);
    if (quotient == nullptr) return llvm::isa<llvm::SCEVCouldNotCompute>(part);
    const auto* divisor = llvm::dyn_cast<llvm::SCEVConstant>(quotient->getRHS());
    return divisor == nullptr || !divisor->getAPInt().isPowerOf2();
  });
}

bool may_be_taken(const llvm::Loop& loop) {
  if (!loop.isInnermost() || loop.getLoopLatch() == nullptr) return false;
  if (loop.getExitingBlock() != loop.getLoopLatch()) return false;
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      if (may_synchronise(instruction)) return false;
      if (!instruction.isTerminator() &&
          !llvm::isGuaranteedToTransferExecutionToSuccessor(&instruction))
        return false;
    }
  }
  return true;
}

// Copies of an unrolled loop have scopes of their own within it.
const llvm::DISubprogram* subprogram(const llvm::DILocation* place) {
  return place->getScope()->getSubprogram();
}

bool same_line(const llvm::Instruction& a, const llvm::Instruction& b) {
  const llvm::DILocation* one = a.getDebugLoc().get();
  const llvm::DILocation* other = b.getDebugLoc().get();
  if (one == nullptr || other == nullptr) return one == other;
  return one->getLine() == other->getLine() && subprogram(one) == subprogram(other) &&
         one->getInlinedAt() == other->getInlinedAt();
}

class LoopChecks {
 public:
  LoopChecks(llvm::Function& function, llvm::TargetLibraryInfo& library)
      : module_(*function.getParent()),
        layout_(module_.getDataLayout()),
        types_(function.getContext()),
        assumptions_(function),
        dominators_(function),
        loops_(dominators_),
        evolution_(function, library, assumptions_, dominators_, loops_) {}

  uint32_t take() {
    // Clang's last passes fold blocks that only lead into a loop.
    llvm::SmallVector<llvm::Loop*> loops;
    for (llvm::Loop* loop : loops_.getLoopsInPreorder()) {
      if (!may_be_taken(*loop)) continue;
      if (loop->getLoopPreheader() == nullptr)
        llvm::InsertPreheaderForLoop(loop, &dominators_, &loops_, nullptr, false);
      if (loop->getLoopPreheader() != nullptr &&
          llvm::isa<llvm::BranchInst>(loop->getLoopPreheader()->getTerminator()))
        loops.push_back(loop);
    }
    for (llvm::Loop* loop : loops) plan(*loop);
    {
      llvm::SCEVExpander expander(evolution_, layout_, "deadheat");
      for (Plan& one : plans_) expand(one, expander);
    }
    uint32_t taken = 0;
    for (Plan& one : plans_) taken += build(one);
    return taken;
  }

 private:
  // An access in a block of which every turn makes use; TSan's pass does not check constants.
  bool describe(llvm::Instruction& instruction, const llvm::Loop& loop, Pattern* pattern) {
    if (!is_plain_access(instruction, layout_)) return false;
    if (!dominators_.dominates(instruction.getParent(), loop.getLoopLatch())) return false;
    llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
    const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(llvm::getUnderlyingObject(pointer));
    if (global != nullptr && (global->isConstant() || global->isThreadLocal())) return false;
    const llvm::SCEV* address = evolution_.getSCEV(pointer);
    pattern->instruction = &instruction;
    pattern->size = layout_.getTypeStoreSize(llvm::getLoadStoreType(&instruction)).getFixedValue();
    pattern->write = llvm::isa<llvm::StoreInst>(instruction);
    if (pattern->size == 0 || pattern->size > kLargestAccess) return false;
    if (evolution_.isLoopInvariant(address, &loop)) {
      pattern->begin = address;
      pattern->stride = evolution_.getZero(types_.getInt64Ty());
    } else {
      const auto* recurrence = llvm::dyn_cast<llvm::SCEVAddRecExpr>(address);
      if (recurrence == nullptr || recurrence->getLoop() != &loop || !recurrence->isAffine())
        return false;
      pattern->begin = recurrence->getStart();
      pattern->stride = recurrence->getStepRecurrence(evolution_);
      if (const auto* constant = llvm::dyn_cast<llvm::SCEVConstant>(pattern->stride))
        pattern->known_stride = constant->getAPInt().getSExtValue();
    }
    return cheap(pattern->begin) && cheap(pattern->stride);
  }

  void plan(llvm::Loop& loop) {
    Plan one;
    one.loop = &loop;
    one.preheader = loop.getLoopPreheader();
    one.back_edges = evolution_.getBackedgeTakenCount(&loop);
    if (llvm::isa<llvm::SCEVCouldNotCompute>(one.back_edges) || !cheap(one.back_edges)) return;
    if (const auto* constant = llvm::dyn_cast<llvm::SCEVConstant>(one.back_edges))
      if (constant->getAPInt().ult(kLeastTurns)) return;
    llvm::SCEVExpander expander(evolution_, layout_, "deadheat");
    const llvm::Instruction* before = one.preheader->getTerminator();
    if (!expander.isSafeToExpandAt(one.back_edges, before)) return;
    for (llvm::BasicBlock* block : loop.blocks()) {
      for (llvm::Instruction& instruction : *block) {
        Pattern pattern;
        if (describe(instruction, loop, &pattern) &&
            expander.isSafeToExpandAt(pattern.begin, before) &&
            expander.isSafeToExpandAt(pattern.stride, before))
          one.patterns.push_back(pattern);
      }
    }
    if (one.patterns.empty()) return;
    for (const Pattern& pattern : one.patterns)
      if (!is_checked_too(one, pattern)) one.checks.push_back({pattern});
    join(one.checks);
    join_copies(one.checks);
    plans_.push_back(std::move(one));
  }

  // The same bytes are checked as a write, or as this kind by an earlier instruction.
  static bool is_checked_too(const Plan& one, const Pattern& pattern) {
    bool earlier = true;
    for (const Pattern& other : one.patterns) {
      if (&other == &pattern) {
        earlier = false;
        continue;
      }
      if (other.begin != pattern.begin || other.stride != pattern.stride ||
          other.size < pattern.size)
        continue;
      if (other.write && !pattern.write) return true;
      if (earlier && other.write == pattern.write) return true;
    }
    return false;
  }

  // Of neighbours one check. Both `size`, and each is made every `stride` bytes: either each leaves
  // no gap (stride = size) and they begin at most kLeastTurns apart, or they fill the stride
  // together.
  void join(llvm::SmallVector<Check>& checks) {
    for (size_t i = 0; i < checks.size(); ++i) {
      Check& one = checks[i];
      const auto size = static_cast<int64_t>(one.first.size);
      if (one.first.known_stride <= 0 || one.first.known_stride % size != 0) continue;
      llvm::SmallVector<std::pair<int64_t, size_t>> places;  // distance from `one`, index
      for (size_t j = i; j < checks.size(); ++j) {
        const Pattern& other = checks[j].first;
        if (!is_single(checks[j]) || other.size != one.first.size ||
            other.write != one.first.write || other.stride != one.first.stride ||
            !same_line(*other.instruction, *one.first.instruction))
          continue;
        const auto* distance = llvm::dyn_cast<llvm::SCEVConstant>(
            evolution_.getMinusSCEV(other.begin, one.first.begin));
        if (distance != nullptr && distance->getAPInt().getSExtValue() % size == 0)
          places.push_back({distance->getAPInt().getSExtValue(), j});
      }
      llvm::sort(places);
      if (places.size() < 2 || !without_gaps(places, one.first.known_stride, size)) continue;
      Check joined;
      joined.first = checks[places[0].second].first;
      joined.first.stride = evolution_.getConstant(types_.getInt64Ty(), one.first.size);
      joined.times = static_cast<uint64_t>(one.first.known_stride / size);
      joined.more =
          static_cast<uint64_t>((places.back().first - places[0].first) / size) + 1 - joined.times;
      checks[i] = joined;
      llvm::SmallVector<size_t> gone;
      for (const auto& place : places)
        if (place.second != i) gone.push_back(place.second);
      llvm::sort(gone, std::greater<>());
      for (const size_t index : gone) checks.erase(checks.begin() + static_cast<ptrdiff_t>(index));
    }
  }

  // The copies of one access in an unrolled loop: k of them, each offset by the k-th part of the
  // stride.
  void join_copies(llvm::SmallVector<Check>& checks) {
    for (size_t i = 0; i < checks.size(); ++i) {
      const Pattern first = checks[i].first;
      if (first.stride->isZero() || !is_single(checks[i])) continue;
      llvm::SmallVector<size_t> copies;
      for (size_t j = i; j < checks.size(); ++j) {
        const Pattern& other = checks[j].first;
        if (is_single(checks[j]) && other.size == first.size && other.write == first.write &&
            other.stride == first.stride && same_line(*other.instruction, *first.instruction))
          copies.push_back(j);
      }
      if (copies.size() < 2) continue;
      const auto distance = [&](size_t index) {
        return evolution_.getMinusSCEV(checks[copies[index]].first.begin, first.begin);
      };
      const llvm::SCEV* step = distance(1);
      if (llvm::isa<llvm::SCEVCouldNotCompute>(step) || !cheap(step)) continue;
      const auto times = [&](size_t count) {
        return evolution_.getMulExpr(evolution_.getConstant(step->getType(), count), step);
      };
      bool evenly = times(copies.size()) == first.stride;
      for (size_t k = 2; k < copies.size(); ++k) evenly = evenly && distance(k) == times(k);
      if (!evenly) continue;
      checks[i].first.stride = step;
      checks[i].times = copies.size();
      for (size_t k = copies.size(); --k > 0;)
        checks.erase(checks.begin() + static_cast<ptrdiff_t>(copies[k]));
    }
  }

  static bool is_single(const Check& check) { return check.times == 1 && check.more == 0; }

  static bool without_gaps(llvm::ArrayRef<std::pair<int64_t, size_t>> places, int64_t stride,
                           int64_t size) {
    if (stride == size)
      return places.back().first - places[0].first <= static_cast<int64_t>(kLeastTurns) * size;
    if (static_cast<int64_t>(places.size()) < stride / size) return false;
    for (size_t i = 0; i < places.size(); ++i)
      if (places[i].first - places[0].first != static_cast<int64_t>(i) * size) return false;
    return true;
  }

  void expand(Plan& one, llvm::SCEVExpander& expander) {
    llvm::Instruction* before = one.preheader->getTerminator();
    llvm::Type* word = types_.getInt64Ty();
    const llvm::SCEV* back_edges = evolution_.getTruncateOrZeroExtend(one.back_edges, word);
    const llvm::SCEV* turns = evolution_.getAddExpr(back_edges, evolution_.getOne(word));
    one.turns = expander.expandCodeFor(turns, word, before);
    for (Check& check : one.checks) {
      check.begin = expander.expandCodeFor(check.first.begin, types_.getPtrTy(), before);
      check.stride = expander.expandCodeFor(check.first.stride, word, before);
    }
  }

  llvm::Value* call_check(llvm::IRBuilder<>& builder, const Check& check, llvm::Value* turns) {
    llvm::FunctionCallee hook =
        module_.getOrInsertFunction("__deadheat_loop", types_.getInt32Ty(), types_.getPtrTy(),
                                    types_.getInt64Ty(), types_.getInt64Ty(), types_.getInt64Ty());
    llvm::Value* count = turns;
    if (check.times > 1) count = builder.CreateMul(count, types_.getInt64(check.times));
    if (check.more > 0) count = builder.CreateAdd(count, types_.getInt64(check.more));
    const uint64_t kind = check.first.size | (check.first.write ? DEADHEAT_LOOP_WRITES : 0);
    builder.SetCurrentDebugLocation(check.first.instruction->getDebugLoc());
    llvm::CallInst* call =
        builder.CreateCall(hook, {check.begin, check.stride, count, types_.getInt64(kind)});
    return call;  // not marked as ours: a function that makes calls gets its entry and exit told
  }

  // The check that ThreadSanitizer's pass would have put in front of the access.
  void call_own_check(llvm::Instruction* before, const Pattern& pattern) {
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(pattern.instruction->getDebugLoc());
    llvm::Value* pointer = llvm::getLoadStorePointerOperand(pattern.instruction);
    const std::string kind = pattern.write ? "write" : "read";
    if (!llvm::isPowerOf2_64(pattern.size) || pattern.size > 16) {
      llvm::FunctionCallee hook = module_.getOrInsertFunction(
          "__tsan_" + kind + "_range", types_.getVoidTy(), types_.getPtrTy(), types_.getInt64Ty());
      mark_ours(*builder.CreateCall(hook, {pointer, types_.getInt64(pattern.size)}));
      return;
    }
    const uint64_t alignment = llvm::getLoadStoreAlignment(pattern.instruction).value();
    const bool aligned = alignment >= 8 || alignment % pattern.size == 0;
    llvm::FunctionCallee hook = module_.getOrInsertFunction(
        "__tsan_" + std::string(aligned ? "" : "unaligned_") + kind + std::to_string(pattern.size),
        types_.getVoidTy(), types_.getPtrTy());
    mark_ours(*builder.CreateCall(hook, {pointer}));
  }

  // An unrolled loop makes several accesses a turn.
  static uint64_t least_turns(const Plan& one) {
    uint64_t times = 1;
    for (const Check& check : one.checks) times = std::max(times, check.times);
    return std::max(kLeastTurns, (kLeastAccesses + times - 1) / times);
  }

  uint32_t build(Plan& one) {
    // The turns may be 0 by overflow: 2^64 of them, which no loop makes.
    llvm::Instruction* end = one.preheader->getTerminator();
    llvm::IRBuilder<> builder(end);
    llvm::Value* enough = builder.CreateICmpUGE(one.turns, types_.getInt64(least_turns(one)));
    llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(enough, end, false);
    llvm::BasicBlock* without = llvm::cast<llvm::Instruction>(end)->getParent();
    builder.SetInsertPoint(then);
    llvm::Value* all = nullptr;
    for (const Check& check : one.checks) {
      llvm::Value* answer = call_check(builder, check, one.turns);
      all = all == nullptr ? answer : builder.CreateAnd(all, answer);
    }
    llvm::Value* yes = builder.CreateICmpNE(all, types_.getInt32(0));
    llvm::PHINode* checked = llvm::PHINode::Create(types_.getInt1Ty(), 2, "deadheat.checked");
    checked->insertBefore(without->begin());
    for (llvm::BasicBlock* from : llvm::predecessors(without))
      checked->addIncoming(from == then->getParent() ? yes : types_.getFalse(), from);
    llvm::MDNode* weights = llvm::MDBuilder(types_.getContext()).createBranchWeights(1, 1 << 20);
    for (const Pattern& pattern : one.patterns) {
      mark_ours(*pattern.instruction);
      llvm::IRBuilder<> here(pattern.instruction);
      llvm::Value* unchecked = here.CreateNot(checked);
      call_own_check(
          llvm::SplitBlockAndInsertIfThen(unchecked, pattern.instruction, false, weights), pattern);
    }
    return static_cast<uint32_t>(one.patterns.size());
  }

  llvm::Module& module_;
  const llvm::DataLayout& layout_;
  llvm::IRBuilder<> types_;
  llvm::AssumptionCache assumptions_;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  llvm::ScalarEvolution evolution_;
  llvm::SmallVector<Plan> plans_;
};

}  // namespace

uint32_t check_loops_once(llvm::Function& function, llvm::TargetLibraryInfo& library) {
  return LoopChecks(function, library).take();
}

}  // namespace deadheat::pass
