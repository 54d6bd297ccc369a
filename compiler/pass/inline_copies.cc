// Inline functions that exist in several objects.
//
// The linker keeps one copy of an inline function, possibly that of an object without
// instrumentation; then its synchronisation is invisible even though this object has a body for it.
// So a call to one may leave instrumented code, and the runtime decides by address.
//
// Most inline functions neither synchronise nor call anything that does, whichever copy runs: calls
// to them stay unchanged. This is decided here from the bodies in this module, because all copies
// have the same meaning.
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "compiler/pass/passes.h"

namespace deadheat::pass {
namespace {

// Methods of std::string in the C++ library.
bool is_string_method(llvm::StringRef name) {
  return name.starts_with("_ZNSt7__cxx1112basic_string") ||
         name.starts_with("_ZNKSt7__cxx1112basic_string");
}

bool is_harmless_declaration(const llvm::Function& callee, const llvm::TargetLibraryInfo& library) {
  llvm::LibFunc function;
  return library.getLibFunc(callee, function) || callee.doesNotAccessMemory() ||
         is_string_method(callee.getName());
}

}  // namespace

InlineCopies::InlineCopies(const llvm::Module& module, const llvm::TargetLibraryInfo& library) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (const llvm::Function& function : module) {
      if (function.isDeclarationForLinker() || synchronising_.contains(&function)) continue;
      if (!synchronises(function, library)) continue;
      synchronising_.insert(&function);
      changed = true;
    }
  }
}

bool InlineCopies::synchronises(const llvm::Function& function,
                                const llvm::TargetLibraryInfo& library) const {
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr) {
      if (instruction.isAtomic()) return true;
      continue;
    }
    if (call->isInlineAsm() && call->mayReadOrWriteMemory()) return true;
    if (call->isInlineAsm() || llvm::isa<llvm::IntrinsicInst>(call) || call->doesNotReturn())
      continue;
    const auto* callee =
        llvm::dyn_cast<llvm::Function>(call->getCalledOperand()->stripPointerCasts());
    if (callee == nullptr) return true;
    if (callee->isDeclarationForLinker() ? !is_harmless_declaration(*callee, library)
                                         : synchronising_.contains(callee))
      return true;
  }
  return false;
}

bool InlineCopies::may_hide(const llvm::Function& callee) const {
  return !callee.isDeclarationForLinker() && callee.isWeakForLinker() &&
         synchronising_.contains(&callee);
}

}  // namespace deadheat::pass
