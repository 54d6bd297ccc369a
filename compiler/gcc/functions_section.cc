// Section deadheat_functions: an array of pointers to the instrumented functions of the object, and
// a constructor that shows it to the runtime. compiler/pass/functions_section.cc says why the array
// names aliases of inline functions.
//
// Written as assembly when gcc has written all else: which functions there are is known only then.
// With -flto nothing is expanded into the object, and the link's own run of the plugin writes it.
#include "compiler/gcc/passes.h"
//
#include "output.h"

namespace deadheat::gcc {
namespace {

struct Entry {
  std::string name;
  bool copied;  // an inline function: the linker keeps one copy
};

std::vector<Entry>& entries() {
  static std::vector<Entry> list;
  return list;
}

// A call of the hook with the array's two ends, if the runtime has the hook. Named by a section of
// constructors or destructors.
void emit_caller(FILE* out, const char* name, const char* hook, const char* section) {
  fprintf(out,
          "\t.section\t.text.startup,\"ax\",@progbits\n"
          "\t.type\tdeadheat.%s, @function\n"
          "deadheat.%s:\n"
          "\tleaq\tdeadheat.functions(%%rip), %%rdi\n"
          "\tleaq\tdeadheat.functions.end(%%rip), %%rsi\n"
          "\tmovq\t%s@GOTPCREL(%%rip), %%rax\n"
          "\ttestq\t%%rax, %%rax\n"
          "\tje\t1f\n"
          "\tjmp\t*%%rax\n"
          "1:\tret\n"
          "\t.size\tdeadheat.%s, .-deadheat.%s\n"
          "\t.weak\t%s\n"
          "\t.section\t.%s.00001,\"aw\"\n"
          "\t.align 8\n"
          "\t.quad\tdeadheat.%s\n",
          name, name, hook, name, name, hook, section, name);
}

}  // namespace

bool is_noted(function* fun) {
  return !entries().empty() && entries().back().name == assembler_name(fun->decl);
}

void note_instrumented(function* fun) {
  const tree declaration = fun->decl;
  entries().push_back(
      {assembler_name(declaration),
       DECL_COMDAT(declaration) || (DECL_WEAK(declaration) && TREE_PUBLIC(declaration))});
}

void emit_functions_section() {
  FILE* out = asm_out_file;
  if (entries().empty() || out == nullptr || POINTER_SIZE != 64) return;
  fputs("\t.att_syntax prefix\n", out);
  for (const Entry& entry : entries()) {
    if (!entry.copied) continue;
    const char* name = entry.name.c_str();
    fprintf(
        out,
        "\t.weak\tdeadheat.copy.%s\n\t.hidden\tdeadheat.copy.%s\n\t.set\tdeadheat.copy.%s, %s\n",
        name, name, name, name);
  }
  fputs("\t.section\tdeadheat_functions,\"aw\",@progbits\n\t.align 8\ndeadheat.functions:\n", out);
  for (const Entry& entry : entries())
    fprintf(out, "\t.quad\t%s%s\n", entry.copied ? "deadheat.copy." : "", entry.name.c_str());
  fputs("deadheat.functions.end:\n", out);
  emit_caller(out, "module_ctor", "__deadheat_register_functions", "init_array");
  emit_caller(out, "module_dtor", "__deadheat_unregister_functions", "fini_array");
  fputs("\t.text\n", out);
}

}  // namespace deadheat::gcc
