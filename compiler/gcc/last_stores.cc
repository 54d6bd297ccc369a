// Relaxed atomic stores of C++20 or later get a bit in their order (abi/regions.h):
// compiler/pass/last_stores.cc says why.
#include "abi/regions.h"
#include "compiler/gcc/passes.h"
//
#include "builtins.h"

namespace deadheat::gcc {
namespace {

bool is_atomic_store(tree callee) {
  if (callee == NULL_TREE || !fndecl_built_in_p(callee, BUILT_IN_NORMAL)) return false;
  switch (DECL_FUNCTION_CODE(callee)) {
    case BUILT_IN_TSAN_ATOMIC8_STORE:
    case BUILT_IN_TSAN_ATOMIC16_STORE:
    case BUILT_IN_TSAN_ATOMIC32_STORE:
    case BUILT_IN_TSAN_ATOMIC64_STORE:
    case BUILT_IN_TSAN_ATOMIC128_STORE:
      return true;
    default:
      return false;
  }
}

// The order with the bit if it is relaxed; nothing if it is known to be another one. Without
// optimisation std::atomic's functions are called, and their order is a variable: order | (order ==
// 0) << bit.
tree with_bit(gimple_stmt_iterator& at, tree order) {
  static_assert(DEADHEAT_ORDER_CXX20 == 1 << 20);
  if (TREE_CODE(order) == INTEGER_CST)
    return integer_zerop(order) ? build_int_cst(TREE_TYPE(order), DEADHEAT_ORDER_CXX20) : NULL_TREE;
  const auto make = [&](tree type, tree_code code, tree left, tree right) {
    tree name = make_ssa_name(type);
    gsi_insert_before(&at, gimple_build_assign(name, code, left, right), GSI_SAME_STMT);
    return name;
  };
  tree type = TREE_TYPE(order);
  tree relaxed = make(boolean_type_node, EQ_EXPR, order, build_int_cst(type, 0));
  tree one = make(type, NOP_EXPR, relaxed, NULL_TREE);
  return make(type, BIT_IOR_EXPR, order, make(type, LSHIFT_EXPR, one, build_int_cst(type, 20)));
}

}  // namespace

unsigned mark_last_stores(function* fun) {
  constexpr unsigned kOrder = 2;
  unsigned marked = 0;
  basic_block block;
  FOR_EACH_BB_FN(block, fun) {
    for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
      auto* call = dyn_cast<gcall*>(gsi_stmt(at));
      if (call == nullptr || gimple_call_internal_p(call) ||
          !is_atomic_store(gimple_call_fndecl(call)))
        continue;
      tree order = with_bit(at, gimple_call_arg(call, kOrder));
      if (order == NULL_TREE) continue;
      gimple_call_set_arg(call, kOrder, order);
      update_stmt(call);
      ++marked;
    }
  }
  return marked;
}

}  // namespace deadheat::gcc
