// Arbitrary bytes as a list of candidates; what is accepted must be a valid findings file.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "lib/model/candidate_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace deadheat::model;
  const auto read =
      parse_candidate_list(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!read.ok()) return 0;
  if (const auto valid = check(read.value()); !valid.ok()) {
    std::fprintf(stderr, "not valid: %s\n", valid.error().message.c_str());
    std::abort();
  }
  return 0;
}
