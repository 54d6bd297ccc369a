// memcpy, memmove, mempcpy and memset of a constant size: gcc expands them in line, behind its
// thread sanitizer pass, which does not look at calls. So the bytes are told in front of the call.
// If it stays a call of libc, the runtime sees the bytes twice, which costs little and changes
// nothing.
//
// Left: sizes that gcc leaves to libc (unknown, or above kMostInline), and memory that never leaves
// the function.
#include "compiler/gcc/passes.h"
//
#include "builtins.h"
#include "tree-into-ssa.h"

namespace deadheat::gcc {
namespace {

constexpr HOST_WIDE_INT kMostInline = 8192;  // x86's tables of string operations

HOST_WIDE_INT inline_size(gcall* call) {
  tree callee = gimple_call_internal_p(call) ? NULL_TREE : gimple_call_fndecl(call);
  if (callee == NULL_TREE || !gimple_call_builtin_p(call, BUILT_IN_NORMAL)) return 0;
  switch (DECL_FUNCTION_CODE(callee)) {
    case BUILT_IN_MEMCPY:
    case BUILT_IN_MEMMOVE:
    case BUILT_IN_MEMPCPY:
    case BUILT_IN_MEMSET:
      break;
    default:
      return 0;
  }
  tree size = gimple_call_arg(call, 2);
  if (!tree_fits_shwi_p(size)) return 0;
  const HOST_WIDE_INT bytes = tree_to_shwi(size);
  return bytes > 0 && bytes <= kMostInline ? bytes : 0;
}

bool check(gimple_stmt_iterator& at, tree begin, HOST_WIDE_INT size, bool write) {
  if (optimize > 0 && is_private_memory(begin)) return false;
  tree type =
      build_function_type_list(void_type_node, ptr_type_node, long_unsigned_type_node, NULL_TREE);
  gcall* call =
      gimple_build_call(runtime_function(write ? "__tsan_write_range" : "__tsan_read_range", type),
                        2, begin, build_int_cst(long_unsigned_type_node, size));
  gimple_set_location(call, gimple_location(gsi_stmt(at)));
  gsi_insert_before(&at, call, GSI_SAME_STMT);
  return true;
}

}  // namespace

unsigned check_string_calls(function* fun) {
  unsigned checked = 0;
  basic_block block;
  FOR_EACH_BB_FN(block, fun) {
    for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
      auto* call = dyn_cast<gcall*>(gsi_stmt(at));
      const HOST_WIDE_INT size = call == nullptr ? 0 : inline_size(call);
      if (size == 0) continue;
      const bool copies = DECL_FUNCTION_CODE(gimple_call_fndecl(call)) != BUILT_IN_MEMSET;
      if (copies && check(at, gimple_call_arg(call, 1), size, false)) ++checked;
      if (check(at, gimple_call_arg(call, 0), size, true)) ++checked;
    }
  }
  if (checked > 0) mark_virtual_operands_for_renaming(fun);
  return checked;
}

}  // namespace deadheat::gcc
