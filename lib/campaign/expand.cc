#include "lib/campaign/expand.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "lib/live/places.h"
#include "lib/live/source_tokens.h"
#include "lib/model/normalize.h"

namespace deadheat::campaign {
namespace {

namespace fs = std::filesystem;

// Where the role's accesses really were: the site may be the line that called into a header, the
// access a frame further in. Of the same binary only.
void add_seen(const model::Finding& finding, uint32_t role, std::set<uint64_t>& pcs) {
  const model::Site& site = finding.candidate.roles[role].site;
  for (const model::Evidence& evidence : finding.evidence) {
    if (role >= evidence.accesses.size()) continue;
    for (const model::Frame& frame : evidence.accesses[role].stack) {
      if (live::is_runtime_module(frame.module)) continue;
      if (frame.module == site.module) pcs.insert(frame.offset);
      break;
    }
  }
}

bool is_library(const std::string& path) {
  return model::basename_of(path).find(".so") != std::string_view::npos;
}

bool same_function(const std::string& a, const std::string& b) {
  return a == b || model::normalize_function(a).name == model::normalize_function(b).name;
}

// A list of candidates may name a file by the end of its path.
bool same_file(const std::string& known, const std::string& named) {
  return known == named ||
         (!named.starts_with('/') && known.size() > named.size() && known.ends_with(named) &&
          known[known.size() - named.size() - 1] == '/');
}

// A list of candidates need not say what is done at a place.
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
  // A program that was only watched has no hooks: the instrumented build of it is what trials run.
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

const SiteExpander::Named& SiteExpander::name(Module& module, const HookCall& call) {
  const auto [found, fresh] = module.named.try_emplace(call.begin);
  Named& named = found->second;
  if (!fresh) return named;
  named.call = call;
  const auto& frames = symbolizer_.frames(module.id, call.place());
  const symbols::SourceFrame* chosen = frames.empty() ? nullptr : &frames[0];
  for (const symbols::SourceFrame& frame : frames)
    if (!live::is_system_header(frame.file)) {
      chosen = &frame;
      break;
    }
  if (chosen == nullptr) return named;
  named.function = chosen->function;
  named.file = chosen->file;
  named.line = chosen->line;
  named.column = chosen->column;
  named.function_line = chosen->function_line;
  named.text = symbolizer_.source_text(module.id, *chosen);
  return named;
}

// The calls to look at: all, or those in the functions that hold the pcs.
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

// Another build may give the access another line (GCC gives "return x;" that of the closing brace),
// and a finder without debug information none: then the function and the variable's name on the
// line decide.
std::set<uint64_t> SiteExpander::calls_on_variable(Module& module, const model::Role& role) {
  std::set<uint64_t> pcs;
  std::string_view variable;
  for (const std::string_view word : live::tokens_of(role.site.variable))
    if (live::is_name(word)) variable = word;
  if (variable.empty() || role.site.function.empty()) return pcs;
  for (const HookCall& call : near(module, {})) {
    if (!call.does(role.access)) continue;
    const Named& named = name(module, call);
    const auto words = live::tokens_of(named.text);
    if (same_function(named.function, role.site.function) &&
        std::find(words.begin(), words.end(), variable) != words.end())
      pcs.insert(call.place());
  }
  return pcs;
}

Result<std::vector<RequestedSite>> SiteExpander::expand_role(const model::Finding& finding,
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
  const bool same_build = site.build_id.empty() || site.build_id == module->build_id;
  std::set<uint64_t> pcs;
  if (same_build) {
    pcs.insert(site.pcs.begin(), site.pcs.end());
    add_seen(finding, number, pcs);
  }
  const std::vector<uint64_t> own(pcs.begin(), pcs.end());
  std::set<uint64_t> on_line;
  for (const HookCall& call : near(*module, own)) {
    if (!does(call, role.access) || site.line == 0) continue;
    const Named& named = name(*module, call);
    // Two accesses of one line are told apart by their columns.
    const bool same_line = named.line == site.line && same_file(named.file, site.file);
    bool same = same_line && (named.column == site.column || named.column == 0 || site.column == 0);
    if (same_line) on_line.insert(call.place());
    if (!same_build && same_function(named.function, site.function))
      same = same || (!site.source_text.empty() && named.text == site.source_text) ||
             named.line - named.function_line == site.line - site.function_line;
    else if (!same_build)
      same = false;
    if (same) pcs.insert(call.place());
  }
  // A finder that read the source may count columns as another compiler does.
  if (pcs.empty() && site.build_id.empty()) pcs = on_line;
  if (pcs.empty() && !same_build) pcs = calls_on_variable(*module, role);
  if (pcs.empty()) return gone;
  std::set<uint64_t> places;  // one for each call, however its pc was written
  for (const uint64_t pc : pcs) {
    const auto holds = [pc](const HookCall& call) { return call.holds(pc); };
    const auto call = std::find_if(module->calls.begin(), module->calls.end(), holds);
    places.insert(call == module->calls.end() ? pc : call->place());
  }
  std::vector<RequestedSite> sites;
  for (const uint64_t place : places)
    sites.push_back({number, place, module->build_id, module->path});
  return sites;
}

Result<std::vector<RequestedSite>> SiteExpander::expand(const model::Finding& finding) {
  std::vector<RequestedSite> all;
  for (uint32_t role = 0; role < finding.candidate.roles.size(); ++role) {
    auto sites = expand_role(finding, role);
    if (!sites) return sites.error();
    all.insert(all.end(), sites.value().begin(), sites.value().end());
  }
  return all;
}

}  // namespace deadheat::campaign
