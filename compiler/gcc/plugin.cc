// Where the plugin meets gcc: one pass a function before anything is inlined, one over the whole
// unit before its functions are expanded, one a function behind gcc's thread sanitizer pass
// ("tsan", at -O0 "tsan0"), and the end of the unit. `-fplugin-arg-deadheat_gcc-remarks` prints
// what was done, a line a function.
//
// A plugin fits one version of gcc. Loaded by another one it says so and does nothing: no build
// fails because of it.
#include "compiler/gcc/passes.h"
//
#include "asan.h"
#include "context.h"

// gcc asks for this name. Deadheat is Apache-2.0, which goes together with GPL-3.
__attribute__((visibility("default"))) int plugin_is_GPL_compatible;  // NOLINT: gcc's name

namespace deadheat::gcc {
namespace {

bool cxx20 = false;    // -fplugin-arg-deadheat_gcc-cxx20
bool remarks = false;  // -fplugin-arg-deadheat_gcc-remarks

// What gcc's pass worked on, without the constructor that it made itself.
bool instrumented(function* fun) {
  return sanitize_flags_p(SANITIZE_THREAD, fun->decl) &&
         assembler_name(fun->decl).rfind("_sub_I_", 0) != 0;
}

struct Counts {
  unsigned loops, strings, assembly, regions;
};

void remark(function* fun, const DropCounts& dropped, const Counts& counts) {
  fprintf(stderr,
          "deadheat: %s: accesses %u, local %u, covered %u, in loops %u, marked calls %u, assembly "
          "%u, string calls %u\n",
          assembler_name(fun->decl).c_str(), dropped.accesses, dropped.locals, dropped.covered,
          counts.loops, counts.regions, counts.assembly, counts.strings);
}

class FunctionPass : public gimple_opt_pass {
 public:
  explicit FunctionPass(::gcc::context* context) : gimple_opt_pass(kData, context) {}
  opt_pass* clone() override { return new FunctionPass(m_ctxt); }
  // Both places come by for a function that is optimised.
  bool gate(function* fun) override { return instrumented(fun) && !is_noted(fun); }

  unsigned execute(function* fun) override {
    const DropCounts dropped = optimize > 0 ? drop_checks(fun) : DropCounts{};
    const unsigned loops = optimize > 0 ? check_loops_once(fun) : 0;
    const unsigned strings = check_string_calls(fun);
    if (cxx20) mark_last_stores(fun);
    const unsigned assembly = order_inline_assembly(fun);
    const unsigned regions = mark_regions(fun);
    note_instrumented(fun);
    if (remarks) remark(fun, dropped, {loops, strings, assembly, regions});
    return TODO_update_ssa | TODO_cleanup_cfg;
  }

 private:
  static constexpr pass_data kData = {
      GIMPLE_PASS, "deadheat", OPTGROUP_NONE, TV_NONE, PROP_ssa | PROP_cfg, 0, 0, 0, 0};
};

class LibraryLockPass : public gimple_opt_pass {
 public:
  explicit LibraryLockPass(::gcc::context* context) : gimple_opt_pass(kData, context) {}
  bool gate(function* fun) override {
    return (flag_sanitize & SANITIZE_THREAD) != 0 && is_library_unlock(fun->decl);
  }

  unsigned execute(function* fun) override {
    order_library_unlock(fun);
    return 0;
  }

 private:
  static constexpr pass_data kData = {
      GIMPLE_PASS, "deadheat-locks", OPTGROUP_NONE, TV_NONE, PROP_ssa | PROP_cfg, 0, 0, 0, 0};
};

class UnitPass : public simple_ipa_opt_pass {
 public:
  explicit UnitPass(::gcc::context* context) : simple_ipa_opt_pass(kData, context) {}
  bool gate(function*) override { return (flag_sanitize & SANITIZE_THREAD) != 0; }

  unsigned execute(function*) override {
    find_synchronising_copies();
    return 0;
  }

 private:
  static constexpr pass_data kData = {
      SIMPLE_IPA_PASS, "deadheat-unit", OPTGROUP_NONE, TV_NONE, 0, 0, 0, 0, 0};
};

void add_pass(const char* plugin, opt_pass* pass, const char* reference,
              pass_positioning_ops where) {
  register_pass_info info = {pass, reference, 1, where};
  register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, nullptr, &info);
}

void end_of_unit(void*, void*) {
  if (!seen_error()) emit_functions_section();
}

// Neither the time of the build nor the configuration's words matter, only the version: its headers
// are what this was compiled with.
bool fits(const plugin_gcc_version& theirs) {
  return strcmp(theirs.basever, gcc_version.basever) == 0;
}

}  // namespace
}  // namespace deadheat::gcc

__attribute__((visibility("default"))) int plugin_init(
    plugin_name_args* arguments,  // NOLINT: gcc's name
    plugin_gcc_version* version) {
  using namespace deadheat::gcc;
  if (!fits(*version)) {
    fprintf(stderr,
            "deadheat: the plugin is for gcc %s, not %s; calls into uninstrumented code are not "
            "marked\n",
            gcc_version.basever, version->basever);
    return 0;
  }
  for (int i = 0; i < arguments->argc; ++i) {
    cxx20 |= strcmp(arguments->argv[i].key, "cxx20") == 0;
    remarks |= strcmp(arguments->argv[i].key, "remarks") == 0;
  }
  const char* name = arguments->base_name;
  add_pass(name, new LibraryLockPass(g), "ssa", PASS_POS_INSERT_AFTER);
  add_pass(name, new UnitPass(g), "simdclone", PASS_POS_INSERT_AFTER);
  add_pass(name, new FunctionPass(g), "tsan", PASS_POS_INSERT_AFTER);
  add_pass(name, new FunctionPass(g), "tsan0", PASS_POS_INSERT_AFTER);
  register_callback(name, PLUGIN_FINISH_UNIT, end_of_unit, nullptr);
  return 0;
}
