#include <algorithm>

#include "compiler/verify/inspect.h"
#include "lib/base/text.h"

namespace deadheat::verify {
namespace {

constexpr char kRebuild[] =
    "build it with CC=deadheat-cc CXX=deadheat-c++, also where it is linked";

std::string line(const std::string& name, const std::string& text) {
  std::string padded = "  " + name;
  padded.resize(std::max<size_t>(padded.size() + 2, 26), ' ');
  return padded + text + "\n";
}

std::string what_it_is(const Module& module) {
  if (module.role == Role::kMissing) return "not found by the dynamic linker";
  if (module.role == Role::kRuntime) return "Deadheat's runtime, " + module.path;
  if (module.role == Role::kForeign) return "ThreadSanitizer's runtime: takes the place of ours";
  if (!module.instrumented) return "not instrumented: its accesses are not seen";
  std::string text = "instrumented (" + join(module.compilers, ", ") + "); ";
  if (module.marks_regions) return text + "calls into other code are marked";
  return text + "calls into other code are not marked (the plugins of clang 19 and gcc do that)";
}

}  // namespace

std::vector<Problem> judge(const Inspection& inspection) {
  std::vector<Problem> problems;
  const std::vector<Module>& modules = inspection.modules;
  const auto any = [&](auto&& test) { return std::any_of(modules.begin(), modules.end(), test); };
  if (inspection.static_tsan)
    problems.push_back({"ThreadSanitizer's runtime is linked into it", kRebuild});
  else if (inspection.is_static)
    problems.push_back({"it is linked statically: no runtime can be chosen when it starts",
                        "link it without -static, through deadheat-cc"});
  if (!problems.empty()) return problems;
  if (any([](const Module& module) { return module.role == Role::kForeign; }))
    problems.push_back({"it needs ThreadSanitizer's runtime (libtsan)",
                        "link through deadheat-cc, not with -fsanitize=thread alone"});
  if (!any([](const Module& module) { return module.instrumented; }))
    problems.push_back({"nothing in it is instrumented", kRebuild});
  for (const Module& module : modules) {
    if (module.role == Role::kMissing)
      problems.push_back({module.name + " is not found", "set LD_LIBRARY_PATH, or install it"});
  }
  if (!problems.empty()) return problems;
  if (inspection.runtime.empty())
    problems.push_back({"it does not need libdeadheat", "link it through deadheat-cc"});
  else if (!inspection.first_needed.starts_with("libdeadheat.so"))
    problems.push_back({"libdeadheat is not the first library that it needs (" +
                            inspection.first_needed + " is): interceptors may lose",
                        "link it through deadheat-cc"});
  return problems;
}

std::string describe(const Inspection& inspection) {
  std::string text, known;
  for (const Module& module : inspection.modules) {
    if (module.role == Role::kKnown)
      known += (known.empty() ? "" : " ") + module.name.substr(module.name.rfind('/') + 1);
    else
      text += line(module.name, what_it_is(module));
  }
  if (!known.empty()) text += line("system", "modelled by the runtime: " + known);
  return text;
}

}  // namespace deadheat::verify
