#include "runtime/common/modules.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/common/arena.h"
#include "runtime/common/flat_set.h"
#include "runtime/common/imports.h"
#include "runtime/common/os.h"

// Our functions that call the program's (interceptor.h); the linker defines these two symbols.
extern "C" const char __start_deadheat_calls[], __stop_deadheat_calls[];

namespace deadheat::runtime {

namespace {

Address code_of(const char* mark) { return reinterpret_cast<Address>(mark); }

constexpr size_t kMaxModules = 4096;

Module* modules[kMaxModules];
size_t module_count;
uint64_t not_kept;  // in one refresh, the maximum
Lock lock;
FlatSet function_starts;

// (pc << 2 answers), so that an entry is read and written atomically.
constexpr uint64_t kInstrumented = 1, kForCaller = 2;
constexpr size_t kCacheSize = 8192;
uint64_t cache[kCacheSize];

// Libraries whose functions are modelled by interceptors or do not synchronise.
const char* const kKnown[] = {"libc.so",     "libc-",        "libm.so",       "libpthread",
                              "libdl.so",    "librt.so",     "ld-linux",      "libstdc++.so",
                              "libgcc_s.so", "libc++.so",    "libc++abi.so",  "libatomic.so",
                              "linux-vdso",  "libresolv.so", "libdeadheat.so"};

// Modelled by what the program asks of them (openmp/, tbb/): known, and their own locks order
// nothing.
const char* const kPools[] = {"libgomp.so", "libomp.so",   "libomp5.so",
                              "libomp-",    "libiomp5.so", "libtbb.so.12"};

// libomp reports to a tool unless the user forbids it; then it is ordinary code.
bool is_modelled(const char* name) {
  const char* const tool = getenv("OMP_TOOL");
  const bool tells = strncmp(name, "libgomp", 7) != 0 && strncmp(name, "libtbb", 6) != 0;
  return !tells || tool == nullptr || strcmp(tool, "disabled") != 0;
}
DataRange pool_code[8];
size_t pool_count;

bool names_one(const char* name, const char* const* begin, const char* const* end) {
  for (; begin != end; ++begin)
    if (strncmp(name, *begin, strlen(*begin)) == 0) return true;
  return false;
}

void add_pool(Module& module) {
  module.known = module.pool = true;
  if (pool_count == sizeof pool_code / sizeof pool_code[0]) return;
  pool_code[pool_count] = module.code;
  __atomic_store_n(&pool_count, pool_count + 1, __ATOMIC_RELEASE);
}

const char* base_name(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

void read_build_id(const ElfW(Phdr) & header, Address base, char* out) {
  const char* at = reinterpret_cast<const char*>(base + header.p_vaddr);
  const char* const end = at + header.p_memsz;
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    memcpy(&note, at, sizeof note);
    const char* const name = at + sizeof note;
    const char* const data = name + ((note.n_namesz + 3) & ~3U);
    if (data + note.n_descsz > end) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
      for (size_t i = 0; i < note.n_descsz && i < 20; ++i) {
        const auto byte = static_cast<unsigned char>(data[i]);
        out[2 * i] = "0123456789abcdef"[byte >> 4];
        out[2 * i + 1] = "0123456789abcdef"[byte & 15];
      }
      return;
    }
    at = data + ((note.n_descsz + 3) & ~3U);
  }
}

void read_segments(const dl_phdr_info& info, Module& module) {
  module.begin = ~Address{0};
  for (size_t i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const Address begin = info.dlpi_addr + header.p_vaddr;
    const Address end = begin + header.p_memsz;
    if (header.p_type == PT_LOAD) {
      if (begin < module.begin) module.begin = begin;
      if (end > module.end) module.end = end;
      if ((header.p_flags & PF_X) != 0) {
        if (module.code.end == 0) module.code.begin = begin;
        module.code.end = end;
      }
      if ((header.p_flags & PF_W) != 0 && module.data_count < 4)
        module.data[module.data_count++] = {begin, end};
    } else if (header.p_type == PT_NOTE && module.build_id[0] == '\0') {
      read_build_id(header, info.dlpi_addr, module.build_id);
    } else if (header.p_type == PT_GNU_RELRO) {
      module.relro = {begin, end};
    } else if (header.p_type == PT_GNU_EH_FRAME) {
      module.eh_frame_header = begin;
    }
  }
}

void name_module(const dl_phdr_info& info, Module& module) {
  if (info.dlpi_name != nullptr && info.dlpi_name[0] != '\0') {
    strncpy(module.path, info.dlpi_name, sizeof module.path - 1);
  } else {
    const long size = system_call(SYS_readlink, reinterpret_cast<long>("/proc/self/exe"),
                                  reinterpret_cast<long>(module.path), sizeof module.path - 1);
    if (size < 0) strcpy(module.path, "unknown");
  }
  const char* const name = base_name(module.path);
  module.known = names_one(name, kKnown, kKnown + sizeof kKnown / sizeof *kKnown);
  if (names_one(name, kPools, kPools + sizeof kPools / sizeof *kPools) && is_modelled(name))
    add_pool(module);
  module.for_caller = strncmp(name, "libstdc++.so", 12) == 0 || strncmp(name, "libc++", 6) == 0;
  static const char here = 0;
  const auto inside = reinterpret_cast<Address>(&here);
  module.ours = inside >= module.begin && inside < module.end;
  module.known |= module.ours;
}

struct Refresh {
  bool seen[kMaxModules];
  uint64_t not_kept;
};

// GCC's constructors jump to __tsan_init, so its caller is not always the module.
bool calls_hooks(const dl_phdr_info& info) {
  bool found = false;
  Imports(info).for_each([&found](const char* name, Address) {
    // Only hooks that compilers call: annotations may be in any code.
    static const char* const kHooks[] = {"__tsan_func_entry", "__tsan_read", "__tsan_write"};
    for (const char* const hook : kHooks) found |= strncmp(name, hook, strlen(hook)) == 0;
    return !found;
  });
  return found;
}

int visit(dl_phdr_info* info, size_t, void* data) {
  auto* const refresh = static_cast<Refresh*>(data);
  Module fresh;
  fresh.base = info->dlpi_addr;
  read_segments(*info, fresh);
  if (fresh.end == 0) return 0;
  for (size_t i = 0; i < module_count; ++i) {
    if (modules[i]->unloaded || modules[i]->begin != fresh.begin || modules[i]->end != fresh.end)
      continue;
    refresh->seen[i] = true;
    return 0;
  }
  auto* const kept = module_count == kMaxModules ? nullptr : arena_new<Module>();
  if (kept == nullptr) {
    ++refresh->not_kept;
    return 0;
  }
  *kept = fresh;
  name_module(*info, *kept);
  if (!kept->ours && calls_hooks(*info)) kept->instrumented = Instrumentation::kYes;
  kept->id = static_cast<uint32_t>(module_count);
  refresh->seen[module_count] = true;
  modules[module_count] = kept;
  __atomic_store_n(&module_count, module_count + 1, __ATOMIC_RELEASE);
  return 0;
}

// Finds the function that contains pc with the binary search table of .eh_frame_hdr (the usual
// encoding: 4-byte offsets from the header); it ends where the next one begins.
DataRange function_at(const Module& module, Address pc) {
  if (module.eh_frame_header == 0) return {};
  const auto* const header = reinterpret_cast<const unsigned char*>(module.eh_frame_header);
  if (header[0] != 1 || header[2] != 0x03 || header[3] != 0x3b) return {};
  uint32_t count;
  memcpy(&count, header + 8, 4);
  const unsigned char* const table = header + 12;
  const auto start_of = [&](size_t entry) {
    int32_t offset;
    __builtin_memcpy(&offset, table + entry * 8, 4);
    return module.eh_frame_header + static_cast<Address>(static_cast<int64_t>(offset));
  };
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (start_of(middle) <= pc) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return {};
  return {start_of(low - 1), low < count ? start_of(low) : module.code.end};
}

uint64_t look_up(Address pc) {
  const Module* const module = find_module(pc);
  if (module == nullptr) return 0;
  if (module->ours)
    return pc >= code_of(__start_deadheat_calls) && pc < code_of(__stop_deadheat_calls);
  if (module->instrumented == Instrumentation::kNo) return module->for_caller ? kForCaller : 0;
  if (module->pass_objects == 0) return kInstrumented;
  const Address start = function_at(*module, pc).begin;
  // In a module that mixes objects with and without a function table, a function in no table may
  // still be instrumented: treating it as uninstrumented can hide a race but never invent one.
  return start != 0 && function_starts.contains(start) ? kInstrumented : 0;
}

uint64_t answers(Address pc) {
  uint64_t& entry = cache[(pc ^ pc >> 13) % kCacheSize];
  const uint64_t known = __atomic_load_n(&entry, __ATOMIC_RELAXED);
  if (known >> 2 == pc && known != 0) return known & 3;
  const uint64_t answer = look_up(pc - 1);
  __atomic_store_n(&entry, pc << 2 | answer, __ATOMIC_RELAXED);
  return answer;
}

}  // namespace

[[gnu::weak]] void mode_modules_changed() {}

void modules_refresh() {
  static Refresh refresh;
  const Locked locked(lock);
  memset(&refresh, 0, sizeof refresh);
  dl_iterate_phdr(visit, &refresh);
  for (size_t i = 0; i < module_count; ++i)
    if (!refresh.seen[i]) modules[i]->unloaded = true;
  for (uint64_t& entry : cache) __atomic_store_n(&entry, 0, __ATOMIC_RELAXED);
  if (refresh.not_kept > not_kept) not_kept = refresh.not_kept;
}

uint64_t modules_not_kept() { return not_kept; }

const Module* module_at(size_t index) {
  return index < __atomic_load_n(&module_count, __ATOMIC_ACQUIRE) ? modules[index] : nullptr;
}

const Module* find_module(Address address) {
  const size_t count = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE);
  for (size_t i = count; i-- > 0;) {
    const Module& module = *modules[i];
    if (!module.unloaded && address >= module.begin && address < module.end) return &module;
  }
  return nullptr;
}

// Whether something was loaded or unloaded since the last call: the linker counts.
static bool modules_changed() {
  static uint64_t seen;
  uint64_t changes = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<uint64_t*>(out) = info->dlpi_adds + info->dlpi_subs;
        return 1;
      },
      &changes);
  return __atomic_exchange_n(&seen, changes, __ATOMIC_RELAXED) != changes;
}

void module_called_init(Address caller) {
  if (modules_changed()) {
    modules_refresh();
    mode_modules_changed();
  }
  auto* const module = const_cast<Module*>(find_module(caller));
  if (module == nullptr || module->known) return;
  ++module->plain_objects;
  if (module->instrumented == Instrumentation::kNo) module->instrumented = Instrumentation::kYes;
}

void module_add_functions(const void* const* begin, const void* const* end) {
  if (begin == end) return;
  const auto first = reinterpret_cast<Address>(begin);  // the table; an entry may be null
  auto* module = const_cast<Module*>(find_module(first));
  if (module == nullptr) {
    modules_refresh();
    module = const_cast<Module*>(find_module(first));
  }
  if (module == nullptr) return;
  const Locked locked(lock);
  for (; begin != end; ++begin)
    if (*begin != nullptr) function_starts.insert(reinterpret_cast<Address>(*begin));
  ++module->pass_objects;
  module->instrumented = Instrumentation::kRegions;
  for (uint64_t& entry : cache) __atomic_store_n(&entry, 0, __ATOMIC_RELAXED);
}

bool is_instrumented(Address pc) { return (answers(pc) & kInstrumented) != 0; }

bool is_outside(Address pc) {
  if (is_instrumented(pc)) return false;
  const Module* const module = find_module(pc);
  return module == nullptr || !module->known;
}

bool is_pool_code(Address pc) {
  const size_t count = __atomic_load_n(&pool_count, __ATOMIC_ACQUIRE);
  for (size_t i = 0; i < count; ++i)
    if (pc >= pool_code[i].begin && pc < pool_code[i].end) return true;
  return false;
}

void module_is_no_pool(const char* prefix) {
  const Locked locked(lock);
  for (size_t i = 0; i < module_count; ++i) {
    Module& module = *modules[i];
    if (!module.pool || strncmp(base_name(module.path), prefix, strlen(prefix)) != 0) continue;
    module.known = module.pool = false;
    for (size_t at = 0; at < pool_count; ++at)
      if (pool_code[at].begin == module.code.begin)
        __atomic_store_n(&pool_code[at].end, module.code.begin, __ATOMIC_RELAXED);
  }
  for (uint64_t& entry : cache) __atomic_store_n(&entry, 0, __ATOMIC_RELAXED);
}

bool frees_for_program(Address pc) { return answers(pc) != 0; }

bool is_instrumented_function(Address function) { return is_instrumented(function + 1); }

Address function_of(Address pc) {
  const Module* const module = find_module(pc);
  const Address start = module == nullptr ? 0 : function_at(*module, pc - 1).begin;
  return start == 0 ? pc : start;
}

bool function_range(const Module& module, Address start, DataRange* range) {
  *range = function_at(module, start);
  return range->begin == start && start != 0;
}

bool is_function_start(const Module& module, Address address) {
  return function_at(module, address).begin == address;
}

Address resolve_plt(Address function) {
  const auto* const code = reinterpret_cast<const unsigned char*>(function);
  const Module* const module = find_module(function);
  if (module == nullptr || function + 16 > module->code.end) return function;
  // [endbr64] [bnd] jmp *offset(%rip)
  size_t at = 0;
  if (memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0) at = 4;
  if (code[at] == 0xf2) ++at;
  if (code[at] != 0xff || code[at + 1] != 0x25) return function;
  int32_t offset;
  memcpy(&offset, code + at + 2, 4);
  Address target;
  memcpy(&target,
         reinterpret_cast<const void*>(function + at + 6 + static_cast<Address>(int64_t{offset})),
         sizeof target);
  return find_module(target) == nullptr ? function : target;
}

void modules_after_fork() { lock.reset(); }

}  // namespace deadheat::runtime
