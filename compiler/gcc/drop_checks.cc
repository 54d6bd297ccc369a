// Accesses whose check can find no race that another check does not find: the two rules of
// compiler/pass/drop_checks.cc, which says why they lose nothing. Here the checks are there
// already, and the calls go.
//
// Local: gcc's own points-to analysis knows that the memory never leaves the function. Covered: on
// every path to the check another one of the same bytes came, no weaker, and nothing since that may
// synchronise.
#include "compiler/gcc/passes.h"
//
#include "builtins.h"
#include "cfganal.h"
#include "tree-dfa.h"

namespace deadheat::gcc {
namespace {

bool is_string_function(tree callee) {
  switch (DECL_FUNCTION_CODE(callee)) {
    case BUILT_IN_MEMCPY:
    case BUILT_IN_MEMMOVE:
    case BUILT_IN_MEMSET:
    case BUILT_IN_MEMCMP:
    case BUILT_IN_STRLEN:
    case BUILT_IN_STRCMP:
    case BUILT_IN_STRNCMP:
      return true;
    default:
      return false;
  }
}

}  // namespace

HOST_WIDE_INT checked_size(gcall* call, bool& write) {
  tree callee = gimple_call_internal_p(call) ? NULL_TREE : gimple_call_fndecl(call);
  if (callee == NULL_TREE || !fndecl_built_in_p(callee, BUILT_IN_NORMAL)) return 0;
  const auto code = DECL_FUNCTION_CODE(callee);
  write = false;
  switch (code) {
    case BUILT_IN_TSAN_READ1:
      return 1;
    case BUILT_IN_TSAN_READ2:
      return 2;
    case BUILT_IN_TSAN_READ4:
      return 4;
    case BUILT_IN_TSAN_READ8:
      return 8;
    case BUILT_IN_TSAN_READ16:
      return 16;
    default:
      break;
  }
  write = true;
  switch (code) {
    case BUILT_IN_TSAN_WRITE1:
      return 1;
    case BUILT_IN_TSAN_WRITE2:
      return 2;
    case BUILT_IN_TSAN_WRITE4:
      return 4;
    case BUILT_IN_TSAN_WRITE8:
      return 8;
    case BUILT_IN_TSAN_WRITE16:
      return 16;
    default:
      break;
  }
  if (code != BUILT_IN_TSAN_READ_RANGE && code != BUILT_IN_TSAN_WRITE_RANGE) return 0;
  write = code == BUILT_IN_TSAN_WRITE_RANGE;
  tree size = gimple_call_arg(call, 1);
  return tree_fits_shwi_p(size) ? tree_to_shwi(size) : 0;
}

bool may_synchronise(gimple* statement) {
  if (gimple_has_volatile_ops(statement) || gimple_code(statement) == GIMPLE_ASM) return true;
  auto* call = dyn_cast<gcall*>(statement);
  if (call == nullptr || (gimple_call_flags(call) & (ECF_CONST | ECF_NOVOPS)) != 0) return false;
  bool write = false;
  if (checked_size(call, write) > 0) return false;
  tree callee = gimple_call_internal_p(call) ? NULL_TREE : gimple_call_fndecl(call);
  return callee == NULL_TREE || !fndecl_built_in_p(callee, BUILT_IN_NORMAL) ||
         !is_string_function(callee);
}

namespace {

// Bits of all sets together; beyond it (huge generated functions) nothing is dropped as covered.
constexpr size_t kMostBits = size_t{1} << 28;

struct Access {
  tree base = NULL_TREE;  // an SSA name or a variable; none: not understood
  HOST_WIDE_INT offset = 0;
  HOST_WIDE_INT size = 0;
  bool write = false;
};

// Follows an address to what it is an offset from.
void resolve(tree address, Access& access) {
  for (int steps = 0; steps < 16; ++steps) {
    gimple* made = TREE_CODE(address) == SSA_NAME ? SSA_NAME_DEF_STMT(address) : nullptr;
    tree expression = address;
    if (made != nullptr && is_gimple_assign(made)) {
      const tree_code code = gimple_assign_rhs_code(made);
      if (code == POINTER_PLUS_EXPR && tree_fits_shwi_p(gimple_assign_rhs2(made))) {
        access.offset += static_cast<HOST_WIDE_INT>(
            tree_to_uhwi(fold_convert(sizetype, gimple_assign_rhs2(made))));
        address = gimple_assign_rhs1(made);
        continue;
      }
      if (code == SSA_NAME ||
          (CONVERT_EXPR_CODE_P(code) && POINTER_TYPE_P(TREE_TYPE(gimple_assign_rhs1(made))))) {
        address = gimple_assign_rhs1(made);
        continue;
      }
      if (code == ADDR_EXPR) expression = gimple_assign_rhs1(made);
    }
    if (TREE_CODE(expression) != ADDR_EXPR) break;
    poly_int64 offset = 0;
    HOST_WIDE_INT constant = 0;
    tree base = get_addr_base_and_unit_offset(TREE_OPERAND(expression, 0), &offset);
    if (base == NULL_TREE || !offset.is_constant(&constant)) break;
    if (DECL_P(base)) {
      access.offset += constant;
      access.base = base;
      return;
    }
    if (TREE_CODE(base) != MEM_REF || !mem_ref_offset(base).to_shwi(&offset) ||
        !offset.is_constant())
      break;
    access.offset += constant + offset.to_constant();
    address = TREE_OPERAND(base, 0);
  }
  access.base = TREE_CODE(address) == SSA_NAME ? address : NULL_TREE;
}

bool is_private(const Access& access) {
  if (flag_tree_pta == 0) return false;
  if (TREE_CODE(access.base) != SSA_NAME)
    return VAR_P(access.base) && auto_var_in_fn_p(access.base, cfun->decl) &&
           !pt_solution_includes(&cfun->gimple_df->escaped, access.base);
  ptr_info_def* info = SSA_NAME_PTR_INFO(access.base);
  return info != nullptr && !pt_solution_empty_p(&info->pt) &&
         !pt_solution_includes_global(&info->pt, true);
}

}  // namespace

bool is_private_memory(tree address) {
  Access access;
  resolve(address, access);
  return access.base != NULL_TREE && is_private(access);
}

namespace {

class Covered {
 public:
  void add(gcall* call, const Access& access) {
    access_[call] = access;
    for (const bool write : {false, true}) {
      if (write && !access.write) continue;
      Access fact = access;
      fact.write = write;
      if (find(fact) >= 0) continue;
      facts_of_[fact.base].push_back(facts_.size());
      facts_.push_back(fact);
    }
  }

  unsigned drop(function* fun) {
    const size_t blocks = last_basic_block_for_fn(fun);
    if (facts_.empty() || facts_.size() * blocks > kMostBits) return 0;
    std::vector<int> order(n_basic_blocks_for_fn(fun));
    const int count = pre_and_rev_post_order_compute_fn(fun, nullptr, order.data(), false);
    order.resize(count);
    solve(fun, order);
    unsigned dropped = 0;
    for (const int index : order) {
      Facts known = at_entry(BASIC_BLOCK_FOR_FN(fun, index));
      for (gimple_stmt_iterator at = gsi_start_bb(BASIC_BLOCK_FOR_FN(fun, index));
           !gsi_end_p(at);) {
        gimple* statement = gsi_stmt(at);
        const auto found = access_.find(statement);
        if (found == access_.end() || !covers(known, found->second)) {
          step(statement, known);
          gsi_next(&at);
          continue;
        }
        remove_check(at);
        ++dropped;
      }
    }
    return dropped;
  }

  static void remove_check(gimple_stmt_iterator& at) {
    gimple* statement = gsi_stmt(at);
    unlink_stmt_vdef(statement);
    gsi_remove(&at, true);
    release_defs(statement);
  }

 private:
  using Facts = std::vector<bool>;

  int find(const Access& wanted) const {
    const auto list = facts_of_.find(wanted.base);
    if (list == facts_of_.end()) return -1;
    for (const size_t number : list->second) {
      const Access& fact = facts_[number];
      if (fact.offset == wanted.offset && fact.size == wanted.size && fact.write == wanted.write)
        return static_cast<int>(number);
    }
    return -1;
  }

  bool covers(const Facts& known, const Access& access) const {
    for (const size_t number : facts_of_.find(access.base)->second) {
      const Access& fact = facts_[number];
      if (known[number] && fact.offset <= access.offset &&
          fact.offset + fact.size >= access.offset + access.size && (fact.write || !access.write))
        return true;
    }
    return false;
  }

  void forget(tree name, Facts& known) const {
    const auto redefined = facts_of_.find(name);
    if (redefined == facts_of_.end()) return;
    for (const size_t number : redefined->second) known[number] = false;
  }

  void step(gimple* statement, Facts& known) const {
    ssa_op_iter each;
    tree name;
    FOR_EACH_SSA_TREE_OPERAND(name, statement, each, SSA_OP_DEF) forget(name, known);
    if (may_synchronise(statement)) known.assign(known.size(), false);
    const auto found = access_.find(statement);
    if (found == access_.end()) return;
    Access fact = found->second;
    for (const bool write : {false, true}) {
      if (write && !found->second.write) continue;
      fact.write = write;
      known[find(fact)] = true;
    }
  }

  Facts at_entry(basic_block block) const {
    Facts known(facts_.size(), true);
    bool any = false;
    edge from;
    edge_iterator each;
    FOR_EACH_EDGE(from, each, block->preds) {
      const auto out = at_exit_.find(from->src->index);
      if (out == at_exit_.end()) {
        if (from->src == ENTRY_BLOCK_PTR_FOR_FN(cfun)) known.assign(known.size(), false);
        continue;  // unreachable ones say nothing
      }
      any = true;
      for (size_t i = 0; i < known.size(); ++i) known[i] = known[i] && out->second[i];
    }
    if (!any) known.assign(known.size(), false);
    for (gphi_iterator at = gsi_start_phis(block); !gsi_end_p(at); gsi_next(&at))
      forget(gimple_phi_result(at.phi()), known);
    return known;
  }

  void solve(function* fun, const std::vector<int>& order) {
    for (const int index : order) at_exit_[index] = Facts(facts_.size(), true);
    for (bool changed = true; changed;) {
      changed = false;
      for (const int index : order) {
        basic_block block = BASIC_BLOCK_FOR_FN(fun, index);
        Facts known = at_entry(block);
        for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at))
          step(gsi_stmt(at), known);
        changed |= known != at_exit_[index];
        at_exit_[index] = std::move(known);
      }
    }
  }

  std::vector<Access> facts_;
  std::map<tree, std::vector<size_t>> facts_of_;
  std::map<gimple*, Access> access_;
  std::map<int, Facts> at_exit_;
};

}  // namespace

DropCounts drop_checks(function* fun) {
  DropCounts counts;
  Covered covered;
  basic_block block;
  FOR_EACH_BB_FN(block, fun) {
    for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at);) {
      auto* call = dyn_cast<gcall*>(gsi_stmt(at));
      Access access;
      if (call != nullptr) access.size = checked_size(call, access.write);
      if (access.size > 0) {
        ++counts.accesses;
        resolve(gimple_call_arg(call, 0), access);
      }
      if (access.base != NULL_TREE && is_private(access)) {
        Covered::remove_check(at);
        ++counts.locals;
        continue;
      }
      if (access.base != NULL_TREE) covered.add(call, access);
      gsi_next(&at);
    }
  }
  counts.covered = covered.drop(fun);
  return counts;
}

}  // namespace deadheat::gcc
