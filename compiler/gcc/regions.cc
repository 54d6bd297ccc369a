// Marks calls that may leave instrumented code, for RDIT: abi/regions.h shows the compiled form,
// compiler/pass/regions.cc does the same for clang.
//
// Whether the callee is instrumented is known only when the program runs. A direct call asks once
// per callee and object and remembers in a byte; an indirect one remembers the last callee of its
// site that needs no region. Calls whose callee is surely the one defined here, known by name,
// noreturn or tail calls by demand are left alone.
//
// Whether a region was entered is an SSA name between the call's two sides. Where the call can
// throw into this function it is a variable in memory instead: pads are shared by marked and other
// calls.
#include "abi/regions.h"

#include "compiler/gcc/passes.h"
//
#include "asan.h"
#include "calls.h"
#include "function.h"
#include "stor-layout.h"

namespace deadheat::gcc {
namespace {

bool may_leave(gcall* call) {
  if (gimple_call_internal_p(call) || gimple_call_must_tail_p(call)) return false;
  if ((gimple_call_flags(call) & (ECF_NORETURN | ECF_RETURNS_TWICE | ECF_CONST)) != 0) return false;
  tree callee = gimple_call_fndecl(call);
  if (callee == NULL_TREE) return TREE_CODE(gimple_call_fn(call)) != INTEGER_CST;
  if (is_known_function(callee)) return false;
  const cgraph_node* node = cgraph_node::get(callee);
  if (DECL_EXTERNAL(callee) || node == nullptr || !node->definition) return !TREE_STATIC(callee);
  return copy_may_hide(callee);
}

tree static_variable(const std::string& name, tree type) {
  tree variable = build_decl(UNKNOWN_LOCATION, VAR_DECL, get_identifier(name.c_str()), type);
  SET_DECL_ASSEMBLER_NAME(variable, DECL_NAME(variable));
  TREE_STATIC(variable) = 1;
  TREE_USED(variable) = 1;
  TREE_ADDRESSABLE(variable) = 1;
  DECL_ARTIFICIAL(variable) = 1;
  DECL_IGNORED_P(variable) = 1;
  DECL_PRESERVE_P(variable) = 1;
  varpool_node::finalize_decl(variable);
  return variable;
}

// The byte of a callee: one per object, so that all calls in it share it. The symbol table keeps
// the trees alive.
tree state_of(tree callee) {
  static std::map<std::string, tree> states;
  const std::string name = "deadheat.state." + assembler_name(callee);
  tree& state = states[name];
  if (state == NULL_TREE) state = static_variable(name, unsigned_char_type_node);
  return state;
}

tree known_callee_of_site() {
  static unsigned number = 0;
  return static_variable("deadheat.known." + std::to_string(number++), ptr_type_node);
}

class Marker {
 public:
  explicit Marker(const std::vector<gcall*>& calls) {
    unsigned most = 0;
    for (gcall* call : calls) {
      most = std::max(most, gimple_call_num_args(call) + 1);
      throws_ |= stmt_can_throw_internal(cfun, call);
    }
    tree type = build_array_type_nelts(ptr_type_node, most);
    arguments_ = create_tmp_var(type, "deadheat_arguments");
    TREE_ADDRESSABLE(arguments_) = 1;
    if (!throws_) return;
    entered_ = create_tmp_var(integer_type_node, "deadheat_entered");
    TREE_ADDRESSABLE(entered_) = 1;
    const edge start = single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun));
    gsi_insert_on_edge_immediate(start, gimple_build_assign(entered_, integer_zero_node));
  }

  void mark(gcall* call) {
    const tree entered = begin(call);
    const location_t where = gimple_location(call);
    if (stmt_ends_bb_p(call)) {
      edge normal = find_fallthru_edge(gimple_bb(call)->succs);
      edge other;
      edge_iterator each;
      FOR_EACH_EDGE(other, each, gimple_bb(call)->succs) {
        if ((other->flags & EDGE_EH) != 0) pads_[other->dest] = where;
      }
      if (normal == nullptr) return;
      gimple_stmt_iterator after = gsi_start_bb(split_edge(normal));
      if (gsi_end_p(after)) gsi_insert_after(&after, gimple_build_nop(), GSI_NEW_STMT);
      end(after, entered, call, where);
    } else {
      gimple_stmt_iterator after = gsi_for_stmt(call);
      gsi_next(&after);
      if (gsi_end_p(after)) {
        after = gsi_last_bb(gimple_bb(call));
        gsi_insert_after(&after, gimple_build_nop(), GSI_NEW_STMT);
      }
      end(after, entered, call, where);
    }
  }

  void finish() {
    for (const auto& [pad, where] : pads_) {
      gimple_stmt_iterator first = gsi_after_labels(pad);
      gsi_insert_before(&first, gimple_build_nop(), GSI_NEW_STMT);
      end(first, NULL_TREE, nullptr, where);
    }
  }

 private:
  static gimple_stmt_iterator condition(gimple_stmt_iterator& at, tree left, tree right,
                                        basic_block& slow, basic_block& join) {
    gimple_stmt_iterator last = create_cond_insert_point(&at, true, false, true, &slow, &join);
    gimple* compare = gimple_build_cond(NE_EXPR, left, right, NULL_TREE, NULL_TREE);
    gsi_insert_after(&last, compare, GSI_NEW_STMT);
    return gsi_start_bb(slow);
  }

  static tree assign_before(gimple_stmt_iterator& at, tree value, tree type) {
    tree name = make_ssa_name(type);
    gsi_insert_before(&at, gimple_build_assign(name, value), GSI_SAME_STMT);
    return name;
  }

  static void append(gimple_stmt_iterator& at, gimple* statement, location_t where) {
    gimple_set_location(statement, where);
    gsi_insert_after(&at, statement, GSI_NEW_STMT);
  }

  // In an object that is not position independent its own address of the function would be a PLT
  // slot: ask the GOT.
  static tree address_of(gimple_stmt_iterator& at, tree callee, location_t where) {
    if (flag_pic != 0 || !DECL_EXTERNAL(callee)) return build_fold_addr_expr(callee);
    const std::string name = assembler_name(callee);
    const std::string text =
        "{movq\t" + name + "@GOTPCREL(%%rip), %0|mov\t%0, QWORD PTR " + name + "@GOTPCREL[rip]}";
    tree address = make_ssa_name(ptr_type_node);
    vec<tree, va_gc>* outputs = nullptr;
    tree constraint = build_tree_list(NULL_TREE, build_string(3, "=r"));
    vec_safe_push(outputs, build_tree_list(constraint, address));
    gasm* assembly =
        gimple_build_asm_vec(ggc_strdup(text.c_str()), nullptr, outputs, nullptr, nullptr);
    SSA_NAME_DEF_STMT(address) = assembly;
    append(at, assembly, where);
    return address;
  }

  tree begin(gcall* call) {
    const location_t where = gimple_location(call);
    gimple_stmt_iterator at = gsi_for_stmt(call);
    tree direct = gimple_call_fndecl(call);
    tree memory = direct != NULL_TREE ? state_of(direct) : known_callee_of_site();
    tree remembered = assign_before(at, memory, TREE_TYPE(memory));
    tree wanted = build_int_cst(unsigned_char_type_node, DEADHEAT_CALLEE_KNOWN);
    if (direct == NULL_TREE) {
      tree function = gimple_call_fn(call);
      if (TREE_CODE(function) == OBJ_TYPE_REF) function = OBJ_TYPE_REF_EXPR(function);
      wanted = make_ssa_name(ptr_type_node);
      gsi_insert_before(&at, gimple_build_assign(wanted, NOP_EXPR, function), GSI_SAME_STMT);
    }
    basic_block slow = nullptr, join = nullptr;
    gimple_stmt_iterator code = condition(at, remembered, wanted, slow, join);
    const unsigned count = store_arguments(code, call, where);
    tree callee = direct != NULL_TREE ? address_of(code, direct, where) : wanted;
    tree hook = runtime_function(
        direct != NULL_TREE ? "__deadheat_region_begin" : "__deadheat_region_begin_indirect",
        build_function_type_list(integer_type_node, ptr_type_node, ptr_type_node, ptr_type_node,
                                 unsigned_type_node, NULL_TREE));
    tree array = count > 0 ? build_fold_addr_expr(arguments_) : null_pointer_node;
    gcall* asked = gimple_build_call(hook, 4, callee, build_fold_addr_expr(memory), array,
                                     build_int_cst(unsigned_type_node, count));
    tree entered = make_ssa_name(integer_type_node);
    gimple_call_set_lhs(asked, entered);
    append(code, asked, where);
    if (stmt_can_throw_internal(cfun, call)) {
      append(code, gimple_build_assign(entered_, entered), where);
      return NULL_TREE;
    }
    gphi* phi = create_phi_node(make_ssa_name(integer_type_node), join);
    edge from;
    edge_iterator each;
    FOR_EACH_EDGE(from, each, join->preds) {
      add_phi_arg(phi, from->src == slow ? entered : integer_zero_node, from, where);
    }
    return gimple_phi_result(phi);
  }

  unsigned store_arguments(gimple_stmt_iterator& code, gcall* call, location_t where) const {
    unsigned count = 0;
    const auto store = [&](tree value) {
      tree place = build4(ARRAY_REF, ptr_type_node, arguments_,
                          build_int_cst(integer_type_node, count++), NULL_TREE, NULL_TREE);
      append(code, gimple_build_assign(place, value), where);
    };
    for (unsigned i = 0; i < gimple_call_num_args(call); ++i) {
      tree argument = gimple_call_arg(call, i);
      if (POINTER_TYPE_P(TREE_TYPE(argument))) {
        if (!integer_zerop(argument)) store(with_size(code, argument, where));
      } else if (AGGREGATE_TYPE_P(TREE_TYPE(argument)) && TREE_CODE(argument) != WITH_SIZE_EXPR) {
        store(place_of(code, argument, where));
      }
    }
    if (returns_in_memory(call)) store(place_of(code, gimple_call_lhs(call), where));
    return count;
  }

  static bool returns_in_memory(gcall* call) {
    tree result = gimple_call_lhs(call);
    return result != NULL_TREE && AGGREGATE_TYPE_P(TREE_TYPE(result)) &&
           aggregate_value_p(result, gimple_call_fntype(call));
  }

  static tree place_of(gimple_stmt_iterator& code, tree aggregate, location_t where) {
    tree base = get_base_address(aggregate);
    if (DECL_P(base)) TREE_ADDRESSABLE(base) = 1;
    tree address = make_ssa_name(ptr_type_node);
    append(code, gimple_build_assign(address, build_fold_addr_expr(unshare_expr(aggregate))),
           where);
    return address;
  }

  // A pointer to a variable of this frame is passed as the variable with its size above the
  // address: what lies beside it on the stack is not reachable through it.
  static tree with_size(gimple_stmt_iterator& code, tree argument, location_t where) {
    tree variable = local_behind(argument);
    if (variable == NULL_TREE || !tree_fits_uhwi_p(DECL_SIZE_UNIT(variable))) return argument;
    const unsigned HOST_WIDE_INT size = tree_to_uhwi(DECL_SIZE_UNIT(variable));
    if (size == 0 || size >> 16 != 0) return argument;
    tree word = make_ssa_name(long_unsigned_type_node);
    append(code, gimple_build_assign(word, NOP_EXPR, build_fold_addr_expr(variable)), where);
    tree both = make_ssa_name(long_unsigned_type_node);
    tree high = build_int_cst(long_unsigned_type_node, size << DEADHEAT_SIZE_SHIFT);
    append(code, gimple_build_assign(both, BIT_IOR_EXPR, word, high), where);
    tree pointer = make_ssa_name(ptr_type_node);
    append(code, gimple_build_assign(pointer, NOP_EXPR, both), where);
    return pointer;
  }

  static tree local_behind(tree pointer) {
    for (int steps = 0; TREE_CODE(pointer) == SSA_NAME && steps < 8; ++steps) {
      gimple* made = SSA_NAME_DEF_STMT(pointer);
      if (!is_gimple_assign(made)) return NULL_TREE;
      const tree_code code = gimple_assign_rhs_code(made);
      if (code != ADDR_EXPR && code != POINTER_PLUS_EXPR && code != SSA_NAME &&
          !CONVERT_EXPR_CODE_P(code))
        return NULL_TREE;
      pointer = gimple_assign_rhs1(made);
    }
    if (TREE_CODE(pointer) != ADDR_EXPR) return NULL_TREE;
    tree base = get_base_address(TREE_OPERAND(pointer, 0));
    const bool local = base != NULL_TREE && VAR_P(base) && auto_var_in_fn_p(base, cfun->decl) &&
                       DECL_SIZE_UNIT(base);
    return local ? base : NULL_TREE;
  }

  // The pointer that the call returned, itself or as the first one in a structure.
  static tree result_of(gimple_stmt_iterator& code, gcall* call, location_t where) {
    tree result = call != nullptr ? gimple_call_lhs(call) : NULL_TREE;
    if (result == NULL_TREE || returns_in_memory(call)) return null_pointer_node;
    if (POINTER_TYPE_P(TREE_TYPE(result)) && TREE_CODE(result) == SSA_NAME) return result;
    tree read = NULL_TREE;
    if (POINTER_TYPE_P(TREE_TYPE(result))) {
      read = unshare_expr(result);
    } else if (TREE_CODE(TREE_TYPE(result)) == RECORD_TYPE) {
      for (tree field = TYPE_FIELDS(TREE_TYPE(result)); field != NULL_TREE && read == NULL_TREE;
           field = DECL_CHAIN(field)) {
        if (TREE_CODE(field) == FIELD_DECL && POINTER_TYPE_P(TREE_TYPE(field)))
          read = build3(COMPONENT_REF, TREE_TYPE(field), unshare_expr(result), field, NULL_TREE);
      }
    }
    if (read == NULL_TREE) return null_pointer_node;
    tree name = make_ssa_name(TREE_TYPE(read));
    append(code, gimple_build_assign(name, read), where);
    return name;
  }

  void end(gimple_stmt_iterator& at, tree entered, gcall* call, location_t where) {
    const bool in_memory = entered == NULL_TREE;
    if (in_memory) entered = assign_before(at, entered_, integer_type_node);
    basic_block slow = nullptr, join = nullptr;
    gimple_stmt_iterator code = condition(at, entered, integer_zero_node, slow, join);
    tree result = result_of(code, call, where);
    tree hook =
        runtime_function("__deadheat_region_end",
                         build_function_type_list(void_type_node, ptr_type_node, NULL_TREE));
    append(code, gimple_build_call(hook, 1, result), where);
    if (in_memory) append(code, gimple_build_assign(entered_, integer_zero_node), where);
  }

  tree arguments_ = NULL_TREE;  // one array for all calls, as long as the longest
  tree entered_ = NULL_TREE;    // in memory: whether the region of the call in progress was entered
  bool throws_ = false;
  std::map<basic_block, location_t> pads_;
};

}  // namespace

unsigned mark_regions(function* fun) {
  std::vector<gcall*> calls;
  basic_block block;
  FOR_EACH_BB_FN(block, fun) {
    for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
      auto* call = dyn_cast<gcall*>(gsi_stmt(at));
      if (call != nullptr && may_leave(call)) calls.push_back(call);
    }
  }
  if (calls.empty()) return 0;
  Marker marker(calls);
  for (gcall* call : calls) marker.mark(call);
  marker.finish();
  free_dominance_info(CDI_DOMINATORS);
  return static_cast<unsigned>(calls.size());
}

}  // namespace deadheat::gcc
