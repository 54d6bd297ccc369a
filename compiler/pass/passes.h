// The parts of the plugin, each a page, each over one function or module, in this order:
//
//   library locks   before anything is inlined: a lock of libstdc++'s is given back with release
//
//   small copies    of a few words become loads and stores
//   drop checks     accesses that cannot matter get !nosanitize
//   loop checks     accesses of a loop that does not synchronise: one check before it
//   wide accesses   ThreadSanitizer's pass skips sizes other than 1, 2, 4, 8, 16 (vectors of 32
//                   bytes, long double): a range check in front of them
//   last stores     relaxed stores of C++20 say that they are
//   inline assembly atomic operations and stores in assembly get acquire and release
//   inline copies   which inline functions synchronise: another object's copy may run
//   regions         calls that may leave instrumented code get begin and end
//   functions       the section with the addresses of instrumented functions
//
//   inline checks   after ThreadSanitizer's pass: what most checks find, without a call
//
// They run where clang's own sanitizer passes do, just before them: what is left is instrumented by
// ThreadSanitizer's pass as always. Everything inserted here carries !nosanitize.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>

#include <cstdint>

namespace llvm {
class AAResults;
class DataLayout;
class DominatorTree;
class Function;
class Instruction;
class Module;
class TargetLibraryInfo;
}  // namespace llvm

namespace deadheat::pass {

struct DropCounts {
  uint32_t accesses = 0;  // plain loads and stores looked at
  uint32_t locals = 0;    // dropped: memory that no other thread can know
  uint32_t covered = 0;   // dropped: an earlier check is equivalent
};

bool instrumented(const llvm::Function& function);  // ThreadSanitizer's pass will work on it
void mark_ours(llvm::Instruction& instruction);     // !nosanitize

bool order_library_locks(llvm::Module& module);
uint32_t expand_small_copies(llvm::Function& function);
uint32_t check_wide_accesses(llvm::Function& function);
bool compiles_cxx20();
uint32_t mark_last_stores(llvm::Function& function);
uint32_t order_inline_assembly(llvm::Function& function);
DropCounts drop_checks(llvm::Function& function);
// Whether, between two accesses of a thread, it may order one of them with other threads' accesses.
bool may_synchronise(const llvm::Instruction& instruction);
// A load or store that ThreadSanitizer's pass would check.
bool is_plain_access(llvm::Instruction& instruction, const llvm::DataLayout& layout);
uint32_t check_loops_once(llvm::Function& function, llvm::TargetLibraryInfo& library);

// The inline functions whose copy in another object could hide synchronisation (inline_copies.cc).
class InlineCopies {
 public:
  InlineCopies(const llvm::Module& module, const llvm::TargetLibraryInfo& library);
  bool may_hide(const llvm::Function& callee) const;

 private:
  bool synchronises(const llvm::Function& function, const llvm::TargetLibraryInfo& library) const;

  llvm::SmallPtrSet<const llvm::Function*, 32> synchronising_;
};

uint32_t mark_regions(llvm::Function& function, const llvm::TargetLibraryInfo& library,
                      const InlineCopies& copies);
bool emit_functions_section(llvm::Module& module);
bool inlines_checks();
// In a function that ThreadSanitizer's pass has seen.
uint32_t inline_checks(llvm::Function& function);

// Functions that the runtime models, or that touch no memory visible to other threads: decided by
// name, from known_functions.inc and LLVM's own list of library functions.
bool is_known_function(const llvm::Function& callee, const llvm::TargetLibraryInfo& library);

}  // namespace deadheat::pass
