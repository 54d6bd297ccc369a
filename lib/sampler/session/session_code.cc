// Turns the target's code into sites. Decoding has its own thread, and its results are added in
// pieces: meanwhile the session does not attend to threads that hit a breakpoint, get a signal or
// start another thread.
#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "lib/sampler/session/session.h"

namespace deadheat::sampler {

bool Session::wanted(const std::string& path) const {
  if (options_.modules.empty()) return options_.chosen(path);
  const std::string name = path.substr(path.rfind('/') + 1);
  return std::any_of(options_.modules.begin(), options_.modules.end(), [&](const std::string& p) {
    return ::fnmatch(p.c_str(), path.c_str(), 0) == 0 || ::fnmatch(p.c_str(), name.c_str(), 0) == 0;
  });
}

void Session::load_modules() {
  code_.update(backend_.modules());
  for (const int number : code_.take_fresh()) {
    const LoadedModule& module = code_.module(number);
    if (wanted(module.path)) decoding_.later(number, module.readable());
  }
}

// Waits for the first module, normally the program, so that a short run is watched from its
// beginning; a huge program starts without us.
void Session::load_program() {
  load_modules();
  while (sites_.empty() && decoding_.waiting() > 0) {
    auto ready = decoding_.wait(options_.first_patience_ms);
    if (!ready) return;
    adding_ = std::move(*ready);
    added_ = 0;
    take_in(SIZE_MAX);
  }
}

void Session::take_in(size_t most) {
  if (added_ == adding_.list.sites.size()) {
    auto ready = decoding_.take_ready();
    if (!ready || ready->number < old_modules_) return;
    adding_ = std::move(*ready);
    added_ = 0;
  }
  if (added_ == 0) begin_adding();
  const std::vector<CodeSite>& sites = adding_.list.sites;
  const auto first = static_cast<uint32_t>(sites_.size() - added_);
  const size_t end = most < sites.size() - added_ ? added_ + most : sites.size();
  while (added_ < end) {
    const size_t begin = added_;
    for (; added_ < sites.size() && sites[added_].function == sites[begin].function; ++added_)
      sites_.push_back({adding_.number, sites[added_]});
    chooser_.add(added_ - begin);
    chooser_.add_function(first + static_cast<uint32_t>(begin),
                          first + static_cast<uint32_t>(added_));
  }
  by_module_[adding_.number] = {first, sites_.size()};
  if (added_ == sites.size()) prefer_suspected(first);
}

void Session::begin_adding() {
  if (!adding_.problem.empty()) problem_ = adding_.problem;
  if (adding_.code == nullptr) return;
  code_.adopt(adding_.number, std::move(adding_.code));
  const CodeList& list = adding_.list;
  totals_.functions += list.functions;
  totals_.broken_functions += list.broken_functions;
  totals_.on_stack += list.on_stack;
  totals_.read_only += list.read_only;
  sites_.reserve(sites_.size() + list.sites.size());
}

void Session::prefer_suspected(uint32_t first) {
  const std::vector<CodeSite>& sites = adding_.list.sites;
  for (const AddressRange& range : adding_.suspected) {
    auto at = std::lower_bound(
        sites.begin(), sites.end(), range.begin,
        [](const CodeSite& site, uint64_t address) { return site.address < address; });
    for (; at != sites.end() && at->address < range.end; ++at) {
      chooser_.prefer(first + static_cast<uint32_t>(at - sites.begin()));
      suspected_++;
    }
  }
}

// Module numbers are permanent: collisions of the old program refer to them.
void Session::forget_program() {
  samples_.drop();
  placed_.clear();
  counts_ = {};
  owed_.clear();
  sites_.clear();
  by_module_.clear();
  chooser_.clear();
  suspected_ = 0;
  decoding_.forget();
  adding_ = {};
  added_ = 0;
  old_modules_ = static_cast<int>(code_.modules().size());
  code_.forget();
  load_program();
}

}  // namespace deadheat::sampler
