// Any bytes as an events file and as recording.json: nothing crashes, and what is read can be
// walked.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "lib/process/recording.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  if (const auto info = deadheat::process::parse_recording_info(input, "fuzz"); info.ok()) {
    const auto again =
        deadheat::process::parse_recording_info(deadheat::process::to_json(info.value()), "fuzz");
    if (!again.ok()) std::abort();
  }
  const auto recording = deadheat::process::Recording::of_file(input, {});
  if (!recording.ok()) return 0;
  size_t bytes = 0;
  for (const deadheat::process::Event& event : recording.value().events())
    for (const auto& attachment : event.attachments())
      for (const char c : attachment.bytes) bytes += static_cast<unsigned char>(c);
  return bytes == SIZE_MAX ? 1 : 0;
}
