// From a candidate's site to every pc that stands for it in the program as it is now.
//
// A finder saw some of a source line's pcs; inlining, templates and unrolling made more, and the
// race may need one of those. The pcs of a role are those it was seen at, and every call of an
// access hook of the same kind on the same source line. In a program that was rebuilt, the line is
// found again by function and distance from its beginning, or by its text.
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
  uint64_t offset = 0;  // file address within the call of the hook
  std::string build_id, path;
  bool hook = true;  // false: no hook is called there, so it is inside a library call
  friend bool operator==(const HookedPlace&, const HookedPlace&) = default;
};

class SiteExpander {
 public:
  // More calls than this are only named within the functions concerned: instances of the line in
  // other functions (inlined there) are then missed, which narrows a trial and breaks nothing.
  static constexpr size_t kMostNamed = 100'000;

  // `program` is the file that trials run: sites of a module that is no longer where it was are
  // looked for in it.
  SiteExpander(symbols::Symbolizer& symbolizer, std::string program)
      : symbolizer_(symbolizer), program_(std::move(program)) {}

  // The sites of all roles; an Error that says which one is gone.
  Result<std::vector<HookedPlace>> expand(const model::Finding& finding);

 private:
  struct Module {
    std::string path, build_id;
    symbols::Symbolizer::ModuleId id = 0;
    std::vector<HookCall> calls;
    std::map<uint64_t, NamedPlace> named;  // by beginning of the call
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
