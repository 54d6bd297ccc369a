#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Function.h>

#include <algorithm>
#include <iterator>

#include "compiler/pass/passes.h"

namespace deadheat::pass {
namespace {

constexpr llvm::StringLiteral kPrefixes[] = {
#define PREFIX(text) text,
#define NAME(text)
#include "compiler/pass/known_functions.inc"
#undef PREFIX
#undef NAME
};

constexpr llvm::StringLiteral kNames[] = {
#define PREFIX(text)
#define NAME(text) text,
#include "compiler/pass/known_functions.inc"
#undef PREFIX
#undef NAME
};

}  // namespace

bool is_known_function(const llvm::Function& callee, const llvm::TargetLibraryInfo& library) {
  llvm::LibFunc function;
  if (library.getLibFunc(callee, function)) return true;
  const llvm::StringRef name = callee.getName();
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](llvm::StringRef prefix) { return name.starts_with(prefix); }) ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace deadheat::pass
