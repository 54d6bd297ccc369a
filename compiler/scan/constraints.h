// Turns the module into constraints for the points-to analysis.
#pragma once

#include <llvm/IR/InstVisitor.h>

#include "compiler/scan/points_to.h"

namespace deadheat::scan {

class ConstraintBuilder : public llvm::InstVisitor<ConstraintBuilder> {
 public:
  explicit ConstraintBuilder(PointsTo& result)
      : result_(result), solver_(result.solver_), locations_(result.locations_) {}
  void build();

  // NOLINTBEGIN(readability-identifier-naming): LLVM's names
  void visitAllocaInst(llvm::AllocaInst& slot);
  void visitLoadInst(llvm::LoadInst& load);
  void visitStoreInst(llvm::StoreInst& store);
  void visitAtomicRMWInst(llvm::AtomicRMWInst& update);
  void visitAtomicCmpXchgInst(llvm::AtomicCmpXchgInst& update);
  void visitGetElementPtrInst(llvm::GetElementPtrInst& gep);
  void visitBinaryOperator(llvm::BinaryOperator& made);
  void visitReturnInst(llvm::ReturnInst& end);
  void visitCallBase(llvm::CallBase& call);
  void visitInstruction(llvm::Instruction& other);
  // NOLINTEND(readability-identifier-naming)

 private:
  void initialize(llvm::GlobalVariable& global);
  void initialize(ObjectId object, int64_t offset, llvm::Constant& value, bool exact);
  void find_allocators();
  void allocate(const llvm::CallBase& call, Node into);
  void model(const llvm::CallBase& call, const Model& model);
  void model_clause(const llvm::CallBase& call, const Clause& clause);
  void intrinsic(llvm::CallBase& call, llvm::Function& callee);
  void unknown_call(const llvm::CallBase& call, const llvm::Function& callee);
  void call_back(const llvm::CallBase& call, int function, Effect effect, Node data, unsigned as);
  void transfer(Node value, Node pointer, llvm::Type* type, llvm::Align align, bool is_store);
  void copy_memory(Node to, Node from, const llvm::Value& length);
  Node argument(const llvm::CallBase& call, int number);

  PointsTo& result_;
  Solver& solver_;
  Locations& locations_;
};

}  // namespace deadheat::scan
