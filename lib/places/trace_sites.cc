#include "lib/places/trace_sites.h"

#include <algorithm>
#include <charconv>

#include "lib/model/finding_set.h"
#include "lib/places/places.h"

namespace deadheat::places {
namespace {

bool is_place(const model::Site& site) {
  return site.kind == model::SiteKind::kCode && !site.module.empty() && site.pcs.size() == 1 &&
         site.function.empty();
}

void name_site(model::Site& site, symbols::Symbolizer& symbolizer) {
  if (!is_place(site)) return;
  const Place place{symbolizer.module(site.module, site.build_id), site.pcs[0]};
  site = site_of(symbolizer, std::span(&place, 1));
}

// Converts places to frames, including inlined calls, as for live findings.
void name_stack(std::vector<model::Frame>& stack, std::span<const MappedModule> modules,
                symbols::Symbolizer& symbolizer) {
  std::vector<Place> places;
  for (const model::Frame& frame : stack) {
    const auto found =
        std::find_if(modules.begin(), modules.end(),
                     [&](const MappedModule& module) { return module.path == frame.module; });
    if (frame.module.empty() || !frame.function.empty() || found == modules.end()) return;
    places.push_back({symbolizer.module(found->path, found->build_id), frame.offset});
  }
  if (!places.empty()) stack = frames_of(symbolizer, places);
  // Drop the frames with which the runtime and libc start a thread: they are the same in every
  // stack.
  while (stack.size() > 1 && is_runtime_module(stack.back().module)) stack.pop_back();
}

// Parses "0x55d0c0de" as written in a trace.
bool parse_address(std::string_view text, uint64_t& address) {
  if (!text.starts_with("0x")) return false;
  const auto parsed = std::from_chars(text.data() + 2, text.data() + text.size(), address, 16);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

// The global at an address of the process; none if processes mapped different modules there.
std::optional<symbols::GlobalName> global_at(uint64_t address, uint64_t size,
                                             std::span<const MappedModule> modules,
                                             symbols::Symbolizer& symbolizer) {
  const MappedModule* found = nullptr;
  for (const MappedModule& module : modules) {
    if (address < module.begin || address - module.begin >= module.size) continue;
    const bool same =
        found == nullptr || (found->path == module.path && found->begin == module.begin &&
                             found->build_id == module.build_id);
    if (!same) return std::nullopt;
    found = &module;
  }
  if (found == nullptr) return std::nullopt;
  const auto module = symbolizer.module(found->path, found->build_id);
  const uint64_t bias = found->begin == 0 ? 0 : found->begin - symbolizer.first_address(module);
  return symbolizer.global(module, address - bias, size);
}

}  // namespace

model::FindingsFile symbolize(model::FindingsFile file, std::span<const MappedModule> modules,
                              symbols::Symbolizer& symbolizer) {
  model::FindingsFile named;
  named.origins = std::move(file.origins);
  model::FindingSet set(named);
  for (model::Finding& finding : file.findings) {
    for (model::Role& role : finding.candidate.roles) name_site(role.site, symbolizer);
    const auto name = [&](auto& entry) {
      for (size_t i = 0; i < entry.accesses.size(); ++i) {
        model::Access& access = entry.accesses[i];
        name_stack(access.stack, modules, symbolizer);
        uint64_t address = 0;
        if (!parse_address(access.location, address)) continue;
        const auto global = global_at(address, access.size, modules, symbolizer);
        if (!global) continue;
        access.location = "global " + global->name + global->part;
        if (i < finding.candidate.roles.size())
          finding.candidate.roles[i].site.variable = variable_of(*global);
      }
      for (model::Step& step : entry.steps) name_site(step.site, symbolizer);
    };
    for (model::Evidence& evidence : finding.evidence) name(evidence);
    for (model::Suspicion& suspicion : finding.suspicions) name(suspicion);
    set.add(std::move(finding));
  }
  if (!named.origins.empty())
    for (std::string& problem : symbolizer.problems())
      named.origins.back().problems.push_back(std::move(problem));
  return named;
}

}  // namespace deadheat::places
