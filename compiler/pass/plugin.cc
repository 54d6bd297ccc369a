// Registers the passes with clang. At -O0 nothing is dropped: the checks match what
// the debugger shows. `-Rpass=deadheat` prints what was done, one line per
// function.
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Transforms/Instrumentation/ThreadSanitizer.h>

#include "compiler/pass/passes.h"

namespace deadheat::pass {
namespace {

class DeadheatPass : public llvm::PassInfoMixin<DeadheatPass> {
 public:
  explicit DeadheatPass(bool optimizing) : optimizing_(optimizing) {}
  static bool isRequired() { return true; }  // NOLINT(readability-identifier-naming): LLVM's name

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager) const {
    auto& functions =
        manager.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
    bool any = false;
    for (llvm::Function& function : module) any |= instrumented(function);
    if (!any) return llvm::PreservedAnalyses::all();
    const InlineCopies copies(module, library_of(module, functions));
    for (llvm::Function& function : module) {
      if (!instrumented(function)) continue;
      run_function(function, functions, copies);
      functions.invalidate(function, llvm::PreservedAnalyses::none());
    }
    emit_functions_section(module);
    if (optimizing_ && inlines_checks()) run_inlining(module, functions);
    return llvm::PreservedAnalyses::none();
  }

 private:
  // ThreadSanitizer's pass comes after ours: it runs from here first, and then finds that it is not
  // wanted any more.
  static void run_inlining(llvm::Module& module, llvm::FunctionAnalysisManager& functions) {
    for (llvm::Function& function : module) {
      if (!instrumented(function)) continue;
      llvm::ThreadSanitizerPass().run(function, functions);
      const uint32_t inlined = inline_checks(function);
      function.addFnAttr(llvm::Attribute::DisableSanitizerInstrumentation);
      functions.invalidate(function, llvm::PreservedAnalyses::none());
      llvm::OptimizationRemarkEmitter remarks(&function);
      remarks.emit([&] {
        return llvm::OptimizationRemark("deadheat", "Inlined", &function)
               << llvm::ore::NV("Function", &function) << ": inlined "
               << llvm::ore::NV("Inlined", inlined);
      });
    }
  }

  static llvm::TargetLibraryInfo library_of(llvm::Module& module,
                                            llvm::FunctionAnalysisManager& manager) {
    for (llvm::Function& function : module)
      if (instrumented(function)) return manager.getResult<llvm::TargetLibraryAnalysis>(function);
    llvm_unreachable("asked only when there is one");
  }

  void run_function(llvm::Function& function, llvm::FunctionAnalysisManager& manager,
                    const InlineCopies& copies) const {
    llvm::TargetLibraryInfo library = manager.getResult<llvm::TargetLibraryAnalysis>(function);
    const uint32_t copies_expanded = optimizing_ ? expand_small_copies(function) : 0;
    const DropCounts dropped = optimizing_ ? drop_checks(function) : DropCounts{};
    const uint32_t loops = optimizing_ ? check_loops_once(function, library) : 0;
    const uint32_t wide = check_wide_accesses(function);
    const uint32_t assembly = order_inline_assembly(function);
    const uint32_t regions = mark_regions(function, library, copies);
    static const bool cxx20 = compiles_cxx20();
    if (cxx20) mark_last_stores(function);
    llvm::OptimizationRemarkEmitter remarks(&function);
    remarks.emit([&] {
      return llvm::OptimizationRemark("deadheat", "Instrumentation", &function)
             << llvm::ore::NV("Function", &function) << ": accesses "
             << llvm::ore::NV("Accesses", dropped.accesses) << ", local "
             << llvm::ore::NV("Local", dropped.locals) << ", covered "
             << llvm::ore::NV("Covered", dropped.covered) << ", in loops "
             << llvm::ore::NV("InLoops", loops) << ", wide " << llvm::ore::NV("Wide", wide)
             << ", marked calls " << llvm::ore::NV("MarkedCalls", regions) << ", assembly "
             << llvm::ore::NV("Assembly", assembly) << ", small copies "
             << llvm::ore::NV("SmallCopies", copies_expanded);
    });
  }

  bool optimizing_;
};

class LibraryLocks : public llvm::PassInfoMixin<LibraryLocks> {
 public:
  static bool isRequired() { return true; }  // NOLINT(readability-identifier-naming): LLVM's name

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager) const {
    return order_library_locks(module) ? llvm::PreservedAnalyses::none()
                                       : llvm::PreservedAnalyses::all();
  }
};

void add_to(llvm::PassBuilder& builder) {
  builder.registerPipelineStartEPCallback(
      [](llvm::ModulePassManager& manager, llvm::OptimizationLevel) {
        manager.addPass(LibraryLocks());
      });
  // Sanitizers are added at this point too, after the plugins' callbacks.
  builder.registerOptimizerLastEPCallback(
      [](llvm::ModulePassManager& manager, llvm::OptimizationLevel level) {
        manager.addPass(DeadheatPass(level != llvm::OptimizationLevel::O0));
      });
}

}  // namespace
}  // namespace deadheat::pass

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {  // NOLINT(readability-identifier-naming): LLVM looks for this name
  return {LLVM_PLUGIN_API_VERSION, "deadheat", DEADHEAT_VERSION, deadheat::pass::add_to};
}
