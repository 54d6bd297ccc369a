#include "lib/sampler/code/go_names.h"

#include <algorithm>
#include <iterator>

namespace deadheat::sampler {
namespace {

constexpr std::string_view kPackages[] = {"runtime.", "runtime/", "internal/", "sync.",
                                          "sync/",    "syscall.", "type:",     "type..",
                                          "_cgo",     "_rt0_",    "x_cgo_",    "crosscall"};

// Work for the program: a copy, a fill or a comparison in its source.
constexpr std::string_view kMovers[] = {"runtime.memmove",  "runtime.memclrNoHeapPointers",
                                        "runtime.duffcopy", "runtime.duffzero",
                                        "runtime.memequal", "runtime.memequal_varlen"};

}  // namespace

bool is_go_mover(std::string_view function) {
  return std::find(std::begin(kMovers), std::end(kMovers), function) != std::end(kMovers);
}

// Names without a package are the runtime's assembly: memeqbody, gogo, cmpbody.
bool is_go_runtime(std::string_view function) {
  if (function.empty()) return false;
  if (is_go_mover(function)) return false;
  if (function.find('.') == std::string_view::npos) return true;
  return std::any_of(std::begin(kPackages), std::end(kPackages),
                     [&](std::string_view package) { return function.starts_with(package); });
}

}  // namespace deadheat::sampler
