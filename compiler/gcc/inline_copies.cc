// Inline functions that exist in several objects: compiler/pass/inline_copies.cc says why calls to
// them may leave instrumented code, and which of them cannot matter. Decided for the whole unit
// before gcc expands its functions one by one and forgets their bodies: as they are before inlining
// between functions, which makes no difference here. A clone counts as what it is a clone of.
#include "compiler/gcc/passes.h"

namespace deadheat::gcc {
namespace {

// By name, because nodes of functions go away with their bodies: whether it may synchronise.
// Absent: nobody looked.
std::map<std::string, bool>& looked_at() {
  static std::map<std::string, bool> names;
  return names;
}

bool may_synchronise(const std::string& name) {
  const auto found = looked_at().find(name);
  return found == looked_at().end() || found->second;
}

std::string name_of_origin(const cgraph_node* node) {
  while (node->clone_of != nullptr) node = node->clone_of;
  return assembler_name(node->decl);
}

bool is_atomic_builtin(tree callee) {
  if (!fndecl_built_in_p(callee, BUILT_IN_NORMAL)) return false;
  const std::string name = IDENTIFIER_POINTER(DECL_NAME(callee));
  return name.find("__atomic_") != std::string::npos || name.find("__sync_") != std::string::npos;
}

bool synchronises(gimple* statement) {
  if (gimple_code(statement) == GIMPLE_ASM) return gimple_vuse(statement) != NULL_TREE;
  auto* call = dyn_cast<gcall*>(statement);
  if (call == nullptr || gimple_call_internal_p(call)) return false;
  if ((gimple_call_flags(call) & (ECF_NORETURN | ECF_CONST)) != 0) return false;
  tree callee = gimple_call_fndecl(call);
  if (callee == NULL_TREE || is_atomic_builtin(callee)) return true;
  cgraph_node* node = cgraph_node::get(callee);
  if (node == nullptr || !node->has_gimple_body_p()) return !is_harmless_call(callee);
  return may_synchronise(name_of_origin(node->ultimate_alias_target()));
}

bool synchronises(function* fun) {
  basic_block block;
  FOR_EACH_BB_FN(block, fun) {
    for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at))
      if (synchronises(gsi_stmt(at))) return true;
  }
  return false;
}

}  // namespace

void find_synchronising_copies() {
  std::vector<function*> open;
  cgraph_node* node;
  FOR_EACH_FUNCTION_WITH_GIMPLE_BODY(node) {
    if (node->clone_of != nullptr || node->inlined_to != nullptr) continue;
    if (in_lto_p) node->get_untransformed_body();
    function* fun = DECL_STRUCT_FUNCTION(node->decl);
    if (fun == nullptr || fun->cfg == nullptr) continue;
    open.push_back(fun);
    looked_at()[assembler_name(node->decl)] = false;
  }
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<function*> still;
    for (function* each : open) {
      if (synchronises(each)) {
        looked_at()[assembler_name(each->decl)] = true;
        changed = true;
      } else {
        still.push_back(each);
      }
    }
    open = std::move(still);
  }
}

bool copy_may_hide(tree callee) {
  cgraph_node* node = cgraph_node::get(callee);
  return (DECL_COMDAT(callee) || DECL_WEAK(callee)) && TREE_PUBLIC(callee) &&
         (node == nullptr || may_synchronise(name_of_origin(node->ultimate_alias_target())));
}

}  // namespace deadheat::gcc
