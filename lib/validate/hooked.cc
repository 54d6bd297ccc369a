#include "lib/validate/hooked.h"

#include "abi/validate_page.h"
#include "lib/base/text.h"
#include "lib/places/expand.h"
#include "lib/symbols/symbolizer.h"
#include "lib/validate/validate.h"

namespace deadheat::validate {
namespace {

// One role of a finding as a separate finding: sites are looked up once, whatever they pair with.
model::Finding of_role(const model::Finding& finding, size_t role, const std::string& program) {
  model::Finding one;
  one.candidate.kind = finding.candidate.kind;
  one.candidate.roles = {finding.candidate.roles[role]};
  model::Site& site = one.candidate.roles[0].site;
  if (site.module.empty()) site.module = program;
  for (const model::Evidence& evidence : finding.evidence) {
    if (role >= evidence.accesses.size()) continue;
    model::Evidence seen;
    seen.accesses = {evidence.accesses[role]};
    one.evidence.push_back(std::move(seen));
  }
  return one;
}

class Reader {
 public:
  Reader(const std::string& program, const List& list, const model::FindingsFile& file)
      : program_(program), list_(list), file_(file), expander_(symbolizer_, program) {}

  Hooked read() {
    Hooked out;
    out.built.list.fingerprint = list_.fingerprint;
    out.built.list.pairs = list_.pairs;
    out.built.list.lines.emplace_back();
    for (size_t i = 1; i < list_.sites.size(); ++i)
      out.built.list.lines.push_back(line_of(list_.sites[i]));
    for (size_t i = 0; i < list_.pairs.size(); ++i) {
      look_up(list_.pairs[i].first, i, 0, out.built);
      look_up(list_.pairs[i].second, i, 1, out.built);
    }
    out.sites = DHV_SITES_FIRST_LINE "\nlist " + hex(list_.fingerprint).substr(2) + " " +
                std::to_string(list_.sites.size()) + " " + std::to_string(list_.pairs.size()) +
                " " + std::to_string(places_) + "\n";
    for (const Pair& pair : list_.pairs)
      out.sites += "pair " + std::to_string(pair.first) + " " + std::to_string(pair.second) + "\n";
    out.sites += lines_;
    return out;
  }

 private:
  void look_up(uint32_t site, size_t pair, size_t role, Built& built) {
    const auto [at, fresh] = built.fates.try_emplace(site);
    if (!fresh) return;
    Fate& fate = at->second;
    const model::Finding& finding = file_.findings[list_.findings[pair]];
    fate.line = finding.candidate.roles[role].site.line;
    fate.fate = DHV_FATE_GONE;
    const auto found = expander_.expand(of_role(finding, role, program_));
    if (!found) return;
    for (const places::HookedPlace& place : found.value()) {
      if (!place.hook) continue;  // in a call of libc's: production has no hook there
      fate.fate = DHV_FATE_INSTRUMENTED;
      ++fate.instructions;
      ++places_;
      lines_ += "place " + std::to_string(site) + " " + hex(place.offset).substr(2) + " " +
                (place.build_id.empty() ? "-" : place.build_id) + " " + place.path + "\n";
    }
  }

  const std::string& program_;
  const List& list_;
  const model::FindingsFile& file_;
  symbols::Symbolizer symbolizer_;
  places::SiteExpander expander_;
  std::string lines_;
  size_t places_ = 0;
};

}  // namespace

std::optional<Hooked> read_hooked(const std::string& program, const List& list,
                                  const model::FindingsFile& file) {
  const auto image = symbols::ElfImage::open(program);
  if (!image || places::hook_calls(*image.value()).empty()) return std::nullopt;
  return Reader(program, list, file).read();
}

Result<std::string> sites_file(const Options& options, const model::FindingsFile& file) {
  const std::string& program = options.binaries.at(0);
  if (!read_binaries(options.binaries).empty())
    return Error{program + " was built with --candidates: it needs no such file",
                 "start it as it is, and attach to it"};
  auto hooked = read_hooked(program, make_list(file), file);
  if (!hooked) return Error{program + " calls no hooks", "build it with deadheat-cc, gcc or clang"};
  return std::move(hooked->sites);
}

}  // namespace deadheat::validate
