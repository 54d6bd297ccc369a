#include "lib/places/code_of_sites.h"

#include <set>
#include <string>

#include "lib/model/normalize.h"
#include "lib/symbols/demangle.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::places {
namespace {

std::string plain_name(const std::string& function) {
  return model::normalize_function(function).name;
}

}  // namespace

std::vector<std::pair<uint64_t, uint64_t>> code_of_sites(std::span<const model::Site> sites,
                                                         const symbols::ElfImage& image) {
  std::vector<std::pair<uint64_t, uint64_t>> out;
  std::set<std::pair<std::string, uint32_t>> lines;
  std::set<std::string> functions;
  const std::string& build = image.build_id();
  for (const model::Site& site : sites) {
    const bool same = !build.empty() && site.build_id == build && !site.pcs.empty();
    if (same)
      for (const uint64_t pc : site.pcs) out.emplace_back(pc, pc + 1);
    else if (site.line != 0)
      lines.emplace(model::basename_of(site.file), site.line);
    if (!same && !site.function.empty()) functions.insert(plain_name(site.function));
  }
  symbols::Symbolizer symbolizer;
  const auto module = symbolizer.module(image.path(), build);
  const size_t before = out.size();
  if (!lines.empty())
    for (const auto& range :
         symbolizer.code_of_lines(module, [&](std::string_view file, uint32_t line) {
           return lines.contains({std::string(model::basename_of(file)), line});
         }))
      out.push_back(range);
  if (out.size() > before || functions.empty()) return out;
  const auto whole = symbols::ElfImage::open(image.path());
  if (!whole) return out;
  for (const symbols::Symbol& symbol : whole.value()->functions())
    if (functions.contains(plain_name(symbols::demangle(symbol.name))))
      out.emplace_back(symbol.begin, symbol.end);
  return out;
}

}  // namespace deadheat::places
