// clang's plugin behind `deadheat-cc --scan`: keeps each module's bitcode in a section of its
// object.
//
// It runs first in the pipeline, so it stores the front end's output, before optimisation and
// instrumentation. Module-level assembler writes the section, because it passes unchanged through
// -S, other assemblers and link-time optimisation; a global variable could not have a section
// without the alloc flag.
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/raw_ostream.h>

#include "compiler/scan/frame.h"

namespace deadheat::scan {
namespace {

class KeepBitcode : public llvm::PassInfoMixin<KeepBitcode> {
 public:
  static bool isRequired() { return true; }  // NOLINT(readability-identifier-naming): LLVM's name

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) const {
    // Bitcode that is compiled (-x ir, the back end of a cache) may have been through here before.
    const std::string mark = std::string(".pushsection ") + kBitcodeSection;
    if (module.getModuleInlineAsm().find(mark) != std::string::npos)
      return llvm::PreservedAnalyses::all();
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream out(bytes);
    llvm::WriteBitcodeToFile(module, out);
    const std::string frame = encode(FrameKind::kBitcode, module.getSourceFileName(),
                                     std::string_view(bytes.data(), bytes.size()));
    module.appendModuleInlineAsm(as_assembler(frame));
    return llvm::PreservedAnalyses::none();
  }
};

}  // namespace
}  // namespace deadheat::scan

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {  // NOLINT(readability-identifier-naming): LLVM looks for this name
  return {LLVM_PLUGIN_API_VERSION, "deadheat-scan", DEADHEAT_VERSION,
          [](llvm::PassBuilder& builder) {
            builder.registerPipelineStartEPCallback(
                [](llvm::ModulePassManager& manager, llvm::OptimizationLevel) {
                  manager.addPass(deadheat::scan::KeepBitcode());
                });
          }};
}
