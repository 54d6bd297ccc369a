// Finds the instructions of a module that are sites of the candidates to validate.
//
// The candidates come from another build: a site is located by its identity (lib/model), its kind
// of access and, if several accesses of the module match, the best of them: the same place,
// otherwise the same line, otherwise the nearest line in the same function.
#pragma once

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/PassManager.h>
#include <llvm/IR/ValueHandle.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/validate/list.h"

namespace llvm {
class Instruction;
class Module;
}  // namespace llvm

namespace deadheat::pass {

// One access that an instruction makes: a copy makes two. The values may be loads that are sites
// themselves (p->next->value): checks replace those by what both ways yield, and this follows.
struct Reach {
  llvm::WeakTrackingVH pointer;
  llvm::WeakTrackingVH length;  // null: `size` bytes
  uint64_t size = 0;
  bool write = false, read = false, atomic = false, frees = false;
};

struct Check {
  uint32_t site = 0;
  Reach reach;
};

struct SiteFate {
  uint32_t fate = 0;  // DHV_FATE_*; 0: not in this module
  uint32_t line = 0, count = 0;
};

struct FoundSites {
  llvm::MapVector<llvm::Instruction*, std::vector<Check>> checks;
  std::map<uint32_t, SiteFate> fates;  // by number of the site
};

FoundSites find_sites(llvm::Module& module, const validate::List& list);

void instrument_for_validation(llvm::Module& module, llvm::FunctionAnalysisManager& manager,
                               const validate::List& list);

}  // namespace deadheat::pass
