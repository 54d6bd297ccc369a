#include "compiler/scan/integers.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

#include <set>
#include <vector>

namespace deadheat::scan {
namespace {

using Visited = std::set<const llvm::Value*>;
constexpr size_t kMostValues = 200;  // of one calculation; longer ones are hashes

bool keeps_pointers(const llvm::BinaryOperator& made) {
  switch (made.getOpcode()) {
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
    case llvm::Instruction::And:
    case llvm::Instruction::Or:
    case llvm::Instruction::Xor:
      return true;
    default:
      return false;
  }
}

// Whether a value is passed on, perhaps changed a little, by `user`.
bool passes_on(const llvm::Value* user) {
  const auto* made = llvm::dyn_cast<llvm::BinaryOperator>(user);
  return (made != nullptr && keeps_pointers(*made)) ||
         llvm::isa<llvm::PHINode, llvm::SelectInst, llvm::FreezeInst>(user);
}

bool comes_from_pointer(const llvm::Value* start) {
  Visited visited{start};
  std::vector<const llvm::Value*> work{start};
  while (!work.empty() && visited.size() < kMostValues) {
    const llvm::Value* value = work.back();
    work.pop_back();
    if (llvm::isa<llvm::PtrToIntOperator>(value)) return true;
    const auto* user = llvm::dyn_cast<llvm::User>(value);
    if (user == nullptr || !passes_on(value)) continue;
    for (const llvm::Value* operand : user->operands())
      if (visited.insert(operand).second) work.push_back(operand);
  }
  return false;
}

bool becomes_pointer(const llvm::Value* start) {
  Visited visited{start};
  std::vector<const llvm::Value*> work{start};
  while (!work.empty() && visited.size() < kMostValues) {
    const llvm::Value* value = work.back();
    work.pop_back();
    for (const llvm::User* user : value->users()) {
      if (llvm::isa<llvm::IntToPtrInst>(user)) return true;
      if (passes_on(user) && visited.insert(user).second) work.push_back(user);
    }
  }
  return false;
}

}  // namespace

bool may_be_pointer(const llvm::BinaryOperator& made) {
  if (!keeps_pointers(made)) return false;
  // The distance of two pointers is no pointer.
  if (made.getOpcode() == llvm::Instruction::Sub && comes_from_pointer(made.getOperand(1)))
    return false;
  return comes_from_pointer(&made) || becomes_pointer(&made);
}

}  // namespace deadheat::scan
