// Finds the calls of access hooks in a module's machine code.
//
// Every instrumented place is a `call` whose target is a stub for __tsan_read4 and the like, or a
// call through the hook's entry in the global offset table. The code is scanned byte by byte
// without decoding instructions: another instruction is unlikely to contain the exact distance to a
// hook's stub, so a disassembler is not worth it. x86-64 only; on other machines nothing is found,
// and a site keeps the pcs it was found with.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model/candidate.h"
#include "lib/symbols/elf_image.h"

namespace deadheat::places {

struct HookCall {
  uint64_t begin = 0, end = 0;  // file addresses of the call instruction
  model::AccessKind kind = model::AccessKind::kUnknown;
  bool also_read = false;  // one hook for both halves of x += 1; kind is then a write

  bool holds(uint64_t pc) const { return pc >= begin && pc < end; }
  uint64_t place() const { return end - 1; }  // as in findings: return address - 1
  bool does(model::AccessKind what) const {
    return kind == what || (also_read && what == model::AccessKind::kRead);
  }
};

// Sorted by address.
std::vector<HookCall> hook_calls(const symbols::ElfImage& image);

}  // namespace deadheat::places
