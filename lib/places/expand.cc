#include "lib/places/expand.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "lib/model/normalize.h"
#include "lib/places/places.h"
#include "lib/places/source_tokens.h"

namespace deadheat::places {
namespace {

namespace fs = std::filesystem;

// Adds the pcs where the role's accesses were seen: the site may be the line that called into a
// header, with the access one frame further in. Same binary only.
void add_seen(const model::Finding& finding, uint32_t role, std::set<uint64_t>& pcs) {
  const model::Site& site = finding.candidate.roles[role].site;
  for (const model::Evidence& evidence : finding.evidence) {
    if (role >= evidence.accesses.size()) continue;
    for (const model::Frame& frame : evidence.accesses[role].stack) {
      if (is_runtime_module(frame.module)) continue;
      if (frame.module == site.module) pcs.insert(frame.offset);
      break;
    }
  }
}

bool is_library(const std::string& path) {
  return model::basename_of(path).find(".so") != std::string_view::npos;
}

// A list of candidates need not state the access at a place.
bool does(const HookCall& call, model::AccessKind access) {
  return access == model::AccessKind::kUnknown || call.does(access);
}

}  // namespace

SiteExpander::Module* SiteExpander::module_of(const model::Site& site) {
  // The program may have moved; libraries are where the linker finds them.
  const bool is_program = model::basename_of(site.module) == model::basename_of(program_);
  const std::string path = is_program ? program_ : site.module;
  std::error_code ignored;
  const auto [found, fresh] = modules_.try_emplace(path, nullptr);
  if (!fresh) return found->second.get();
  auto image = symbols::ElfImage::open(path);
  if (!image) return nullptr;
  auto module = std::make_unique<Module>();
  module->path = fs::canonical(path, ignored).string();
  if (ignored) module->path = path;
  module->build_id = image.value()->build_id();
  module->id = symbolizer_.module(module->path, module->build_id);
  module->calls = hook_calls(*image.value());
  // A program that was only watched has no hooks; trials run its instrumented build.
  if (module->calls.empty() && path != program_ && !is_library(path)) {
    model::Site there = site;
    there.module = program_;
    modules_.erase(found);
    return module_of(there);
  }
  module->image = std::move(image).value();
  found->second = std::move(module);
  return found->second.get();
}

const NamedPlace& SiteExpander::name(Module& module, const HookCall& call) {
  const auto [found, fresh] = module.named.try_emplace(call.begin);
  if (fresh) found->second = name_place(symbolizer_, module.id, call.place());
  return found->second;
}

// The calls to consider: all, or those in the functions that contain the pcs.
std::vector<HookCall> SiteExpander::near(Module& module, std::span<const uint64_t> pcs) {
  if (module.calls.size() <= kMostNamed) return module.calls;
  std::vector<HookCall> calls;
  for (const uint64_t pc : pcs) {
    const symbols::Symbol* function = symbols::find_symbol(module.image->functions(), pc);
    if (function == nullptr) continue;
    for (const HookCall& call : module.calls)
      if (call.begin >= function->begin && call.begin < function->end) calls.push_back(call);
  }
  return calls;
}

// Another build may give the access another line (GCC gives "return x;" the line of the closing
// brace), and a finder without debug information gives none. Then the function and the variable's
// name on the line decide.
std::set<uint64_t> SiteExpander::calls_on_variable(Module& module, const model::Role& role) {
  std::set<uint64_t> pcs;
  std::string_view variable;
  for (const std::string_view word : tokens_of(role.site.variable))
    if (is_name(word)) variable = word;
  if (variable.empty() || role.site.function.empty()) return pcs;
  for (const HookCall& call : near(module, {})) {
    if (!call.does(role.access)) continue;
    const NamedPlace& named = name(module, call);
    const auto words = tokens_of(named.text);
    if (same_function(named.function, role.site.function) &&
        std::find(words.begin(), words.end(), variable) != words.end())
      pcs.insert(call.place());
  }
  return pcs;
}

Result<std::vector<HookedPlace>> SiteExpander::expand_role(const model::Finding& finding,
                                                           uint32_t number) {
  const model::Role& role = finding.candidate.roles[number];
  const model::Site& site = role.site;
  const Error gone{"site is gone: " + model::describe(site) + " is not in the program any more",
                   "look for races again, then confirm those"};
  if (site.kind != model::SiteKind::kCode || site.module.empty())
    return Error{"no program is known for " + model::describe(site),
                 "only races between threads of a program can be tried"};
  Module* module = module_of(site);
  if (module == nullptr) return gone;
  bool same_build = site.build_id.empty() || site.build_id == module->build_id;
  std::set<uint64_t> pcs;
  if (same_build) {
    pcs.insert(site.pcs.begin(), site.pcs.end());
    add_seen(finding, number, pcs);
  }
  std::set<uint64_t> on_line;
  const auto look = [&] {
    const std::vector<uint64_t> own(pcs.begin(), pcs.end());
    for (const HookCall& call : near(*module, own)) {
      if (!does(call, role.access) || site.line == 0) continue;
      const Match found = match(site, name(*module, call), same_build);
      if (found != Match::kNone) on_line.insert(call.place());
      if (found == Match::kSite) pcs.insert(call.place());
    }
  };
  look();
  // A finder that knows no build-id may have read a build in another folder. A function that is
  // named as well tells that its line is not merely one of a list.
  if (on_line.empty() && pcs.empty() && site.build_id.empty() && !site.function.empty()) {
    same_build = false;
    look();
  }
  // A finder that parsed the source may count columns differently from the compiler.
  if (pcs.empty() && site.build_id.empty()) pcs = on_line;
  if (pcs.empty() && !same_build) pcs = calls_on_variable(*module, role);
  if (pcs.empty()) return gone;
  std::map<uint64_t, bool> found;  // one per call, whichever of its bytes the pc names
  for (const uint64_t pc : pcs) {
    const auto holds = [pc](const HookCall& call) { return call.holds(pc); };
    const auto call = std::find_if(module->calls.begin(), module->calls.end(), holds);
    const bool hook = call != module->calls.end();
    found.emplace(hook ? call->place() : pc, hook);
  }
  std::vector<HookedPlace> sites;
  for (const auto& [place, hook] : found)
    sites.push_back({number, place, module->build_id, module->path, hook});
  return sites;
}

Result<std::vector<HookedPlace>> SiteExpander::expand(const model::Finding& finding) {
  std::vector<HookedPlace> all;
  for (uint32_t role = 0; role < finding.candidate.roles.size(); ++role) {
    auto sites = expand_role(finding, role);
    if (!sites) return sites.error();
    all.insert(all.end(), sites.value().begin(), sites.value().end());
  }
  return all;
}

}  // namespace deadheat::places
