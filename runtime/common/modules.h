// The loaded modules, and which of their code is instrumented.
//
// A module is instrumented if it calls our hooks. Objects built with our plugins also register
// the starts of their instrumented functions: in such a module only these count, and .eh_frame_hdr
// gives the function of a pc. Lookups take no lock and are cached.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/common/mode.h"

namespace deadheat::runtime {

enum class Instrumentation : uint8_t { kNo, kYes, kRegions };

struct DataRange {
  Address begin = 0;
  Address end = 0;
};

struct Module {
  uint32_t id = 0;
  Address base = 0;   // address - base = address in the file's address space
  Address begin = 0;  // of all its segments
  Address end = 0;
  DataRange code;     // the executable segments, from first to last
  DataRange data[4];  // writable segments
  DataRange relro;    // of them, what is constant after loading
  size_t data_count = 0;
  Address eh_frame_header = 0;
  bool known = false;       // libc and the like: modelled, never a region
  bool ours = false;        // the runtime itself
  bool for_caller = false;  // the C++ library: its allocations and frees count as its caller's
  bool pool = false;        // runs the program's work in its own threads, and is modelled
  bool unloaded = false;
  Instrumentation instrumented = Instrumentation::kNo;
  uint32_t plain_objects = 0;  // objects that called __tsan_init
  uint32_t pass_objects = 0;   // of them, those that registered their functions
  char build_id[41] = {};      // hex
  char path[512] = {};
};

void modules_refresh();  // at start and after dlopen, dlclose
// Null for code outside any file (a JIT).
const Module* find_module(Address address);
uint64_t modules_not_kept();            // loaded after the table was full
const Module* module_at(size_t index);  // null past the last; unloaded ones stay
void module_called_init(Address caller);
void module_add_functions(const void* const* begin, const void* const* end);

// Whether the code at pc is instrumented. A return address is allowed: the byte before it counts.
bool is_instrumented(Address pc);
// Neither instrumented nor modelled: synchronisation by code at pc may be invisible to us.
bool is_outside(Address pc);
// Code of a library whose meaning is modelled (OpenMP, oneTBB): its internals are
// ignored.
bool is_pool_code(Address pc);
// The program uses a part of the library (`prefix` of its file's name) that is not modelled: from
// now on it is ordinary code.
void module_is_no_pool(const char* prefix);
// Whether a free() called at pc is the program's own: called by instrumented code, or by the C++
// library on its behalf. Other frees (libc frees a dead thread's TLS, a library its own blocks) are
// ordered in ways that we do not see.
bool frees_for_program(Address pc);
// The same as is_instrumented for the start of a function.
bool is_instrumented_function(Address function);
// The start of the function that contains pc (a return address); pc if unknown.
Address function_of(Address pc);
// The code of the function that begins at `start`, up to the next one.
bool function_range(const Module& module, Address start, DataRange* range);
bool is_function_start(const Module& module, Address address);
// The function pointer of a position-dependent executable may be its PLT entry.
Address resolve_plt(Address function);
void modules_after_fork();

}  // namespace deadheat::runtime
