// Arbitrary bytes as outcome.json, and as text and path to be masked: no crash, and an outcome
// survives a round trip.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "lib/process/judge/outcome.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace deadheat::process::judge;
  const std::string input(reinterpret_cast<const char*>(data), size);
  if (const auto outcome = parse_outcome(input, "fuzz"); outcome.ok()) {
    const auto again = parse_outcome(to_json(outcome.value()), "fuzz");
    if (!again.ok() || !(again.value() == outcome.value())) std::abort();
  }
  const RunMask mask = {{4711, 7}, {{1794000000, 1794000100}}, {}};
  (void)masked_lines(input, mask);
  (void)mask_run_path(input, mask);
  if (mask_run_bytes(input, mask).size() != size) std::abort();
  return 0;
}
