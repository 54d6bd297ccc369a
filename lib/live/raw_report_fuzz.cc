// Arbitrary bytes as a raw report, split arbitrarily: nothing crashes, and the split does not
// matter.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "lib/live/live_findings.h"
#include "lib/model/json.h"

namespace {

std::string findings_of(std::string_view input, size_t piece) {
  deadheat::live::LiveFindings live({"run:fuzz", {"fuzz"}, {}, "deadheat run -- fuzz"});
  for (size_t at = 0; at < input.size(); at += piece) (void)live.feed(input.substr(at, piece));
  const std::string stops = live.deadlock() + live.crash() + live.divergence();
  const deadheat::model::FindingsFile file = live.finish();
  if (!deadheat::model::check(file)) std::abort();
  return deadheat::model::to_json(file) + stops;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  // The input names modules: never open a file of this machine because of it.
  if (input.find("\"/") != std::string_view::npos || input.find("\\u") != std::string_view::npos)
    return 0;
  if (findings_of(input, 7) != findings_of(input, size + 1)) std::abort();
  return 0;
}
