// The lock inside std::atomic<std::shared_ptr> is given back with release order at least:
// compiler/pass/library_locks.cc says why. The function that does so has the order as its second
// argument, which is replaced while the function is still one of its own.
#include "abi/library_locks.h"

#include "compiler/gcc/passes.h"
//
#include "tree-cfg.h"
#include "tree-dfa.h"

namespace deadheat::gcc {

bool is_library_unlock(const_tree declaration) {
  return assembler_name(declaration).find(DEADHEAT_POINTER_UNLOCK) != std::string::npos;
}

void order_library_unlock(function* fun) {
  tree order = DECL_ARGUMENTS(fun->decl);
  order = order == NULL_TREE ? order : DECL_CHAIN(order);
  tree name = order == NULL_TREE ? order : ssa_default_def(fun, order);
  if (name != NULL_TREE) replace_uses_by(name, build_int_cst(TREE_TYPE(order), __ATOMIC_RELEASE));
}

}  // namespace deadheat::gcc
