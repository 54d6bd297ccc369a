// Locks written in inline assembly get __tsan_release in front and __tsan_acquire behind:
// compiler/pass/inline_assembly.cc says which statements, and what is not seen.
#include "compiler/gcc/passes.h"
#include "compiler/pass/assembly_text.h"

namespace deadheat::gcc {
namespace {

using pass::AssemblyMeaning;

struct Statement {
  AssemblyMeaning meaning = AssemblyMeaning::kNothing;
  std::vector<tree> objects;  // addresses; not yet gimple values
};

bool names_memory(const char* constraint) { return strpbrk(constraint, "mo") != nullptr; }

void add_object(std::vector<tree>& objects, tree address) {
  for (tree each : objects)
    if (operand_equal_p(each, address, 0)) return;
  objects.push_back(address);
}

// An operand is {{name, constraint}, value}. One in memory is named by its place, one in a register
// by its value.
bool add_operand(std::vector<tree>& objects, tree operand, bool output) {
  const char* constraint = TREE_STRING_POINTER(TREE_VALUE(TREE_PURPOSE(operand)));
  tree value = TREE_VALUE(operand);
  if (TREE_CODE(value) != SSA_NAME && !is_gimple_min_invariant(value) && names_memory(constraint)) {
    tree base = get_base_address(value);
    if (base == NULL_TREE) return false;
    if (DECL_P(base) && !TREE_ADDRESSABLE(base)) return false;  // nobody else can reach it
    add_object(objects, build_fold_addr_expr(unshare_expr(value)));
    return output;
  }
  if (!output && POINTER_TYPE_P(TREE_TYPE(value)) &&
      !FUNC_OR_METHOD_TYPE_P(TREE_TYPE(TREE_TYPE(value))))
    add_object(objects, value);
  return false;
}

Statement read_statement(gasm* assembly) {
  Statement statement;
  std::string text = gimple_asm_string(assembly);
  for (char& c : text) c = TOLOWER(c);
  bool stores = false, clobbers = false;
  for (unsigned i = 0; i < gimple_asm_noutputs(assembly); ++i)
    stores |= add_operand(statement.objects, gimple_asm_output_op(assembly, i), true);
  for (unsigned i = 0; i < gimple_asm_ninputs(assembly); ++i)
    add_operand(statement.objects, gimple_asm_input_op(assembly, i), false);
  for (unsigned i = 0; i < gimple_asm_nclobbers(assembly); ++i)
    clobbers |=
        strcmp(TREE_STRING_POINTER(TREE_VALUE(gimple_asm_clobber_op(assembly, i))), "memory") == 0;
  statement.meaning = pass::meaning_of_assembly(text, !statement.objects.empty(), stores, clobbers);
  return statement;
}

gcall* call_of(const char* name, tree argument) {
  tree type = build_function_type_list(void_type_node, TREE_TYPE(argument), NULL_TREE);
  return gimple_build_call(runtime_function(name, type), 1, argument);
}

// The next thing that touches memory, if it is the check of a store: what is released behind it is
// ordered with the store, too.
void release_next_store(gasm* barrier) {
  gimple_stmt_iterator at = gsi_for_stmt(barrier);
  for (gsi_next(&at); !gsi_end_p(at); gsi_next(&at)) {
    bool write = false;
    auto* call = dyn_cast<gcall*>(gsi_stmt(at));
    if (call != nullptr && checked_size(call, write) > 0 && write) {
      gcall* release = call_of("__tsan_release", gimple_call_arg(call, 0));
      gimple_set_location(release, gimple_location(call));
      gsi_insert_after(&at, release, GSI_SAME_STMT);
      return;
    }
    if (gimple_vuse(gsi_stmt(at)) != NULL_TREE || call != nullptr) return;
  }
}

void order(gasm* assembly, const Statement& statement) {
  const location_t where = gimple_location(assembly);
  gimple_stmt_iterator at = gsi_for_stmt(assembly);
  const auto before = [&](gimple* added) {
    gimple_set_location(added, where);
    gsi_insert_before(&at, added, GSI_SAME_STMT);
  };
  if (statement.meaning == AssemblyMeaning::kFence) {
    constexpr int kSequentiallyConsistent = 5;
    return before(call_of("__tsan_atomic_thread_fence",
                          build_int_cst(integer_type_node, kSequentiallyConsistent)));
  }
  if (statement.meaning == AssemblyMeaning::kBarrier) return release_next_store(assembly);
  std::vector<tree> addresses;
  for (tree object : statement.objects) {
    tree address = make_ssa_name(TREE_TYPE(object));
    before(gimple_build_assign(address, object));
    addresses.push_back(address);
  }
  for (tree address : addresses) before(call_of("__tsan_release", address));
  if (statement.meaning != AssemblyMeaning::kAtomic) return;
  for (tree address : addresses) {
    if (!stmt_ends_bb_p(assembly)) {
      gsi_insert_after(&at, call_of("__tsan_acquire", address), GSI_SAME_STMT);
      continue;
    }
    std::vector<edge> ways;  // asm goto
    edge way;
    edge_iterator each;
    FOR_EACH_EDGE(way, each, gimple_bb(assembly)->succs) ways.push_back(way);
    for (edge out : ways) gsi_insert_on_edge_immediate(out, call_of("__tsan_acquire", address));
  }
}

}  // namespace

unsigned order_inline_assembly(function* fun) {
  std::vector<std::pair<gasm*, Statement>> found;
  basic_block block;
  FOR_EACH_BB_FN(block, fun) {
    for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
      auto* assembly = dyn_cast<gasm*>(gsi_stmt(at));
      if (assembly == nullptr) continue;
      Statement statement = read_statement(assembly);
      if (statement.meaning != AssemblyMeaning::kNothing)
        found.emplace_back(assembly, std::move(statement));
    }
  }
  for (auto& [assembly, statement] : found) order(assembly, statement);
  return static_cast<unsigned>(found.size());
}

}  // namespace deadheat::gcc
