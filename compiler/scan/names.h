// Readable names of sites, call paths, variables, objects and locks, from debug information. The
// wording is that of lib/live for a run, so that a race found by both is one row.
#pragma once

#include <llvm/IR/DebugInfoMetadata.h>

#include "compiler/scan/contexts.h"
#include "lib/model/candidate.h"
#include "lib/symbols/source_text.h"

namespace deadheat::scan {

class Names {
 public:
  Names(const llvm::Module& module, PointsTo& points_to, const Paths& paths,
        const Contexts& contexts, const Summaries& summaries, std::string program);

  // The innermost first: inlined calls, then the callers of the context.
  std::vector<model::Frame> stack(const llvm::Instruction& at, size_t context);
  model::Site site(const llvm::Instruction& at, size_t context, ObjectId object, int64_t offset,
                   uint64_t size);
  // The place alone, without its context.
  model::Site place(const llvm::Instruction& at);
  std::string object(ObjectId object, int64_t offset,
                     uint64_t size);           // "global g_total", "heap block ..."
  std::string object_origin(ObjectId object);  // "allocated at make() bank.c:12"
  std::string lock(const Lock& lock);
  std::string thread(size_t root);
  std::string thread_origin(size_t root);

 private:
  static std::string file_of(const llvm::DILocation& location);
  static std::string function_of(const llvm::DISubprogram* function);
  std::string variable(ObjectId object, int64_t offset, uint64_t size);
  std::string near(const llvm::Instruction& at);  // "make() bank.c:12"
  model::Site site_of(const llvm::DILocation* location);
  const llvm::DILocation* user_location(const llvm::Instruction& at, int context);  // -1: none

  PointsTo& points_to_;
  const Paths& paths_;
  const Contexts& contexts_;
  const Summaries& summaries_;
  std::string program_;
  symbols::SourceText sources_;
  std::map<const llvm::Value*, const llvm::DIGlobalVariable*> globals_;
};

}  // namespace deadheat::scan
