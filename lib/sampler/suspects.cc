#include "lib/sampler/suspects.h"

#include <algorithm>
#include <set>
#include <string>

#include "lib/model/normalize.h"
#include "lib/symbols/demangle.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::sampler {
namespace {

std::string plain_name(const std::string& function) {
  return model::normalize_function(function).name;
}

}  // namespace

Suspects::Suspects(const model::FindingsFile& file) {
  for (const model::Finding& finding : file.findings)
    for (const model::Role& role : finding.candidate.roles)
      if (role.site.kind == model::SiteKind::kCode) sites_.push_back(role.site);
}

std::vector<AddressRange> Suspects::in(const ModuleCode& code) const {
  std::vector<AddressRange> out;
  std::set<std::pair<std::string, uint32_t>> lines;
  std::set<std::string> functions;
  const std::string& build = code.image().build_id();
  for (const model::Site& site : sites_) {
    const bool same = !build.empty() && site.build_id == build && !site.pcs.empty();
    if (same)
      for (const uint64_t pc : site.pcs) out.push_back({pc, pc + 1});
    else if (site.line != 0)
      lines.emplace(model::basename_of(site.file), site.line);
    if (!same && !site.function.empty()) functions.insert(plain_name(site.function));
  }
  symbols::Symbolizer symbolizer;
  const auto module = symbolizer.module(code.image().path(), build);
  const size_t before = out.size();
  if (!lines.empty())
    for (const auto& [begin, end] :
         symbolizer.code_of_lines(module, [&](std::string_view file, uint32_t line) {
           return lines.contains({std::string(model::basename_of(file)), line});
         }))
      out.push_back({begin, end});
  if (out.size() > before || functions.empty()) return out;
  auto image = symbols::ElfImage::open(code.image().path());
  if (!image) return out;
  for (const symbols::Symbol& symbol : image.value()->functions())
    if (functions.contains(plain_name(symbols::demangle(symbol.name))))
      out.push_back({symbol.begin, symbol.end});
  return out;
}

}  // namespace deadheat::sampler
