// Links the bitcode into one module. Of two definitions the first wins, as for the dynamic linker.
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include "compiler/scan/inputs.h"
#include "compiler/scan/program.h"
#include "lib/base/text.h"

namespace deadheat::scan {
namespace {

class KeepDiagnostics : public llvm::DiagnosticHandler {
 public:
  explicit KeepDiagnostics(std::vector<std::string>& lines) : lines_(lines) {}
  // NOLINTNEXTLINE(readability-identifier-naming): LLVM's name
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    std::string line;
    llvm::raw_string_ostream out(line);
    llvm::DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
    lines_.push_back(line);
    return true;
  }

 private:
  std::vector<std::string>& lines_;
};

std::unique_ptr<llvm::Module> parse(const Frame& frame, llvm::LLVMContext& context,
                                    std::vector<std::string>& problems) {
  const llvm::MemoryBufferRef buffer(frame.payload, frame.name);
  std::unique_ptr<llvm::Module> module;
  if (llvm::StringRef(frame.payload).starts_with("BC")) {
    auto parsed = llvm::parseBitcodeFile(buffer, context);
    if (parsed) {
      module = std::move(*parsed);
    } else {
      problems.push_back(
          frame.name + ": bitcode not readable by LLVM 19: " + llvm::toString(parsed.takeError()));
    }
  } else {
    llvm::SMDiagnostic error;
    module = llvm::parseIR(buffer, error, context);
    if (!module) problems.push_back(frame.name + ": " + error.getMessage().str());
  }
  if (!module) return nullptr;
  bool broken_debug_info = false;
  if (llvm::verifyModule(*module, nullptr, &broken_debug_info)) {
    problems.push_back(frame.name + ": bitcode is not valid");
    return nullptr;
  }
  if (broken_debug_info) llvm::StripDebugInfo(*module);
  return module;
}

// A second strong definition of a name would stop the linker: it is dropped.
uint64_t let_first_win(const llvm::Module& whole, llvm::Module& next) {
  uint64_t yielded = 0;
  for (llvm::GlobalValue& value : next.global_values()) {
    if (value.isDeclaration() || value.hasLocalLinkage() || value.isWeakForLinker()) continue;
    const llvm::GlobalValue* known = whole.getNamedValue(value.getName());
    if (known == nullptr || known->isDeclaration() || known->isWeakForLinker()) continue;
    if (value.hasAppendingLinkage()) continue;
    value.setLinkage(llvm::GlobalValue::WeakAnyLinkage);
    ++yielded;
  }
  return yielded;
}

uint64_t lines_with_code(const llvm::Module& module) {
  std::set<std::pair<const llvm::DIFile*, unsigned>> lines;
  for (const llvm::Function& function : module)
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      if (const llvm::DILocation* at = instruction.getDebugLoc().get();
          at != nullptr && at->getLine() != 0)
        lines.insert({at->getFile(), at->getLine()});
  return lines.size();
}

void name_unseen(const Inputs& inputs, Program& program) {
  std::vector<std::string> unseen;
  for (const std::string& name : inputs.native_functions) {
    const llvm::Function* function = program.module->getFunction(name);
    const bool known = function != nullptr && !function->isDeclaration();
    if (function != nullptr && !known) unseen.push_back(name);
  }
  if (!unseen.empty()) {
    const size_t count = unseen.size();
    unseen.resize(std::min<size_t>(count, 5));
    program.problems.push_back("machine code without bitcode is called: " + join(unseen, ", ") +
                               (count > 5 ? " and " + std::to_string(count - 5) + " more" : ""));
  }
  program.counters.push_back({"functions_without_bitcode", unseen.size(),
                              "functions are called whose machine code has no bitcode (assembler, "
                              "other compilers): what they do was not seen",
                              true});
  program.counters.push_back({"libraries_without_bitcode", inputs.bare_libraries.size(),
                              "libraries without bitcode: " + join(inputs.bare_libraries, ", "),
                              true});
  program.counters.push_back(
      {"units_without_bitcode", inputs.absent, "translation units have no bitcode", true});
}

}  // namespace

Result<Program> load_program(const std::vector<std::string>& paths, Inputs inputs) {
  Program program;
  program.path = paths.size() == 1 ? paths[0] : "";
  program.problems = std::move(inputs.problems);
  program.context = std::make_unique<llvm::LLVMContext>();
  program.context->setDiagnosticHandler(std::make_unique<KeepDiagnostics>(program.problems));
  program.module = std::make_unique<llvm::Module>("whole program", *program.context);
  uint64_t unreadable = 0, yielded = 0;
  for (Frame& frame : inputs.modules) {
    std::unique_ptr<llvm::Module> module = parse(frame, *program.context, program.problems);
    frame.payload = {};
    if (!module) {
      ++unreadable;
      continue;
    }
    module->setModuleInlineAsm("");
    yielded += let_first_win(*program.module, *module);
    if (program.modules == 0) {
      program.module->setDataLayout(module->getDataLayout());
      program.module->setTargetTriple(module->getTargetTriple());
    }
    if (llvm::Linker::linkModules(*program.module, std::move(module))) {
      ++unreadable;
      program.problems.push_back(frame.name + ": could not be linked with the rest");
      continue;
    }
    program.digest = stable_hash(std::to_string(frame.digest), program.digest);
    ++program.modules;
  }
  if (program.modules == 0) {
    std::string why =
        program.problems.empty() ? paths.at(0) + " has no bitcode" : program.problems[0];
    return Error{"nothing to analyse: " + why, "build with deadheat-cc --scan (and do not strip)"};
  }
  program.lines = lines_with_code(*program.module);
  program.counters = {
      {"modules", program.modules, "translation units were analysed", false},
      {"lines", program.lines, "lines of source with code", false},
      {"modules_unreadable", unreadable, "modules could not be read or linked: not seen", true},
      {"definitions_twice", yielded, "names were defined twice; the first definition counts",
       true}};
  name_unseen(inputs, program);
  return program;
}

}  // namespace deadheat::scan
