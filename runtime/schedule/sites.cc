// The candidate's sites, and switching off all others.
//
// A hook is called through a PLT stub (`jmp *GOT`) or through the GOT itself. A call of a stub of a
// hook in the module's code is found by its target: four bytes that point exactly there are no
// accident. The call becomes a nop; a jump (the tail call of __tsan_func_exit) becomes a return.
// This runs before the module's code does, so nobody is there.
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/common/imports.h"
#include "runtime/common/modules.h"
#include "runtime/common/os.h"
#include "runtime/schedule/strategy.h"
#include "runtime/schedule/trial.h"

namespace deadheat::runtime {

namespace {

constexpr size_t kMaxStubs = 256;
constexpr size_t kMaxModules = 4096;

Address sites[kMaxSites];  // return addresses of the hooks' calls, sorted
size_t site_count;
uint64_t dropped;  // by this table: a module may be loaded more than once
uint64_t off;
Address done[kMaxModules];
size_t done_count;

bool starts(const char* name, const char* start) {
  return strncmp(name, start, strlen(start)) == 0;
}

// Hooks that only look. Atomics do the program's work, and volatile accesses may be what a loop
// spins on; so may plain reads, in a program that was seen to spin.
bool only_looks(const char* name) {
  if (trial().spins && (starts(name, "__tsan_read") || starts(name, "__tsan_unaligned_read")))
    return false;
  constexpr const char* kStarts[] = {
      "__tsan_read",      "__tsan_write",       "__tsan_unaligned_read", "__tsan_func_",
      "__tsan_vptr_read", "__tsan_vptr_update", "__tsan_unaligned_write"};
  for (const char* start : kStarts)
    if (starts(name, start)) return true;
  return false;
}

struct Stubs {
  Address slots[kMaxStubs];  // of the GOT
  size_t slot_count = 0;
  Address code[kMaxStubs * 2];  // where a call of one may go to
  size_t code_count = 0;
  bool is_slot(Address address) const {
    for (size_t i = 0; i < slot_count; ++i)
      if (slots[i] == address) return true;
    return false;
  }
  bool is_code(Address address) const {
    for (size_t i = 0; i < code_count; ++i)
      if (code[i] == address) return true;
    return false;
  }
};

int32_t distance_at(const unsigned char* at) {
  int32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

Address target_of(const unsigned char* end_of_instruction, int32_t distance) {
  return reinterpret_cast<Address>(end_of_instruction) + static_cast<Address>(int64_t{distance});
}

// `jmp *slot(%rip)`, perhaps behind endbr64 and with a prefix.
void find_stubs(const DataRange& code, Stubs& stubs) {
  for (Address at = code.begin; at + 6 <= code.end; ++at) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(at);
    if (bytes[0] != 0xff || bytes[1] != 0x25) continue;
    if (!stubs.is_slot(target_of(bytes + 6, distance_at(bytes + 2)))) continue;
    if (stubs.code_count + 2 > kMaxStubs * 2) return;
    stubs.code[stubs.code_count++] = at;
    const unsigned char* start = bytes;
    if (start[-1] == 0xf2) --start;
    if (memcmp(start - 4, "\xf3\x0f\x1e\xfa", 4) == 0) start -= 4;
    stubs.code[stubs.code_count++] = reinterpret_cast<Address>(start);
  }
}

bool is_wanted(Address return_address) {
  size_t low = 0, high = site_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (sites[middle] < return_address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < site_count && sites[low] == return_address;
}

void switch_off(const DataRange& code, const Stubs& stubs) {
  for (Address at = code.begin; at + 6 <= code.end; ++at) {
    auto* const bytes = reinterpret_cast<unsigned char*>(at);
    const bool call = bytes[0] == 0xe8, jump = bytes[0] == 0xe9;
    if (call || jump) {
      if (!stubs.is_code(target_of(bytes + 5, distance_at(bytes + 1))) || is_wanted(at + 5))
        continue;
      if (call) {
        memcpy(bytes, "\x0f\x1f\x44\x00\x00", 5);
      } else {
        bytes[0] = 0xc3;
      }
    } else if (bytes[0] == 0xff && bytes[1] == 0x15) {
      if (!stubs.is_slot(target_of(bytes + 6, distance_at(bytes + 2))) || is_wanted(at + 6))
        continue;
      memcpy(bytes, "\x66\x0f\x1f\x44\x00\x00", 6);
    } else {
      continue;
    }
    ++off;
  }
}

bool protect(const DataRange& code, int how) {
  constexpr Address kPage = 4096;
  const Address begin = code.begin & ~(kPage - 1);
  const Address end = (code.end + kPage - 1) & ~(kPage - 1);
  return system_call(SYS_mprotect, static_cast<long>(begin), static_cast<long>(end - begin), how) ==
         0;
}

bool same_module(const TrialSite& site, const Module& module) {
  if (site.build_id[0] != '\0' && site.build_id[0] != '-')
    return strcmp(site.build_id, module.build_id) == 0;
  const char* const a = strrchr(site.path, '/');
  const char* const b = strrchr(module.path, '/');
  return strcmp(a == nullptr ? site.path : a + 1, b == nullptr ? module.path : b + 1) == 0;
}

void add_sites(const Module& module) {
  for (size_t i = 0; i < trial().site_count; ++i) {
    if (!same_module(trial().sites[i], module)) continue;
    if (site_count == kMaxSites) {
      ++dropped;
      continue;
    }
    const Address address = module.base + trial().sites[i].offset + 1;
    size_t at = site_count++;
    for (; at > 0 && sites[at - 1] > address; --at) sites[at] = sites[at - 1];
    sites[at] = address;
  }
}

bool is_new(Address begin) {
  for (size_t i = 0; i < done_count; ++i)
    if (done[i] == begin) return false;
  if (done_count < kMaxModules) done[done_count++] = begin;
  return true;
}

int plug_module(dl_phdr_info* info, size_t, void*) {
  DataRange code[8];
  size_t codes = 0;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const Elf64_Phdr& header = info->dlpi_phdr[i];
    const Address at = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0 && codes < 8)
      code[codes++] = {at, at + header.p_memsz};
  }
  if (codes == 0) return 0;
  const Module* const module = find_module(code[0].begin);
  if (module == nullptr || module->ours || !is_new(code[0].begin)) return 0;
  add_sites(*module);
  Stubs stubs;
  Imports(*info).for_each([&](const char* name, Address slot) {
    if (only_looks(name) && stubs.slot_count < kMaxStubs) stubs.slots[stubs.slot_count++] = slot;
    return true;
  });
  if (stubs.slot_count == 0 || every_access()) return 0;
  for (size_t i = 0; i < codes; ++i) find_stubs(code[i], stubs);
  for (size_t i = 0; i < codes; ++i) {
    if (!protect(code[i], PROT_READ | PROT_WRITE | PROT_EXEC)) continue;  // they stay on: slower
    switch_off(code[i], stubs);
    protect(code[i], PROT_READ | PROT_EXEC);
  }
  return 0;
}

}  // namespace

bool is_site(Address pc) { return is_wanted(pc); }
void plug_sites() { dl_iterate_phdr(plug_module, nullptr); }
uint64_t sites_on() { return site_count; }
uint64_t sites_off() { return off; }
uint64_t sites_dropped() { return trial().sites_dropped + dropped; }

void mode_modules_changed() { plug_sites(); }

}  // namespace deadheat::runtime
