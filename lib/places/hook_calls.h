// Where a module calls the access hooks, read off its machine code.
//
// Every place that the compiler instrumented is a `call` whose target is a stub for __tsan_read4
// and the like, or a call through the hook's entry of the global offset table. Bytes are looked at
// one by one, without decoding instructions: that some other instruction holds the exact distance
// to a hook's stub is not worth a disassembler. x86-64 only; elsewhere nothing is found, and a site
// keeps the pcs that it was found with.
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
  uint64_t place() const { return end - 1; }  // as findings name it: return address - 1
  bool does(model::AccessKind what) const {
    return kind == what || (also_read && what == model::AccessKind::kRead);
  }
};

// By address.
std::vector<HookCall> hook_calls(const symbols::ElfImage& image);

}  // namespace deadheat::places
