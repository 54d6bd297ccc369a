#include "runtime/common/hook_calls.h"

#include <string.h>
#include <sys/mman.h>

#include "runtime/common/imports.h"
#include "runtime/common/os.h"

namespace deadheat::runtime {

namespace {

constexpr size_t kMaxStubs = 256;
constexpr size_t kMaxRanges = 8;
constexpr size_t kMaxModules = 4096;

struct Stubs {
  Address slots[kMaxStubs];  // in the GOT
  size_t slot_count = 0;
  Address code[kMaxStubs * 2];  // targets of calls of a stub
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

// `jmp *slot(%rip)`, possibly after endbr64 and with a prefix.
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

uint64_t switch_off(const DataRange& code, const Stubs& stubs, const HookChoice& choice) {
  uint64_t off = 0;
  for (Address at = code.begin; at + 6 <= code.end; ++at) {
    auto* const bytes = reinterpret_cast<unsigned char*>(at);
    const bool call = bytes[0] == 0xe8, jump = bytes[0] == 0xe9;
    if (call || jump) {
      if (!stubs.is_code(target_of(bytes + 5, distance_at(bytes + 1))) || choice.is_wanted(at + 5))
        continue;
      if (call) {
        memcpy(bytes, "\x0f\x1f\x44\x00\x00", 5);
      } else {
        bytes[0] = 0xc3;
      }
    } else if (bytes[0] == 0xff && bytes[1] == 0x15) {
      if (!stubs.is_slot(target_of(bytes + 6, distance_at(bytes + 2))) || choice.is_wanted(at + 6))
        continue;
      memcpy(bytes, "\x66\x0f\x1f\x44\x00\x00", 6);
    } else {
      continue;
    }
    ++off;
  }
  return off;
}

bool protect(const DataRange& code, int how) {
  constexpr Address kPage = 4096;
  const Address begin = code.begin & ~(kPage - 1);
  const Address end = (code.end + kPage - 1) & ~(kPage - 1);
  return system_call(SYS_mprotect, static_cast<long>(begin), static_cast<long>(end - begin), how) ==
         0;
}

size_t code_of(const dl_phdr_info& info, DataRange (&code)[kMaxRanges]) {
  size_t count = 0;
  for (size_t i = 0; i < info.dlpi_phnum && count < kMaxRanges; ++i) {
    const Elf64_Phdr& header = info.dlpi_phdr[i];
    const Address at = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0)
      code[count++] = {at, at + header.p_memsz};
  }
  return count;
}

}  // namespace

const Module* module_once(const dl_phdr_info& info) {
  static bool done[kMaxModules];  // by module id: a module that is loaded again has a new one
  DataRange code[kMaxRanges];
  if (code_of(info, code) == 0) return nullptr;
  const Module* const module = find_module(code[0].begin);
  if (module == nullptr || module->ours || module->id >= kMaxModules || done[module->id])
    return nullptr;
  done[module->id] = true;
  return module;
}

uint64_t switch_off_hooks(const dl_phdr_info& info, const HookChoice& choice) {
  Stubs stubs;
  Imports(info).for_each([&](const char* name, Address slot) {
    if (choice.only_looks(name) && stubs.slot_count < kMaxStubs)
      stubs.slots[stubs.slot_count++] = slot;
    return true;
  });
  if (stubs.slot_count == 0) return 0;
  DataRange code[kMaxRanges];
  const size_t count = code_of(info, code);
  for (size_t i = 0; i < count; ++i) find_stubs(code[i], stubs);
  uint64_t off = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!protect(code[i], PROT_READ | PROT_WRITE | PROT_EXEC)) continue;
    off += switch_off(code[i], stubs, choice);
    protect(code[i], PROT_READ | PROT_EXEC);
  }
  return off;
}

bool is_module(const Module& module, const char* build_id, const char* path) {
  if (build_id[0] != '\0' && build_id[0] != '-') return strcmp(build_id, module.build_id) == 0;
  const char* const a = strrchr(path, '/');
  const char* const b = strrchr(module.path, '/');
  return strcmp(a == nullptr ? path : a + 1, b == nullptr ? module.path : b + 1) == 0;
}

}  // namespace deadheat::runtime
