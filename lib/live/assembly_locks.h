// Detects atomic instructions in an instrumented module that no hook reports to the runtime.
//
// Under -fsanitize=thread every atomic operation of the language becomes a hook call. A locked
// instruction, or an exchange with memory, that remains in the code was written in inline assembly
// or comes from an object that was not instrumented; in both cases threads may synchronise there
// unseen. The compilers' plugins report such instructions to the runtime; objects that were built
// without them (plain -fsanitize=thread) have no such reports.
//
// Limits: locks without such an instruction (Peterson's algorithm with a fence) are not detected.
// x86-64 only; on other machines the answer is no.
#pragma once

#include "lib/symbols/elf_image.h"

namespace deadheat::live {

bool has_assembly_locks(const symbols::ElfImage& image);

}  // namespace deadheat::live
