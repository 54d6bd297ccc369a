#include "lib/sampler/backend/kernel/kernel_suspects.h"

#include <set>
#include <string_view>

namespace deadheat::sampler {
namespace {}  // namespace

std::vector<AddressRange> suspects_in_kernel(const model::FindingsFile& file,
                                             const KernelSymbols& symbols,
                                             const std::string& build_id) {
  std::vector<AddressRange> out;
  std::set<std::string_view> functions;
  for (const model::Finding& finding : file.findings)
    for (const model::Role& role : finding.candidate.roles) {
      const model::Site& site = role.site;
      if (site.kind != model::SiteKind::kCode) continue;
      // Modules have no build-id here: their code is found by name.
      const bool same =
          !build_id.empty() && site.build_id == build_id && site.module == kKernelImage;
      if (same && !site.pcs.empty())
        for (const uint64_t pc : site.pcs) {
          const uint64_t address = symbols.base_of({}) + pc;
          out.push_back({address, address + 1});
        }
      else if (!site.function.empty())
        functions.insert(site.function);
    }
  for (const KernelSymbol& symbol : symbols.all())
    if (symbol.is_code() && functions.contains(symbol.name))
      out.push_back({symbol.begin, symbol.end});
  return out;
}

}  // namespace deadheat::sampler
