#include "lib/validate/binary.h"

#include <gelf.h>

#include <algorithm>
#include <cstring>

#include "abi/validate_page.h"
#include "lib/symbols/elf_image.h"

namespace deadheat::validate {
namespace {

std::string section_of(Elf* elf, std::string_view wanted) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return "";
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || wanted != name) continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return "";
    return std::string(static_cast<const char*>(data->d_buf), data->d_size);
  }
  return "";
}

// A site that is instrumented in one object is so, whatever the others say.
void add_fate(Built& built, const dhv_site_record& record) {
  if (record.site == 0 || record.site >= built.list.lines.size() || record.fate == 0 ||
      record.fate > DHV_FATE_GONE)
    return;
  Fate& fate = built.fates[record.site];
  fate.instructions += record.count;
  if (fate.fate != 0 && fate.fate <= record.fate) return;
  fate.fate = record.fate;
  fate.line = record.line;
}

}  // namespace

std::vector<Built> read_binaries(const std::vector<std::string>& paths) {
  std::vector<Built> all;
  for (const std::string& path : paths) {
    const auto image = symbols::ElfImage::open(path);
    if (!image) continue;
    for (CompiledList& list : decode(section_of(image.value()->elf(), DHV_LIST_SECTION))) {
      const bool known = std::any_of(all.begin(), all.end(), [&](const Built& built) {
        return built.list.fingerprint == list.fingerprint;
      });
      if (!known) all.push_back({std::move(list), {}});
    }
    const std::string sites = section_of(image.value()->elf(), DHV_SITES_SECTION);
    for (size_t at = 0; at + sizeof(dhv_site_record) <= sites.size();
         at += sizeof(dhv_site_record)) {
      dhv_site_record record;
      std::memcpy(&record, sites.data() + at, sizeof record);
      for (Built& built : all)
        if (built.list.fingerprint == record.fingerprint) add_fate(built, record);
    }
  }
  return all;
}

Mapping map_candidates(const List& wanted, const CompiledList& built) {
  Mapping mapping;
  mapping.numbers.assign(wanted.pairs.size(), -1);
  std::map<std::pair<std::string, std::string>, uint32_t> known;
  for (uint32_t i = 0; i < built.pairs.size(); ++i)
    known.emplace(std::pair(built.lines[built.pairs[i].first], built.lines[built.pairs[i].second]),
                  i);
  for (size_t i = 0; i < wanted.pairs.size(); ++i) {
    const auto at = known.find({line_of(wanted.sites[wanted.pairs[i].first]),
                                line_of(wanted.sites[wanted.pairs[i].second])});
    if (at == known.end()) continue;
    mapping.numbers[i] = at->second;
    ++mapping.mapped;
  }
  return mapping;
}

std::string describe(const Built& built) {
  size_t count[DHV_FATE_GONE + 1] = {};
  for (const auto& [site, fate] : built.fates) ++count[fate.fate];
  const size_t sites = built.list.lines.size() - 1;
  return std::to_string(sites) + " sites of " + std::to_string(built.list.pairs.size()) +
         " candidates: " + std::to_string(count[DHV_FATE_INSTRUMENTED]) + " instrumented, " +
         std::to_string(count[DHV_FATE_SPIN]) + " only wait in a loop, " +
         std::to_string(count[DHV_FATE_GONE]) + " optimised away or edited, " +
         std::to_string(sites - built.fates.size()) + " not in this program";
}

}  // namespace deadheat::validate
