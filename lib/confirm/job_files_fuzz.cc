// Requests and results are in a folder that other machines can write to.
#include <cstddef>
#include <cstdint>
#include <string>

#include "lib/confirm/job_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto request = deadheat::confirm::parse_request(text))
    (void)deadheat::confirm::to_json(request.value());
  if (const auto result = deadheat::confirm::parse_result(text))
    (void)deadheat::confirm::to_json(result.value());
  return 0;
}
