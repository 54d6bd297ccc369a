#include "lib/sampler/code/copy_calls.h"

#include <gelf.h>

#include <algorithm>
#include <string_view>

namespace deadheat::sampler {
namespace {

constexpr CopyFunction kFunctions[] = {
    {"memcpy", true},        {"memmove", true},      {"mempcpy", true},
    {"__mempcpy", true},     {"__memcpy_chk", true}, {"__memmove_chk", true},
    {"__mempcpy_chk", true}, {"memset", false},      {"__memset_chk", false}};

const CopyFunction* function_named(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                         [&](const CopyFunction& one) { return name == one.name; });
  return found == std::end(kFunctions) ? nullptr : found;
}

std::string_view symbol_name(Elf* elf, const GElf_Shdr& symbols, Elf_Data* data, size_t number) {
  GElf_Sym symbol;
  if (data == nullptr || gelf_getsym(data, static_cast<int>(number), &symbol) == nullptr) return {};
  const char* name = elf_strptr(elf, symbols.sh_link, symbol.st_name);
  return name == nullptr ? std::string_view() : name;
}

}  // namespace

void CopyCalls::read_relocations(Elf* elf) {
  for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn != nullptr; scn = elf_nextscn(elf, scn)) {
    GElf_Shdr header;
    if (gelf_getshdr(scn, &header) == nullptr || header.sh_type != SHT_RELA) continue;
    Elf_Scn* const linked = elf_getscn(elf, header.sh_link);
    GElf_Shdr symbols{};
    Elf_Data* names = nullptr;
    if (linked != nullptr && gelf_getshdr(linked, &symbols) != nullptr &&
        (symbols.sh_type == SHT_DYNSYM || symbols.sh_type == SHT_SYMTAB))
      names = elf_getdata(linked, nullptr);
    Elf_Data* const data = elf_getdata(scn, nullptr);
    if (data == nullptr || header.sh_entsize == 0) continue;
    const size_t count = data->d_size / header.sh_entsize;
    GElf_Rela one;
    for (size_t i = 0; i < count && gelf_getrela(data, static_cast<int>(i), &one) != nullptr; ++i) {
      const CopyFunction* function = nullptr;
      switch (GELF_R_TYPE(one.r_info)) {
        case R_X86_64_JUMP_SLOT:
        case R_X86_64_GLOB_DAT:
          function = function_named(symbol_name(elf, symbols, names, GELF_R_SYM(one.r_info)));
          break;
        case R_X86_64_IRELATIVE:  // in a static program: the address of the function that selects
          if (const auto found = direct_.find(static_cast<uint64_t>(one.r_addend));
              found != direct_.end())
            function = found->second;
          break;
        default:
          break;
      }
      if (function != nullptr) slots_[one.r_offset] = function;
    }
  }
}

void CopyCalls::read_stubs(Elf* elf) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return;
  for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn != nullptr; scn = elf_nextscn(elf, scn)) {
    GElf_Shdr header;
    if (gelf_getshdr(scn, &header) == nullptr || header.sh_type != SHT_PROGBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || !(std::string_view(name).starts_with(".plt") ||
                             std::string_view(name).starts_with(".iplt")))
      continue;
    const Elf_Data* data = elf_rawdata(scn, nullptr);
    if (data == nullptr || data->d_buf == nullptr || data->d_size == 0) continue;
    if (header.sh_addr > UINT64_MAX - data->d_size) continue;
    stubs_.push_back(
        {header.sh_addr, header.sh_addr + data->d_size, static_cast<const uint8_t*>(data->d_buf)});
  }
}

void CopyCalls::read(symbols::ElfImage& image) {
  for (const symbols::Symbol& symbol : image.functions())
    if (const CopyFunction* function = function_named(symbol.name))
      direct_[symbol.begin] = function;
  read_relocations(image.elf());
  read_stubs(image.elf());
}

// A stub is a jump through its slot, possibly after an endbr64.
const CopyFunction* CopyCalls::through(uint64_t stub) const {
  for (const Stubs& one : stubs_) {
    if (stub < one.begin || stub >= one.end) continue;
    uint64_t at = stub;
    for (int i = 0; i < 2 && at < one.end; ++i) {
      const auto instruction = decode(
          {one.bytes + (at - one.begin), std::min<size_t>(kLongestInstruction, one.end - at)}, at);
      if (!instruction) return nullptr;
      if (instruction->transfers) return called_by(*instruction);
      at += instruction->length;
    }
  }
  return nullptr;
}

const CopyFunction* CopyCalls::called_by(const Instruction& instruction) const {
  if (!instruction.transfers) return nullptr;
  if (instruction.target != 0) {
    const auto found = direct_.find(instruction.target);
    return found != direct_.end() ? found->second : through(instruction.target);
  }
  for (const MemoryAccess& access : instruction.memory()) {
    if (!access.pc_relative) continue;
    const auto found = slots_.find(instruction.address + instruction.length +
                                   static_cast<uint64_t>(access.displacement));
    if (found != slots_.end()) return found->second;
  }
  return nullptr;
}

CopiedBytes CopyCalls::written(const user_regs_struct& registers) {
  return {registers.rdi, registers.rdx, true};
}

CopiedBytes CopyCalls::read_by(const user_regs_struct& registers) {
  return {registers.rsi, registers.rdx, false};
}

}  // namespace deadheat::sampler
