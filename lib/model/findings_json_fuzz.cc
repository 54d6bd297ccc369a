// Arbitrary bytes into the findings reader; what it accepts must survive being written and read
// again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "lib/model/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace deadheat::model;
  const auto read = from_json(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!read.ok()) return 0;
  const auto again = from_json(to_json(read.value()));
  if (!again.ok() || again.value() != read.value()) {
    std::fprintf(stderr, "written and read again it differs: %s\n",
                 again.ok() ? "values" : again.error().message.c_str());
    std::abort();
  }
  return 0;
}
