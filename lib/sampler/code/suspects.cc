#include "lib/sampler/code/suspects.h"

#include "lib/places/code_of_sites.h"

namespace deadheat::sampler {

Suspects::Suspects(const model::FindingsFile& file) {
  for (const model::Finding& finding : file.findings)
    for (const model::Role& role : finding.candidate.roles)
      if (role.site.kind == model::SiteKind::kCode) sites_.push_back(role.site);
}

std::vector<AddressRange> Suspects::in(const ModuleCode& code) const {
  std::vector<AddressRange> out;
  for (const auto& [begin, end] : places::code_of_sites(sites_, code.image()))
    out.push_back({begin, end});
  return out;
}

}  // namespace deadheat::sampler
