// The only racing instruction has rbp for its pointer, as optimised code often does; rbp is no
// frame pointer there.
#include "pair.h"

static long count;

void bump(long* cell);
__asm__(
    ".text\n.globl bump\n.type bump, @function\n"
    "bump:\n\t.cfi_startproc\n\tpush %rbp\n\tmov %rdi, %rbp\n\taddq $1, (%rbp)\n\tpop %rbp\n\tret\n"
    "\t.cfi_endproc\n.size bump, . - bump\n");

static void* work(void* second) {
  while (!atomic_fetch_add(&stop, 0)) bump(&count);
  return second;
}

int main(int argc, char** argv) { return run_pair(work, argc, argv); }
