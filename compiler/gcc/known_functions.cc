// Names: of functions in the object, of those of the runtime, and of those that never begin a
// region.
#include "compiler/gcc/passes.h"

namespace deadheat::gcc {
namespace {

constexpr const char* kPrefixes[] = {
#define PREFIX(text) text,
#define NAME(text)
#include "compiler/pass/known_functions.inc"
#undef PREFIX
#undef NAME
};

const std::set<std::string>& names() {
  static const std::set<std::string> set = {
#define PREFIX(text)
#define NAME(text) text,
#include "compiler/pass/known_functions.inc"
#undef PREFIX
#undef NAME
  };
  return set;
}

bool begins_with(const std::string& name, const char* prefix) { return name.rfind(prefix, 0) == 0; }

bool is_library_function(tree callee) {
  return fndecl_built_in_p(callee, BUILT_IN_NORMAL) || DECL_IS_OPERATOR_NEW_P(callee);
}

}  // namespace

// gcc marks names that the user wrote in assembly (`asm("name")`) with a star.
std::string assembler_name(const_tree declaration) {
  const char* name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(const_cast<tree>(declaration)));
  return name[0] == '*' ? name + 1 : name;
}

// gcc's garbage collector frees what only a plugin refers to, so the declarations are in a chain of
// their own, registered as a root.
tree runtime_function(const char* name, tree type) {
  static tree chain = NULL_TREE;
  static ggc_root_tab roots[] = {
      {&chain, 1, sizeof chain, &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node}, LAST_GGC_ROOT_TAB};
  static bool told = false;
  if (!told) ggc_register_root_tab(roots);
  told = true;
  tree wanted = get_identifier(name);
  for (tree each = chain; each != NULL_TREE; each = TREE_CHAIN(each))
    if (TREE_PURPOSE(each) == wanted) return TREE_VALUE(each);
  tree function = build_fn_decl(name, type);
  TREE_NOTHROW(function) = 1;
  DECL_ATTRIBUTES(function) =
      tree_cons(get_identifier("leaf"), NULL_TREE, DECL_ATTRIBUTES(function));
  chain = tree_cons(wanted, function, chain);
  return function;
}

bool is_known_function(tree callee) {
  if (is_library_function(callee)) return true;
  const std::string name = assembler_name(callee);
  if (names().count(name) != 0) return true;
  for (const char* prefix : kPrefixes)
    if (begins_with(name, prefix)) return true;
  return false;
}

// Neither synchronises nor calls what does, by what is known of its name: not the same as known to
// the runtime.
bool is_harmless_call(tree callee) {
  const std::string name = assembler_name(callee);
  if (begins_with(name, "__atomic_") || begins_with(name, "__sync_") ||
      begins_with(name, "__tsan_"))
    return false;
  return is_library_function(callee) || begins_with(name, "_ZNSt7__cxx1112basic_string") ||
         begins_with(name, "_ZNKSt7__cxx1112basic_string");
}

}  // namespace deadheat::gcc
