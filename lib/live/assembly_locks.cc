#include "lib/live/assembly_locks.h"

#include <Zydis/Zydis.h>
#include <gelf.h>

#include <algorithm>
#include <span>
#include <vector>

namespace deadheat::live {
namespace {

using Bytes = std::span<const uint8_t>;

std::vector<Bytes> code_sections(Elf* elf) {
  std::vector<Bytes> all;
  GElf_Ehdr head;
  if (gelf_getehdr(elf, &head) == nullptr || head.e_machine != EM_X86_64) return all;
  for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn != nullptr; scn = elf_nextscn(elf, scn)) {
    GElf_Shdr header;
    if (gelf_getshdr(scn, &header) == nullptr || header.sh_type != SHT_PROGBITS ||
        (header.sh_flags & SHF_EXECINSTR) == 0)
      continue;
    const Elf_Data* data = elf_getdata(scn, nullptr);
    if (data != nullptr && data->d_buf != nullptr)
      all.push_back({static_cast<const uint8_t*>(data->d_buf), data->d_size});
  }
  return all;
}

bool is_atomic(const ZydisDecodedInstruction& instruction) {
  if ((instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0) return true;
  return instruction.mnemonic == ZYDIS_MNEMONIC_XCHG &&
         (instruction.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 && instruction.raw.modrm.mod != 3;
}

bool holds(const ZydisDecoder& decoder, Bytes bytes) {
  while (!bytes.empty()) {
    ZydisDecodedInstruction instruction;
    const bool decoded = ZYAN_SUCCESS(
        ZydisDecoderDecodeInstruction(&decoder, nullptr, bytes.data(), bytes.size(), &instruction));
    if (decoded && is_atomic(instruction)) return true;
    bytes = bytes.subspan(decoded ? instruction.length : 1);  // compilers put no data into code
  }
  return false;
}

}  // namespace

bool has_assembly_locks(const symbols::ElfImage& image) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  const std::vector<Bytes> sections = code_sections(image.elf());
  return std::any_of(sections.begin(), sections.end(),
                     [&](Bytes section) { return holds(decoder, section); });
}

}  // namespace deadheat::live
