// Expands a candidate's site to every pc that implements it in the current program.
//
// A finder saw some of a source line's pcs; inlining, templates and unrolling produced more, and
// the race may need one of those. The pcs of a role are those where it was seen, and every call of
// an access hook of the same kind on the same source line. In a rebuilt program, the line is
// located by function and distance from its beginning, or by its text.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/model/finding.h"
#include "lib/places/hook_calls.h"
#include "lib/places/match.h"
#include "lib/symbols/symbolizer.h"

namespace deadheat::places {

struct HookedPlace {
  uint32_t role = 0;
  uint64_t offset = 0;  // file address inside the call of the hook
  std::string build_id, path;
  bool hook = true;  // false: no hook is called there; it is inside a library call
  friend bool operator==(const HookedPlace&, const HookedPlace&) = default;
};

class SiteExpander {
 public:
  // Beyond this number of calls, only those in the functions concerned are named. Instances of the
  // line that were inlined into other functions are then missed, which narrows a trial but breaks
  // nothing.
  static constexpr size_t kMostNamed = 100'000;

  // `program` is the file that trials run: sites of a module that no longer exists at its path are
  // searched in it.
  SiteExpander(symbols::Symbolizer& symbolizer, std::string program)
      : symbolizer_(symbolizer), program_(std::move(program)) {}

  // The places of all roles; the Error says which site no longer exists.
  Result<std::vector<HookedPlace>> expand(const model::Finding& finding);

 private:
  struct Module {
    std::string path, build_id;
    symbols::Symbolizer::ModuleId id = 0;
    std::vector<HookCall> calls;
    std::map<uint64_t, NamedPlace> named;  // keyed by the beginning of the call
    std::unique_ptr<symbols::ElfImage> image;
  };
  Module* module_of(const model::Site& site);
  const NamedPlace& name(Module& module, const HookCall& call);
  std::vector<HookCall> near(Module& module, std::span<const uint64_t> pcs);
  std::set<uint64_t> calls_on_variable(Module& module, const model::Role& role);
  Result<std::vector<HookedPlace>> expand_role(const model::Finding& finding, uint32_t role);

  symbols::Symbolizer& symbolizer_;
  std::string program_;
  std::map<std::string, std::unique_ptr<Module>> modules_;
};

}  // namespace deadheat::places
