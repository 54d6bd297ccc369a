// The candidate's sites; switches off all others.
#include <link.h>
#include <string.h>

#include "runtime/common/hook_calls.h"
#include "runtime/common/modules.h"
#include "runtime/schedule/strategy.h"
#include "runtime/schedule/trial.h"

namespace deadheat::runtime {

namespace {

Address sites[kMaxSites];  // return addresses of the hook calls, sorted
size_t site_count;
uint64_t dropped;  // by this table: a module may be loaded more than once
uint64_t off;

bool starts(const char* name, const char* start) {
  return strncmp(name, start, strlen(start)) == 0;
}

// Hooks that only observe. Atomics do the program's work, and a loop may spin on volatile accesses,
// or on plain reads in a program that was seen to spin.
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

void add_sites(const Module& module) {
  for (size_t i = 0; i < trial().site_count; ++i) {
    if (!is_module(module, trial().sites[i].build_id, trial().sites[i].path)) continue;
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

int plug_module(dl_phdr_info* info, size_t, void*) {
  const Module* const module = module_once(*info);
  if (module == nullptr) return 0;
  add_sites(*module);
  if (!every_access()) off += switch_off_hooks(*info, {only_looks, is_wanted});
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
