#include "lib/places/hook_calls.h"

#include <gelf.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace deadheat::places {
namespace {

using model::AccessKind;

struct Hook {
  AccessKind kind = AccessKind::kUnknown;
  bool also_read = false;
};

std::optional<Hook> hook_of(std::string_view name) {
  constexpr std::string_view kPrefix = "__tsan_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  for (const std::string_view word : {"unaligned_", "volatile_"})
    if (name.starts_with(word)) name.remove_prefix(word.size());
  if (name.starts_with("atomic")) {
    if (name.find("fence") != std::string_view::npos) return std::nullopt;
    return Hook{name.ends_with("_load") ? AccessKind::kAtomicRead : AccessKind::kAtomicWrite};
  }
  if (name.starts_with("read_write")) return Hook{AccessKind::kWrite, true};
  if (name.starts_with("read") || name == "vptr_read") return Hook{AccessKind::kRead};
  if (name.starts_with("write") || name == "vptr_update") return Hook{AccessKind::kWrite};
  return std::nullopt;
}

using Slots = std::unordered_map<uint64_t, Hook>;  // entries of the global offset table

Slots hook_slots(Elf* elf) {
  Slots slots;
  for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn != nullptr; scn = elf_nextscn(elf, scn)) {
    GElf_Shdr header, symbols_header;
    if (gelf_getshdr(scn, &header) == nullptr || header.sh_type != SHT_RELA) continue;
    Elf_Scn* symbols = elf_getscn(elf, header.sh_link);
    if (symbols == nullptr || gelf_getshdr(symbols, &symbols_header) == nullptr ||
        symbols_header.sh_type != SHT_DYNSYM)
      continue;
    Elf_Data *data = elf_getdata(scn, nullptr), *names = elf_getdata(symbols, nullptr);
    GElf_Rela relocation;
    for (int i = 0; data != nullptr && gelf_getrela(data, i, &relocation) != nullptr; ++i) {
      const auto type = GELF_R_TYPE(relocation.r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
      GElf_Sym symbol;
      if (gelf_getsym(names, static_cast<int>(GELF_R_SYM(relocation.r_info)), &symbol) == nullptr)
        continue;
      const char* name = elf_strptr(elf, symbols_header.sh_link, symbol.st_name);
      if (name == nullptr) continue;
      if (const auto hook = hook_of(name)) slots[relocation.r_offset] = *hook;
    }
  }
  return slots;
}

struct Code {
  uint64_t begin = 0;
  std::string_view bytes;
};

std::vector<Code> code_of(Elf* elf) {
  std::vector<Code> all;
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return all;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr || header.p_type != PT_LOAD ||
        (header.p_flags & PF_X) == 0)
      continue;
    const Elf_Data* data = elf_getdata_rawchunk(elf, static_cast<int64_t>(header.p_offset),
                                                header.p_filesz, ELF_T_BYTE);
    if (data != nullptr && data->d_buf != nullptr)
      all.push_back({header.p_vaddr, {static_cast<const char*>(data->d_buf), data->d_size}});
  }
  return all;
}

int64_t distance_at(std::string_view bytes, size_t at) {
  int32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

class Scan {
 public:
  explicit Scan(Elf* elf) : slots_(hook_slots(elf)), code_(code_of(elf)) {}

  std::vector<HookCall> run() {
    std::vector<HookCall> calls;
    if (slots_.empty()) return calls;
    for (const Code& code : code_)
      for (size_t at = 0; at + 6 <= code.bytes.size(); ++at) {
        const auto byte = static_cast<uint8_t>(code.bytes[at]);
        const uint64_t address = code.begin + at;
        const Hook* hook = nullptr;
        size_t length = 5;
        if (byte == 0xe8) {
          hook = behind_stub(address + 5 + distance_at(code.bytes, at + 1));
        } else if (byte == 0xff && static_cast<uint8_t>(code.bytes[at + 1]) == 0x15) {
          length = 6;
          hook = in_slot(address + 6 + distance_at(code.bytes, at + 2));
        }
        if (hook != nullptr)
          calls.push_back({address, address + length, hook->kind, hook->also_read});
      }
    return calls;
  }

 private:
  const Hook* in_slot(uint64_t slot) const {
    const auto found = slots_.find(slot);
    return found == slots_.end() ? nullptr : &found->second;
  }

  // [endbr64] [bnd] jmp *slot(%rip)
  const Hook* behind_stub(uint64_t target) {
    const auto [known, fresh] = stubs_.try_emplace(target, nullptr);
    if (!fresh) return known->second;
    for (const Code& code : code_) {
      if (target < code.begin || target - code.begin >= code.bytes.size()) continue;
      std::string_view stub = code.bytes.substr(target - code.begin, 16);
      uint64_t at = target;
      for (const std::string_view skipped :
           {std::string_view("\xf3\x0f\x1e\xfa"), std::string_view("\xf2")})
        if (stub.starts_with(skipped)) {
          stub.remove_prefix(skipped.size());
          at += skipped.size();
        }
      if (stub.size() >= 6 && stub.starts_with("\xff\x25"))
        known->second = in_slot(at + 6 + distance_at(stub, 2));
    }
    return known->second;
  }

  Slots slots_;
  std::vector<Code> code_;
  std::unordered_map<uint64_t, const Hook*> stubs_;
};

}  // namespace

std::vector<HookCall> hook_calls(const symbols::ElfImage& image) {
  GElf_Ehdr header;
  if (gelf_getehdr(image.elf(), &header) == nullptr || header.e_machine != EM_X86_64) return {};
  return Scan(image.elf()).run();
}

}  // namespace deadheat::places
