// The functions that a loaded module imports and their GOT slots, from its dynamic
// relocations.
#pragma once

#include <link.h>
#include <stddef.h>
#include <string.h>

#include "runtime/common/mode.h"

namespace deadheat::runtime {

class Imports {
 public:
  explicit Imports(const dl_phdr_info& info) : base_(info.dlpi_addr) {
    for (size_t i = 0; i < info.dlpi_phnum; ++i)
      if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
        read(reinterpret_cast<const Elf64_Dyn*>(base_ + info.dlpi_phdr[i].p_vaddr));
  }

  // visit(name, GOT slot) returns whether to continue.
  template <typename Visit>
  void for_each(Visit visit) const {
    if (symbols_ == nullptr || names_ == nullptr) return;
    for (size_t table = 0; table < 2; ++table) {
      for (size_t i = 0; i < sizes_[table] / sizeof(Elf64_Rela); ++i) {
        const Elf64_Rela& relocation = tables_[table][i];
        const auto type = ELF64_R_TYPE(relocation.r_info);
        if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
        const Elf64_Sym& symbol = symbols_[ELF64_R_SYM(relocation.r_info)];
        if (!visit(names_ + symbol.st_name, base_ + relocation.r_offset)) return;
      }
    }
  }
  // Whether it uses this thread-local variable of another module.
  bool has_thread_local(const char* name) const {
    if (symbols_ == nullptr || names_ == nullptr) return false;
    for (size_t i = 0; i < sizes_[1] / sizeof(Elf64_Rela); ++i) {
      const Elf64_Rela& relocation = tables_[1][i];
      const Elf64_Sym& symbol = symbols_[ELF64_R_SYM(relocation.r_info)];
      if (ELF64_R_TYPE(relocation.r_info) == R_X86_64_TPOFF64 &&
          strcmp(names_ + symbol.st_name, name) == 0)
        return true;
    }
    return false;
  }

 private:
  // glibc relocates these pointers in place, except in the vDSO.
  Address pointer(const Elf64_Dyn& entry) const {
    return entry.d_un.d_ptr < base_ ? base_ + entry.d_un.d_ptr : entry.d_un.d_ptr;
  }
  void read(const Elf64_Dyn* entry) {
    for (; entry->d_tag != DT_NULL; ++entry) {
      switch (entry->d_tag) {
        case DT_SYMTAB:
          symbols_ = reinterpret_cast<const Elf64_Sym*>(pointer(*entry));
          break;
        case DT_STRTAB:
          names_ = reinterpret_cast<const char*>(pointer(*entry));
          break;
        case DT_JMPREL:
          tables_[0] = reinterpret_cast<const Elf64_Rela*>(pointer(*entry));
          break;
        case DT_PLTRELSZ:
          sizes_[0] = entry->d_un.d_val;
          break;
        case DT_RELA:
          tables_[1] = reinterpret_cast<const Elf64_Rela*>(pointer(*entry));
          break;
        case DT_RELASZ:
          sizes_[1] = entry->d_un.d_val;
          break;
        default:
          break;
      }
    }
  }

  Address base_;
  const Elf64_Sym* symbols_ = nullptr;
  const char* names_ = nullptr;
  const Elf64_Rela* tables_[2] = {};  // of the PLT, and the others
  size_t sizes_[2] = {};
};

}  // namespace deadheat::runtime
