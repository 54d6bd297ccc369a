// The whole program as one LLVM module, and what is known to be missing from it.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string>
#include <vector>

#include "compiler/scan/inputs.h"
#include "lib/base/counter.h"
#include "lib/base/result.h"

namespace deadheat::scan {

struct Program {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::string path;                   // of the program, empty for a list of bitcode files
  uint64_t digest = 0;                // over all modules
  uint64_t modules = 0;               // linked
  uint64_t lines = 0;                 // of source with code, as debug information has them
  std::vector<std::string> problems;  // one line each: what could not be read
  Counters counters;
};

// Inputs: a program or library (ELF), objects, archives, bitcode files, compile_commands.json.
// Fails only if nothing at all can be analysed.
Result<Program> load_program(const std::vector<std::string>& paths, Inputs inputs);

}  // namespace deadheat::scan
