// The section of a binary that names its candidates, as an attacker may have written it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lib/validate/list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view section(reinterpret_cast<const char*>(data), size);
  for (const deadheat::validate::CompiledList& list : deadheat::validate::decode(section))
    for (const deadheat::validate::Pair& pair : list.pairs)
      if (pair.first >= list.lines.size() || pair.second >= list.lines.size()) std::abort();
  return 0;
}
