// clang's plugin behind `deadheat-cc --candidates`. It reads the candidates from the file named by
// DEADHEAT_CANDIDATES, which the driver sets.
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#include <cstdlib>

#include "compiler/pass/validate_sites.h"
#include "lib/model/candidate_list.h"

namespace deadheat::pass {
namespace {

class ValidatePass : public llvm::PassInfoMixin<ValidatePass> {
 public:
  static bool isRequired() { return true; }  // NOLINT(readability-identifier-naming): LLVM's name

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager) const {
    const char* path = std::getenv("DEADHEAT_CANDIDATES");
    auto file = model::read_candidates(path == nullptr ? "" : path);
    if (!file) {
      module.getContext().emitError("deadheat: candidates: " + file.error().message);
      return llvm::PreservedAnalyses::all();
    }
    const validate::List list = validate::make_list(file->file);
    instrument_for_validation(
        module, manager.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager(),
        list);
    return llvm::PreservedAnalyses::none();
  }
};

}  // namespace
}  // namespace deadheat::pass

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {  // NOLINT(readability-identifier-naming): LLVM looks for this name
  return {LLVM_PLUGIN_API_VERSION, "deadheat-validate", DEADHEAT_VERSION,
          [](llvm::PassBuilder& builder) {
            builder.registerOptimizerLastEPCallback(
                [](llvm::ModulePassManager& manager, llvm::OptimizationLevel) {
                  manager.addPass(deadheat::pass::ValidatePass());
                });
          }};
}
