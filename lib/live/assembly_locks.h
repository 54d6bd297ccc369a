// Whether an instrumented module holds atomic instructions that nobody tells the runtime about.
//
// Under -fsanitize=thread every atomic operation of the language becomes a call of a hook. A locked
// instruction, or an exchange with memory, that is left in the code was written in inline assembly,
// or comes from an object that was not instrumented; either way threads may synchronise there
// unseen. clang's pass reports such instructions to the runtime; gcc's code has nothing that does.
//
// What this does not see: locks without such an instruction (Peterson's with a fence). x86-64 only;
// elsewhere the answer is no.
#pragma once

#include "lib/symbols/elf_image.h"

namespace deadheat::live {

bool has_assembly_locks(const symbols::ElfImage& image);

}  // namespace deadheat::live
