// The dynamic section and .dynsym: which libraries an image needs, and which symbols it imports.
#include <gelf.h>

#include "lib/base/text.h"
#include "lib/symbols/elf_image.h"

namespace deadheat::symbols {
namespace {

// Calls f(tag, text) for every dynamic entry with a string value.
template <typename F>
void each_dynamic_text(Elf* elf, F f) {
  for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn != nullptr; scn = elf_nextscn(elf, scn)) {
    GElf_Shdr header;
    if (gelf_getshdr(scn, &header) == nullptr || header.sh_type != SHT_DYNAMIC) continue;
    Elf_Data* data = elf_getdata(scn, nullptr);
    GElf_Dyn entry;
    for (int i = 0; data != nullptr && gelf_getdyn(data, i, &entry) != nullptr; ++i) {
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH)
        continue;
      const char* text = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
      if (text != nullptr) f(entry.d_tag, text);
    }
  }
}

}  // namespace

std::vector<std::string> ElfImage::needed() const {
  std::vector<std::string> names;
  each_dynamic_text(elf_, [&](auto tag, const char* text) {
    if (tag == DT_NEEDED) names.emplace_back(text);
  });
  return names;
}

std::vector<std::string> ElfImage::run_paths() const {
  std::vector<std::string> paths;
  each_dynamic_text(elf_, [&](auto tag, const char* text) {
    if (tag == DT_NEEDED) return;
    for (const std::string_view path : split(text, ':')) paths.emplace_back(path);
  });
  return paths;
}

bool ElfImage::has_dynamic_symbol(std::string_view name) const {
  for (Elf_Scn* scn = elf_nextscn(elf_, nullptr); scn != nullptr; scn = elf_nextscn(elf_, scn)) {
    GElf_Shdr header;
    if (gelf_getshdr(scn, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    Elf_Data* data = elf_getdata(scn, nullptr);
    GElf_Sym symbol;
    for (int i = 0; data != nullptr && gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      const char* text = elf_strptr(elf_, header.sh_link, symbol.st_name);
      if (text != nullptr && name == text) return true;
    }
  }
  return false;
}

}  // namespace deadheat::symbols
