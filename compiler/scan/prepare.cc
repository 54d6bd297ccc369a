#include "compiler/scan/prepare.h"

#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "compiler/scan/allocators.h"
#include "compiler/scan/library_bodies.h"

namespace deadheat::scan {
namespace {

void promote_slots(llvm::Module& module) {
  llvm::PassBuilder builder;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager manager;
  manager.addPass(
      llvm::createModuleToFunctionPassAdaptor(llvm::SROAPass(llvm::SROAOptions::PreserveCFG)));
  manager.run(module, modules);
}

unsigned size_of(const llvm::Function& function) {
  unsigned size = 0;
  for (const llvm::Instruction& one : llvm::instructions(function))
    size += one.isDebugOrPseudoInst() || one.isLifetimeStartOrEnd() ? 0 : 1;
  return size;
}

bool calls_itself(const llvm::Function& function) {
  for (const llvm::Instruction& one : llvm::instructions(function))
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&one))
      if (call->getCalledFunction() == &function) return true;
  return false;
}

class Inliner {
 public:
  Inliner(llvm::Module& module, const Models& models, const PrepareOptions& options)
      : module_(module), models_(models), options_(options) {
    for (llvm::Function& function : module) budget_ += size_of(function);
    budget_ *= options.most_growth;
  }

  void run() {
    std::vector<llvm::Function*> order;
    {
      llvm::CallGraph graph(module_);
      for (auto it = llvm::scc_begin(&graph); !it.isAtEnd(); ++it)
        for (const llvm::CallGraphNode* node : *it)
          if (node->getFunction() != nullptr && !node->getFunction()->isDeclaration())
            order.push_back(node->getFunction());
    }
    for (llvm::Function* function : order) take_in(*function);
  }

 private:
  bool may_go(const llvm::Function& callee) {
    if (callee.isDeclaration() || callee.isVarArg() ||
        callee.hasFnAttribute(llvm::Attribute::Naked) ||
        models_.find(callee.getName()) != nullptr || is_called_allocator(callee) ||
        taken_back(callee))
      return false;
    const auto [entry, fresh] = may_go_.try_emplace(&callee, false);
    if (fresh) entry->second = size_of(callee) <= options_.inline_size && !calls_itself(callee);
    return entry->second;
  }

  void take_in(llvm::Function& caller) {
    unsigned size = size_of(caller);
    std::vector<llvm::CallBase*> calls;
    for (llvm::Instruction& one : llvm::instructions(caller))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&one)) calls.push_back(call);
    for (llvm::CallBase* call : calls) {
      llvm::Function* callee = call->getCalledFunction();
      if (callee == nullptr || callee == &caller || !may_go(*callee)) continue;
      const unsigned more = size_of(*callee);
      if (size + more > options_.largest_caller || more > budget_) continue;
      llvm::InlineFunctionInfo info;
      if (!llvm::InlineFunction(*call, info).isSuccess()) continue;
      size += more;
      budget_ -= more;
    }
  }

  llvm::Module& module_;
  const Models& models_;
  const PrepareOptions& options_;
  uint64_t budget_ = 0;
  std::map<const llvm::Function*, bool> may_go_;
};

}  // namespace

void prepare(Program& program, const Models& models, const PrepareOptions& options) {
  llvm::Module& module = *program.module;
  for (llvm::Function& function : module) {
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.removeFnAttr(llvm::Attribute::NoInline);
  }
  add_library_bodies(module);
  promote_slots(module);
  if (options.inline_size == 0) return;
  Inliner(module, models, options).run();
  promote_slots(module);
}

}  // namespace deadheat::scan
