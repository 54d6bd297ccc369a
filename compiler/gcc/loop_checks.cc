// One check before a loop for all accesses that a statement of it makes:
// compiler/pass/loop_checks.cc says when, and why nothing is lost or invented. Here the loop's own
// check is a call that is there already; it moves behind a condition.
//
// Of what clang's part does, accesses that are neighbours are not made one check here.
#include "abi/regions.h"
#include "compiler/gcc/passes.h"
//
#include "asan.h"
#include "cfgloop.h"
#include "tree-chrec.h"
#include "tree-into-ssa.h"
#include "tree-scalar-evolution.h"
#include "tree-ssa-loop-ivopts.h"
#include "tree-ssa-loop-manip.h"
#include "tree-ssa-loop-niter.h"
#include "tree-ssa-loop.h"

namespace deadheat::gcc {
namespace {

// Turns below which one check costs as much as theirs.
constexpr int kLeastTurns = 6;
constexpr HOST_WIDE_INT kLargestAccess = 128;

// What a statement of the loop accesses: begin + turn * stride.
struct Pattern {
  gcall* check = nullptr;
  tree begin = NULL_TREE;
  tree stride = NULL_TREE;
  HOST_WIDE_INT size = 0;
  bool write = false;
};

// Where the loop is left: at its end, and nowhere else.
edge end_of(class loop* loop) {
  if (loop->inner != nullptr || loop->latch == nullptr) return nullptr;
  edge exit = single_exit(loop);
  if (exit == nullptr || exit->src == loop->latch) return exit;
  const bool last = single_pred_p(loop->latch) && single_pred(loop->latch) == exit->src &&
                    empty_block_p(loop->latch);
  return last ? exit : nullptr;
}

// Neither synchronises nor can end, throw or go on for ever in the middle of a turn.
bool passes_on(gimple* statement) {
  if (may_synchronise(statement) || stmt_could_throw_p(cfun, statement)) return false;
  auto* call = dyn_cast<gcall*>(statement);
  return call == nullptr ||
         (gimple_call_flags(call) & (ECF_LOOPING_CONST_OR_PURE | ECF_NORETURN)) == 0;
}

class LoopChecks {
 public:
  LoopChecks(class loop* loop, edge exit) : loop_(loop), exit_(exit) {}

  unsigned take() {
    basic_block* blocks = get_loop_body(loop_);
    bool taken = true;
    for (unsigned i = 0; i < loop_->num_nodes; ++i) taken = taken && look_at(blocks[i]);
    free(blocks);
    if (!taken || patterns_.empty() || !count_turns()) return 0;
    build();
    return static_cast<unsigned>(patterns_.size());
  }

 private:
  bool look_at(basic_block block) {
    const bool each_turn = dominated_by_p(CDI_DOMINATORS, exit_->src, block);
    for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
      if (!passes_on(gsi_stmt(at))) return false;
      auto* call = dyn_cast<gcall*>(gsi_stmt(at));
      if (call != nullptr && each_turn) add(call);
    }
    return true;
  }

  void add(gcall* call) {
    Pattern pattern;
    pattern.check = call;
    pattern.size = checked_size(call, pattern.write);
    if (pattern.size == 0 || pattern.size > kLargestAccess) return;
    tree address = gimple_call_arg(call, 0);
    if (expr_invariant_in_loop_p(loop_, address)) {
      pattern.begin = address;
      pattern.stride = build_int_cst(long_integer_type_node, 0);
    } else {
      affine_iv places;
      if (!simple_iv(loop_, loop_, address, &places, true)) return;
      pattern.begin = places.base;
      pattern.stride = fold_convert(long_integer_type_node, places.step);
    }
    if (!expression_expensive_p(pattern.begin) && !expression_expensive_p(pattern.stride))
      patterns_.push_back(pattern);
  }

  bool count_turns() {
    class tree_niter_desc description;
    if (!number_of_iterations_exit(loop_, exit_, &description, false)) return false;
    tree back = description.niter;
    if (back == NULL_TREE || chrec_contains_undetermined(back) || expression_expensive_p(back))
      return false;
    if (!integer_zerop(description.may_be_zero))
      back = fold_build3(COND_EXPR, TREE_TYPE(back), description.may_be_zero,
                         build_int_cst(TREE_TYPE(back), 0), back);
    turns_ = fold_build2(PLUS_EXPR, long_unsigned_type_node,
                         fold_convert(long_unsigned_type_node, unshare_expr(back)),
                         build_int_cst(long_unsigned_type_node, 1));
    return true;
  }

  // A read of what the same turn writes, or what an earlier statement accesses alike.
  bool is_checked_too(size_t index) const {
    const Pattern& wanted = patterns_[index];
    for (size_t i = 0; i < patterns_.size(); ++i) {
      const Pattern& other = patterns_[i];
      if (i == index || other.size < wanted.size ||
          !operand_equal_p(other.begin, wanted.begin, 0) ||
          !operand_equal_p(other.stride, wanted.stride, 0))
        continue;
      if ((other.write && !wanted.write) || (i < index && other.write == wanted.write)) return true;
    }
    return false;
  }

  static tree value_at(gimple_stmt_iterator& at, tree expression) {
    return force_gimple_operand_gsi(&at, unshare_expr(expression), true, NULL_TREE, true,
                                    GSI_SAME_STMT);
  }

  // Before the loop: checked = turns >= least && all of the checks.
  void build() {
    const edge way_in = loop_preheader_edge(loop_);
    basic_block before = split_edge(way_in);
    gimple_stmt_iterator at = gsi_start_bb(before);
    gsi_insert_after(&at, gimple_build_nop(), GSI_NEW_STMT);
    std::vector<std::array<tree, 2>> places;
    tree turns = value_at(at, turns_);
    for (const Pattern& pattern : patterns_)
      places.push_back({value_at(at, pattern.begin), value_at(at, pattern.stride)});
    basic_block then = nullptr, join = nullptr;
    gimple_stmt_iterator last = create_cond_insert_point(&at, true, true, true, &then, &join);
    gimple* enough = gimple_build_cond(
        GE_EXPR, turns, build_int_cst(long_unsigned_type_node, kLeastTurns), NULL_TREE, NULL_TREE);
    gsi_insert_after(&last, enough, GSI_NEW_STMT);
    gimple_stmt_iterator code = gsi_start_bb(then);
    tree all = NULL_TREE;
    for (size_t i = 0; i < patterns_.size(); ++i) {
      if (is_checked_too(i)) continue;
      tree answer = call_check(code, patterns_[i], places[i], turns);
      if (all != NULL_TREE) {
        tree both = make_ssa_name(integer_type_node);
        gsi_insert_after(&code, gimple_build_assign(both, BIT_AND_EXPR, all, answer), GSI_NEW_STMT);
        answer = both;
      }
      all = answer;
    }
    gphi* checked = create_phi_node(make_ssa_name(integer_type_node), join);
    edge from;
    edge_iterator each;
    FOR_EACH_EDGE(from, each, join->preds) {
      add_phi_arg(checked, from->src == then ? all : integer_zero_node, from, UNKNOWN_LOCATION);
    }
    for (const Pattern& pattern : patterns_) guard(pattern.check, gimple_phi_result(checked));
  }

  static tree call_check(gimple_stmt_iterator& code, const Pattern& pattern,
                         const std::array<tree, 2>& place, tree turns) {
    tree type =
        build_function_type_list(integer_type_node, ptr_type_node, long_integer_type_node,
                                 long_unsigned_type_node, long_unsigned_type_node, NULL_TREE);
    const HOST_WIDE_INT kind = pattern.size | (pattern.write ? DEADHEAT_LOOP_WRITES : 0);
    gcall* call = gimple_build_call(runtime_function("__deadheat_loop", type), 4, place[0],
                                    place[1], turns, build_int_cst(long_unsigned_type_node, kind));
    tree answer = make_ssa_name(integer_type_node);
    gimple_call_set_lhs(call, answer);
    gimple_set_location(call, gimple_location(pattern.check));
    gsi_insert_after(&code, call, GSI_NEW_STMT);
    return answer;
  }

  // The loop's own check goes behind `if (!checked)`.
  static void guard(gcall* check, tree checked) {
    gimple_stmt_iterator at = gsi_for_stmt(check);
    basic_block then = nullptr, join = nullptr;
    gimple_stmt_iterator last = create_cond_insert_point(&at, true, false, true, &then, &join);
    gimple* unchecked =
        gimple_build_cond(EQ_EXPR, checked, integer_zero_node, NULL_TREE, NULL_TREE);
    gsi_insert_after(&last, unchecked, GSI_NEW_STMT);
    gimple_stmt_iterator old = gsi_for_stmt(check);
    unlink_stmt_vdef(check);
    gimple_set_vdef(check, NULL_TREE);
    gimple_set_vuse(check, NULL_TREE);
    gsi_remove(&old, false);
    gimple_stmt_iterator place = gsi_start_bb(then);
    gsi_insert_after(&place, check, GSI_NEW_STMT);
    update_stmt(check);
  }

  class loop* loop_;
  edge exit_;
  std::vector<Pattern> patterns_;
  tree turns_ = NULL_TREE;
};

}  // namespace

unsigned check_loops_once(function* fun) {
  loop_optimizer_init(LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
  if (number_of_loops(fun) <= 1) {
    loop_optimizer_finalize();
    return 0;
  }
  scev_initialize();
  calculate_dominance_info(CDI_DOMINATORS);
  unsigned taken = 0;
  for (auto loop : loops_list(fun, LI_ONLY_INNERMOST)) {
    edge exit = end_of(loop);
    if (exit != nullptr) taken += LoopChecks(loop, exit).take();
  }
  if (taken > 0) mark_virtual_operands_for_renaming(fun);
  scev_finalize();
  loop_optimizer_finalize();
  return taken;
}

}  // namespace deadheat::gcc
