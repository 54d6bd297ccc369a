// Reads back what a campaign stores beside its branches: any bytes give a value or an Error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "lib/process/trials/kept_results.h"
#include "lib/process/trials/references.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace deadheat::process::trials;
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)parse_kept(text, "k");
  (void)parse_judgement(text, "judged.json");
  if (auto references = parse_references(text, "reference.json")) {
    if (!parse_references(to_json(*references), "again")) __builtin_trap();
  }
  return 0;
}
