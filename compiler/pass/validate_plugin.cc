// clang's plugin behind `deadheat-cc --candidates`. It reads the candidates from the file named by
// DEADHEAT_CANDIDATES, which the driver sets.
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#include <cstdlib>
#include <optional>

#include "compiler/pass/validate_sites.h"
#include "lib/model/candidate_list.h"

namespace deadheat::pass {
namespace {

// Read once, though asked for twice.
std::optional<validate::List> list_for(llvm::Module& module) {
  const char* path = std::getenv("DEADHEAT_CANDIDATES");
  static auto file = model::read_candidates(path == nullptr ? "" : path);
  if (file) return validate::make_list(file->file);
  module.getContext().emitError("deadheat: candidates: " + file.error().message);
  return std::nullopt;
}

// The optimiser may load what the program only looks at under a condition (a select instead of a
// branch, a vectorised loop): harmless in itself, but at a site it would be an access that the
// program does not make, and a race that it does not have. Functions with ThreadSanitizer's
// attribute are spared that. Inlining needs it on both sides, so a module with a site gets it
// everywhere until the instrumentation is done.
class KeepAccesses : public llvm::PassInfoMixin<KeepAccesses> {
 public:
  static bool isRequired() { return true; }  // NOLINT(readability-identifier-naming): LLVM's name

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) const {
    const auto list = list_for(module);
    if (!list || find_sites(module, *list).checks.empty()) return llvm::PreservedAnalyses::all();
    for (llvm::Function& function : module)
      if (!function.isDeclaration()) function.addFnAttr(llvm::Attribute::SanitizeThread);
    return llvm::PreservedAnalyses::none();
  }
};

class ValidatePass : public llvm::PassInfoMixin<ValidatePass> {
 public:
  static bool isRequired() { return true; }  // NOLINT(readability-identifier-naming): LLVM's name

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& manager) const {
    const auto list = list_for(module);
    if (!list) return llvm::PreservedAnalyses::all();
    instrument_for_validation(
        module, manager.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager(),
        *list);
    return llvm::PreservedAnalyses::none();
  }
};

}  // namespace
}  // namespace deadheat::pass

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {  // NOLINT(readability-identifier-naming): LLVM looks for this name
  return {LLVM_PLUGIN_API_VERSION, "deadheat-validate", DEADHEAT_VERSION,
          [](llvm::PassBuilder& builder) {
            builder.registerPipelineStartEPCallback(
                [](llvm::ModulePassManager& manager, llvm::OptimizationLevel) {
                  manager.addPass(deadheat::pass::KeepAccesses());
                });
            builder.registerOptimizerLastEPCallback(
                [](llvm::ModulePassManager& manager, llvm::OptimizationLevel) {
                  manager.addPass(deadheat::pass::ValidatePass());
                });
          }};
}
