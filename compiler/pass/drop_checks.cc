// Drops checks that can find no race that another check does not find.
//
// Local: memory whose address never leaves the function (an automatic variable, or a block that is
// allocated and freed here). Not "has not left yet": an early write can race with a reader that
// gets the address later without synchronisation.
//
// Covered: on every path to the access, an access of the same bytes that is at least as strong (a
// read does not cover a write) was checked, and nothing after it can have synchronised. Any access
// that races with the second then races with the first: a conflicting access elsewhere that is
// ordered after the first requires a release between the two; one that is ordered before the first
// is before the second as well. Naive: for each pair, search all paths between. Here one
// available-facts analysis over the blocks does it: facts are {base, offset, size, write}, keyed by
// SSA value and dropped where that value is redefined (a loop's next turn). tests/compiler/pass
// tests both what must be dropped and what must stay.
//
// The loss: a report shows the covering access as the site, and a signal handler that synchronises
// between the two is missed (ThreadSanitizer's own pass does the same within a block).
#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "compiler/pass/passes.h"

namespace deadheat::pass {

bool may_synchronise(const llvm::Instruction& instruction) {
  if (instruction.isAtomic() || instruction.isVolatile()) return true;
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (call == nullptr || llvm::isa<llvm::MemIntrinsic>(call)) return false;
  if (call->isInlineAsm()) return true;
  return !call->hasFnAttr(llvm::Attribute::NoSync) && !call->doesNotAccessMemory() &&
         !llvm::isa<llvm::DbgInfoIntrinsic>(call) && !call->isLifetimeStartOrEnd();
}

bool is_plain_access(llvm::Instruction& instruction, const llvm::DataLayout& layout) {
  const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
  if (pointer == nullptr || instruction.isAtomic() || instruction.isVolatile()) return false;
  if (instruction.hasMetadata(llvm::LLVMContext::MD_nosanitize)) return false;
  // Updates of a vtable pointer are checked only if they change it: neither covers nor is covered.
  const llvm::MDNode* alias_type = instruction.getMetadata(llvm::LLVMContext::MD_tbaa);
  if (alias_type != nullptr && alias_type->isTBAAVtableAccess()) return false;
  return pointer->getType()->getPointerAddressSpace() == 0 &&
         !layout.getTypeStoreSize(llvm::getLoadStoreType(&instruction)).isScalable();
}

namespace {

// Bits of all sets together; beyond it (huge generated functions) nothing is dropped as covered.
constexpr size_t kMostBits = size_t{1} << 28;

struct Access {
  const llvm::Value* base = nullptr;
  int64_t offset = 0;
  int64_t size = 0;
  bool write = false;
};

Access describe(llvm::Instruction& instruction, const llvm::DataLayout& layout) {
  Access access;
  access.base = llvm::GetPointerBaseWithConstantOffset(
      llvm::getLoadStorePointerOperand(&instruction), access.offset, layout);
  access.size = static_cast<int64_t>(
      layout.getTypeStoreSize(llvm::getLoadStoreType(&instruction)).getFixedValue());
  access.write = llvm::isa<llvm::StoreInst>(instruction);
  return access;
}

class Locals {
 public:
  bool contains(const llvm::Value* pointer) {
    const llvm::Value* object = llvm::getUnderlyingObject(pointer);
    const bool fresh = llvm::isa<llvm::AllocaInst>(object) || llvm::isNoAliasCall(object);
    if (!fresh) return false;
    const auto [place, unknown] = private_.try_emplace(object, false);
    if (unknown) place->second = !llvm::PointerMayBeCaptured(object, true, true);
    return place->second;
  }

 private:
  llvm::DenseMap<const llvm::Value*, bool> private_;
};

class Covered {
 public:
  explicit Covered(llvm::Function& function)
      : layout_(function.getParent()->getDataLayout()), order_(&function) {
    for (llvm::BasicBlock* block : order_) {
      for (llvm::Instruction& instruction : *block) {
        if (is_plain_access(instruction, layout_)) learn(instruction);
      }
    }
  }

  uint32_t drop() {
    const size_t blocks = std::distance(order_.begin(), order_.end());
    if (facts_.empty() || facts_.size() * blocks > kMostBits) return 0;
    solve();
    uint32_t dropped = 0;
    for (llvm::BasicBlock* block : order_) {
      llvm::BitVector known = at_entry(block);
      for (llvm::Instruction& instruction : *block) {
        const auto found = access_.find(&instruction);
        if (found != access_.end() && covers(known, found->second)) {
          mark_ours(instruction);
          ++dropped;
        }
        step(instruction, known);
      }
    }
    return dropped;
  }

 private:
  // A write's fact implies the read's, so that paths that know one of each still agree on it.
  void learn(llvm::Instruction& instruction) {
    const Access access = describe(instruction, layout_);
    access_[&instruction] = access;
    for (const bool write : {false, true}) {
      if (write && !access.write) continue;
      const unsigned number = facts_.size();
      Access fact = access;
      fact.write = write;
      if (find(fact) >= 0) continue;
      facts_.push_back(fact);
      facts_of_[access.base].push_back(number);
    }
  }

  int find(const Access& wanted) const {
    const auto list = facts_of_.find(wanted.base);
    if (list == facts_of_.end()) return -1;
    for (const unsigned number : list->second) {
      const Access& fact = facts_[number];
      if (fact.offset == wanted.offset && fact.size == wanted.size && fact.write == wanted.write)
        return static_cast<int>(number);
    }
    return -1;
  }

  bool covers(const llvm::BitVector& known, const Access& access) const {
    for (const unsigned number : facts_of_.find(access.base)->second) {
      const Access& fact = facts_[number];
      if (known[number] && fact.offset <= access.offset &&
          fact.offset + fact.size >= access.offset + access.size && (fact.write || !access.write))
        return true;
    }
    return false;
  }

  void step(const llvm::Instruction& instruction, llvm::BitVector& known) const {
    const auto redefined = facts_of_.find(&instruction);
    if (redefined != facts_of_.end()) {
      for (const unsigned number : redefined->second) known.reset(number);
    }
    if (may_synchronise(instruction)) known.reset();
    const auto found = access_.find(&instruction);
    if (found == access_.end()) return;
    Access fact = found->second;
    for (const bool write : {false, true}) {
      if (write && !found->second.write) continue;
      fact.write = write;
      known.set(static_cast<unsigned>(find(fact)));
    }
  }

  llvm::BitVector at_entry(const llvm::BasicBlock* block) const {
    llvm::BitVector known(facts_.size(), !llvm::pred_empty(block));
    for (const llvm::BasicBlock* before : llvm::predecessors(block)) {
      const auto out = at_exit_.find(before);
      if (out != at_exit_.end()) known &= out->second;  // unreachable ones say nothing
    }
    return known;
  }

  void solve() {
    for (llvm::BasicBlock* block : order_) at_exit_[block] = llvm::BitVector(facts_.size(), true);
    for (bool changed = true; changed;) {
      changed = false;
      for (llvm::BasicBlock* block : order_) {
        llvm::BitVector known = at_entry(block);
        for (const llvm::Instruction& instruction : *block) step(instruction, known);
        changed |= known != at_exit_[block];
        at_exit_[block] = std::move(known);
      }
    }
  }

  const llvm::DataLayout& layout_;
  llvm::ReversePostOrderTraversal<llvm::Function*> order_;
  llvm::SmallVector<Access> facts_;
  llvm::DenseMap<const llvm::Value*, llvm::SmallVector<unsigned>> facts_of_;
  llvm::DenseMap<const llvm::Instruction*, Access> access_;
  llvm::DenseMap<const llvm::BasicBlock*, llvm::BitVector> at_exit_;
};

}  // namespace

DropCounts drop_checks(llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  DropCounts counts;
  Locals locals;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (!is_plain_access(instruction, layout)) continue;
    ++counts.accesses;
    if (!locals.contains(llvm::getLoadStorePointerOperand(&instruction))) continue;
    mark_ours(instruction);
    ++counts.locals;
  }
  counts.covered = Covered(function).drop();
  return counts;
}

}  // namespace deadheat::pass
